// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite(.timeLimit(.minutes(10))) struct RemoteChangeTests {
    /// The contents of a notification, as values.
    private struct Posting: Sendable {
        let store: String?
        let url: URL?
        let token: NSPersistentHistoryToken?
    }

    private func postings(
        of container: NSPersistentContainer
    ) -> (stream: AsyncStream<Posting>, observer: any NSObjectProtocol) {
        let (stream, feed) = AsyncStream.makeStream(of: Posting.self)
        let observer = NotificationCenter.default.addObserver(
            forName: .NSPersistentStoreRemoteChange, object: container.persistentStoreCoordinator, queue: nil
        ) { note in
            feed.yield(
                Posting(
                    store: note.userInfo?[NSStoreUUIDKey] as? String, url: note.userInfo?[NSPersistentStoreURLKey] as? URL,
                    token: note.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken))
        }
        return (stream, observer)
    }

    @Test func remoteChangesArePostedForOwnSaves() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("own-\(UUID().uuidString).sqlite")
        let container = try Notes.container(at: url, postsChanges: true)
        let (stream, observer) = postings(of: container)
        defer { NotificationCenter.default.removeObserver(observer) }
        try Notes.save(container) { Notes.insert("a", into: $0) }
        var iterator = stream.makeAsyncIterator()
        let posting = try #require(await iterator.next())
        let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
        #expect(posting.store == store.identifier)
        #expect(posting.token == container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: [store]))
        try container.persistentStoreCoordinator.remove(store)
    }

    @Test func remoteChangesArePostedForSavesOfAnotherCoordinator() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("two-\(UUID().uuidString).sqlite")
        let container = try Notes.container(at: url, postsChanges: true)
        let writer = try Notes.container(at: url)
        let (stream, observer) = postings(of: container)
        defer { NotificationCenter.default.removeObserver(observer) }
        try Notes.save(writer, author: "other") { Notes.insert("a", into: $0) }
        var iterator = stream.makeAsyncIterator()
        let posting = try #require(await iterator.next())
        #expect(posting.store == container.persistentStoreCoordinator.persistentStores.first?.identifier)
        #expect(posting.token != nil)
        let context = container.newBackgroundContext()
        #expect(try await context.perform { try Notes.titles(in: context) } == ["a"])
    }

    @Test func remoteChangesArePostedForSavesOfAnotherProcess() async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "process-\(UUID().uuidString).sqlite")
        setenv("TARN_PARITY_STORE", url.path, 1)
        let container = try Notes.container(at: url, postsChanges: true)
        try Notes.save(container, author: "parent") { Notes.insert("mine", into: $0) }
        let before = try #require(container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
        let (stream, observer) = postings(of: container)
        defer { NotificationCenter.default.removeObserver(observer) }
        await #expect(processExitsWith: .success) {
            let path = try #require(ProcessInfo.processInfo.environment["TARN_PARITY_STORE"])
            let child = try Notes.container(at: URL(fileURLWithPath: path))
            try Notes.save(child, author: "child") { Notes.insert("theirs", into: $0) }
        }
        var iterator = stream.makeAsyncIterator()
        // The process ends with a checkpoint, or without; the posting is the save's.
        let posting = try #require(await iterator.next())
        #expect(posting.store == container.persistentStoreCoordinator.persistentStores.first?.identifier)
        #expect(posting.url?.lastPathComponent == url.lastPathComponent)
        #expect(posting.token != before)
        let context = container.newBackgroundContext()
        let authors = try await context.perform {
            let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: before))
            return ((result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])?.map(\.author)
        }
        #expect(authors == ["child"])
        #expect(try await context.perform { try Notes.titles(in: context) } == ["mine", "theirs"])
        for suffix in ["", "-wal", "-shm", "-lock"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
    }
}
