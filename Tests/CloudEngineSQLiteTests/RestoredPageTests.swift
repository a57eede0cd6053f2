// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudWire
import EngineFixtures
import StorageFixtures
import TestBasics
import Testing

/// A restore between two pages of a change feed. In the simulator a device continued its full fetch, and never received a record of the
/// backup that was deleted later.
@Suite struct RestoredPageTests {
    private static let names = ["a", "b", "c", "d"]

    private static func save(_ names: String..., on bench: Bench) async throws {
        try await bench.modify(names.map { RecordOperation(.forceUpdate, .plant($0)) })
    }

    private static func delete(_ name: String, on bench: Bench) async throws {
        try await bench.modify(.init(.forceDelete, Record(recordName: name, recordType: "Plant")))
    }

    private static func backUp(_ bench: Bench) async throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        _ = try await bench.sqliteStore.backUp(to: copy.path)
        return copy
    }

    private static func restored(_ copy: TemporaryFolder) async throws -> Bench {
        let folder = TemporaryFolder()
        try await SQLiteServerStore.restore(from: copy.path, to: folder.path, now: Bench.start + 60_000)
        return try Bench(place: ServerPlace(.sqlite, folder: folder))
    }

    private static func page(
        since token: String? = nil, limit: Int, reverse: Bool = false, on bench: Bench
    ) async throws -> ZoneChangesResult {
        let query = ZoneChangesQuery(zoneID: Bench.garden, syncToken: token, resultsLimit: limit, reverse: reverse)
        return try await bench.read { try $0.feed.zoneChanges(ZoneChangesRequest(zones: [query]), in: $1, $2) }.zones[0]
    }

    @Test func aPageThatLacksALaterDeletionIsOfALostHistory() async throws {
        let bench = try await Bench.withGarden()
        try await Self.save("a", "b", "c", "d", on: bench)
        let copy = try await Self.backUp(bench)
        try await Self.delete("a", on: bench)
        try await Self.save("b", on: bench)
        let first = try await Self.page(limit: 1, on: bench)
        #expect(first.picture == "+c")
        let second = try await Self.page(since: try #require(first.changes).syncToken, limit: 1, on: bench)
        #expect(second.picture == "+d")
        let restored = try await Self.restored(copy)
        for page in [first, second] {
            let refused = try await Self.page(since: try #require(page.changes).syncToken, limit: 10, on: restored)
            #expect(refused.error?.nativeCode == .changeTokenExpired)
        }
        #expect(try await Self.page(limit: 10, on: restored).picture == "+a +b +c +d")
    }

    @Test func aPageOfTheBackupsStateIsContinued() async throws {
        let bench = try await Bench.withGarden()
        try await Self.save("a", "b", "c", "d", on: bench)
        let first = try await Self.page(limit: 1, on: bench)
        let copy = try await Self.backUp(bench)
        try await Self.save("b", on: bench)
        let restored = try await Self.restored(copy)
        let rest = try await Self.page(since: try #require(first.changes).syncToken, limit: 10, on: restored)
        #expect(rest.picture == "+b +c +d")
    }

    @Test func aWalkFromTheNewestThatPassedALaterChangeIsOfALostHistory() async throws {
        let bench = try await Bench.withGarden()
        try await Self.save("a", "b", "c", "d", on: bench)
        let first = try await Self.page(limit: 1, reverse: true, on: bench)
        #expect(first.picture == "+d")
        let copy = try await Self.backUp(bench)
        try await Self.save("c", on: bench)
        let second = try await Self.page(since: try #require(first.changes).syncToken, limit: 1, on: bench)
        #expect(second.picture == "+b")
        let last = try await Self.page(since: try #require(second.changes).syncToken, limit: 1, on: bench)
        #expect(last.changes?.moreComing == false)
        let restored = try await Self.restored(copy)
        for page in [second, last] {
            let refused = try await Self.page(since: try #require(page.changes).syncToken, limit: 10, on: restored)
            #expect(refused.error?.nativeCode == .changeTokenExpired)
        }
        let rest = try await Self.page(since: try #require(first.changes).syncToken, limit: 10, on: restored)
        #expect(rest.picture == "+c +b +a")
    }

    @Test func aPageOfZonesThatLacksALaterDeletionIsOfALostHistory() async throws {
        let bench = try await Bench.withGarden()
        for name in Self.names { try await bench.makeZone(ZoneID(zoneName: name)) }
        let copy = try await Self.backUp(bench)
        try await bench.deleteZone(ZoneID(zoneName: "a"))
        let page = try await bench.databaseChanges(limit: 2)
        #expect(page.zones.map(\.zoneID.zoneName) == ["Garden", "b"])
        let restored = try await Self.restored(copy)
        let refused = await refusal { try await restored.databaseChanges(since: page.syncToken) }
        #expect(refused?.nativeCode == .changeTokenExpired)
    }

    /// Each part of a snapshot is read from a later state.
    @Test func aSnapshotThatLacksALaterChangeIsOfALostHistory() async throws {
        let bench = try await Bench.withGarden()
        try await Self.save("a", "b", on: bench)
        let call = bench.call()
        let zone = try #require(try await bench.read { _, view, _ in try view.zone(named: "Garden") })
        let epoch = try await bench.read { _, view, _ in try view.state().epoch }
        let subject = SnapshotSubject(partition: call.partition, zoneName: "Garden", zoneKey: zone.key, epoch: epoch)
        let copy = try await Self.backUp(bench)
        try await Self.save("b", on: bench)
        let part = try await bench.read { engine, view, _ in
            try engine.snapshots.part(of: subject, after: 0, end: zone.change, in: view)
        }
        #expect(part.recordCount == 1)
        let restored = try await Self.restored(copy)
        let refused = try await Self.page(since: part.syncToken, limit: 10, on: restored)
        #expect(refused.error?.nativeCode == .changeTokenExpired)
    }
}
