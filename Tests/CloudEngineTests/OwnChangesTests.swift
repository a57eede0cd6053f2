// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

/// `nextSyncToken`: a client that was up to date and changed a zone needs no fetch; no other client gets the token.
@Suite struct OwnChangesTests {
    private func token(_ bench: Bench) async throws -> String { try #require(try await bench.zoneChanges().changes).syncToken }

    private func next(_ bench: Bench, knowing token: String?, _ operations: RecordOperation...) async throws -> String? {
        var call = bench.call()
        call.knownSyncToken = token
        let request = ModifyRecordsRequest(operations: operations, zoneID: Bench.garden, atomic: false)
        return try await bench.write(call) { try $0.records.modify(request, in: $1, $2).response.nextSyncToken }
    }

    @Test func aCurrentTokenIsAdvancedByOwnChanges() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("a")))
        var known = try await token(bench)
        for (index, operation) in [
            RecordOperation(.create, .plant("b")), .init(.forceUpdate, .plant("a")), .init(.forceDelete, .plant("b")),
        ].enumerated() {
            let next = try #require(try await next(bench, knowing: known, operation))
            let page = try #require(try await bench.zoneChanges(since: next).changes)
            #expect(page.records.isEmpty)
            #expect(!page.moreComing)
            #expect(page.syncToken == next)
            let echo = try #require(try await bench.zoneChanges(since: known).changes)
            #expect(echo.records.count == 1, "step \(index): without the token the change comes back")
            known = next
        }
        // A rejected operation changes nothing, and is part of the response.
        #expect(try await next(bench, knowing: known, .init(.create, .plant("a")), .init(.create, .plant("c"))) != nil)
    }

    @Test func changesOfOtherDevicesAreNotSkipped() async throws {
        let bench = try await Bench.withGarden()
        let known = try await token(bench)
        try await bench.modify(.init(.create, .plant("theirs")))
        #expect(try await next(bench, knowing: known, .init(.create, .plant("mine"))) == nil)
        let page = try #require(try await bench.zoneChanges(since: known).changes)
        #expect(page.records.map(\.recordName) == ["theirs", "mine"])
    }

    @Test func cascadedDeletionsAreNotSkipped() async throws {
        let bench = try await Bench.withGarden()
        let leaf = FieldValue.reference(RecordReference(recordName: "root", action: .deleteSelf))
        try await bench.modify(.init(.create, .plant("root")), .init(.create, .plant("leaf", ["on": leaf])))
        let known = try await token(bench)
        #expect(try await next(bench, knowing: known, .init(.forceDelete, .plant("root"))) == nil)
        let page = try #require(try await bench.zoneChanges(since: known).changes)
        #expect(Set(page.records.map(\.recordName)) == ["root", "leaf"])
    }

    @Test func anInvalidTokenDoesNotRejectTheRequest() async throws {
        let bench = try await Bench.withGarden()
        try await bench.makeZone(ZoneID(zoneName: "Shed"))
        let shed = try #require(try await bench.zoneChanges(in: ZoneID(zoneName: "Shed")).changes).syncToken
        let database = try await bench.databaseChanges().syncToken
        for (index, known) in [nil, "", "00", shed, database].enumerated() {
            #expect(try await next(bench, knowing: known, .init(.create, .plant("r\(index)"))) == nil)
        }
        #expect(try await bench.lookup("r0", "r1", "r2", "r3", "r4").allSatisfy { $0.word == "saved" })
    }
}
