// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ObjectGraph
import Synchronization
import Testing

/// A save that several requests carry: the server executes them in one transaction (`whole-saves`).
@Suite(.timeLimit(.minutes(10))) struct WholeExportTests {
    private static let requestItems = 50

    /// Requests of 50 items, change pages of 40 records.
    private static var limits: Limits {
        var limits = Limits()
        limits.operationsPerRequest = requestItems
        limits.recordsPerResponse = 40
        limits.recordsPerLargePage = 40
        return limits
    }

    private static func small(_ surroundings: inout MirrorSurroundings) { surroundings.limits = limits }

    private static func counts(of device: Device) -> Views { Views(of: device) { context in "\(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Post")))" } }

    private func insert(_ count: Int, _ device: Device) throws {
        try device.edit { context in
            let tag = context.insert("Tag", ["name": "all"])
            for number in 0..<count { context.insert("Post", ["title": "\(number)"]).setValue(Set([tag]), forKey: "tags") }
        }
    }

    @Test func aSaveOfManyRequestsAppearsTogether() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport, surround: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), surround: Self.small)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        let views = Self.counts(of: phone)
        try insert(180, tablet)
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(views.all.filter { $0 != "0" } == ["180"])
        // 180 posts, as many links, one tag.
        #expect(transport.log.count { $0 == "records/modify" } == 8)
        try tablet.edit { context in for post in try context.all("Post") { context.delete(post) } }
        try await phone.settles { try phone.dump == tablet.dump }
        #expect(views.all.filter { $0 != "0" } == ["180"])
        #expect(try phone.dump == "Tag  name all")
        try await tablet.settles()
        // What it sent did not come back to it.
        #expect(try tablet.container.conflicts().isEmpty)
        for device in [tablet, phone] { try await device.discard() }
    }

    /// The device dies after each of its requests, before the server sees it or before the answer arrives.
    @Test(arguments: [2, 3, 4], [false, true]) func aDeviceThatDiesBetweenRequestsShowsNothingElsewhereUntilItIsBack(request: Int, isCarriedOut: Bool) async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        var tablet = try Device("tablet", transport, surround: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), surround: Self.small)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        try await tablet.kill()
        let views = Self.counts(of: phone)
        let faults = Faults(transport)
        let lost = CKError(.networkUnavailable, "the device died")
        for number in 1...60 {
            faults.plan("records/modify", number < request ? .pass : number == request && isCarriedOut ? .answer { _ in throw lost } : .fail(lost))
        }
        tablet = try Device("tablet", transport, over: faults, file: tablet.file, surround: Self.small)
        try insert(90, tablet)
        try await tablet.until { $0.activity == .offline }
        try await phone.container.sync(timeout: .seconds(600))
        // The fourth request is the last one.
        #expect(try phone.read { try $0.all("Post").count } == (request == 4 && isCarriedOut ? 90 : 0))
        try await tablet.kill()
        tablet = try Device("tablet", transport, file: tablet.file, surround: Self.small)
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(views.all.filter { $0 != "0" } == ["90"])
        #expect(try phone.dump == tablet.dump && phone.read { try $0.all("Post").count } == 90)
        #expect(try tablet.container.conflicts().isEmpty)
        for device in [tablet, phone] { try await device.discard() }
    }

    /// Without it the save arrives request by request, and completely.
    @Test func withoutTheCapabilityASaveArrivesRequestByRequest() async throws {
        let cloud = try InProcessCloud(limits: Self.limits, offered: Set(Capability.allCases).subtracting([.wholeSaves]))
        let transport = try await cloud.addUser("mia", device: "tablet")
        let holding = Mutex(0)
        let held = Holding(transport) { path, _ in
            path.hasSuffix("records/modify") && holding.withLock { count in
                count += 1
                return count == 3
            }
        }
        let tablet = try Device("tablet", transport, over: held, surround: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), surround: Self.small)
        try await phone.container.sync(timeout: .seconds(600))
        let views = Self.counts(of: phone)
        try insert(180, tablet)
        try await held.gate.reached()
        try await phone.container.sync(timeout: .seconds(600))
        #expect(Int(views.all.last ?? "").map { $0 > 0 && $0 < 180 } == true)
        held.gate.open()
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump && phone.read { try $0.all("Post").count } == 180)
        for device in [tablet, phone] { try await device.discard() }
    }

    /// One object of a save was changed elsewhere: the others wait until both are merged.
    @Test func aConflictOfOneObjectHoldsTheSaveTogether() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport, surround: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), surround: Self.small)
        let laptop = try Device("laptop", try await cloud.addDevice("laptop", of: "mia"), surround: Self.small)
        try insert(60, tablet)
        for device in [tablet, phone, laptop] { try await device.container.sync(timeout: .seconds(600)) }
        transport.goOffline()
        try tablet.edit { context in for post in try context.all("Post") { post.setValue("changed", forKey: "content") } }
        try await tablet.until { $0.activity == .offline }
        try phone.edit { try $0.post(titled: "7")?.setValue(Date(timeIntervalSinceReferenceDate: 5), forKey: "timestamp") }
        try await phone.container.sync(timeout: .seconds(600))
        let views = Views(of: laptop) { context in "\(try context.all("Post").count { $0.value(forKey: "content") as? String == "changed" })" }
        transport.goOnline()
        try await tablet.container.sync(timeout: .seconds(600))
        try await laptop.container.sync(timeout: .seconds(600))
        #expect(views.all.filter { $0 != "0" } == ["60"])
        #expect(try laptop.dump == tablet.dump)
        for device in [tablet, phone, laptop] { try await device.discard() }
    }

    /// What the server rejects permanently is left out, and the rest arrives together.
    @Test func aRejectedObjectIsLeftOutAndTheRestAppearsTogether() async throws {
        var strict = Self.limits
        strict.recordBytes = 10_000
        let cloud = try InProcessCloud(limits: strict)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), surround: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), surround: Self.small)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        let views = Self.counts(of: phone)
        try tablet.edit { context in
            for number in 0..<120 { context.insert("Post", ["title": "\(number)", "content": number == 70 ? String(repeating: "x", count: 20_000) : "short"]) }
        }
        try await phone.settles { try phone.read { try $0.all("Post").count } == 119 }
        #expect(views.all.filter { $0 != "0" } == ["119"])
        try await tablet.until { if case .error = $0.activity { true } else { false } }
        for device in [tablet, phone] { try await device.discard() }
    }
}
