// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import EngineFixtures
import Foundation
import TestBasics
import Testing

@Suite struct RestoreZoneTests {
    private static let day: Int64 = 86_400_000

    private func bench() async throws -> Bench {
        let bench = try await Bench.withGarden()
        try await bench.store.keepHistory(milliseconds: 7 * Self.day, now: Bench.start)
        return bench
    }

    private func at(_ bench: Bench, _ minutes: Int64) -> Call { bench.call(now: Bench.start + minutes * 60_000) }

    private func restore(_ bench: Bench, to minutes: Int64, now: Int64) async throws -> ZoneRestoration {
        let time = Bench.start + minutes * 60_000
        return try await bench.write(at(bench, now)) { try $0.restores.restore(Bench.garden, to: time, in: $1, $2).response }
    }

    private func name(_ result: RecordResult?) -> String? {
        if case .string(let text) = result?.record?.fields["name"]?.value { text } else { nil }
    }

    @Test func recordsAreWhatTheyWereAndDevicesFollow() async throws {
        let bench = try await bench()
        try await bench.modify(
            .init(.create, .plant("a", ["name": .string("one")])), .init(.create, .plant("b", ["name": .string("kept")])),
            .init(.create, .plant("c", ["name": .string("gone")])), as: at(bench, 1))
        try await bench.modify(.init(.forceUpdate, .plant("a", ["name": .string("two"), "size": .int64(7)])), as: at(bench, 2))
        try await bench.modify(
            .init(.forceUpdate, .plant("a", ["name": .string("three")])), .init(.forceDelete, .plant("c")),
            .init(.create, .plant("d", ["name": .string("new")])), as: at(bench, 3))
        let token = try #require(try await bench.zoneChanges().changes?.syncToken)

        let restoration = try await restore(bench, to: 1, now: 4)
        #expect(restoration.saved == 2)
        #expect(restoration.deleted == 1)
        let seen = try await bench.lookup("a", "b", "c", "d")
        #expect(seen.map { name($0) } == ["one", "kept", "gone", nil])
        #expect(seen.last?.word == "NOT_FOUND")
        #expect(seen[0].record?.fields["size"] == nil)
        #expect(try await bench.zoneChanges(since: token).picture == "+a +c -d", "what stayed the same is no change")
        let query = Query.plants(QueryFilter(.field("name"), .equals, .string("one")))
        #expect(try await bench.names(query, as: at(bench, 4)).names == ["a"])

        // A restore is part of the history, too.
        _ = try await restore(bench, to: 3, now: 5)
        #expect(try await bench.lookup("a", "c", "d").map { name($0) } == ["three", nil, "new"])
    }

    @Test func aZoneThatWasDeletedComesBackWithItsAssets() async throws {
        let bench = try await bench()
        let asset = try await upload(bench)
        try await bench.modify(.init(.create, .plant("a", ["name": .string("one"), "photo": asset])), as: at(bench, 1))
        let token = try await bench.databaseChanges().syncToken
        try await bench.deleteZone(Bench.garden, at(bench, 2))
        try await bench.store.removeExpired(now: Bench.start + 3 * Self.day)

        _ = try await restore(bench, to: 1, now: 4 * 24 * 60)
        #expect(try await bench.databaseChanges(since: token).zones.map(\.isDeleted) == [false])
        let record = try #require(try await bench.lookup("a")[0].record)
        guard case .asset(let photo) = record.fields["photo"]?.value else {
            Issue.record("no asset")
            return
        }
        let reader = try await bench.store.open(checksum: photo.fileChecksum, in: bench.call().partition)
        #expect(try await reader?.read(at: 0, count: 10) == [1, 2, 3])
        #expect(try await bench.read { _, view, _ in try view.state().usage.assets } == 3)
    }

    @Test func nothingIsRestoredFromOutsideTheHistory() async throws {
        let bench = try await bench()
        try await bench.modify(.init(.create, .plant("a", ["name": .string("one")])), as: at(bench, 1))
        try await bench.modify(.init(.forceUpdate, .plant("a", ["name": .string("two")])), as: at(bench, 2))
        #expect(await refusal { try await restore(bench, to: -1, now: 3) }?.code == .badRequest)
        #expect(await refusal { try await restore(bench, to: 4, now: 3) }?.code == .badRequest)
        #expect(await refusal { try await restore(bench, to: 1, now: 8 * 24 * 60) }?.code == .badRequest)
        let asset = try await upload(bench)
        try await bench.modify(.init(.create, .plant("p", ["photo": asset])), as: at(bench, 3))
        try await bench.modify(.init(.forceDelete, .plant("p")), as: at(bench, 4))
        let folder = bench.folder.path + "/assets"
        func files() -> Int { ((FileManager.default.enumerator(atPath: folder)?.allObjects as? [String]) ?? []).count { $0.count > 64 } }
        try await bench.store.removeExpired(now: Bench.start + 2 * Self.day)
        #expect(files() == 1, "the file stays for the history")
        try await bench.store.removeExpired(now: Bench.start + 9 * Self.day)
        #expect(files() == 0)
        try await bench.store.keepHistory(milliseconds: 0, now: Bench.start)
        #expect(await refusal { try await restore(bench, to: 1, now: 3) }?.reason.contains("historyDays") == true)
    }

    private func upload(_ bench: Bench) async throws -> FieldValue {
        let request = AssetUploadRequest(items: [.init(recordType: "Plant", recordName: "a", fieldName: "photo")], zoneID: Bench.garden)
        let response = try await bench.write { try $0.assets.requestUploads(request, in: $1, $2).response }
        guard case .address(let address) = response.results[0] else { throw WireError(.internalError, "no address") }
        let parts = address.url.split(separator: "/")
        let id = String(parts[parts.count - 3])
        let pieces = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield([1, 2, 3])
            continuation.finish()
        }
        let stored = try await bench.store.receive(
            pieces, forUpload: id, in: bench.call().partition, bytesMax: .max, bytesExpected: nil, at: Bench.start)
        let asset = try #require(stored)
        return .asset(AssetValue(fileChecksum: asset.checksum, size: asset.size, receipt: id))
    }
}
