// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import Testing

/// A zone with more records than one unit of work removes.
@Suite struct LargeZoneDeletionTests {
    private let village: Village
    private let mia: Village.Villager
    private let zone = ZoneID(zoneName: "Large")

    init() async throws {
        village = try Village()
        mia = try await village.villager("mia")
        try await make()
        for start in stride(from: 0, to: UnitOfWork.removedRowsMax + 400, by: 400) {
            let operations = (start..<start + 400).map {
                RecordOperation(.create, Record(recordName: "r\($0)", recordType: "Plant", fields: ["n": Field(.int64(Int64($0)))]))
            }
            _ = try await mia.ask(
                .private, .modifyRecords, ModifyRecordsRequest(operations: operations, zoneID: zone), ModifyRecordsResponse.self)
        }
    }

    private func make() async throws {
        let request = ZonesModifyRequest(operations: [.create(zone)])
        let results = try await mia.ask(.private, .modifyZones, request, ZonesResponse.self).zones
        if case .failure(_, let error)? = results.first { throw error }
    }

    private var partition: Partition {
        Partition(containerIdentifier: Village.container, environment: .development, owner: mia.name)
    }

    private func key() async throws -> Int64 {
        let zone = zone
        return try #require(try await village.store.read(partition) { try $0.zone(named: zone.zoneName)?.key })
    }

    private func hasRecords(_ key: Int64) async throws -> Bool {
        try await village.store.read(partition) { try $0.hasRecords(inZone: key) }
    }

    @Test func aDeletionRemovesAllRecords() async throws {
        let key = try await key()
        _ = try await mia.ask(.private, .modifyZones, ZonesModifyRequest(operations: [.delete(zone)]), ZonesResponse.self)
        #expect(try await !hasRecords(key))
        #expect(try await village.store.zonesToEmpty(limit: 10).isEmpty)
        try await make()
    }

    /// The server ends after the unit that deletes the zone.
    @Test func theNextStartRemovesWhatIsLeft() async throws {
        let (key, zone) = (try await key(), zone)
        let call = village.service.call(partition, Caller(userRecordName: mia.name, deviceID: ""), baseURL: "")
        let engine = village.service.engine
        let outcome = try await village.store.write(partition) { try engine.zones.delete(zone, because: .deleted, in: $0, call) }
        #expect(outcome.zonesToEmpty == [key])
        #expect(try await hasRecords(key))
        #expect(try await village.store.read(partition) { try $0.state().usage } == StoredBytes())
        try await village.service.deletedZones.emptyAll()
        #expect(try await !hasRecords(key))
        #expect(try await village.store.zonesToEmpty(limit: 10).isEmpty)
        try await make()
        #expect(try await self.key() != key)
    }

    /// The first request continues the removal, the second one makes the zone.
    @Test func aZoneIsMadeAgainOnceItsRecordsAreGone() async throws {
        let (key, zone) = (try await key(), zone)
        let call = village.service.call(partition, Caller(userRecordName: mia.name, deviceID: ""), baseURL: "")
        let engine = village.service.engine
        _ = try await village.store.write(partition) { try engine.zones.delete(zone, because: .deleted, in: $0, call) }
        let error = await #expect(throws: WireError.self) { try await make() }
        #expect(error?.code == .tryAgainLater)
        #expect(error?.nativeCode == .zoneBusy)
        #expect(try await !hasRecords(key))
        try await make()
    }

    /// Each zone has fewer rows than one unit removes, and all together more.
    @Test func severalZonesOfARequestAreEmptiedInTurn() async throws {
        let others = (0..<3).map { ZoneID(zoneName: "Other \($0)") }
        _ = try await mia.ask(.private, .modifyZones, ZonesModifyRequest(operations: others.map { .create($0) }), ZonesResponse.self)
        for other in others {
            let operation = RecordOperation(.create, Record(recordName: "r", recordType: "Plant", fields: ["n": Field(.int64(1))]))
            _ = try await mia.ask(
                .private, .modifyRecords, ModifyRecordsRequest(operations: [operation], zoneID: other), ModifyRecordsResponse.self)
        }
        let call = village.service.call(partition, Caller(userRecordName: mia.name, deviceID: ""), baseURL: "")
        let engine = village.service.engine
        let request = ZonesModifyRequest(operations: others.map { .delete($0) })
        let outcome = try await village.store.write(partition) { try engine.zones.modify(request, in: $0, call) }
        #expect(outcome.zonesToEmpty.count == 2, "the first is emptied at once")
        try await village.service.deletedZones.emptyAll()
        #expect(try await village.store.zonesToEmpty(limit: 10).isEmpty)
    }
}
