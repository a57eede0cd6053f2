// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
public import ObjectGraph
import Synchronization

extension NSPersistentCloudKitContainer {
    /// Returns changes of a store's account or server that the app has not acknowledged, oldest first; at most the last 100. They are
    /// stored in the file.
    ///
    ///     for change in try container.accountChanges(in: store) { print(change.date, change.archiveName ?? "no archive") }
    ///
    /// ``SyncStatus/accountChange`` has the latest one.
    ///
    /// - Throws: `CocoaError` for a store that isn't synced, or for a file that cannot be read.
    public func accountChanges(in store: NSPersistentStore) throws -> [AccountChange] {
        let mirror = try synced(store)
        return try mirror.translated { try mirror.file.accountChanges.all() }.map { AccountChange($0) }
    }

    /// Removes the changes from ``accountChanges(in:)`` and from the status. The archives stay. An unresolved change returns with the next
    /// set-up.
    ///
    /// - Throws: `CocoaError` for a store that isn't synced, or for a file that cannot be written.
    public func acknowledgeAccountChanges(in store: NSPersistentStore) throws {
        let mirror = try synced(store)
        try mirror.translated { try mirror.file.accountChanges.acknowledge() }
        mirror.state.withLock { state in
            state.details.accountChange = nil
            state.details.accountChangeEvent = nil
        }
        mirror.reportAgain()
    }

    /// Decides on a store that a policy `keep` left unchanged, and resumes its sync. The decision is stored in the file, for the account
    /// and the server of the change only.
    ///
    ///     if let change = container.syncStatus.accountChange, change.outcome == .unresolved {
    ///         try container.resolveAccountChange(isSamePerson ? .upload : .archive, in: store)
    ///     }
    ///
    /// - Throws: `CocoaError` with `.persistentStoreOperation` if no change of the store is unresolved, if it isn't synced, or for
    ///   `.upload` into a database that isn't private. Nothing has changed then.
    public func resolveAccountChange(_ resolution: AccountChangeResolution, in store: NSPersistentStore) throws {
        let mirror = try synced(store)
        let choice: AccountRules.Choice =
            switch resolution {
            case .archive: .archive
            case .upload: .upload
            }
        guard choice != .upload || mirror.file.accountRules.mayUpload else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "Only objects of the private database can be sent to another account; resolve with .archive.")
        }
        guard try mirror.translated({ try mirror.file.accountChanges.resolve(choice) }) else {
            throw CocoaError(
                .persistentStoreOperation, sentence: "No account change of this store waits for a decision; see accountChanges(in:).")
        }
        mirror.accountChanged()
    }
}
