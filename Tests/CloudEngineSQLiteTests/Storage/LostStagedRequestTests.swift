// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import EngineFixtures
import StorageFixtures
import TestBasics
import Testing

/// Clients retry staged requests that the server lost.
struct LostStagedRequestTests {
    private func request(_ name: String, _ part: Int, of parts: Int) -> ModifyRecordsRequest {
        var request = ModifyRecordsRequest(
            operations: [RecordOperation(.create, .plant(name))], zoneID: Bench.garden, atomic: false)
        request.saveGroup = SaveGroup(id: "one", part: part, parts: parts)
        return request
    }

    private func stage(_ message: ModifyRecordsRequest, at bench: Bench) async throws -> SaveGroupState? {
        try await bench.write { engine, unit, call in
            try engine.saveGroups.stage(message, #require(message.saveGroup), body: message.encoded(), in: unit, call).saveGroup
        }
    }

    private func finish(_ message: ModifyRecordsRequest, at bench: Bench) async throws -> SaveGroupState? {
        try await bench.write { engine, unit, call in
            try engine.saveGroups.execute(message, #require(message.saveGroup), in: unit, call).response.saveGroup
        }
    }

    @Test func aServerThatBeginsAgainAsksForThem() async throws {
        let bench = try await Bench.withGarden()
        #expect(try await stage(request("p1", 0, of: 2), at: bench) == .staged)
        try bench.store.close()
        let next = try Bench(place: ServerPlace(.sqlite, folder: bench.folder))
        #expect(try await finish(request("p2", 1, of: 2), at: next) == .missing([0]))
        #expect(try await stage(request("p1", 0, of: 2), at: next) == .staged)
        #expect(try await finish(request("p2", 1, of: 2), at: next) == .saved)
        #expect(try await next.lookup("p1", "p2").count == 2)
    }

    @Test func aSaveOfWhichAnotherProcessRemovedAPartIsUndone() async throws {
        let bench = try await Bench.withGarden()
        let command = try SQLiteServerStore(path: bench.folder.path, use: .command, passwordRounds: 1)
        defer { try? command.close() }
        for part in 0..<2 { #expect(try await stage(request("p\(part)", part, of: 3), at: bench) == .staged) }
        try await command.erase(containerIdentifier: "iCloud.org.example.another", environment: .development)
        let failure = await #expect(throws: StorageFailure.self) { try await finish(request("p2", 2, of: 3), at: bench) }
        #expect(failure?.code == .busy)
        #expect(try await bench.lookup("p0", "p1", "p2").compactMap(\.record).isEmpty)
        #expect(try await finish(request("p2", 2, of: 3), at: bench) == .missing([0, 1]))
        for part in 0..<2 { #expect(try await stage(request("p\(part)", part, of: 3), at: bench) == .staged) }
        #expect(try await finish(request("p2", 2, of: 3), at: bench) == .saved)
        #expect(try await bench.lookup("p0", "p1", "p2").compactMap(\.record).count == 3)
    }
}
