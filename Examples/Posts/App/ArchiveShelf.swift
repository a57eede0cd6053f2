// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The archives that were made for another account or another server.
@MainActor final class ArchiveShelf {
    private let container: NSPersistentCloudKitContainer
    private let feed: PostFeed
    private var isRestoring = false

    init(_ container: NSPersistentCloudKitContainer, _ feed: PostFeed) {
        self.container = container
        self.feed = feed
    }

    /// Newest first.
    func list() throws -> [ArchiveMessage] {
        try container.storeArchives(of: store()).reversed().map {
            ArchiveMessage(name: $0.url.lastPathComponent, date: $0.date.timeIntervalSince1970 * 1000, objects: $0.objectCount)
        }
    }

    /// Replaces the store by an archive. The replaced store is archived before.
    ///
    /// - Parameter isOwn: Whether the person said that the posts of another account or server are theirs: all of them are sent then.
    /// - Throws: ``ArchiveOfAnotherAccount`` for such an archive if `isOwn` is false; ``PostMissing`` for an unknown name.
    func restore(_ name: String, isOwn: Bool) async throws {
        // The store is another one once the first call is over.
        guard !isRestoring else { throw ArchiveBusy() }
        isRestoring = true
        defer { isRestoring = false }
        let store = try store()
        let archive = try archive(name, of: store)
        do {
            try await container.restoreStoreArchive(archive, in: store, asPresentAccount: isOwn)
        } catch let error as CocoaError where !isOwn && error.code == .persistentStoreOperation {
            throw ArchiveOfAnotherAccount(reason: error.localizedDescription)
        }
        // Objects of the replaced store are invalid.
        container.viewContext.reset()
        try feed.reload()
    }

    func remove(_ name: String) throws {
        let store = try store()
        try container.removeStoreArchive(try archive(name, of: store), of: store)
    }

    /// Removes account changes that the page has shown.
    func acknowledgeChanges() throws { try container.acknowledgeAccountChanges(in: store()) }

    private func archive(_ name: String, of store: NSPersistentStore) throws -> NSPersistentCloudKitContainer.StoreArchive {
        let archives = try container.storeArchives(of: store)
        guard let archive = archives.first(where: { $0.url.lastPathComponent == name }) else { throw PostMissing() }
        return archive
    }

    private func store() throws -> NSPersistentStore {
        guard let store = container.store(.own) else { throw ArchiveBusy() }
        return store
    }
}

/// The person must confirm that the posts are theirs.
struct ArchiveOfAnotherAccount: Error {
    let reason: String
}

/// Another archive is being restored.
struct ArchiveBusy: Error {}
