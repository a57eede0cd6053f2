// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

@Suite struct BatchTests {
    @Test func anAtomicBatchStoresAllOrNothing() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1")))
        let operations: [RecordOperation] = [
            .init(.create, .plant("p0")), .init(.create, .plant("p1")), .init(.forceDelete, .plant("p1x")),
        ]
        let results = try await bench.modify(operations)
        #expect(results.map(\.word) == ["ATOMIC_ERROR", "CONFLICT", "ATOMIC_ERROR"])
        #expect(try await bench.lookup("p0")[0].word == "NOT_FOUND")

        let alone = try await bench.modify(operations, atomic: false)
        #expect(alone.map(\.word) == ["saved", "CONFLICT", "deleted"])
    }

    /// Devices rely on it that take an object off a list of superseded records.
    @Test func anUpdateWithoutFieldsIsANewVersion() async throws {
        let bench = try await Bench.withGarden()
        let tag = try #require(try await bench.modify([.init(.create, .plant("p1", ["height": .double(1)]))])[0].record?.recordChangeTag)
        let updated = try #require(try await bench.modify([.init(.update, .plant("p1", tag: tag))])[0].record)
        #expect(updated.recordChangeTag != tag)
        #expect(try await bench.lookup("p1")[0].record?.fields["height"]?.value == .double(1))
        #expect(try await bench.modify([.init(.delete, .plant("p1", tag: tag))]).map(\.word) == ["CONFLICT"])
    }

    @Test func inTheDefaultZoneOperationsStandAlone() async throws {
        let bench = try Bench()
        let results = try await bench.modify(
            .init(.create, .plant("p0")), .init(.update, .plant("p1", tag: "1")), in: .defaultZone)
        #expect(results.map(\.word) == ["saved", "NOT_FOUND"])
    }

    @Test func aRefusedBatchLeavesNoTraceInTheSchema() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(
            .init(.create, .plant("p0", ["height": .double(1)])), .init(.update, .plant("p1", tag: "1")))
        let results = try await bench.modify(.init(.create, .plant("p0", ["height": .string("tall")])))
        #expect(results[0].word == "saved")
    }

    enum Refused: String, CaseIterable {
        case tooManyOperations, tooManyBytes, sameRecordTwice, unknownZone, zoneOfAnother
    }

    @Test(arguments: Refused.allCases)
    func aRequestIsRefusedAsAWhole(_ item: Refused) async throws {
        var limits = Limits()
        limits.operationsPerRequest = 3
        limits.requestRecordBytes = 1000
        let bench = try await Bench.withGarden(limits: limits)
        let error = await refusal {
            switch item {
            case .tooManyOperations:
                try await bench.modify((0...3).map { RecordOperation(.create, .plant("p\($0)")) })
            case .tooManyBytes:
                try await bench.modify(.init(.create, .plant("p", ["text": .string(String(repeating: "x", count: 1000))])))
            case .sameRecordTwice:
                try await bench.modify(.init(.create, .plant("p")), .init(.forceDelete, .plant("p")))
            case .unknownZone:
                try await bench.modify(.init(.create, .plant("p")), in: ZoneID(zoneName: "Nowhere"))
            case .zoneOfAnother:
                try await bench.modify(
                    .init(.create, .plant("p")), in: ZoneID(zoneName: "Garden", ownerRecordName: "_bo"))
            }
        }
        switch item {
        case .tooManyOperations:
            #expect(error?.code == .badRequest)
            #expect(error?.nativeCode == .limitExceeded)
        case .tooManyBytes:
            #expect(error?.code == .quotaExceeded)
            #expect(error?.nativeCode == .limitExceeded)
        case .sameRecordTwice: #expect(error?.code == .badRequest)
        case .unknownZone, .zoneOfAnother: #expect(error?.code == .zoneNotFound)
        }
    }

    @Test func limitsHoldAtTheirEdges() async throws {
        var limits = Limits()
        limits.operationsPerRequest = 3
        limits.fieldsPerRecord = 2
        limits.recordBytes = 100
        let bench = try await Bench.withGarden(limits: limits)
        #expect(try await bench.modify([]).isEmpty)
        let most = try await bench.modify((0..<3).map { RecordOperation(.create, .plant("p\($0)")) })
        #expect(most.map(\.word) == ["saved", "saved", "saved"])
        let results = try await bench.modify(
            .init(.create, .plant("two", ["a": .int64(1), "b": .int64(2)])),
            .init(.create, .plant("three", ["a": .int64(1), "b": .int64(2), "c": .int64(3)])),
            .init(.create, .plant("big", ["text": .string(String(repeating: "x", count: 100))])), atomic: false)
        #expect(results.map(\.word) == ["saved", "BAD_REQUEST", "BAD_REQUEST"])
        #expect(results[1].error?.nativeCode == .limitExceeded)
        #expect(results[2].error?.nativeCode == .limitExceeded)
    }

    @Test(arguments: [
        ("", "saved"), ("p", "saved"), (String(repeating: "p", count: 255), "saved"),
        (String(repeating: "p", count: 256), "BAD_REQUEST"), ("grün", "BAD_REQUEST"), ("_p", "BAD_REQUEST"), ("p_", "saved"),
        ("a/b", "saved"),
        ("a\u{1}b", "saved"),
    ])
    func recordNamesAreChecked(_ name: String, _ expected: String) async throws {
        let bench = try await Bench.withGarden()
        let result = try await bench.modify(.init(.create, .plant(name)))[0]
        #expect(result.word == expected)
        #expect(expected != "saved" || result.recordName == (name.isEmpty ? result.recordName : name))
    }

    @Test func aLookupWhoseAnswerIsTooLargeIsAnsweredInPart() async throws {
        var limits = Limits()
        limits.responseRecordBytes = 1500
        let bench = try await Bench.withGarden(limits: limits)
        let text = FieldValue.string(String(repeating: "x", count: 1000))
        try await bench.modify((0..<3).map { RecordOperation(.create, .plant("p\($0)", ["text": text])) })
        let results = try await bench.lookup("p0", "p1", "p2")
        #expect(results.map(\.word) == ["saved", "saved", "BAD_REQUEST"])
        #expect(results[2].error?.nativeCode == .limitExceeded)
    }

    /// PostgreSQL cannot store the character, and a server may be moved to it.
    @Test func namesHaveNoCharacterZero() async throws {
        let bench = try await Bench.withGarden()
        let results = try await bench.modify(
            .init(.create, .plant("a\u{0}b")), .init(.create, .plant("c")),
            .init(.create, Record(recordName: "d", recordType: "Pl\u{0}ant")), .init(.create, .plant("e", ["na\u{0}me": .int64(1)])),
            atomic: false)
        #expect(results.map(\.word) == ["BAD_REQUEST", "saved", "BAD_REQUEST", "BAD_REQUEST"])
        let target = FieldValue.reference(RecordReference(recordName: "a\u{0}b", action: .deleteSelf))
        let sources = try await bench.modify(.init(.create, .plant("f", ["bed": target])), .init(.create, .plant("g")), atomic: false)
        #expect(sources.map(\.word) == ["BAD_REQUEST", "saved"])
        var call = bench.call()
        call.partition = Partition(
            containerIdentifier: call.partition.containerIdentifier, environment: .development, scope: .public,
            owner: Partition.publicOwner)
        let shared = try await bench.modify(
            .init(.create, Record(recordName: "d", recordType: "Pl\u{0}ant")), .init(.create, .plant("c")), in: .defaultZone,
            atomic: false, as: call)
        #expect(shared.map(\.word) == ["BAD_REQUEST", "saved"])
        let zones = try await bench.write {
            try $0.zones.modify(ZonesModifyRequest(operations: [.create(ZoneID(zoneName: "He\u{0}rbs"))]), in: $1, $2)
        }.response
        #expect(zones.zones.allSatisfy { if case .failure = $0 { true } else { false } })
    }

    @Test func namesOfTypesAndFieldsAreChecked() async throws {
        let bench = try await Bench.withGarden()
        let results = try await bench.modify(
            .init(.create, Record(recordName: "a", recordType: "")),
            .init(.create, Record(recordName: "b", recordType: "9Plant")),
            .init(.create, .plant("c", ["no space": .int64(1)])),
            .init(.create, .plant("d", ["CD_name": .int64(1)])), atomic: false)
        #expect(results.map(\.word) == ["BAD_REQUEST", "BAD_REQUEST", "BAD_REQUEST", "saved"])
    }
}

@Suite struct SchemaTests {
    @Test func aFieldKeepsTheTypeOfItsFirstUse() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage"), "height": .double(0.5)])))
        let results = try await bench.modify(
            .init(.create, .plant("p2", ["name": .int64(7)])),
            .init(.create, .plant("p3", ["height": .int64(2)])),
            .init(.create, .plant("p4", ["name": .list([], of: nil)])),
            .init(.create, .plant("p5", ["names": .list([.string("a")], of: .string)])), atomic: false)
        #expect(results.map(\.word) == ["BAD_REQUEST", "saved", "BAD_REQUEST", "saved"])
        #expect(
            results[0].error?.reason
                == "invalid attempt to set value type INT64 for field 'name' for type 'Plant', defined to be: STRING")
        #expect(results[1].record?.fields["height"] == Field(.double(2)))
        let list = try await bench.modify(.init(.create, .plant("p6", ["names": .list([], of: nil)])))
        #expect(list[0].word == "saved")
    }

    @Test func theSchemaBelongsToContainerAndNotToUser() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])))
        let bo = bench.call(user: "_bo")
        let elsewhere = bench.call(container: "iCloud.org.example.other")
        let operation = RecordOperation(.create, .plant("p2", ["name": .int64(7)]))
        #expect(try await bench.modify([operation], in: .defaultZone, as: bo)[0].word == "BAD_REQUEST")
        #expect(try await bench.modify([operation], in: .defaultZone, as: elsewhere)[0].word == "saved")
    }

    @Test func withoutSchemaByUseUnknownTypesAreRefused() async throws {
        let bench = try Bench(schemaByUse: [])
        let result = try await bench.modify(.init(.create, .plant("p1")), in: .defaultZone)[0]
        #expect(result.error?.reason == "record type 'Plant' is not in the production schema")
    }
}
