// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TarnMirror
import TestBasics
import Testing

/// The mirror's process ends between two writes, and requests and responses are lost.
@Suite(.closesFixtures, .timeLimit(.minutes(5))) struct CrashTests {
    /// Ends the phone's process at a step of its next sync, and opens its files again.
    ///
    /// - Parameter prepare: Changes the store before the next mirror exists.
    private func restart(
        _ pair: Pair, at step: MirrorEnvironment.Step, _ killer: Killer, prepare: (NSManagedObjectContext) throws -> Void = { _ in }
    ) async throws -> MirrorDevice {
        killer.kill(at: step)
        pair.phone.transport.goOnline()
        let killed = Task { try await pair.phone.sync() }
        await pair.phone.until { if case .error = $0.activity { true } else { false } }
        #expect(killer.kills == 1, "the sync reaches \(step)")
        try await pair.phone.kill()
        await #expect(throws: (any Error).self) { try await killed.value }
        return try MirrorDevice(pair.phone.transport, file: pair.phone.file, prepare: prepare)
    }

    /// Imports and exports of inserts, updates, deletions, links and conflicts, cut at each step.
    @Test(arguments: MirrorEnvironment.Step.allCases.filter { $0 != .launchBegun })
    func nothingIsLostOrDoubledByACrash(at step: MirrorEnvironment.Step) async throws {
        let killer = Killer()
        let pair = try await Pair(reached: { try killer.reached($0) })
        try pair.tablet.edit { context in
            for title in ["kept", "deleted", "edited", "both"] {
                let book = context.insert("Book", ["title": title])
                context.insert("Note", ["title": "note of \(title)"]).setValue(book, forKey: "book")
                book.setValue(Set([context.insert("Tag", ["title": "tag of \(title)"])]), forKey: "tags")
            }
        }
        try await pair.converge()
        try pair.tablet.edit { context in
            context.delete(try context.object("Book", "deleted"))
            try context.object("Book", "edited").setValue("elsewhere", forKey: "summary")
            try context.object("Book", "both").setValue("of the container", forKey: "summary")
            let book = context.insert("Novel", ["title": "new elsewhere"])
            book.setValue(Set([try context.object("Tag", "tag of kept")]), forKey: "tags")
        }
        try await pair.tablet.sync()
        pair.phone.transport.goOffline()
        try pair.phone.edit { context in
            try context.object("Book", "both").setValue("of the mirror", forKey: "summary")
            try context.object("Note", "note of deleted").setValue("unsent", forKey: "title")
            let book = context.insert("Book", ["title": "new here"])
            context.insert("Note", ["title": "note of new here"]).setValue(book, forKey: "book")
            book.setValue(Set([try context.object("Tag", "tag of edited")]), forKey: "tags")
        }
        await pair.phone.until { $0.activity == .offline }
        let phone = try await restart(pair, at: step, killer)
        let dump = try await pair.converge(phone)
        #expect(
            dump.split(separator: "\n").sorted() == [
                "Book  pages 0  summary elsewhere  title edited  notes [\"note of edited\"]  tags [\"tag of edited\"]",
                "Book  pages 0  summary of the mirror  title both  notes [\"note of both\"]  tags [\"tag of both\"]",
                "Book  pages 0  title kept  notes [\"note of kept\"]  tags [\"tag of kept\"]",
                "Book  pages 0  title new here  notes [\"note of new here\"]  tags [\"tag of edited\"]",
                "Note  title note of both  book → both", "Note  title note of edited  book → edited",
                "Note  title note of kept  book → kept", "Note  title note of new here  book → new here",
                "Novel  pages 0  title new elsewhere  tags [\"tag of kept\"]", "Tag  title tag of both  books [\"both\"]",
                "Tag  title tag of deleted", "Tag  title tag of edited  books [\"edited\", \"new here\"]",
                "Tag  title tag of kept  books [\"kept\", \"new elsewhere\"]",
            ])
        let losing = try await phone.mirror.conflicts().map { "\($0.propertyName) \($0.losingValue ?? "–")" }
        #expect(losing.sorted() == ["summary of the container", "title unsent"])
        #expect(try await pair.records(ofType: "CDMR").count == 5)
    }

    @Test func aSecondCrashWhileTheJournalIsAppliedLosesNothing() async throws {
        let killer = Killer()
        let pair = try await Pair(reached: { try killer.reached($0) })
        try await pair.converge()
        try pair.tablet.edit { context in for number in 0..<3 { context.insert("Book", ["title": "\(number)"]) } }
        try await pair.tablet.sync()
        let second = try await restart(pair, at: .rowsSaved, killer)
        // The process ends again before it syncs.
        try await second.kill()
        let third = try MirrorDevice(pair.phone.transport, file: pair.phone.file)
        #expect(try await pair.converge(third).split(separator: "\n").count == 3)
    }

    private static func deleteHistory(_ context: NSManagedObjectContext) throws {
        try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date(timeIntervalSinceReferenceDate: 1e12)))
    }

    /// With other names, the imported objects would be sent as new ones.
    @Test(arguments: [false, true]) func anImportWhoseHistoryWasDeletedKeepsItsNames(isEdited: Bool) async throws {
        let killer = Killer()
        let pair = try await Pair(reached: { try killer.reached($0) })
        try await pair.converge()
        try pair.tablet.edit { context in
            for number in 0..<3 {
                let book = context.insert("Book", ["title": "\(number)"])
                book.setValue(Set([context.insert("Tag", ["title": "tag of \(number)"])]), forKey: "tags")
            }
        }
        try await pair.tablet.sync()
        let phone = try await restart(pair, at: .rowsSaved, killer) { context in
            if isEdited {
                try context.object("Book", "1").setValue("edited", forKey: "summary")
                context.delete(try context.object("Book", "2"))
                try context.save()
            }
            try Self.deleteHistory(context)
        }
        let dump = try await pair.converge(phone)
        let tags = ["Tag  title tag of 0  books [\"0\"]", "Tag  title tag of 1  books [\"1\"]"]
        let edited = [
            "Book  pages 0  summary edited  title 1  tags [\"tag of 1\"]", "Book  pages 0  title 0  tags [\"tag of 0\"]",
        ]
        let unchanged = (0..<3).map { "Book  pages 0  title \($0)  tags [\"tag of \($0)\"]" }
        let last = isEdited ? "Tag  title tag of 2" : "Tag  title tag of 2  books [\"2\"]"
        #expect(dump == ((isEdited ? edited : unchanged) + tags + [last]).joined(separator: "\n"))
        #expect(try await pair.records(ofType: "CD_Book").count == (isEdited ? 2 : 3))
        #expect(try await phone.mirror.conflicts().isEmpty)
    }

    /// The journal is of rows that were not saved: the page is fetched again.
    @Test func aJournalWithoutItsRowsIsDroppedAlsoWithoutHistory() async throws {
        let killer = Killer()
        let pair = try await Pair(reached: { try killer.reached($0) })
        try await pair.converge()
        try pair.tablet.edit { context in for number in 0..<3 { context.insert("Book", ["title": "\(number)"]) } }
        try await pair.tablet.sync()
        let phone = try await restart(pair, at: .journalWritten, killer) { context in
            for number in 3..<6 { context.insert("Book", ["title": "\(number)"]) }
            try context.save()
            try Self.deleteHistory(context)
        }
        #expect(try await pair.converge(phone) == (0..<6).map { "Book  pages 0  title \($0)" }.joined(separator: "\n"))
        #expect(try await pair.records(ofType: "CD_Book").count == 6)
    }

    /// The disk is full at the launch, and the server is busy when the request is replayed: with another key, the device would merge its own
    /// value.
    @Test func aRequestInFlightAtACrashIsReplayedThoughTheLaunchCannotMarkIt() async throws {
        var model = Library.model
        model.entities[0].attributes[2].userInfo["syncPolicy"] = "counter"
        let (killer, faults) = (Killer(), Refusals())
        let transport = try await InProcessCloud().addUser("mia", device: "phone")
        let first = try MirrorDevice(transport, model: model, reached: { try killer.reached($0) })
        try first.edit { $0.insert("Book", ["title": "one", "pages": 1]) }
        try await first.sync()
        killer.kill(at: .responseReceived)
        try first.edit { try $0.object("Book", "one").setValue(2, forKey: "pages") }
        await first.until { if case .error = $0.activity { true } else { false } }
        try await first.kill()
        killer.kill(at: .launchBegun)
        faults.giveUpOnce("records/modify", status: 503, body: #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"busy"}"#)
        let second = try MirrorDevice(
            transport, file: first.file, model: model, retries: true, reached: { try killer.reached($0) }, faults: faults)
        try await second.sync()
        #expect(killer.kills == 2)
        #expect(try second.dump == "Book  pages 2  title one")
        #expect(second.mirror.status.conflictCount == 0)
    }

    /// Nothing is sent before the requests of an earlier launch are marked.
    @Test func aLaunchThatCannotMarkRequestsFailsTheSync() async throws {
        let killer = Killer(staysDead: true)
        let transport = try await InProcessCloud().addUser("mia", device: "phone")
        killer.kill(at: .launchBegun)
        let phone = try MirrorDevice(transport, reached: { try killer.reached($0) })
        try phone.edit { $0.insert("Book", ["title": "one"]) }
        await phone.until { if case .error = $0.activity { true } else { false } }
        #expect(!transport.log.contains("records/modify"))
        killer.revive()
        try await phone.sync()
        #expect(transport.log.contains("records/modify"))
    }

    @Test(arguments: [false, true])
    func aLostRequestOrResponseCreatesNoDuplicates(isRequestLost: Bool) async throws {
        let pair = try await Pair()
        try await pair.converge()
        let before = pair.phone.transport.log.count
        // An idle mirror sends the save immediately: that request is lost, or its response is.
        if isRequestLost { pair.phone.transport.loseNextRequests() } else { pair.phone.transport.loseNextAnswers() }
        try pair.phone.edit { context in
            let book = context.insert("Book", ["title": "once"])
            book.setValue(Set([context.insert("Tag", ["title": "tag"])]), forKey: "tags")
        }
        await pair.phone.until { $0.activity == .offline }
        try await pair.phone.sync()
        #expect(pair.phone.transport.log[before...].count { $0 == "records/modify" } == 2)
        #expect(try await pair.converge() == "Book  pages 0  title once  tags [\"tag\"]\nTag  title tag  books [\"once\"]")
        #expect(try await pair.records(ofType: "CD_Book").count == 1)
        #expect(try await pair.records(ofType: "CDMR").count == 1)
        #expect(try await pair.phone.mirror.conflicts().isEmpty)
    }

    @Test func aLostImportIsRepeated() async throws {
        let pair = try await Pair()
        try await pair.converge()
        try pair.tablet.edit { $0.insert("Book", ["title": "one"]) }
        try await pair.tablet.sync()
        pair.phone.transport.loseNextAnswers()
        let first = Task { try await pair.phone.sync() }
        await pair.phone.until { $0.activity == .offline }
        #expect(try await pair.converge() == "Book  pages 0  title one")
        // A caller waits through retries.
        try await first.value
    }

    @Test func anOfflineMirrorRetriesWithBackoff() async throws {
        let pair = try await Pair()
        try await pair.converge()
        pair.phone.transport.goOffline()
        try pair.phone.edit { $0.insert("Book", ["title": "offline"]) }
        await pair.phone.until { $0.activity == .offline && $0.pendingCount == 1 }
        // The poll's delay, and that of the first retry: the upper half of a second, in the middle.
        #expect(pair.phone.delays.all.contains(.seconds(0.75)))
        pair.phone.transport.goOnline()
        #expect(try await pair.converge() == "Book  pages 0  title offline")
    }
}
