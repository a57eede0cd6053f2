// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Code written for Apple's framework runs as it stands.
@Suite struct TypicalCodeTests {
    @Test func codeWithCompletionHandlersRuns() async throws {
        let cloud = try TestCloud()
        let store = NoteStore(container: try await cloud.device("phone").container)
        #expect(await withCheckedContinuation { done in store.checkAccount { done.resume(returning: $0) } })
        #expect(await withCheckedContinuation { done in store.createZone { done.resume(returning: $0 == nil) } })
        var notes = ["a", "b", "c", "d", "e"].map { Note(title: $0) }
        notes[2].isPinned = true
        notes[2].tags = ["x"]
        let batch = notes
        let saved = await withCheckedContinuation { done in
            store.save(batch) { records, error in done.resume(returning: (records.count, error == nil)) }
        }
        #expect(saved == (5, true))
        let pinned = await withCheckedContinuation { done in
            store.fetchPinned { result in done.resume(returning: (try? result.get())?.map(\.title)) }
        }
        #expect(pinned == ["c"])
        let found = await withCheckedContinuation { done in
            store.fetchAll(matching: NSPredicate(format: "title > %@", "a")) { notes, _ in
                done.resume(returning: notes.map(\.title).sorted())
            }
        }
        #expect(found == ["b", "c", "d", "e"])
        #expect(await withCheckedContinuation { done in store.subscribe { done.resume(returning: $0 == nil) } })

        let other = NoteStore(container: try await cloud.device("tablet").container)
        #expect(await withCheckedContinuation { done in other.fetchChanges { done.resume(returning: $0 == nil) } })
        #expect(other.notes.count == 5)
        #expect(other.notes[notes[2].id]?.tags == ["x"])
        let token = try #require(other.storedToken())
        other.restoreToken(token)
        #expect(other.storedToken() != nil)
    }

    @Test func tooManyNotesAreSplit() async throws {
        let cloud = try TestCloud()
        let store = NoteStore(container: try await cloud.device("phone").container)
        #expect(await withCheckedContinuation { done in store.createZone { done.resume(returning: $0 == nil) } })
        let notes = (0..<500).map { Note(title: "\($0)") }
        let saved = await withCheckedContinuation { done in
            store.save(notes) { records, error in done.resume(returning: (records.count, error == nil)) }
        }
        #expect(saved == (500, true))
    }

    @Test func codeWithAsyncFunctionsRuns() async throws {
        let cloud = try TestCloud()
        let here = BookRepository(container: try await cloud.device("phone").container)
        let there = BookRepository(container: try await cloud.device("tablet").container)
        try await here.prepare()
        let books = [(100, "A"), (400, "B"), (500, "C")].map { Book(id: UUID(), title: $1, pages: $0, rating: nil) }
        #expect(try await here.store(books, removing: []).isEmpty)
        #expect(try await here.long().map(\.title) == ["B", "C"])
        try await there.sync()
        #expect(await there.books.count == 3)
        try await there.rate(books[0].id, 4.5)
        try await here.sync()
        #expect(await here.books[books[0].id]?.rating == 4.5)
        #expect(try await here.store([], removing: [books[1].id]).isEmpty)
        try await there.sync()
        #expect(await there.books.count == 2)
    }

    @Test func codeAroundTheSyncEngineRuns() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone")
        let here = ContactSync(container: phone.container)
        let there = ContactSync(container: try await cloud.device("tablet").container)
        here.save("Mia", id: "1")
        here.save("Ben", id: "2")
        try await here.engine.sendChanges()
        try await there.engine.fetchChanges()
        #expect(there.names == ["1": "Mia", "2": "Ben"])
        there.save("Mia Ott", id: "1")
        here.save("Mia O.", id: "1")
        try await there.engine.sendChanges()
        try await here.engine.sendChanges()
        try await there.engine.fetchChanges()
        #expect(there.names["1"] == "Mia O.")
        here.delete(id: "2")
        try await here.engine.sendChanges()
        try await there.engine.fetchChanges()
        #expect(there.names == ["1": "Mia O."])
    }

    @Test func errorsLeadToDecisions() {
        #expect(decide(CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: 7.0])) == .retry(after: 7))
        #expect(decide(CKError(.networkFailure)) == .retry(after: 3))
        #expect(decide(CKError(.zoneNotFound)) == .recreateZone)
        #expect(decide(CKError(.changeTokenExpired)) == .forgetToken)
        #expect(decide(CKError(.notAuthenticated)) == .signIn)
        #expect(decide(CKError(.quotaExceeded)) == .giveUp)
        #expect(decide(CocoaError(.fileNoSuchFile)) == .giveUp)
        let partial: [AnyHashable: Error] = [
            CKRecord.ID(recordName: "a"): CKError(.batchRequestFailed), CKRecord.ID(recordName: "b"): CKError(.serverRecordChanged),
        ]
        #expect(decide(CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: partial])) == .merge)
    }

    @Test func pushesNameTheDatabaseToRefresh() {
        var scopes: [CKDatabase.Scope] = []
        let push: [AnyHashable: Any] = ["ck": ["met": ["sid": "s", "dbs": 3]]]
        handlePush(push) { scopes.append($0) }
        handlePush(["aps": [:]]) { scopes.append($0) }
        #expect(scopes == [.shared])
    }
}
