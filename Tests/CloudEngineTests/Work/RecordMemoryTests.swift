// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import EngineFixtures
import Testing

/// Requests of few bytes that name stored records with many values.
@Suite struct RecordMemoryTests {
    private static let references = FieldValue.list(
        Array(repeating: .reference(RecordReference(recordName: "r")), count: 41_000), of: .reference)
    private static let count = 12

    /// 12 records of 41,000 references take more than 64 MB.
    private func bench() async throws -> Bench {
        var limits = Limits()
        limits.requestMemoryBytes = 1_000_000
        limits.responseRecordBytes = 16_000_000
        let bench = try await Bench.withGarden(limits: limits)
        for index in 0..<Self.count {
            #expect(try await bench.modify(.init(.create, .plant("p\(index)", ["references": Self.references]))).map(\.word) == ["saved"])
        }
        return bench
    }

    @Test func storedRecordsOfARequestFitIntoMemory() async throws {
        let bench = try await bench()
        let deletions = (0..<Self.count).map { RecordOperation(.forceDelete, Record(recordName: "p\($0)")) }
        let refused = await refusal { try await bench.modify(deletions) }
        #expect(refused?.code == .quotaExceeded)
        #expect(refused?.nativeCode == .limitExceeded)
        #expect(try await bench.lookup("p0", "p11").map(\.word) == ["saved", "saved"])
        for half in [deletions.prefix(6), deletions.suffix(6)] {
            #expect(try await bench.modify(Array(half)).map(\.word) == Array(repeating: "deleted", count: 6))
        }
    }

    @Test func cascadedRecordsFitIntoMemory() async throws {
        let bench = try await bench()
        try await bench.modify(.init(.create, .plant("bed")))
        let owner = FieldValue.reference(RecordReference(recordName: "bed", action: .deleteSelf))
        for index in 0..<Self.count { try await bench.modify(.init(.forceUpdate, .plant("p\(index)", ["bed": owner]))) }
        let refused = await refusal { try await bench.modify(.init(.forceDelete, .plant("bed"))) }
        #expect(refused?.nativeCode == .limitExceeded)
        #expect(try await bench.lookup("bed").map(\.word) == ["saved"])
        try await bench.modify(.init(.forceDelete, .plant("p0")), .init(.forceDelete, .plant("p1")))
        #expect(try await bench.modify(.init(.forceDelete, .plant("bed"))).map(\.word) == ["deleted"])
        #expect(try await bench.lookup("p2").map(\.word) == ["NOT_FOUND"])
    }

    /// An operator cannot divide the restore of a zone, or the removal of a type.
    @Test func anOperatorsChangeMayBeLargerThanAClients() async throws {
        let bench = try await bench()
        try await bench.store.keepHistory(milliseconds: 86_400_000, now: Bench.start - 120_000)
        let (restored, names) = try await bench.write { engine, unit, call -> (ZoneRestoration, [String]) in
            let restored = try engine.restores.restore(Bench.garden, to: Bench.start - 60_000, in: unit, call).response
            return (restored, try unit.records(after: nil, limit: 100).map(\.record.recordName))
        }
        #expect(restored.deleted == Self.count)
        #expect(names == [])
    }

    @Test func anOperatorsCascadeMayBeLargerThanAClients() async throws {
        let bench = try await bench()
        try await bench.modify(.init(.create, Record(recordName: "bed", recordType: "Bed")))
        let owner = FieldValue.reference(RecordReference(recordName: "bed", action: .deleteSelf))
        for index in 0..<Self.count { try await bench.modify(.init(.forceUpdate, .plant("p\(index)", ["bed": owner]))) }
        let refused = await refusal { try await bench.modify(.init(.forceDelete, Record(recordName: "bed"))) }
        #expect(refused?.nativeCode == .limitExceeded)
        let names = try await bench.write { engine, unit, call -> [String] in
            _ = try engine.removedValues.remove(of: RemovedParts([.removedType("Bed")]), after: nil, in: unit, call)
            return try unit.records(after: nil, limit: 100).map(\.record.recordName)
        }
        #expect(names == [])
    }

    /// A request that changes little of a record gets the whole record.
    @Test func theResponseToAGroupFitsIntoMemory() async throws {
        let bench = try await bench()
        func execute(desiredKeys: [String]?) async throws -> ModifyRecordsResponse {
            let requests = (0..<2).map { part in
                let operations = (0..<6).map { RecordOperation(.forceUpdate, .plant("p\(6 * part + $0)", ["n": .int64(1)])) }
                return ModifyRecordsRequest(operations: operations, zoneID: Bench.garden, atomic: false, desiredKeys: desiredKeys)
            }
            let groups = (0..<2).map { SaveGroup(id: "group", part: $0, parts: 2, isAtomic: true) }
            _ = try await bench.write { try $0.saveGroups.stage(requests[0], groups[0], body: requests[0].encoded(), in: $1, $2) }
            return try await bench.write { try $0.saveGroups.execute(requests[1], groups[1], in: $1, $2).response }
        }
        let refused = await refusal { try await execute(desiredKeys: nil) }
        #expect(refused?.code == .quotaExceeded)
        #expect(refused?.nativeCode == .limitExceeded)
        let saved = try await execute(desiredKeys: ["n"])
        #expect(saved.saveGroup == .saved)
        #expect(saved.results.count == Self.count)
    }

    /// Records of which the caller wants few fields are read one group after the other.
    @Test func aPageOfChangesFitsIntoMemory() async throws {
        let bench = try await bench()
        func page(since token: String? = nil, desiredKeys: [String]? = nil) async throws -> ZoneChanges {
            let query = ZoneChangesQuery(zoneID: Bench.garden, syncToken: token, desiredKeys: desiredKeys)
            let request = ZoneChangesRequest(zones: [query])
            return try #require(try await bench.read { try $0.feed.zoneChanges(request, in: $1, $2) }.zones[0].changes)
        }
        let first = try await page()
        #expect((6..<Self.count).contains(first.records.count))
        #expect(first.moreComing)
        let rest = try await page(since: first.syncToken)
        #expect((first.records + rest.records).map(\.recordName) == (0..<Self.count).map { "p\($0)" })
        #expect(!rest.moreComing)
        let narrow = try await page(desiredKeys: [])
        #expect(narrow.records.map(\.recordName) == (0..<Self.count).map { "p\($0)" })
        #expect(narrow.records.allSatisfy { $0.fields.isEmpty })
        #expect(!narrow.moreComing)
    }

    /// Names of several groups of records that are read together, of which some are absent and one is named twice.
    @Test func aLookupReturnsTheRecordsInTheOrderOfTheirNames() async throws {
        let bench = try await Bench.withGarden()
        let saved = (0..<30).map { RecordOperation(.create, .plant("p\(2 * $0)", ["n": .int64(Int64($0))])) }
        try await bench.modify(saved)
        let names = (0..<60).map { "p\($0)" } + ["p4", "p5"]
        let request = LookupRecordsRequest(recordNames: names, zoneID: Bench.garden)
        let results = try await bench.read { try $0.records.lookup(request, in: $1, $2).results }
        #expect(results.map(\.recordName) == names)
        let words = (0..<60).map { $0.isMultiple(of: 2) ? "saved" : "NOT_FOUND" }
        #expect(results.map(\.word) == words + ["saved", "NOT_FOUND"])
    }
}
