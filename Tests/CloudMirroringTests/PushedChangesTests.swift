// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

/// The changes in a notification are not fetched, and none are missed.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct PushedChangesTests {
    private static func pair(
        offered: Set<Capability> = Set(Capability.allCases)
    ) async throws -> (cloud: InProcessCloud, tablet: Device, faults: Faults, phone: Device) {
        let cloud = try InProcessCloud(offered: offered)
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        let tablet = try Device("tablet", transport, over: faults)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        return (cloud, tablet, faults, phone)
    }

    @Test func changesOfANotificationAreNotFetched() async throws {
        let (_, tablet, faults, phone) = try await Self.pair()
        // The first one makes the types, and the list of zones the tablet's own.
        try phone.edit { $0.insert("Post", ["title": "one"]) }
        try await tablet.settles { try tablet.dump == "Post  title one" }
        let before = faults.log.count
        for index in 0..<3 {
            let sent = try phone.dump
            try phone.edit { try $0.all("Post").first?.setValue("changed \(index)", forKey: "title") }
            #expect(try phone.dump != sent)
            try await tablet.settles { try tablet.dump == phone.dump }
        }
        #expect(faults.log[before...].isEmpty)
        // The device's own changes are not pushed to it, and the next notification follows them.
        try tablet.edit { $0.insert("Post", ["title": "two"]) }
        try await phone.settles { try tablet.dump == phone.dump }
        try await tablet.settles()
        let between = faults.log.count
        try phone.edit { $0.insert("Post", ["title": "three"]) }
        try await tablet.settles { try tablet.dump == phone.dump && tablet.dump.contains("three") && faults.log.count > between }
        #expect(
            Array(faults.log[between...]) == ["changes/database"], "the list of zones does not stand where the tablet's own change left it")
    }

    @Test func aStreamIsOpenedAgainAfterTheDelayThatTheServerAsksFor() async throws {
        let transport = try await InProcessCloud().addUser("mia", device: "tablet")
        let faults = Faults(transport)
        // Delays of other tasks are 0.75 seconds, or a multiple of it.
        let expected = [37, 41]
        for seconds in expected {
            faults.plan("push/stream", .refuse(status: 503, WireError(.tryAgainLater, "busy", retryAfter: Double(seconds))))
        }
        let delays = AsyncStream<Duration>.makeStream()
        let tablet = try Device(
            "tablet", transport, over: faults,
            configure: { environment in
                let sleep = environment.sleep
                environment.sleep = { delay in
                    delays.continuation.yield(delay)
                    if delay > .seconds(60) { try await sleep(delay) }
                }
            })
        var found: [Int] = []
        for await delay in delays.stream.prefix(100) {
            if let seconds = expected.first(where: { delay == .seconds($0) }) { found.append(seconds) }
            if found.count == expected.count { break }
        }
        #expect(found == expected)
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(faults.isSpent)
    }

    /// A caller that waits for a sync needs the state of the server, not that of its notifications.
    @Test func aSyncAsksTheServer() async throws {
        let (_, tablet, faults, phone) = try await Self.pair()
        try phone.edit { $0.insert("Post", ["title": "one"]) }
        try await tablet.settles { try tablet.dump == "Post  title one" }
        let before = faults.log.count
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(faults.log[before...].contains("changes/zone"))
    }

    @Test func whereNotificationsBringNothingChangesAreFetched() async throws {
        let (_, tablet, faults, phone) = try await Self.pair(offered: Set(Capability.allCases).subtracting([.pushedChanges]))
        let before = faults.log.count
        try phone.edit { $0.insert("Post", ["title": "one"]) }
        try await tablet.settles { try tablet.dump == "Post  title one" }
        #expect(faults.log[before...].contains("changes/zone"))
    }
}
