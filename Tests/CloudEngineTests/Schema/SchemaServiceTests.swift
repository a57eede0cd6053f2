// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import EngineFixtures
import Testing

@Suite struct SchemaServiceTests {
    private func service(_ bench: Bench) -> SchemaService {
        SchemaService(
            containerIdentifier: "iCloud.org.example.notes", engine: bench.engine, storage: bench.store,
            surroundings: CloudService.Surroundings(now: { Bench.start + 9 }, randomBytes: { [UInt8](repeating: 7, count: $0) }))
    }

    private func production(_ call: Call) -> Call {
        var call = call
        call.partition.environment = .production
        return call
    }

    @Test func typesOfDevelopmentWorkInProductionOnceDeployed() async throws {
        let bench = try await Bench.withGarden()
        let schemas = service(bench)
        let inProduction = production(bench.call())
        try await bench.makeZone(Bench.garden, inProduction)
        let sage = RecordOperation(.create, .plant("p1", ["name": .string("Sage")]))
        #expect(try await bench.modify(sage)[0].word == "saved")
        #expect(
            try await bench.modify(sage, as: inProduction)[0].error?.reason == "record type 'Plant' is not in the production schema")

        let changes = try await schemas.deploy()
        #expect(
            changes.map(\.line) == [
                "+ type Plant", "+ field Plant.name STRING QUERYABLE SEARCHABLE SORTABLE", "~ grant Plant to _creator: nothing -> WRITE",
                "~ grant Plant to _icloud: nothing -> CREATE", "~ grant Plant to _world: nothing -> READ",
            ])
        #expect(try await bench.modify(sage, as: inProduction)[0].word == "saved")
        let query = Query.plants(QueryFilter(.field("name"), .beginsWith, .string("S")))
        #expect(try await bench.names(query, as: inProduction).names == ["p1"])
        let new = RecordOperation(.create, .plant("p2", ["height": .double(1)]))
        #expect(
            try await bench.modify(new, as: inProduction)[0].error?.reason
                == "field 'height' of type 'Plant' is not in the production schema")
        #expect(try await schemas.deploy().isEmpty)
        #expect(try await bench.lookup("p1", in: .defaultZone, as: inProduction)[0].word == "NOT_FOUND", "no data is copied")
    }

    @Test func anImportReplacesDevelopmentAndTakesTheValuesAway() async throws {
        let bench = try await Bench.withGarden()
        let schemas = service(bench)
        try await bench.modify(
            .init(.create, .plant("p1", ["name": .string("Sage"), "count": .int64(1)])),
            .init(.create, Record(recordName: "t1", recordType: "Tree")))
        let token = try #require(try await bench.zoneChanges().changes?.syncToken)
        let text = "DEFINE SCHEMA RECORD TYPE Plant (\"___recordID\" REFERENCE QUERYABLE, name STRING, GRANT READ TO \"_icloud\");"
        let schema = try ContainerSchema(text: text)
        #expect(try await schemas.validate(schema).map(\.line).contains("- field Plant.count INT64"))
        #expect(try await bench.lookup("t1")[0].word == "saved", "validating changes nothing")
        _ = try await schemas.importSchema(schema)

        #expect(try await schemas.export(.development) == schema.completed)
        #expect(try await bench.lookup("t1")[0].word == "NOT_FOUND")
        #expect(try await bench.lookup("p1")[0].record?.fields == ["name": Field(.string("Sage"))])
        #expect(try await bench.zoneChanges(since: token).picture.split(separator: " ").sorted() == ["+p1", "-t1"])
        #expect(try await bench.names(.plants()).names == ["p1"])
        let sorted = Query.plants(by: [QuerySort(.field("name"))])
        #expect(await refusal { try await bench.names(sorted) }?.reason == "Field 'name' is not marked sortable")
        #expect(try await bench.modify(.init(.create, .plant("p2", ["count": .string("now a text")])))[0].word == "saved")
        #expect(try await schemas.importSchema(try await schemas.export(.development)).isEmpty)
    }

    /// Records of several databases and zones are counted, more of them than one slice has.
    @Test func recordsThatAnImportDeletesAreCountedFirst() async throws {
        let bench = try await Bench.withGarden()
        let schemas = service(bench)
        let slice = bench.engine.limits.operationsPerRequest
        for start in [0, slice] {
            let trees = (0..<slice).map { Record(recordName: "t\(start + $0)", recordType: "Tree", fields: ["age": Field(.int64(1))]) }
            #expect(try await bench.modify(trees.map { RecordOperation(.create, $0) }).allSatisfy { $0.word == "saved" })
        }
        try await bench.modify(
            .init(.create, .plant("p1", ["name": .string("Sage"), "count": .int64(1)])), .init(.create, .plant("p2", ["count": .int64(2)])),
            .init(.create, .plant("p3", ["name": .string("Mint")])))
        let schema = try ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE Plant (name INT64);")
        let removals = try await schemas.removals(by: schema)
        #expect(removals.lines == ["\(2 * slice) records of type Tree", "2 values of field Plant.count", "2 values of field Plant.name"])
        #expect(try await schemas.removals(by: try await schemas.export(.development)).isEmpty)
        #expect(try await bench.lookup("t0")[0].word == "saved")
        // The type is in the schema and no record has it.
        let used = "DEFINE SCHEMA RECORD TYPE Tree (age INT64); RECORD TYPE Plant (name STRING, count INT64);"
        _ = try await schemas.importSchema(ContainerSchema(text: used + " RECORD TYPE Rock (weight INT64);"))
        #expect(try await schemas.removals(by: ContainerSchema(text: used)).isEmpty)
    }

    /// The editor of a type knows the schema of when its page was loaded; types that apps made since are not its to delete.
    @Test func changingATypeLeavesTheOthers() async throws {
        let bench = try await Bench.withGarden()
        let schemas = service(bench)
        let tree = Record(recordName: "t1", recordType: "Tree")
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])), .init(.create, tree))
        let isThere = try await schemas.changeType("Plant") { type, _ in type.schema.fields["name"]?.indexes = .queryable }
        #expect(isThere)
        #expect(try await schemas.export(.development).types["Plant"]?.schema.fields["name"]?.indexes == .queryable)
        #expect(try await bench.lookup("t1")[0].word == "saved")
        #expect(try await schemas.changeType("Rock") { _, _ in } == false)
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let fields: String
        /// Nil if production allows it.
        let reason: String?

        var testDescription: String { fields }
    }

    static let cases: [Case] = [
        Case(fields: "a STRING QUERYABLE, n NUMBER", reason: nil),
        Case(fields: "a STRING, n NUMBER", reason: nil),
        Case(fields: "a STRING SORTABLE, b LIST<INT64>, n NUMBER", reason: nil),
        Case(fields: "a STRING QUERYABLE, n NUMBER PREFERRED AS INT64", reason: nil),
        Case(fields: "n NUMBER", reason: "field 'a' of type 'P' is in production and cannot be removed"),
        Case(fields: "a INT64, n NUMBER", reason: "field 'a' of type 'P' is STRING in production and cannot become INT64"),
        Case(
            fields: "a ENCRYPTED STRING, n NUMBER",
            reason: "field 'a' of type 'P' is STRING in production and cannot become ENCRYPTED STRING"),
        Case(fields: "a LIST<STRING>, n NUMBER", reason: "field 'a' of type 'P' is STRING in production and cannot become LIST<STRING>"),
        Case(fields: "a STRING, n INT64", reason: "field 'n' of type 'P' is NUMBER in production and cannot become INT64"),
    ]

    @Test(arguments: cases)
    func productionOnlyGrows(_ item: Case) async throws {
        let bench = try Bench()
        let schemas = service(bench)
        _ = try await schemas.importSchema(ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE P (a STRING QUERYABLE, n NUMBER);"))
        _ = try await schemas.deploy()
        let before = try await schemas.export(.production)
        let schema = try ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE P (\(item.fields));")
        guard let reason = item.reason else {
            _ = try await schemas.importSchema(schema)
            _ = try await schemas.deploy()
            let after = try await schemas.export(.production)
            #expect(before.changes(to: after).allSatisfy { !$0.line.hasPrefix("-") })
            return
        }
        for attempt in [schemas.validate, schemas.importSchema] {
            let refused = await #expect(throws: SchemaRefused.self) { _ = try await attempt(schema) }
            #expect(refused?.reasons == [reason])
        }
        #expect(try await schemas.export(.development) == before)
    }

    /// A request refuses deletions that cascade to too many records together. A removal has parts, so that none is refused.
    @Test func aRemovedTypeTakesManyRecordsAlong() async throws {
        var limits = Limits()
        limits.recordsTakenAlong = 60
        let bench = try await Bench.withGarden(limits: limits)
        for index in 10..<50 {
            let bed = FieldValue.reference(RecordReference(recordName: "bed\(index)", action: .deleteSelf))
            try await bench.modify(
                .init(.create, Record(recordName: "bed\(index)", recordType: "Bed")), .init(.create, .plant("p\(index)", ["bed": bed])),
                .init(.create, .plant("q\(index)", ["bed": bed])))
        }
        try await service(bench).remove(nil, ofType: "Bed")
        let names = try await bench.read { _, view, _ in try view.records(after: nil, limit: 200).map(\.record.recordName) }
        #expect(names == [])
    }

    @Test func aTypeOfProductionCannotGo() async throws {
        let bench = try Bench()
        let schemas = service(bench)
        _ = try await schemas.importSchema(ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE P (a STRING); RECORD TYPE Q (b INT64);"))
        _ = try await schemas.deploy()
        let refused = await #expect(throws: SchemaRefused.self) { _ = try await schemas.importSchema(ContainerSchema()) }
        #expect(
            refused?.reasons == [
                "record type 'P' is in production and cannot be removed", "record type 'Q' is in production and cannot be removed",
            ])
    }

    @Test func aNumbersPreferenceIsChosenOnce() throws {
        let old = try ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE P (n NUMBER PREFERRED AS INT64);")
        for text in ["n NUMBER", "n NUMBER PREFERRED AS DOUBLE"] {
            let new = try ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE P (\(text));")
            #expect(throws: SchemaRefused.self) { try new.check(against: old) }
        }
    }

    @Test func aNumberFieldTakesBothKindsAndOrdersThem() async throws {
        let bench = try await Bench.withGarden()
        let text = "DEFINE SCHEMA RECORD TYPE Plant (\"___recordID\" REFERENCE QUERYABLE, n NUMBER QUERYABLE SORTABLE);"
        _ = try await service(bench).importSchema(ContainerSchema(text: text))
        let results = try await bench.modify(
            .init(.create, .plant("a", ["n": .double(2.5)])), .init(.create, .plant("b", ["n": .int64(2)])),
            .init(.create, .plant("c", ["n": .int64(3)])), .init(.create, .plant("d", ["n": .string("four")])), atomic: false)
        #expect(results.map(\.word) == ["saved", "saved", "saved", "BAD_REQUEST"])
        #expect(try await bench.names(.plants(by: [QuerySort(.field("n"))])).names == ["b", "a", "c"])
        #expect(try await bench.names(.plants(QueryFilter(.field("n"), .greaterThan, .int64(2)))).names == ["a", "c"])
    }

    @Test func resettingMakesDevelopmentEqualToProductionAndEmpty() async throws {
        let bench = try await Bench.withGarden()
        let schemas = service(bench)
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])))
        _ = try await schemas.deploy()
        let inProduction = production(bench.call())
        try await bench.makeZone(Bench.garden, inProduction)
        try await bench.modify(.init(.create, .plant("kept")), as: inProduction)
        try await bench.modify(.init(.create, .plant("p2", ["height": .double(1)])))
        let token = try await bench.databaseChanges().syncToken
        let changes = try await schemas.reset()
        #expect(changes.map(\.line) == ["- field Plant.height DOUBLE"])
        #expect(await refusal { try await bench.lookup("p1") }?.code == .zoneNotFound)
        #expect(await refusal { try await bench.databaseChanges(since: token) }?.nativeCode == .changeTokenExpired)
        #expect(try await bench.lookup("kept", as: inProduction)[0].word == "saved")
    }
}
