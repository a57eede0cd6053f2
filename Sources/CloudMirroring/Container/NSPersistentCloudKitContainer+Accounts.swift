// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import MirroringCore
public import ObjectGraph
import Synchronization

extension NSPersistentCloudKitContainer {
    /// A store was emptied because another user signed in, or because the user deleted the app's data on another device.
    public struct AccountChange: Hashable, Sendable {
        public enum Kind: Hashable, Sendable {
            /// Another user is signed in than the one whose data the store held.
            case anotherAccount
            /// The user deleted the app's data on another device.
            case dataDeleted
        }

        public let kind: Kind
        public let date: Date
        /// The user whose data the store held; nil if the server never named one.
        public let previousAccount: CKRecord.ID?
        /// The user who is signed in since.
        public let account: CKRecord.ID?
        /// File name of the copy that was made before, in the store's folder; nil if the store had no objects.
        public let archiveName: String?

        init(_ change: MirroringCore.AccountChange) {
            kind =
                switch change.kind {
                case .anotherAccount: .anotherAccount
                case .dataDeleted: .dataDeleted
                }
            date = Date(timeIntervalSinceReferenceDate: change.date)
            previousAccount = change.previousUser.map { CKRecord.ID(recordName: $0) }
            account = change.user.map { CKRecord.ID(recordName: $0) }
            archiveName = change.archive
        }
    }

    /// Changes that emptied a store and that the app has not acknowledged, oldest first; at most the last 100. They outlive the app.
    ///
    ///     for change in try container.accountChanges(in: store) { print(change.date, change.archiveName ?? "no objects") }
    ///
    /// ``SyncStatus/accountChange`` has the latest one.
    ///
    /// - Throws: ``CocoaError`` for a store that isn't synced, or for a file that cannot be read.
    public func accountChanges(in store: NSPersistentStore) throws -> [AccountChange] {
        let mirror = try synced(store)
        return try mirror.translated { try mirror.file.accountChanges() }.map { AccountChange($0) }
    }

    /// Removes the changes from ``accountChanges(in:)`` and from the status. The archives stay.
    ///
    /// - Throws: ``CocoaError`` for a store that isn't synced, or for a file that cannot be written.
    public func acknowledgeAccountChanges(in store: NSPersistentStore) throws {
        let mirror = try synced(store)
        try mirror.translated { try mirror.file.acknowledgeAccountChanges() }
        mirror.accountChange.withLock { $0 = (nil, nil) }
    }

    /// The archives beside a store, oldest first. Each is a store file of its own, with the objects and the sync metadata as they were
    /// before the store was emptied, and can be opened with `NSPersistentContainer`.
    ///
    /// - Throws: ``CocoaError`` for a store that isn't synced, or for a folder that cannot be read.
    public func storeArchives(of store: NSPersistentStore) throws -> [URL] {
        let mirror = try synced(store)
        guard let url = mirror.store.url else { return [] }
        let prefix = MirrorFile.archivePrefix(of: url)
        return try FileManager.default.contentsOfDirectory(at: url.deletingLastPathComponent(), includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasPrefix(prefix) && $0.pathExtension == url.pathExtension }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
}
