// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

@Suite struct ZoneTests {
    @Test func theDefaultZoneIsAlwaysThere() async throws {
        let bench = try Bench()
        let list = try await bench.read { try $0.zones.list(in: $1, $2) }
        #expect(list.zones.map(\.zoneID.zoneName) == [ZoneID.defaultZoneName])
        let results = try await bench.write {
            try $0.zones.modify(
                ZonesModifyRequest(operations: [.delete(.defaultZone), .create(ZoneID(zoneName: "_mine"))]), in: $1, $2)
        }.response.zones
        for result in results {
            guard case .failure(_, let error) = result else {
                Issue.record("the operation was carried out")
                continue
            }
            #expect(error.code == .badRequest)
        }
    }

    @Test func makingAZoneTwiceIsOneZone() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1")))
        try await bench.makeZone(Bench.garden)
        #expect(try await bench.lookup("p1")[0].word == "saved")
        let list = try await bench.read { try $0.zones.list(in: $1, $2) }
        #expect(list.zones.count == 2)
    }

    @Test func deletingAZoneDeletesItsRecordsAndNoOthers() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1")))
        try await bench.modify(.init(.create, .plant("d1")), in: .defaultZone)
        try await bench.deleteZone(Bench.garden)
        #expect(await refusal { try await bench.lookup("p1") }?.code == .zoneNotFound)
        #expect(try await bench.lookup("d1", in: .defaultZone)[0].word == "saved")
        let again = try await bench.write {
            try $0.zones.modify(ZonesModifyRequest(operations: [.delete(Bench.garden)]), in: $1, $2).response
        }
        #expect(again.zones == [.failure(Bench.garden, WireError(.zoneNotFound, "zone not found"))])
    }

    /// Creations of one request count as those of several do.
    @Test func aDatabaseHasNoMoreZonesThanTheLimit() async throws {
        var limits = Limits()
        limits.zonesPerDatabase = 4
        let bench = try Bench(limits: limits)
        @Sendable func refused(_ operations: [ZoneOperation], _ call: Call) async throws -> [String] {
            try await bench.write(call) { try $0.zones.modify(ZonesModifyRequest(operations: operations), in: $1, $2) }.response.zones
                .compactMap { if case .failure(let zoneID, _) = $0 { zoneID.zoneName } else { nil } }
        }
        let names = ["a", "b", "c", "d", "e", "f"].map { ZoneID(zoneName: $0) }
        let mia = bench.call(), bo = bench.call(user: "_bo")
        var oneByOne: [String] = []
        for name in names { oneByOne += try await refused([.create(name)], mia) }
        #expect(!oneByOne.isEmpty)
        #expect(try await refused(names.map { .create($0) }, bo) == oneByOne)
        let next = ["x", "y"].map { ZoneOperation.create(ZoneID(zoneName: $0)) }
        #expect(try await refused([.delete(names[0])] + next, bo) == ["y"])
    }

    @Test func usersDoNotShareZones() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])))
        let bo = bench.call(user: "_bo")
        try await bench.makeZone(Bench.garden, bo)
        #expect(try await bench.lookup("p1", as: bo)[0].word == "NOT_FOUND")
        #expect(try await bench.zoneChanges(as: bo).picture == "")
        try await bench.deleteZone(Bench.garden, bo)
        #expect(try await bench.lookup("p1")[0].word == "saved")
    }
}

@Suite struct SubscriptionTests {
    static let all = Subscription(subscriptionID: "all", kind: .database, notification: .silent)

    private func notifications(
        of bench: Bench, _ operation: RecordOperation, in zoneID: ZoneID
    ) async throws -> [PushNotification] {
        try await bench.write {
            try $0.records.modify(ModifyRecordsRequest(operations: [operation], zoneID: zoneID), in: $1, $2).notifications
        }
    }

    @Test func subscriptionsFireForTheirCustomZonesOnly() async throws {
        let bench = try await Bench.withGarden()
        try await bench.makeZone(ZoneID(zoneName: "Shed"))
        let shed = Subscription(subscriptionID: "shed", kind: .zone(ZoneID(zoneName: "Shed")))
        _ = try await bench.write {
            try $0.subscriptions.modify(SubscriptionsModifyRequest(operations: [.create(Self.all), .create(shed)]), in: $1, $2)
        }
        let garden = try await notifications(of: bench, .init(.create, .plant("p1")), in: Bench.garden)
        #expect(garden.map(\.subscriptionID) == ["all"])
        #expect(garden.first?.subject == .database(.private))
        let both = try await notifications(of: bench, .init(.create, .plant("s1")), in: ZoneID(zoneName: "Shed"))
        #expect(both.map(\.subscriptionID) == ["all", "shed"])
        #expect(try await notifications(of: bench, .init(.create, .plant("d1")), in: .defaultZone).isEmpty)
        #expect(try await notifications(of: bench, .init(.create, .plant("p1")), in: Bench.garden).isEmpty, "nothing changed")
        #expect(try await notifications(of: bench, .init(.forceDelete, .plant("no")), in: Bench.garden).isEmpty)
    }

    @Test func subscriptionsAreSavedListedAndDeleted() async throws {
        let bench = try Bench()
        func modify(_ operation: SubscriptionOperation) async throws -> SubscriptionResult {
            try await bench.write {
                try $0.subscriptions.modify(SubscriptionsModifyRequest(operations: [operation]), in: $1, $2)
            }.response.subscriptions[0]
        }
        func refused(_ result: SubscriptionResult) -> WireError.Code? {
            if case .failure(_, let error) = result { error.code } else { nil }
        }
        #expect(refused(try await modify(.update(Self.all))) == .notFound)
        #expect(try await modify(.create(Self.all)) == .subscription(Self.all))
        #expect(try await modify(.create(Self.all)) == .subscription(Self.all))
        #expect(refused(try await modify(.create(Subscription(subscriptionID: "z", kind: .zone(.defaultZone))))) == .badRequest)
        let list = try await bench.read { try $0.subscriptions.list(in: $1, $2) }
        #expect(list.subscriptions == [.subscription(Self.all)])
        #expect(try await modify(.delete(subscriptionID: "all")) == .deleted(subscriptionID: "all"))
        #expect(refused(try await modify(.delete(subscriptionID: "all"))) == .notFound)
    }
}
