// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph
import SQLiteStore
import Synchronization

extension NSPersistentCloudKitContainer {
    /// The archives beside a store, oldest first.
    ///
    /// - Throws: ``CocoaError`` for a store that isn't synced, or for a folder that cannot be read.
    public func storeArchives(of store: NSPersistentStore) throws -> [StoreArchive] {
        let mirror = try synced(store)
        guard let url = mirror.store.url else { return [] }
        let prefix = MirrorFile.archivePrefix(of: url)
        return try FileManager.default.contentsOfDirectory(at: url.deletingLastPathComponent(), includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasPrefix(prefix) && $0.pathExtension == url.pathExtension }
            .compactMap { StoreArchive($0) }
            .sorted { ($0.date, $0.url.lastPathComponent) < ($1.date, $1.url.lastPathComponent) }
    }

    /// Deletes an archive with everything in it.
    ///
    /// - Throws: ``CocoaError`` with `.persistentStoreOperation` for a file that isn't an archive of this store.
    public func removeStoreArchive(_ archive: StoreArchive, of store: NSPersistentStore) throws {
        try check(archive, of: store)
        MirrorFile.remove(archive.url)
    }

    /// Replaces a store by one of its archives, and syncs it.
    ///
    /// For a person who is back, the archive's changes that were not sent are sent, and what happened since on the server is imported. For a
    /// person who has another account, or whose server lost its data, `asPresentAccount` sends all objects to the account that is signed
    /// in; shares go, and their objects are the user's alone. Ask the person first.
    ///
    ///     let archive = try container.storeArchives(of: store).last!
    ///     let (restored, replaced) = try await container.restoreStoreArchive(archive, in: store)
    ///     container.viewContext.reset()
    ///
    /// The store's present file is archived before; `replaced` is that archive. The store is removed from the coordinator and a new one is
    /// loaded from the same description: objects that contexts hold of it are invalid, so reset those contexts. The archive stays.
    ///
    /// An archive has everything that was in the file, also what somebody saved who was signed in before the server could be asked.
    ///
    /// If the process is killed meanwhile, the store is either as it was or the archive's; both are in archives then, and the call can be
    /// made again.
    ///
    /// - Parameter asPresentAccount: Whether the person confirmed that the objects of the archive's account are theirs.
    /// - Throws: ``CocoaError`` with `.persistentStoreOperation` for a file that isn't an archive of this store; for an archive of another
    ///   account or server than the store's, unless `asPresentAccount`; for `asPresentAccount` and a database that isn't private. What
    ///   loading throws, such as a model that cannot read the archive. The store is as it was then, but loaded anew in the last case.
    @discardableResult
    public func restoreStoreArchive(
        _ archive: StoreArchive, in store: NSPersistentStore, asPresentAccount: Bool = false
    ) async throws -> (store: NSPersistentStore, replaced: StoreArchive) {
        try check(archive, of: store)
        let mirror = try synced(store)
        let present = try mirror.translated { try mirror.file.owner() }
        try check(archive, mayReplaceStoreOf: present, asPresentAccount, mirror.file.accountRules)
        guard let url = store.url, let description = persistentStoreDescriptions.first(where: { $0.url == url }) else {
            throw CocoaError(.persistentStoreOperation, sentence: "The store has no description in persistentStoreDescriptions.")
        }
        let changes = try mirror.translated { try mirror.file.accountChangeLog() }
        let objectCount = try mirror.translated { try mirror.file.objectCount() }
        await mirror.stop()
        try persistentStoreCoordinator.remove(store)
        let note = ArchiveNote(owner: present, date: mirror.file.now, objectCount: Int64(objectCount))
        let replaced: StoreArchive
        do {
            replaced = StoreArchive(try MirrorFile.archive(url, note), note)
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
                sentence: "\(archive.url.lastPathComponent) is no archive of this store; storeArchives(of:) lists those there are.")
        }
    }

    private func check(_ archive: StoreArchive, mayReplaceStoreOf present: StoreOwner, _ asPresentAccount: Bool, _ rules: AccountRules) throws {
        if asPresentAccount {
            guard rules.mayUpload else {
                throw CocoaError(
                    .persistentStoreOperation, sentence: "Only objects of the private database can be sent to another account.")
            }
        } else if !rules.mayRestore(archiveOf: archive.note.owner, for: present) {
            throw CocoaError(
                .persistentStoreOperation,
                sentence: "The archive holds the objects of another account or server; pass asPresentAccount: true if the person confirms that they are theirs."
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

    /// Loads one store, and lets its mirror finish a restoration before anything is synced.
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

/// What is left to do once an archive has taken the place of a store's file.
struct StoreRestoration: Hashable, Sendable {
    /// Whether its objects are to be sent to the account that is signed in.
    var isForPresentAccount: Bool
    /// What the app has not acknowledged, as the replaced file had it.
    var accountChanges: [UInt8]?
}

extension Mirror {
    func finishRestoration() async throws {
        guard let restoration = restoration.withLock({ $0 }) else { return }
        tellContexts(deleted: try await onQueue { try self.file.finish(restoration) })
        self.restoration.withLock { $0 = nil }
    }
}

extension MirrorFile {
    func objectCount() throws -> Int { try store.write { try allKeys($0).count } }

    /// - Returns: Keys of rows that went because others stand for the same objects.
    func finish(_ restoration: StoreRestoration) throws -> [RowKey] {
        try store.write { writer in
            try BookkeepingTables.open(writer, home: homeZone)
            // What somebody else saved before the store was archived is in the archive, too; whoever restores it takes it.
            for key in [MirrorState.Key.credential, .stranger, .accountAnswer] { try MirrorState.set(key, .null, writer) }
            try MirrorState.set(.accountChanges, restoration.accountChanges.map { .blob(Data($0)) } ?? .null, writer)
            return restoration.isForPresentAccount ? try uploadEverything(writer) : []
        }
    }
}
