// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import EngineFixtures
import Testing

/// The work of one query is bounded, and its result does not depend on the bound.
@Suite(.timeLimit(.minutes(2))) struct QueryWorkTests {
    private func words(_ count: Int, _ prefix: String) -> FieldValue {
        .list((0..<count).map { .string("\(prefix)\($0)") }, of: .string)
    }

    /// Compared pair by pair this would be 64 × 256 × 30,000 comparisons of texts.
    @Test func longListsAreComparedByHashing() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["tags": words(30_000, "Ω")])))
        let filters = (0..<64).map { QueryFilter(.field("tags"), .notListContainsAny, words(256, "other\($0)-")) }
        #expect(try await bench.names(Query(recordType: "Plant", filters: filters)).names == ["p1"])
        let all = [QueryFilter(.field("tags"), .listContainsAll, words(256, "ω"))]
        #expect(try await bench.names(Query(recordType: "Plant", filters: all)).names == ["p1"], "texts ignore case")
    }

    /// The build of an index can outlast the account.
    @Test func aPartitionWithoutRecordsGetsNoIndex() async throws {
        let bench = try Bench()
        let index = RecordIndex(recordType: "Plant", field: "count", kind: .values)
        let slice = try await bench.write { engine, unit, _ in try engine.indexes.build([index], in: unit) }
        #expect(slice == IndexSlice(isComplete: true, recordCount: 0))
        let indexes = try await bench.write { _, unit, _ in try unit.indexes(ofType: "Plant") }
        #expect(indexes == [])
    }

    @Test func aPageEndsWhenItsBytesAreUsedUp() async throws {
        var limits = Limits()
        limits.queryBytesPerPage = 3000
        let bench = try await Bench.withGarden(limits: limits)
        for number in 10..<40 { try await bench.modify(.init(.create, .plant("p\(number)", ["count": .int64(Int64(number % 7))]))) }
        let query = Query(recordType: "Plant", filters: [QueryFilter(.field("count"), .notEquals, .int64(-1))])
        var request = QueryRecordsRequest(query: query, zoneID: Bench.garden)
        var names: [String] = []
        var pageCount = 0
        repeat {
            let message = request
            let response = try await bench.query(message)
            names += response.results.map(\.recordName)
            request.continuationMarker = response.continuationMarker
            pageCount += 1
        } while request.continuationMarker != nil && pageCount < 100
        #expect(names.sorted() == (10..<40).map { "p\($0)" })
        #expect(pageCount > 3)
    }

    /// Matches that a response has no room for are not read, and come with the next page.
    @Test func theOrderOfAQueryDoesNotDependOnTheBytesOfAPage() async throws {
        var limits = Limits()
        limits.responseRecordBytes = 250
        let bench = try await Bench.withGarden(limits: limits)
        let zones = [Bench.garden, ZoneID(zoneName: "Field")]
        try await bench.makeZone(zones[1])
        let numbers = Array(10..<50)
        for number in numbers {
            let fields: [String: FieldValue] = ["count": .int64(Int64(number % 3)), "name": .string(String(repeating: "x", count: number))]
            try await bench.modify(.init(.create, .plant("p\(number)", fields)), in: zones[number % 2])
        }
        let count = QuerySort(.field("count"), ascending: true), name = QuerySort(.field("name"), ascending: false)
        let inOrder = numbers.sorted { ($0 % 3, -$0) < ($1 % 3, -$1) }
        // The first one leads along the index of the order, the second one along its own.
        let filters = [QueryFilter(.field("count"), .notEquals, .int64(-1)), QueryFilter(.field("count"), .greaterThan, .int64(-1))]
        for filter in filters {
            let garden = try await bench.names(.plants(filter, by: [count, name]))
            #expect(garden.names == inOrder.filter { $0.isMultiple(of: 2) }.map { "p\($0)" })
            #expect(garden.pages > 2)
            let both = try await bench.names(.plants(filter, by: [count, name]), in: nil, zoneWide: true)
            #expect(both.names == inOrder.map { "p\($0)" })
            #expect(both.pages > 4)
            let orders: [[QuerySort]] = [[], [count], [name]]
            for sorts in orders {
                let found = try await bench.names(.plants(filter, by: sorts), in: nil, zoneWide: true)
                #expect(found.names.sorted() == numbers.map { "p\($0)" }, "\(sorts.count) sorts")
                #expect(found.pages > 4)
            }
        }
        // Fields that are not desired take no room.
        var request = QueryRecordsRequest(query: .plants(filters[0], by: [count]), zoneID: Bench.garden)
        request.desiredKeys = ["count"]
        let message = request
        #expect(try await bench.query(message).results.count > 10)
    }

    /// Several sorts gather the records with one key of the first, which may be more than a page scans.
    @Test func aGroupLargerThanAPageDoesNotStopTheQuery() async throws {
        var limits = Limits()
        limits.recordsScannedPerPage = 100
        let bench = try await Bench.withGarden(limits: limits)
        let operations = (100..<350).map { number -> RecordOperation in
            .init(.create, .plant("p\(number)", ["count": .int64(number < 300 ? 1 : 2), "height": .double(Double(number % 7))]))
        }
        try await bench.modify(operations)
        let sorts = [QuerySort(.field("count"), ascending: true), QuerySort(.field("height"), ascending: false)]
        let filter = QueryFilter(.field("count"), .notEquals, .int64(-1))
        var request = QueryRecordsRequest(query: Query(recordType: "Plant", filters: [filter], sorts: sorts), zoneID: Bench.garden)
        var names: Set<String> = []
        var pageCount = 0
        repeat {
            let message = request
            let response = try await bench.query(message)
            names.formUnion(response.results.map(\.recordName))
            request.continuationMarker = response.continuationMarker
            pageCount += 1
        } while request.continuationMarker != nil && pageCount < 50
        #expect(names.count == 250)
        #expect(pageCount < 50)
    }

    @Test func aQueryThatCannotEndEarlyIsRefused() async throws {
        var limits = Limits()
        limits.queryBytesPerPage = 3000
        let bench = try await Bench.withGarden(limits: limits)
        for number in 0..<60 {
            let spot = RecordLocation(latitude: Double(number) / 10, longitude: 11)
            try await bench.modify(.init(.create, .plant("p\(number)", ["spot": .location(spot)])))
        }
        let farthest = QuerySort(.field("spot"), ascending: false, relativeLocation: RecordLocation(latitude: 0, longitude: 11))
        let query = Query(
            recordType: "Plant", filters: [QueryFilter(.field("spot"), .notEquals, .location(RecordLocation(latitude: 1, longitude: 1)))],
            sorts: [farthest])
        let refusal = await refusal { try await bench.names(query) }
        #expect(refusal?.code == .badRequest)
        #expect(refusal?.nativeCode == .limitExceeded)
    }

    @Test func aRecordWithManyWordsHasOneIndexEntry() async throws {
        let bench = try await Bench.withGarden()
        let text = (0..<3000).map { "word\($0)" }.joined(separator: " ")
        try await bench.modify(.init(.create, .plant("long", ["note": .string(text), "tags": words(3000, "tag")])))
        try await bench.modify(.init(.create, .plant("short", ["note": .string("word7"), "tags": words(1, "tag")])))
        let word = Query.plants(QueryFilter(.field("note"), .containsAllTokens, .string("word7")))
        #expect(try await bench.names(word).names.sorted() == ["long", "short"])
        let tag = Query.plants(QueryFilter(.field("tags"), .listContains, .string("tag0")))
        #expect(try await bench.names(tag).names.sorted() == ["long", "short"])
        try await bench.modify(.init(.forceUpdate, .plant("long", ["note": .string(text + " word9999")])))
        let later = Query.plants(QueryFilter(.field("note"), .containsAllTokens, .string("word9999")))
        #expect(try await bench.names(later).names == ["long"])
        let entryCount = try await bench.read { _, view, _ in
            let zone = try #require(try view.zone(named: "Garden"))
            return try view.indexes(ofType: "Plant").reduce(0) { count, index in
                try count + view.count(IndexScan(index: index.id, zone: zone.key, range: KeyRange(lower: [], upper: [2])), atMost: 10_000)
            }
        }
        #expect(entryCount <= 4, "two records in two indexes")
    }

    @Test func aListHasALimitOfElements() async throws {
        var limits = Limits()
        limits.elementsPerList = 10
        let bench = try await Bench.withGarden(limits: limits)
        let results = try await bench.modify(
            [.init(.create, .plant("a", ["tags": words(10, "t")])), .init(.create, .plant("b", ["tags": words(11, "t")]))], atomic: false)
        #expect(results.map(\.word) == ["saved", "BAD_REQUEST"])
        #expect(results[1].error?.nativeCode == .limitExceeded)
    }

    @Test func aZoneIsNamedOnceInARequestForChanges() async throws {
        let bench = try await Bench.withGarden()
        let request = ZoneChangesRequest(zones: Array(repeating: ZoneChangesQuery(zoneID: Bench.garden), count: 2))
        let refusal = await refusal { try await bench.read { try $0.feed.zoneChanges(request, in: $1, $2) } }
        #expect(refusal?.code == .badRequest)
    }

    /// A list of the whole request is one of each zone.
    @Test func desiredKeysOfAllZonesHaveALimit() async throws {
        var limits = Limits()
        limits.valuesPerRequest = 10
        let bench = try await Bench.withGarden(limits: limits)
        let shed = ZoneID(zoneName: "Shed")
        try await bench.makeZone(shed)
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage"), "count": .int64(1)])))
        func request(keys: Int) -> ZoneChangesRequest {
            let names = ["name"] + (1..<keys).map { "key\($0)" }
            return ZoneChangesRequest(
                zones: [Bench.garden, shed].map { ZoneChangesQuery(zoneID: $0, desiredKeys: names, desiredRecordTypes: ["Plant"]) })
        }
        let (fitting, large) = (request(keys: 4), request(keys: 5))
        let page = try await bench.read { try $0.feed.zoneChanges(fitting, in: $1, $2) }.zones[0]
        #expect(page.changes?.records.map { $0.fields.keys.sorted() } == [["name"]])
        let refusal = await refusal { try await bench.read { try $0.feed.zoneChanges(large, in: $1, $2) } }
        #expect(refusal?.nativeCode == .limitExceeded)
    }

    /// Keys of an item precede those of the request.
    @Test func desiredKeysOfAnItemPrecedeThoseOfTheRequest() async throws {
        let bench = try await Bench.withGarden()
        let fields: [String: FieldValue] = ["a": .int64(1), "b": .int64(2)]
        let operations = [
            RecordOperation(.create, .plant("p1", fields)), RecordOperation(.create, .plant("p2", fields), desiredKeys: ["b"]),
            RecordOperation(.create, .plant("p3", fields), desiredKeys: []),
        ]
        let request = ModifyRecordsRequest(operations: operations, zoneID: Bench.garden, desiredKeys: ["a"])
        let saved = try await bench.write { try $0.records.modify(request, in: $1, $2).response.results }
        #expect(saved.map { $0.record?.fields.keys.sorted() } == [["a"], ["b"], []])
        let items = [LookupRecordsRequest.Item(recordName: "p1"), LookupRecordsRequest.Item(recordName: "p2", desiredKeys: ["b"])]
        let lookup = LookupRecordsRequest(records: items, zoneID: Bench.garden, desiredKeys: ["a"])
        let read = try await bench.read { try $0.records.lookup(lookup, in: $1, $2).results }
        #expect(read.map { $0.record?.fields.keys.sorted() } == [["a"], ["b"]])
    }

    @Test func zonesOfSeveralOwnersShareTheRoomOfOneResponse() async throws {
        var limits = Limits()
        limits.responseRecordBytes = 5000
        let bench = try await Bench.withGarden(limits: limits)
        for number in 0..<8 {
            try await bench.modify(.init(.create, .plant("p\(number)", ["note": .string(String(repeating: "x", count: 1000))])))
        }
        let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: Bench.garden)])
        let counts = try await bench.read { engine, view, call in
            var room = try engine.feed.pageRoom(for: request, call)
            return try (0..<3).map { _ -> Int in
                guard case .changes(let page)? = try engine.feed.zoneChanges(request, room: &room, in: view, call).zones.first else {
                    return -1
                }
                #expect(page.moreComing)
                return page.records.count
            }
        }
        #expect(counts[0] > 0)
        #expect(counts.reduce(0, +) <= 6, "five records of 1,000 bytes fill the room")
        #expect(counts[2] == 0)
    }
}
