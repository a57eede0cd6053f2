// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

/// A device does not receive its own changes, and pages arrive while others are written.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct OwnChangesTests {
    /// Records that answers to `changes/zone` brought.
    private func imported(_ faults: Faults) -> [String] {
        var names: [String] = []
        for body in faults.answers("changes/zone") {
            for case .changes(let changes) in (try? ZoneChangesResponse(json: body))?.zones ?? [] {
                names += changes.records.map(\.recordName)
            }
        }
        return names
    }

    @Test func ownChangesAreNotFetched() async throws {
        // New records have to be fetched, so that they can be counted.
        let cloud = try InProcessCloud(offered: Set(Capability.allCases).subtracting([.pushedChanges]))
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        try await tablet.container.sync(timeout: .seconds(600))
        for index in 0..<3 {
            try tablet.edit { $0.insert("Post", ["title": "post \(index)"]) }
            try await tablet.container.sync(timeout: .seconds(600))
        }
        try tablet.edit { try $0.all("Post").first?.setValue("changed", forKey: "title") }
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(imported(faults).isEmpty)

        // Changes of other devices arrive, without the earlier changes of this one.
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(600))
        try phone.edit { $0.insert("Post", ["title": "from the phone"]) }
        try await phone.container.sync(timeout: .seconds(600))
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(imported(faults).count == 1)
        #expect(try tablet.dump == phone.dump)
    }

    /// A server that does not offer it sends everything back, and nothing is doubled by it.
    @Test func withoutTheCapabilityEverythingComesBack() async throws {
        let cloud = try InProcessCloud(offered: Set(Capability.allCases).subtracting([.ownChanges]))
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        try await tablet.container.sync(timeout: .seconds(600))
        try tablet.edit { $0.insert("Post", ["title": "one"]) }
        try await tablet.container.sync(timeout: .seconds(600))
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(imported(faults).count == 1)
        #expect(try tablet.dump == "Post  title one")
    }

    /// The page that is asked for ahead fails: the import goes on from where the store stands.
    @Test func aPageAheadThatFailsIsAskedForAgain() async throws {
        var limits = Limits()
        limits.recordsPerLargePage = 10
        let cloud = try InProcessCloud(limits: limits)
        let laptop = try Device("laptop", try await cloud.addUser("mia", device: "laptop"))
        try laptop.edit { for index in 0..<25 { $0.insert("Post", ["title": "post \(index)"]) } }
        try await laptop.container.sync(timeout: .seconds(600))

        let transport = try await cloud.addDevice("tablet", of: "mia")
        let faults = Faults(transport)
        faults.plan("changes/zone", .answer { $0 }, .fail(CKError(.networkFailure, "the answer was lost")))
        let tablet = try Device("tablet", transport, over: faults)
        tablet.timers.runFreely()
        let sent = try laptop.dump
        try await tablet.settles { try faults.isSpent && tablet.dump == sent }
        // Three pages, the one that failed, and looks whether there is more.
        #expect(faults.log.filter { $0 == "changes/zone" }.count <= 6)
    }
}
