// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import ManagedModel
import SQLiteStore
import TestBasics
import Testing

/// Requests with lost responses: their outcome is determined before newer requests are sent.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct OutboxTests {
    private static let lost = Faults.Fault.answer { _ in throw CKError(.networkFailure, "the answer was lost") }

    private func title(_ device: Device) throws -> String? {
        try device.read { try $0.all("Post").first?.value(forKey: "title") as? String }
    }

    private func setTitle(_ title: String, _ device: Device) throws {
        try device.edit { try $0.all("Post").first?.setValue(title, forKey: "title") }
    }

    /// A value arrives, its response does not; another device replaces the value.
    @Test(arguments: [false, true]) func anAcknowledgedReplayDoesNotOverwriteLaterEdits(isKilled: Bool) async throws {
        let cloud = try InProcessCloud()
        let laptop = try Device("laptop", try await cloud.addUser("mia", device: "laptop"))
        let transport = try await cloud.addDevice("tablet", of: "mia")
        let faults = Faults(transport)
        var tablet = try Device("tablet", transport, over: faults)
        try laptop.edit { $0.insert("Post", ["title": "first"]) }
        try await laptop.container.sync(timeout: .seconds(600))
        try await tablet.container.sync(timeout: .seconds(600))

        faults.plan("records/modify", Self.lost)
        try setTitle("second", tablet)
        try await tablet.until { $0.activity == .offline }
        if isKilled { try await tablet.kill() } else { transport.goOffline() }
        try await laptop.container.sync(timeout: .seconds(600))
        #expect(try title(laptop) == "second")
        try setTitle("third", laptop)
        try await laptop.container.sync(timeout: .seconds(600))

        if isKilled { tablet = try Device("tablet", transport, file: tablet.file) } else { transport.goOnline() }
        try await tablet.container.sync(timeout: .seconds(600))
        try await laptop.container.sync(timeout: .seconds(600))
        #expect(try title(tablet) == "third")
        #expect(try title(laptop) == "third")
        #expect(try tablet.container.conflicts().isEmpty)
        #expect(try laptop.container.conflicts().isEmpty)
    }

    /// The same request is replayed, although the objects changed concurrently; newer changes follow in the next one.
    @Test func theOutboxIsReplayedBeforeNewChanges() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        try await tablet.settles()
        faults.plan("records/modify", .fail(CKError(.networkFailure, "the request was lost")))
        try tablet.edit { $0.insert("Post", ["title": "first"]) }
        try await tablet.until { $0.activity == .offline }
        try setTitle("second", tablet)
        try await tablet.container.sync(timeout: .seconds(600))
        let saves = faults.bodies.filter {
            $0.firstRange(of: Array("\"operations\"".utf8)) != nil && $0.firstRange(of: Array("CD_title".utf8)) != nil
        }
        #expect(saves.count == 3)
        #expect(saves.first == saves.dropFirst().first)
        #expect(saves.last?.firstRange(of: Array("second".utf8)) != nil)
        #expect(saves.first?.firstRange(of: Array("second".utf8)) == nil)
    }

    /// A gateway gives up on the server, or the server on its database, and the request is executed: with another key, the device would
    /// merge its own value.
    @Test(arguments: [(502, "<html>"), (504, "<html>"), (503, #"{"serverErrorCode":"TRY_AGAIN_LATER","reason":"r","nativeErrorCode":34}"#)])
    func aSaveInDoubtCountsOnce(_ status: Int, _ body: String) async throws {
        var count = Attribute(name: "count", type: .integer64)
        count.userInfo["syncPolicy"] = "counter"
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Device(
            "tablet", transport, over: faults, model: Model(entities: [Entity(name: "Thing", attributes: [count])]))
        func setCount(_ number: Int) throws { try tablet.edit { try $0.all("Thing").first?.setValue(number, forKey: "count") } }
        try tablet.edit { $0.insert("Thing", ["count": 1]) }
        try await tablet.container.sync(timeout: .seconds(600))
        faults.plan("records/modify", .giveUp(status: status, body: body))
        try setCount(2)
        try await tablet.until { status in
            switch status.activity {
            case .offline, .error: true
            default: false
            }
        }
        try setCount(3)
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(try await cloud.records(ofType: "CD_Thing").map { $0.fields["CD_count"]?.value } == [.int64(3)])
        #expect(try tablet.container.conflicts().isEmpty)
    }

    /// An earlier version of the library kept one request, among the mirror's single values.
    @Test func anOutboxOfAnEarlierVersionIsReplayed() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport), later = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        try await tablet.settles()
        faults.plan("records/modify", Self.lost)
        try tablet.edit { $0.insert("Post", ["title": "first"]) }
        try await tablet.until { $0.activity == .offline }
        await tablet.container.stopSyncing()
        let store = try #require(tablet.container.persistentStoreCoordinator.persistentStores.first)
        try store.storage.write { writer in
            for name in ["Key", "Body", "Opened", "Notes", "Attempts"] {
                try writer.execute("INSERT INTO TARN_STATE SELECT 'outbox\(name)', \(name.lowercased()) FROM TARN_OUTBOX")
            }
            try writer.execute("DROP TABLE TARN_OUTBOX")
            for statement in FormatTests.withoutSystemFields { try writer.execute(statement) }
            try writer.execute("UPDATE TARN_STATE SET value = 7 WHERE key = 'format'")
        }
        try await tablet.kill()
        let again = try Device("tablet", transport, over: later, file: tablet.file)
        try await again.container.sync(timeout: .seconds(600))
        #expect(later.bodies.contains { $0 == faults.bodies.last })
        #expect(later.log.count { $0 == "records/modify" } == 1)
        #expect(try await cloud.records(ofType: "CD_Post").count == 1)
        #expect(try again.container.conflicts().isEmpty)
    }

    /// A request that is never answered is abandoned after some attempts, and the other requests continue.
    @Test func unansweredRequestsAreAbandoned() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        try await tablet.settles()
        let fault = Faults.Fault.fail(CKError(.networkFailure, "the connection broke"))
        for _ in 0..<8 { faults.plan("records/modify", fault) }
        try tablet.edit { $0.insert("Post", ["title": "first"]) }
        tablet.timers.runFreely()
        try await tablet.settles { faults.isSpent }
        let saves = faults.bodies.filter { $0.firstRange(of: Array("CD_title".utf8)) != nil }
        #expect(saves.count == 9)
        #expect(Set(saves.prefix(8)).count == 1)
        #expect(try tablet.container.conflicts().isEmpty)
    }
}
