// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import EngineFixtures
import Testing

/// The history of a record: user, field, device, time and request of each change.
@Suite struct BiographyTests {
    private func call(_ bench: Bench, _ minutes: Int64, device: String = "tablet", request: String) -> Call {
        var call = bench.call(now: Bench.start + minutes * 60_000)
        call.caller.deviceID = device
        call.requestUUID = request
        return call
    }

    /// `kind fields` of each event, newest first.
    private func lines(_ biography: RecordBiography) -> [String] {
        biography.events.map { "\($0.change.kind.rawValue) \($0.change.fields.joined(separator: ","))" }
    }

    @Test func everyChangeIsThereWithItsFieldsAndItsRequest() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(
            .init(.create, .plant("a", ["name": .string("one"), "size": .int64(1)])), .init(.create, .plant("b")),
            as: call(bench, 1, request: "R1"))
        try await bench.modify(
            .init(.forceUpdate, .plant("a", ["name": .string("two"), "size": .int64(1)])),
            as: call(bench, 2, device: "phone", request: "R2"))
        try await bench.modify(.init(.forceUpdate, .plant("b", ["name": .string("B")])), as: call(bench, 3, request: "R3"))
        try await bench.modify(.init(.forceReplace, .plant("a", ["name": .string("two")])), as: call(bench, 4, request: "R4"))
        try await bench.modify(.init(.forceDelete, Record(recordName: "a")), as: call(bench, 5, request: "R5"))
        let deleted = try await bench.biography("a")
        #expect(lines(deleted) == ["deleted ", "saved size", "saved name", "created name,size"])
        #expect(deleted.events.map(\.requestUUID) == ["R5", "R4", "R2", "R1"])
        #expect(deleted.events.map(\.deviceID) == ["tablet", "tablet", "phone", "tablet"])
        #expect(deleted.events.map { ($0.time - Bench.start) / 60_000 } == [5, 4, 2, 1])
        #expect(deleted.events.allSatisfy { $0.userRecordName == "_mia" })
        #expect(deleted.next == nil)
        #expect(!deleted.isCut)
        #expect(lines(try await bench.biography("b")) == ["saved name", "created "])

        // A record made again goes on with its history.
        try await bench.modify(.init(.create, .plant("a", ["x": .int64(1)])), as: call(bench, 6, request: "R6"))
        let again = try await bench.biography("a")
        #expect(lines(again).first == "created x")
        #expect(again.events.count == 5)
        let tag = try await bench.lookup("a").first?.record?.recordChangeTag
        #expect(tag != nil)
        #expect(again.events.first?.changeTag == tag)
    }

    @Test func pagesGoOnWhereTheLastOneEnded() async throws {
        let bench = try await Bench.withGarden()
        for number in 0..<Int64(5) { try await bench.modify(.init(.forceUpdate, .plant("a", ["size": .int64(number)]))) }
        let first = try await bench.biography("a", limit: 2)
        let second = try await bench.biography("a", from: first.next, limit: 2)
        let third = try await bench.biography("a", from: second.next, limit: 2)
        #expect([first, second, third].map(\.events.count) == [2, 2, 1])
        #expect(third.next == nil)
        #expect(!third.isCut)
        #expect(third.events.last?.change.kind == .created)
    }

    @Test func aRefusedRequestLeavesNothing() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("a", ["size": .int64(1)])))
        let refused = ModifyRecordsRequest(
            operations: [
                .init(.forceUpdate, .plant("a", ["size": .int64(2)])), .init(.create, .plant("a2", ["size": .string("x")])),
            ],
            zoneID: Bench.garden, atomic: true)
        _ = try await bench.write { try $0.records.modify(refused, in: $1, $2).response }
        #expect(lines(try await bench.biography("a")) == ["created size"])
        #expect(await refusal { try await bench.biography("a2") }?.code == .notFound)
    }

    @Test func recordsOfACascadeSayWhyTheyWent() async throws {
        let bench = try await Bench.withGarden()
        let reference = FieldValue.reference(RecordReference(recordName: "a", action: .deleteSelf))
        try await bench.modify(.init(.create, .plant("a")), .init(.create, .plant("b", ["bed": reference])))
        try await bench.modify(.init(.forceDelete, Record(recordName: "a")))
        #expect(lines(try await bench.biography("a")) == ["deleted ", "created "])
        #expect(lines(try await bench.biography("b")) == ["cascaded ", "created bed"])
    }

    @Test func anEntryWithVeryLongNamesCountsThoseThatItHasNoRoomFor() {
        let names = (0..<30).map { String(repeating: "n", count: 200) + String($0) }
        let change = ChangeLogEntry.Change(number: 1, previous: nil, kind: .saved, fields: names)
        let entry = ChangeLogEntry(time: 0, author: "", deviceID: "", requestUUID: "", changes: [change, change])
        #expect(entry.changes.allSatisfy { $0.fields.count + $0.fieldsOmitted == 30 && $0.fields.count == 20 })
        #expect(StoredChanges(entry.changes).encoded().count < 2 * ChangeLogEntry.nameBytesMax)
    }

    @Test func storedEntriesWithWrongPositionsAreRefused() throws {
        let text = #"{"fields":["a"],"changes":[{"number":1,"kind":"saved","fields":[0]}]}"#
        #expect(try StoredChanges(json: Array(text.utf8)).changes.first?.fields == ["a"])
        let wrong = [
            text.replacing("[0]", with: "[1]"), text.replacing("[0]", with: "[-1]"), text.replacing("saved", with: "lost"),
            #"{"fields":[]}"#,
        ]
        for wrong in wrong {
            #expect(throws: WireError.self) { try StoredChanges(json: Array(wrong.utf8)) }
        }
    }

    @Test func historyIsForTheOwnerAndForTheOperatorInThePublicDatabase() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("a")))
        var stranger = bench.call()
        stranger.caller.userRecordName = "_bo"
        let refused = await refusal { try await bench.biography("a", as: stranger) }
        #expect(refused?.code == .accessDenied)
        var user = bench.call()
        user.partition.scope = .public
        user.partition.owner = Partition.publicOwner
        let refusedInPublic = await refusal { try await bench.biography("a", in: .defaultZone, as: user) }
        #expect(refusedInPublic?.code == .accessDenied)
    }

    @Test func entriesExpireWithTheMemoryOfDeletions() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("a")))
        let day: Int64 = 86_400_000
        try await bench.store.removeExpired(now: Bench.start + 89 * day)
        #expect(lines(try await bench.biography("a")) == ["created "])
        try await bench.store.removeExpired(now: Bench.start + 91 * day)
        let cut = try await bench.biography("a")
        #expect(cut.events.isEmpty)
        #expect(cut.isCut)
    }
}
