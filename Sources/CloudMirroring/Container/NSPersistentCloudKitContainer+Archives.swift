// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph
import SQLiteStore
import Synchronization

extension NSPersistentCloudKitContainer {
    /// Returns the archives in a store's folder, oldest first.
    ///
    /// - Throws: `CocoaError` for a store that isn't synced, or for a folder that cannot be read.
    public func storeArchives(of store: NSPersistentStore) throws -> [StoreArchive] {
        let mirror = try synced(store)
        guard let url = mirror.store.url else { return [] }
        let prefix = ArchiveFile.prefix(of: url)
        return try FileManager.default.contentsOfDirectory(at: url.deletingLastPathComponent(), includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasPrefix(prefix) && $0.pathExtension == url.pathExtension }
            .compactMap { StoreArchive($0) }
            .sorted { ($0.date, $0.url.lastPathComponent) < ($1.date, $1.url.lastPathComponent) }
    }

    /// Deletes an archive and its files.
    ///
    /// - Throws: `CocoaError` with `.persistentStoreOperation` for a file that isn't an archive of this store.
    public func removeStoreArchive(_ archive: StoreArchive, of store: NSPersistentStore) throws {
        try check(archive, of: store)
        ArchiveFile.remove(archive.url)
    }

    /// Replaces a store by one of its archives, and syncs it.
    ///
    /// If the user of the archive is signed in again, the archive's unsent changes are sent, and later changes of the server are imported.
    /// For another account of the same person, or a server that lost its data, `asPresentAccount` sends all objects to the present account;
    /// shares end, and their objects belong to this user. Ask the person first.
    ///
    ///     let archive = try container.storeArchives(of: store).last!
    ///     let (restored, replaced) = try await container.restoreStoreArchive(archive, in: store)
    ///     container.viewContext.reset()
    ///
    /// The store's present file is archived before; `replaced` is that archive. The store is removed from the coordinator and a new one is
    /// loaded from the same description: objects that contexts hold of it are invalid, so reset those contexts. The archive stays.
    ///
    /// An archive has all objects of the file, including those of a user who signed in before the server could be reached.
    ///
    /// If the process is killed during the call, the store is either unchanged or the archive's; archives contain both then, and the call
    /// can be repeated.
    ///
    /// - Parameter asPresentAccount: Whether the person confirmed that the objects of the archive's account are theirs.
    /// - Throws: `CocoaError` with `.persistentStoreOperation` for a file that isn't an archive of this store; for an archive of another
    ///   account or server than the store's, unless `asPresentAccount`; for `asPresentAccount` and a database that isn't private. Also
    ///   the errors of loading, such as an incompatible model. The store is unchanged then, but loaded again in the last case.
    @discardableResult
    public func restoreStoreArchive(
        _ archive: StoreArchive, in store: NSPersistentStore, asPresentAccount: Bool = false
    ) async throws -> (store: NSPersistentStore, replaced: StoreArchive) {
        try check(archive, of: store)
        let mirror = try synced(store)
        let present = try mirror.translated { try mirror.file.account.owner() }
        try check(archive, mayReplaceStoreOf: present, asPresentAccount, mirror.file.accountRules)
        guard let url = store.url, let description = persistentStoreDescriptions.first(where: { $0.url == url }) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store has no description in persistentStoreDescriptions.")
        }
        let changes = try mirror.translated { try mirror.file.accountChanges.encodedLog() }
        let objectCount = try mirror.translated { try mirror.file.account.objectCount() }
        await mirror.stop()
        try persistentStoreCoordinator.remove(store)
        let note = ArchiveNote(owner: present, date: mirror.file.now, objectCount: Int64(objectCount))
        let replaced: StoreArchive
        do {
            replaced = StoreArchive(try ArchiveFile.add(url, note), note)
        } catch {
            // Nothing was replaced.
            _ = try await load(description, nil)
            throw CocoaError(error)
        }
        do {
            try replace(url, by: archive)
            return (try await load(description, StoreRestoration(isForPresentAccount: asPresentAccount, accountChanges: changes)), replaced)
        } catch {
            try replace(url, by: replaced)
            _ = try await load(description, nil)
            throw error
        }
    }

    private func check(_ archive: StoreArchive, of store: NSPersistentStore) throws {
        guard try storeArchives(of: store).contains(where: { $0.url.standardizedFileURL == archive.url.standardizedFileURL }) else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "\(archive.url.lastPathComponent) isn't an archive of this store; storeArchives(of:) lists its archives.")
        }
    }

    private func check(_ archive: StoreArchive, mayReplaceStoreOf present: StoreOwner, _ asPresentAccount: Bool, _ rules: AccountRules)
        throws
    {
        if asPresentAccount {
            guard rules.mayUpload else {
                throw CocoaError(
                    .persistentStoreOperation, sentence: "Only objects of the private database can be sent to another account.")
            }
        } else if !rules.mayRestore(archiveOf: archive.note.owner, for: present) {
            throw CocoaError(
                .persistentStoreOperation,
                sentence:
                    "The archive holds the objects of another account or server; pass asPresentAccount: true if the person confirms that they are theirs."
            )
        }
    }

    private func replace(_ url: URL, by archive: StoreArchive) throws {
        do {
            try SQLiteStore.replace(at: url, withStoreAt: archive.url)
            var metadata = try SQLiteStore.metadata(at: url)
            metadata[ArchiveNote.metadataKey] = nil
            try SQLiteStore.setMetadata(metadata, at: url)
        } catch {
            throw CocoaError(error)
        }
    }

    /// Loads one store, and finishes a restoration before it syncs.
    private func load(_ description: NSPersistentStoreDescription, _ restoration: StoreRestoration?) async throws -> NSPersistentStore {
        guard let url = description.url else { preconditionFailure("a store that was loaded from a file has a URL") }
        restorations.withLock { $0[url] = restoration }
        defer { restorations.withLock { $0[url] = nil } }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            loadPersistentStores { loaded, error in
                // Others that could not be loaded before are tried as well.
                guard loaded === description || loaded.url == url else { return }
                continuation.resume(with: error.map { .failure($0) } ?? .success(()))
            }
        }
        guard let store = persistentStoreCoordinator.persistentStore(for: url) else {
            throw CocoaError(.persistentStoreOpen, sentence: "The store was removed while it was loaded.")
        }
        return store
    }
}

/// The work that remains after an archive has replaced a store's file.
struct StoreRestoration: Hashable, Sendable {
    /// Whether its objects are sent to the present account.
    var isForPresentAccount: Bool
    /// Account changes of the replaced file that the app has not acknowledged.
    var accountChanges: [UInt8]?
}
