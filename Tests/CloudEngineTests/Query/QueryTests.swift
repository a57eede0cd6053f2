// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudWire
import EngineFixtures
import StorageFixtures
import Testing

@Suite struct QueryTests {
    private func garden(limits: Limits = Limits()) async throws -> Bench {
        let bench = try await Bench.withGarden(limits: limits)
        try await bench.modify(
            .init(
                .create,
                .plant(
                    "p1",
                    [
                        "name": .string("Sage"), "count": .int64(3), "height": .double(0.5), "planted": .timestamp(1000),
                        "tags": .list([.string("herb"), .string("Evergreen")], of: .string),
                        "bed": .reference(RecordReference(recordName: "bed-7")),
                        "spot": .location(RecordLocation(latitude: 48.137, longitude: 11.575)),
                        "note": .string("Café au lait, and the sun"), "photo": .bytes([1]),
                    ])),
            .init(.create, .plant("p2", ["name": .string("sage leaf"), "count": .int64(7), "height": .double(2)])),
            .init(.create, .plant("p3", ["name": .string("Rosemary"), "tags": .list([.string("herb")], of: .string)])))
        try await bench.indexSystemFields()
        return bench
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let text: String
        let filter: QueryFilter
        let expected: String

        init(
            _ text: String, _ key: QueryKey, _ comparator: QueryFilter.Comparator, _ value: FieldValue, _ expected: String,
            within distance: Double? = nil
        ) {
            self.text = text
            filter = QueryFilter(key, comparator, value, distance: distance)
            self.expected = expected
        }

        var testDescription: String { text }
    }

    private static let munich = FieldValue.location(RecordLocation(latitude: 48.14, longitude: 11.58))

    static let cases: [Case] = [
        Case("equal texts ignore case", .field("name"), .equals, .string("SAGE"), "p1"),
        Case("unequal holds where the field is missing", .field("count"), .notEquals, .int64(3), "p2 p3"),
        Case("less", .field("count"), .lessThan, .int64(7), "p1"),
        Case("at most", .field("count"), .lessThanOrEquals, .int64(7), "p1 p2"),
        Case("more, a whole number for a fraction", .field("height"), .greaterThan, .int64(1), "p2"),
        Case("at least, a number for a date", .field("planted"), .greaterThanOrEquals, .int64(1000), "p1"),
        Case("one of", .field("count"), .isIn, .list([.int64(7), .int64(8)], of: .int64), "p2"),
        Case("none of", .field("count"), .isNotIn, .list([.int64(7)], of: .int64), "p1 p3"),
        Case("one of nothing", .field("count"), .isIn, .list([], of: nil), ""),
        Case("contains", .field("tags"), .listContains, .string("herb"), "p1 p3"),
        Case("contains not", .field("tags"), .notListContains, .string("herb"), "p2"),
        Case(
            "contains any, each record once", .field("tags"), .listContainsAny,
            .list([.string("herb"), .string("evergreen")], of: .string), "p1 p3"),
        Case("contains all", .field("tags"), .listContainsAll, .list([.string("herb"), .string("evergreen")], of: .string), "p1"),
        Case(
            "contains not all", .field("tags"), .notListContainsAll, .list([.string("herb"), .string("evergreen")], of: .string), "p2 p3"),
        Case("prefix", .field("name"), .beginsWith, .string("Sa"), "p1"),
        Case("not prefix", .field("name"), .notBeginsWith, .string("Sa"), "p2 p3"),
        Case("prefix of an element", .field("tags"), .listMemberBeginsWith, .string("Ever"), "p1"),
        Case("reference", .field("bed"), .equals, .reference(RecordReference(recordName: "bed-7", zoneID: Bench.garden)), "p1"),
        Case(
            "reference in another zone", .field("bed"), .equals, .reference(RecordReference(recordName: "bed-7", zoneID: .defaultZone)), ""),
        Case("near", .field("spot"), .near, munich, "p1", within: 1000),
        Case("too far", .field("spot"), .near, munich, "", within: 100),
        Case("all words", .field("note"), .containsAllTokens, .string("CAFE sun"), "p1"),
        Case("not all words", .field("note"), .containsAllTokens, .string("cafe moon"), ""),
        Case("any word", .field("note"), .containsAnyTokens, .string("moon sun"), "p1"),
        Case("stop words match nothing", .field("note"), .containsAnyTokens, .string("and the"), ""),
        Case("words of all fields", .allSearchable, .containsAllTokens, .string("sage lait"), "p1"),
        Case("name", .system(.recordName), .equals, .string("p2"), "p2"),
        Case(
            "name as a reference", .system(.recordName), .isIn, .list([.reference(RecordReference(recordName: "p3"))], of: .reference), "p3"
        ),
        Case("creator", .system(.createdUserRecordName), .equals, .reference(RecordReference(recordName: "_mia")), "p1 p2 p3"),
        Case(
            "creator, as a user of the default zone", .system(.createdUserRecordName), .equals,
            .reference(RecordReference(recordName: "_mia", zoneID: .defaultZone)), "p1 p2 p3"),
        Case(
            "creator, as whoever asks", .system(.createdUserRecordName), .isIn,
            .list([.reference(RecordReference(recordName: "__defaultOwner__"))], of: .reference), "p1 p2 p3"),
        Case(
            "somebody else", .system(.createdUserRecordName), .notEquals,
            .reference(RecordReference(recordName: "_mia", zoneID: .defaultZone)), ""),
        Case("time", .system(.modifiedTimestamp), .lessThan, .timestamp(Bench.start), ""),
    ]

    @Test func everyComparatorFindsWhatItSays() async throws {
        let bench = try await garden()
        for item in Self.cases {
            let found = try await bench.names(.plants(item.filter)).names
            #expect(found.sorted().joined(separator: " ") == item.expected, "\(item.text)")
        }
    }

    @Test func ordersAreKept() async throws {
        let bench = try await garden()
        func names(_ sorts: QuerySort...) async throws -> String {
            try await bench.names(.plants(by: sorts)).names.joined(separator: " ")
        }
        #expect(try await names(QuerySort(.field("name"))) == "p3 p1 p2")
        #expect(try await names(QuerySort(.field("count"))) == "p3 p1 p2", "what lacks the field comes first")
        #expect(try await names(QuerySort(.field("count"), ascending: false)) == "p2 p1 p3")
        #expect(try await names(QuerySort(.system(.createdTimestamp)), QuerySort(.field("count"), ascending: false)) == "p2 p1 p3")
        let near = QuerySort(.field("spot"), relativeLocation: RecordLocation(latitude: 0, longitude: 0))
        #expect(try await names(near) == "p1 p2 p3")
        var far = near
        far.ascending = false
        #expect(try await names(far) == "p3 p2 p1")
    }

    @Test func aQuerySeesWhatWasSavedAndDeletedAfterItsIndexWasMade() async throws {
        let bench = try await garden()
        let sage = Query.plants(QueryFilter(.field("name"), .beginsWith, .string("S")))
        #expect(try await bench.names(sage).names == ["p1"])
        try await bench.modify(.init(.forceUpdate, .plant("p3", ["name": .string("Savory")])), .init(.forceDelete, .plant("p1")))
        #expect(try await bench.names(sage).names == ["p3"])
        try await bench.deleteZone(Bench.garden)
        try await bench.makeZone(Bench.garden)
        #expect(try await bench.names(sage).names == [])
    }

    @Test func zonesAreSearchedAsAsked() async throws {
        let bench = try await garden()
        try await bench.modify(.init(.create, .plant("d1", ["name": .string("Thyme")])), in: .defaultZone)
        let all = Query.plants(by: [QuerySort(.field("name"))])
        #expect(try await bench.names(all, in: nil).names == ["d1"])
        #expect(try await bench.names(all, in: nil, zoneWide: true, limit: 1).names == ["p3", "p1", "p2", "d1"])
        #expect(try await bench.names(all, in: Bench.garden, zoneWide: true).names == ["p3", "p1", "p2"])
        let error = await refusal { try await bench.names(all, in: ZoneID(zoneName: "Nowhere")) }
        #expect(error?.code == .zoneNotFound)
    }

    @Test func desiredKeysAndStringsAreGivenAsAsked() async throws {
        let bench = try await garden()
        let query = Query.plants(QueryFilter(.field("count"), .equals, .int64(3)))
        var request = QueryRecordsRequest(query: query, zoneID: Bench.garden, desiredKeys: ["count"])
        let record = try #require(try await bench.query(request).results[0].record)
        #expect(record.fields == ["count": Field(.int64(3))])
        #expect(record.zoneID?.zoneName == "Garden")
        #expect(record.created != nil)
        request.desiredKeys = []
        #expect(try await bench.query(request).results[0].record?.fields == [:])
    }

    struct Refused: CustomTestStringConvertible, Sendable {
        let query: Query
        let reason: String

        var testDescription: String { reason }
    }

    static let refused: [Refused] = [
        Refused(query: Query(recordType: "Tree"), reason: "Did not find record type: Tree"),
        Refused(query: Query(recordType: "Users"), reason: "the type Users cannot be queried"),
        Refused(query: .plants(QueryFilter(.field("colour"), .equals, .int64(1))), reason: "Unknown field 'colour'"),
        Refused(query: .plants(), reason: "Field 'recordName' is not marked queryable"),
        Refused(
            query: .plants(QueryFilter(.system(.createdTimestamp), .equals, .timestamp(1))),
            reason: "Field 'createdTimestamp' is not marked queryable"),
        Refused(query: .plants(QueryFilter(.field("photo"), .equals, .bytes([1]))), reason: "Field 'photo' is not marked queryable"),
        Refused(query: .plants(QueryFilter(.field("bed"), .lessThan, .string("x"))), reason: "Field 'bed' is not marked sortable"),
        Refused(
            query: .plants(QueryFilter(.field("count"), .containsAnyTokens, .string("x"))), reason: "Field 'count' is not marked searchable"
        ),
        Refused(query: .plants(QueryFilter(.field("count"), .equals, .string("x"))), reason: "Invalid value, expected type INT64"),
        Refused(query: .plants(QueryFilter(.field("planted"), .equals, .double(0.5))), reason: "Invalid value, expected type TIMESTAMP"),
        Refused(query: .plants(QueryFilter(.field("count"), .isIn, .int64(1))), reason: "Invalid value, expected type INT64_LIST"),
        Refused(query: .plants(QueryFilter(.field("count"), .equals, nil)), reason: "the filter on 'count' has no fieldValue"),
        Refused(query: .plants(QueryFilter(.field("spot"), .near, munich)), reason: "NEAR needs a distance in metres"),
        Refused(
            query: .plants(QueryFilter(.field("count"), .equals, .int64(1)), by: [QuerySort(.field("spot"))]),
            reason: "an order by field 'spot' needs a relativeLocation"),
        Refused(
            query: .plants(QueryFilter(.field("count"), .equals, .int64(1)), by: [QuerySort(.field("tags"))]),
            reason: "Field 'tags' is not marked sortable"),
    ]

    @Test func aQueryThatCannotBeIsRefusedWithTheFieldNamed() async throws {
        let bench = try await garden()
        try await bench.write { _, unit, _ in
            var schema = try unit.schema(ofType: "Plant") ?? RecordTypeSchema()
            schema.systemIndexes = [:]
            try unit.save(schema, ofType: "Plant")
        }
        for item in Self.refused {
            let error = await refusal { try await bench.names(item.query) }
            #expect(error?.reason == item.reason)
            #expect(error?.code == (item.query.recordType == "Tree" ? .notFound : .badRequest))
        }
    }

    @Test func countsOfAQueryHaveLimits() async throws {
        var limits = Limits()
        (limits.filtersPerQuery, limits.sortsPerQuery, limits.valuesPerFilter, limits.recordsPerResponse) = (2, 1, 3, 2)
        let bench = try await garden(limits: limits)
        let one = QueryFilter(.field("count"), .greaterThan, .int64(0))
        #expect(try await bench.names(.plants(one, one)).names == ["p1", "p2"])
        #expect(await refusal { try await bench.names(.plants(one, one, one)) }?.nativeCode == .limitExceeded)
        let sort = QuerySort(.field("count"))
        #expect(await refusal { try await bench.names(.plants(one, by: [sort, sort])) }?.nativeCode == .limitExceeded)
        func list(_ count: Int) -> Query {
            .plants(QueryFilter(.field("count"), .isIn, .list((0..<count).map { .int64(Int64($0)) }, of: .int64)))
        }
        #expect(try await bench.names(list(3)).names == [])
        #expect(await refusal { try await bench.names(list(4)) }?.nativeCode == .limitExceeded)
        #expect(try await bench.names(.plants()).pages == 2)
        #expect(await refusal { try await bench.names(.plants(), limit: 0) }?.code == .badRequest)
    }

    @Test func aMarkerIsGoodForItsQueryOnly() async throws {
        let bench = try await garden()
        var request = QueryRecordsRequest(query: .plants(), zoneID: Bench.garden, resultsLimit: 1)
        let marker = try #require(try await bench.query(request).continuationMarker)
        request.continuationMarker = marker
        #expect(try await bench.query(request).results[0].recordName == "p2")
        var other = request
        other.query.sorts = [QuerySort(.field("name"))]
        let forged = String(marker.dropLast(6)) + "AAAAAA"
        for (request, marker) in [
            (other, marker), (request, forged), (request, ""), (request, "%"), (request, String(repeating: "A", count: 400)),
        ] {
            var request = request
            request.continuationMarker = marker
            #expect(await refusal { try await bench.query(request) }?.code == .badRequest)
        }
        let bo = bench.call(user: "_bo")
        try await bench.makeZone(Bench.garden, bo)
        #expect(await refusal { try await bench.query(request, as: bo) }?.code == .badRequest)
    }

    @Test func encryptedFieldsAreNotQueried() async throws {
        let bench = try await garden()
        var secret = Record.plant("s")
        secret.fields["secret"] = Field(.string("x"), isEncrypted: true)
        try await bench.modify(.init(.create, secret))
        let filter = QueryFilter(.field("secret"), .equals, .string("x"))
        #expect(await refusal { try await bench.names(.plants(filter)) }?.code == .badRequest)
        #expect(try await bench.names(.plants(by: [QuerySort(.field("secret"))])).names.count == 4)
    }

    @Test(.onSQLite("its query plans")) func everyStatementOfQueriesSearchesAPrimaryKey() async throws {
        let bench = try Bench()
        let plans = try await #require(bench.store as? SQLiteServerStore).explainQueries()
        #expect(plans.count == 6)
        for (name, lines) in plans {
            #expect(lines.allSatisfy { !$0.contains("SCAN") || $0.contains("SCAN (subquery") }, "\(name): \(lines)")
            #expect(lines.allSatisfy { !$0.contains("TEMP B-TREE") }, "\(name): \(lines)")
            #expect(lines.contains { $0.contains("part=?") }, "\(name): \(lines)")
        }
        let rising = try #require(plans["rising"]).joined()
        #expect(rising.contains("zone=? AND number=? AND (key,name)>(?,?)"), "\(rising)")
    }
}
