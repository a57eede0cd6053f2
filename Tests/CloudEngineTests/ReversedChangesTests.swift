// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

/// `reverse` in `changes/zone`, and the token that `getCurrentSyncToken` asks for.
@Suite struct ReversedChangesTests {
    private func page(_ bench: Bench, since token: String? = nil, limit: Int? = nil, reverse: Bool? = true) async throws -> ZoneChanges {
        let query = ZoneChangesQuery(zoneID: Bench.garden, syncToken: token, resultsLimit: limit, reverse: reverse)
        let response = try await bench.read { try $0.feed.zoneChanges(ZoneChangesRequest(zones: [query]), in: $1, $2) }
        return try #require(response.zones.first?.changes)
    }

    private func names(_ page: ZoneChanges) -> [String] { page.records.map { ($0.isDeleted ? "-" : "") + $0.recordName } }

    @Test func theNewestChangeComesFirstPageByPage() async throws {
        let bench = try await Bench.withGarden()
        for name in ["a", "b", "c", "d", "e"] { try await bench.modify(.init(.create, .plant(name))) }
        try await bench.modify(.init(.forceUpdate, .plant("b")), .init(.forceDelete, .plant("d")))

        let first = try await page(bench, limit: 2)
        #expect(names(first) == ["b", "e"], "without a token deletions are not listed")
        #expect(first.moreComing, "without a token deletions are not listed")
        // Concurrent changes do not disturb the traversal.
        try await bench.modify(.init(.forceUpdate, .plant("a")), .init(.create, .plant("f")))
        let second = try await page(bench, since: first.syncToken, limit: 2)
        #expect(names(second) == ["c"], "a moved on, to behind the point at which the walk began")
        #expect(!second.moreComing, "a moved on, to behind the point at which the walk began")
        let rest = try await page(bench, since: second.syncToken, reverse: nil)
        #expect(names(rest) == ["a", "f"])
        #expect(!rest.moreComing)
        #expect(names(try await page(bench, since: rest.syncToken)).isEmpty)
    }

    @Test func aTokenEndsTheWalkAndBringsDeletions() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("a")), .init(.create, .plant("b")))
        let start = try await page(bench, reverse: nil)
        try await bench.modify(.init(.create, .plant("c")), .init(.forceDelete, .plant("a")), .init(.create, .plant("d")))
        var token = start.syncToken
        var seen: [String] = []
        var more = true
        while more {
            let page = try await page(bench, since: token, limit: 1)
            seen += names(page)
            (token, more) = (page.syncToken, page.moreComing)
        }
        #expect(seen == ["d", "-a", "c"])
        #expect(names(try await page(bench, since: token, reverse: nil)).isEmpty)
    }

    @Test func theTokenOfAWalkDecidesItsDirection() async throws {
        let bench = try await Bench.withGarden()
        for name in ["a", "b", "c"] { try await bench.modify(.init(.create, .plant(name))) }
        let first = try await page(bench, limit: 1)
        let rest = try await page(bench, since: first.syncToken, reverse: nil)
        #expect(names(first) + names(rest) == ["c", "b", "a"])
    }

    @Test func aTokenOfAnotherZoneIsRefusedInEitherDirection() async throws {
        let bench = try await Bench.withGarden()
        for name in ["a", "b"] { try await bench.modify(.init(.create, .plant(name))) }
        let token = try await page(bench, limit: 1).syncToken
        let other = ZoneID(zoneName: "Other")
        try await bench.makeZone(other)
        let error = try await bench.zoneChanges(since: token, in: other).error
        #expect(error?.nativeCode == .changeTokenExpired)
    }

    @Test func responsesHaveTheCurrentTokenOnRequest() async throws {
        let bench = try await Bench.withGarden()
        var asking = bench.call()
        asking.wantsSyncToken = true
        let request = ModifyRecordsRequest(operations: [.init(.create, .plant("a"))], zoneID: Bench.garden)
        let token = try await bench.write(asking) { try $0.records.modify(request, in: $1, $2).response.syncToken }
        #expect(names(try await page(bench, since: token, reverse: nil)).isEmpty)
        #expect(token != nil)
        let lookup = LookupRecordsRequest(recordNames: ["a"], zoneID: Bench.garden)
        #expect(try await bench.read(asking) { try $0.records.lookup(lookup, in: $1, $2).syncToken } == token)
        #expect(try await bench.read { try $0.records.lookup(lookup, in: $1, $2).syncToken } == nil)
        let parent = QueryFilter(.system(.parent), .equals, .reference(RecordReference(recordName: "x")))
        let query = QueryRecordsRequest(query: Query(recordType: "Plant", filters: [parent]), zoneID: Bench.garden)
        // Makes the index.
        _ = try await bench.query(query)
        #expect(try await bench.read(asking) { try $0.queries.page(query, in: $1, $2).syncToken } == token)
        #expect(try await bench.read { try $0.queries.page(query, in: $1, $2).syncToken } == nil)
        let inDefault = ModifyRecordsRequest(operations: [.init(.create, .plant("a"))], zoneID: .defaultZone)
        #expect(try await bench.write(asking) { try $0.records.modify(inDefault, in: $1, $2).response.syncToken } == nil)
    }
}
