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

    @Test func aRolledBackUnitTakesNoNumbers() async throws {
        let bench = try await Bench.withGarden()
        let first = try await bench.write { _, unit, _ in try unit.raiseCounter(by: 1, adding: StoredBytes(records: 5)) }
        await #expect(throws: Thrown.self) {
            try await bench.write { _, unit, _ in
                #expect(try unit.raiseCounter(by: 3, adding: StoredBytes(records: 7)) == first + 3)
                throw Thrown()
            }
        }
        #expect(try await bench.write { _, unit, _ in try unit.raiseCounter(by: 1, adding: StoredBytes()) } == first + 1)
        let state = try await bench.read { _, view, _ in try view.state() }
        #expect(state.counter == first + 1)
        #expect(state.usage.records == 5)
    }

    @Test func aRolledBackUnitLeavesTheZoneAsItWas() async throws {
        let bench = try await Bench.withGarden()
        let zone = try #require(try await bench.write { _, unit, _ in try unit.zone(named: "Garden") })
        await #expect(throws: Thrown.self) {
            try await bench.write { _, unit, call in
                var changed = zone
                changed.change += 10
                try unit.save(changed, at: call.now)
                #expect(try unit.zone(named: "Garden") == changed)
                throw Thrown()
            }
        }
        #expect(try await bench.write { _, unit, _ in try unit.zone(named: "Garden") } == zone)
    }

    @Test func aZoneThatWasDeletedAndMadeAgainIsTheNewOne() async throws {
        let bench = try await Bench.withGarden()
        let key = try await bench.write { _, unit, _ in try unit.zone(named: "Garden")?.key }
        try await bench.deleteZone(Bench.garden)
        #expect(try await bench.write { _, unit, _ in try unit.zone(named: "Garden")?.isDeleted } == true)
        try await bench.makeZone(Bench.garden)
        #expect(try await bench.write { _, unit, _ in try unit.zone(named: "Garden")?.key } != key)
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])))
        let stored = try await bench.read { _, view, _ in try view.zone(named: "Garden") }
        #expect(try await bench.write { _, unit, _ in try unit.zone(named: "Garden") } == stored)
    }
}
