// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return bits ^ bits >> 31
    }
}

/// Random records, changes and queries of few different values, so that much is equal.
struct QueryWorld {
    var random: SeededGenerator

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &random)] }

    mutating func text() -> String {
        pick([
            "", "a", "A", "b", "Sage", "sage", "sage leaf", "SAGE the herb", "Ärger", "ärger", "z\u{0}y", "z\u{1}", "z",
            String(repeating: "long ", count: 60) + pick(["x", "y"]),
        ])
    }

    mutating func element() -> FieldValue { .string(pick(["red", "Red", "green", "blue", "blau"])) }

    mutating func place() -> RecordLocation {
        RecordLocation(
            latitude: pick([-90, -45.5, 0, 0.001, 0.002, 48.137, 48.2, 90, Double.random(in: -90...90, using: &random)]),
            longitude: pick([-180, -179.99, 0, 0.001, 11.575, 11.6, 179.99, 180, Double.random(in: -180...180, using: &random)]))
    }

    mutating func integer() -> Int64 { pick([-3, 0, 1, 2, 3, 7, 1 << 53, 1 << 53 + 1, .max, .min]) }

    mutating func double() -> Double { pick([-1.5, -0.0, 0, 0.5, 2, 1e300, -1e300]) }

    mutating func value(_ field: String) -> FieldValue {
        switch field {
        case "name": .string(text())
        case "count": .int64(Int64.random(in: 0...5, using: &random))
        case "big": .int64(integer())
        case "height": .double(double())
        case "planted": .timestamp(Int64.random(in: 0...9, using: &random))
        case "bed": .reference(RecordReference(recordName: pick(["b1", "b2"])))
        case "spot": .location(place())
        default: .list((0..<Int.random(in: 0...3, using: &random)).map { _ in element() }, of: .string)
        }
    }

    static let fields = ["name", "count", "big", "height", "planted", "bed", "spot", "tags"]

    mutating func record(_ name: String) -> Record {
        var fields: [String: FieldValue] = [:]
        for field in Self.fields where Int.random(in: 0...4, using: &random) > 0 { fields[field] = value(field) }
        return .plant(name, fields)
    }

    mutating func filter() -> QueryFilter {
        let field = pick(Self.fields)
        let ordered: [QueryFilter.Comparator] = [
            .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .equals, .notEquals, .isIn, .isNotIn,
        ]
        var comparators = ordered
        switch field {
        case "name": comparators += [.beginsWith, .notBeginsWith, .containsAllTokens, .containsAnyTokens]
        case "bed": comparators = [.equals, .notEquals, .isIn, .isNotIn]
        case "spot": return QueryFilter(.field(field), .near, .location(place()), distance: pick([0, 200, 20_000, 5_000_000, 21_000_000]))
        case "tags":
            comparators = [
                .listContains, .notListContains, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll,
                .listMemberBeginsWith, .notListMemberBeginsWith, .containsAnyTokens,
            ]
        default: break
        }
        let comparator = pick(comparators)
        switch comparator {
        case .isIn, .isNotIn, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll:
            let values = (0..<Int.random(in: 1...3, using: &random)).map { _ in field == "tags" ? element() : value(field) }
            return QueryFilter(.field(field), comparator, .list(values, of: values[0].type))
        case .listContains, .notListContains: return QueryFilter(.field(field), comparator, element())
        case .listMemberBeginsWith, .notListMemberBeginsWith:
            return QueryFilter(.field(field), comparator, .string(pick(["r", "bl", "R", ""])))
        case .beginsWith, .notBeginsWith:
            return QueryFilter(.field(field), comparator, .string(pick(["", "s", "S", "sage", "z", "ä", "long long"])))
        case _ where field == "name" && (comparator == .containsAllTokens || comparator == .containsAnyTokens):
            return QueryFilter(.field(field), comparator, .string(pick(["sage", "leaf sage", "herb the", "long", "the", "none"])))
        case .containsAnyTokens: return QueryFilter(.field(field), .listContains, element())
        default: return QueryFilter(.field(field), comparator, value(field))
        }
    }

    mutating func sort() -> QuerySort {
        let field = pick(["name", "count", "big", "height", "planted", "spot", "modified"])
        let ascending = Bool.random(using: &random)
        if field == "modified" { return QuerySort(.system(.modifiedTimestamp), ascending: ascending) }
        return QuerySort(.field(field), ascending: ascending, relativeLocation: field == "spot" ? place() : nil)
    }

    mutating func query() -> Query {
        Query(
            recordType: "Plant", filters: (0..<pick([0, 0, 1, 1, 2, 3])).map { _ in filter() },
            sorts: (0..<pick([0, 1, 1, 2])).map { _ in sort() })
    }
}

@Suite struct RandomQueryTests {
    /// Records are saved, changed and deleted between queries; after each round the engine answers random queries page by
    /// page, and a plain evaluation of the same records says the same.
    @Test(arguments: [(1, 10_000), (2, 10_000), (3, 7), (4, 60)] as [(UInt64, Int)])
    func theEngineAnswersAsAPlainEvaluation(_ seed: UInt64, _ scanned: Int) async throws {
        var limits = Limits()
        limits.recordsScannedPerPage = scanned
        let bench = try await Bench.withGarden(limits: limits)
        try await bench.makeZone(ZoneID(zoneName: "Yard"))
        let zones = [Bench.garden, ZoneID(zoneName: "Yard")]
        var world = QueryWorld(random: SeededGenerator(seed: seed))
        var present: [String: [String: Record]] = [:]
        for round in 0..<3 {
            for zone in zones {
                var operations: [RecordOperation] = []
                for number in 0..<60 where round == 0 || Int.random(in: 0...3, using: &world.random) == 0 {
                    let name = "\(zone.zoneName)-\(number)"
                    if Int.random(in: 0...9, using: &world.random) == 0 {
                        operations.append(.init(.forceDelete, .plant(name)))
                    } else {
                        operations.append(.init(.forceReplace, world.record(name)))
                    }
                }
                let results = try await bench.modify(operations, in: zone, as: bench.call(now: Bench.start + Int64(round)))
                for record in results.compactMap(\.record) {
                    present[zone.zoneName, default: [:]][record.recordName] = record.isDeleted ? nil : record
                }
                #expect(results.allSatisfy { $0.error == nil })
            }
            if round == 0 { try await bench.indexSystemFields() }
            for _ in 0..<40 {
                let query = world.query()
                let zone = world.pick([zones[0], zones[1], nil])
                let limit = world.pick([1, 3, 50, nil])
                let records = zones.filter { zone == nil || $0 == zone }.flatMap { Array(present[$0.zoneName, default: [:]].values) }
                let oracle = QueryOracle(records: records)
                let expected = oracle.matches(query)
                let found = try await bench.names(query, in: zone, zoneWide: true, limit: limit).names
                let isComplete = found.sorted() == expected.map(\.recordName).sorted()
                #expect(isComplete, "\(query) limit \(limit ?? 0) found \(found.count) expected \(expected.count)")
                let byName = Dictionary(records.map { ($0.recordName, $0) }, uniquingKeysWith: { first, _ in first })
                let isInOrder = oracle.isInOrder(found.compactMap { byName[$0] }, query)
                #expect(isInOrder, "\(query) limit \(limit ?? 0)")
            }
        }
    }

    @Test func theWayDoesNotChangeTheAnswer() async throws {
        var limits = Limits()
        limits.requestRecordBytes = 16_000_000
        let bench = try await Bench.withGarden(limits: limits)
        var records: [Record] = []
        var world = QueryWorld(random: SeededGenerator(seed: 9))
        for start in stride(from: 0, to: 2400, by: 200) {
            let operations = (start..<start + 200).map { number in
                RecordOperation(
                    .create,
                    .plant(
                        "p\(number)",
                        [
                            "many": .int64(Int64(number % 2)), "few": .int64(Int64(number % 97)),
                            "order": .int64(Int64.random(in: 0...40, using: &world.random)),
                            "spot": .location(world.place()),
                        ]))
            }
            records += try await bench.modify(operations).compactMap(\.record)
        }
        try await bench.indexSystemFields()
        let oracle = QueryOracle(records: records)
        let byName = Dictionary(records.map { ($0.recordName, $0) }, uniquingKeysWith: { first, _ in first })
        let many = QueryFilter(.field("many"), .equals, .int64(1))
        let few = QueryFilter(.field("few"), .equals, .int64(5))
        let orders: [[QuerySort]] = [
            [], [QuerySort(.field("order"))], [QuerySort(.field("order"), ascending: false)],
            [QuerySort(.field("order")), QuerySort(.field("few"), ascending: false)],
            [QuerySort(.field("spot"), relativeLocation: RecordLocation(latitude: 10, longitude: 179))],
        ]
        for filters in [[many], [few], [many, few], []] {
            for sorts in orders {
                let query = Query(recordType: "Plant", filters: filters, sorts: sorts)
                let found = try await bench.names(query, limit: 190).names
                #expect(Set(found).count == found.count, "\(query)")
                #expect(found.count == oracle.matches(query).count, "\(query)")
                let isInOrder = oracle.isInOrder(found.compactMap { byName[$0] }, query)
                #expect(isInOrder, "\(query)")
            }
        }
    }

    @Test func aPageThatExaminesManyRecordsIsShortAndContinues() async throws {
        var limits = Limits()
        limits.recordsScannedPerPage = 100
        let bench = try await Bench.withGarden(limits: limits)
        for start in stride(from: 0, to: 1200, by: 200) {
            try await bench.modify(
                (start..<start + 200).map {
                    .init(.create, .plant("p\($0)", ["n": .int64(Int64($0)), "t": .string($0 == 1100 ? "x" : "y")]))
                })
        }
        try await bench.indexSystemFields()
        let query = Query.plants(QueryFilter(.field("t"), .notEquals, .string("y")), by: [QuerySort(.field("n"))])
        let (names, pages) = try await bench.names(query)
        #expect(names == ["p1100"])
        #expect(pages >= 11)
        let grouped = Query.plants(
            QueryFilter(.field("t"), .notEquals, .string("y")), by: [QuerySort(.field("n")), QuerySort(.field("t"))])
        let again = try await bench.names(grouped)
        #expect(again.names == ["p1100"])
        #expect(again.pages >= 11)
    }
}
