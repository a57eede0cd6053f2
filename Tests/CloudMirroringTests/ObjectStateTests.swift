// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import Synchronization
import TestBasics
import Testing

/// The state of one object for the app's interface, and for a support request.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ObjectStateTests {
    private func states(_ device: Device) throws -> [String: NSPersistentCloudKitContainer.ObjectSyncState] {
        let ids = try device.read { context in
            Dictionary(uniqueKeysWithValues: try context.all("Post").map { ($0.value(forKey: "title") as? String ?? "", $0.objectID) })
        }
        let states = try device.container.syncStates(of: Array(ids.values))
        return ids.compactMapValues { states[$0] }
    }

    /// How much an import will bring is shown where the server counts.
    @Test(arguments: [true, false]) func anImportShowsHowFarItIs(isCounting: Bool) async throws {
        let offered = Set(Capability.allCases).subtracting(isCounting ? [] : [.remainingCount])
        var limits = Limits()
        limits.recordsPerLargePage = 200
        let cloud = try InProcessCloud(limits: limits, offered: offered)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in for number in 0..<450 { context.insert("Post", ["title": "\(number)"]) } }
        try await tablet.container.sync(timeout: .seconds(600))
        let asked = Mutex(0)
        let wire = Holding(try await cloud.addDevice("phone", of: "mia")) { path, _ in
            guard path.hasSuffix("changes/zone") else { return false }
            return asked.withLock { count in
                count += 1
                return count == 3
            }
        }
        let phone = try Device("phone", try await cloud.addDevice("spare", of: "mia"), over: wire)
        try await phone.until { "\($0)" == (isCounting ? "importing 400 of 450" : "importing, 400 done") }
        wire.gate.open()
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.read { try $0.all("Post").count } == 450)
    }

    /// Pages that are applied together were counted when they arrived.
    @Test func changesOfAnImportCountOnce() async throws {
        var limits = Limits()
        limits.recordsPerLargePage = 200
        let cloud = try InProcessCloud(limits: limits)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let isHeld = Mutex(false)
        let wire = Holding(try await cloud.addDevice("phone", of: "mia")) { path, _ in
            path.hasSuffix("changes/database") && isHeld.withLock { $0 }
        }
        let phone = try Device("phone", try await cloud.addDevice("spare", of: "mia"), over: wire)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        phone.container.pauseSyncing()
        try tablet.edit { context in for number in 0..<450 { context.insert("Post", ["title": "\(number)"]) } }
        try await tablet.container.sync(timeout: .seconds(600))
        isHeld.withLock { $0 = true }
        phone.container.resumeSyncing()
        // The list of zones is read after the pages of the home zone.
        try await wire.gate.reached()
        #expect("\(phone.container.syncStatus)" == "importing, 450 done")
        wire.gate.open()
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.read { try $0.all("Post").count } == 450)
    }

    @Test func anObjectIsWaitingThenOnServer() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let gate = Gate()
        gate.open()
        let faults = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        try await tablet.settles()
        tablet.container.pauseSyncing()
        try tablet.edit { $0.insert("Post", ["title": "new"]) }
        #expect(try states(tablet) == ["new": .waiting])

        // The server has it and its response is lost: the state is in doubt.
        faults.plan("records/modify", .answer { _ in throw CKError(.networkFailure, "the answer was lost") })
        tablet.container.resumeSyncing()
        try await tablet.until { $0.activity == .offline }
        #expect(try states(tablet) == ["new": .uploading])

        try await tablet.container.sync(timeout: .seconds(600))
        let date = Date(timeIntervalSince1970: Double(cloud.clock.milliseconds) / 1000)
        #expect(try states(tablet) == ["new": .onServer(since: date)])
        // A change makes it wait again.
        tablet.container.pauseSyncing()
        try tablet.edit { try $0.post(titled: "new")?.setValue("text", forKey: "content") }
        #expect(try states(tablet) == ["new": .waiting])
    }

    @Test func rejectedObjectsHaveTheServersReason() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        faults.refuseAll("records/modify", containing: "poison", status: 400, WireError(.badRequest, "this is no good"))
        try tablet.edit { context in
            context.insert("Post", ["title": "poison"])
            context.insert("Post", ["title": "fine"])
        }
        try await tablet.until { if case .error = $0.activity { $0.pendingCount == 0 } else { false } }
        let states = try states(tablet)
        #expect(states["poison"] == .refused(because: "this is no good"))
        if case .onServer? = states["fine"] {} else { Issue.record("\(states)") }

        let bundle = String(decoding: try tablet.container.supportBundle(), as: UTF8.self)
        #expect(bundle.contains("\"this is no good\" : 1"))
        #expect(bundle.contains("\"Post waiting\" : 1"))
        #expect(bundle.contains("\"Post uploaded\" : 1"))
        #expect(!bundle.contains("poison"))
        #expect(!bundle.contains("fine\""))
    }

    @Test func anObjectOfAStoreThatIsNotSyncedIsLocal() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet")) { $0.cloudKitContainerOptions = nil }
        try tablet.edit { $0.insert("Post", ["title": "mine"]) }
        #expect(try states(tablet) == ["mine": .localOnly])
    }
}
