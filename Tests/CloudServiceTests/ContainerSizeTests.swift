// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// Counts of a container, in units of work and up to bounds.
@Suite struct ContainerSizeTests {
    private let village: Village
    private let mia: Village.Villager

    init() async throws {
        village = try Village()
        mia = try await village.villager("mia")
    }

    private func makeZones(_ names: [String]) async throws {
        let request = ZonesModifyRequest(operations: names.map { .create(ZoneID(zoneName: $0)) })
        let results = try await mia.ask(.private, .modifyZones, request, ZonesResponse.self).zones
        for case .failure(_, let error) in results { throw error }
    }

    private func create(_ names: [String], in zone: String) async throws {
        let operations = names.map { RecordOperation(.create, .plant($0)) }
        let request = ModifyRecordsRequest(operations: operations, zoneID: ZoneID(zoneName: zone))
        let results = try await mia.ask(.private, .modifyRecords, request, ModifyRecordsResponse.self).results
        for case .failure(_, let error, _) in results { throw error }
    }

    private func size(changesPerUnit: Int = 5, records: Int = 1000, databases: Int = 100) async throws -> ContainerSize {
        var bounds = CountBounds()
        (bounds.changesPerUnit, bounds.records, bounds.databases) = (changesPerUnit, records, databases)
        return try await village.service.size(ofContainer: Village.container, .development, bounds: bounds)
    }

    /// Small zones that share a unit, an empty one, and zones that need several units, with deleted records and gaps between the numbers
    /// of their changes.
    @Test func zonesOfAllSizesAreCountedInUnits() async throws {
        let before = try await size()
        try await makeZones(["a", "b", "c", "d", "empty"])
        try await create((0..<3).map { "r\($0)" }, in: "a")
        try await create((0..<12).map { "r\($0)" }, in: "b")
        try await create((0..<5).map { "r\($0)" }, in: "c")
        try await create((0..<40).map { "r\($0)" }, in: "d")
        try await create(["last"], in: "b")
        let request = ModifyRecordsRequest(
            operations: (0..<20).map { RecordOperation(.forceDelete, Record(recordName: "r\($0)")) }, zoneID: ZoneID(zoneName: "d"))
        _ = try await mia.ask(.private, .modifyRecords, request, ModifyRecordsResponse.self)
        for changesPerUnit in [1, 2, 5, 13, 20_000] {
            let size = try await size(changesPerUnit: changesPerUnit)
            #expect(size.records - before.records == 3 + 13 + 5 + 20, "\(changesPerUnit)")
            #expect(size.zones - before.zones == 5, "\(changesPerUnit)")
            #expect(size.users == 1)
            #expect(!size.isPartial)
            #expect(size.lastChange == village.clock.now)
        }
    }

    @Test func theCountingEndsAtItsBounds() async throws {
        try await makeZones(["large"])
        try await create((0..<100).map { "r\($0)" }, in: "large")
        let size = try await size(records: 30)
        #expect(size.isPartial)
        #expect((30..<36).contains(size.records))
        #expect(size.lastChange == nil)
        #expect(size.users == 1)
        let none = try await self.size(databases: 0)
        #expect(none.isPartial)
        #expect(none.records == 0)
        #expect(none.databases > 0)
    }
}
