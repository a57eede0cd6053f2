// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudEngineSQLite
import CloudWire
import EngineFixtures
import TestBasics
import Testing

/// The writer's cache is never stale.
@Suite struct WriterMemoryTests {
    private struct Thrown: Error {}

    private func subscribed(_ bench: Bench) async throws -> [String] {
        try await bench.write { _, unit, _ in try unit.subscriptions().map(\.subscriptionID) }
    }

    @Test func aUnitReadsTheWritesOfTheOneBefore() async throws {
        let bench = try await Bench.withGarden()
        #expect(try await subscribed(bench).isEmpty)
        try await bench.write { _, unit, _ in try unit.save(Subscription(subscriptionID: "all", kind: .database)) }
        #expect(try await subscribed(bench) == ["all"])
        try await bench.write { _, unit, _ in try unit.removeSubscription(id: "all") }
        #expect(try await subscribed(bench).isEmpty)
    }

    @Test func aRolledBackUnitLeavesNoCachedReads() async throws {
        let bench = try await Bench.withGarden()
        await #expect(throws: Thrown.self) {
            try await bench.write { _, unit, _ in
                try unit.save(Subscription(subscriptionID: "all", kind: .database))
                #expect(try unit.subscriptions().count == 1)
                throw Thrown()
            }
        }
        #expect(try await subscribed(bench).isEmpty)
    }

    /// Saving a record leaves the cache valid.
    @Test func aTypeThatIsLearntBetweenRecordsIsKnown() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])))
        try await bench.modify(.init(.create, .plant("p2", ["name": .string("Thyme"), "height": .int64(30)])))
        let holds = try await bench.write { _, unit, _ in try unit.schema(ofType: "Plant")?.fields["height"]?.type }
        #expect(holds == "INT64")
    }

    @Test func commitsOfAnotherProcessAreVisibleToTheNextRequest() async throws {
        let bench = try await Bench.withGarden()
        let other = try SQLiteServerStore(path: bench.folder.path, use: .command, passwordRounds: 1)
        defer { try? other.close() }
        #expect(try await bench.write { _, unit, _ in try unit.subscriptions().count } == 0)
        _ = try await other.write(bench.call().partition) { try $0.save(Subscription(subscriptionID: "theirs", kind: .database)) }
        #expect(try await subscribed(bench) == ["theirs"])
    }
}
