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
import TestBasics
import Testing

/// A save that several requests carry: the server executes them in one transaction (`whole-saves`).
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct WholeExportTests {
    private static let requestItems = 50

    /// Requests of 50 items, change pages of 40 records.
    private static var limits: Limits {
        var limits = Limits()
        limits.operationsPerRequest = requestItems
        limits.recordsPerResponse = 40
        limits.recordsPerLargePage = 40
        return limits
    }

    private static func small(_ environment: inout SyncEnvironment) { environment.limits = limits }

    private static func counts(of device: Device) -> Views {
        Views(of: device) { context in "\(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Post")))" }
    }

    private func insert(_ count: Int, _ device: Device) throws {
        try device.edit { context in
            let tag = context.insert("Tag", ["name": "all"])
            for number in 0..<count { context.insert("Post", ["title": "\(number)"]).setValue(Set([tag]), forKey: "tags") }
        }
    }

    @Test func aSaveOfManyRequestsAppearsTogether() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport, configure: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: Self.small)
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
        // It did not receive its own changes.
        #expect(try tablet.container.conflicts().isEmpty)
    }

    /// The device dies after each of its requests, before the server sees it or before the answer arrives.
    @Test(arguments: [2, 3, 4], [false, true]) func aDeviceThatDiesBetweenRequestsShowsNothingElsewhereUntilItIsBack(
        request: Int, isCarriedOut: Bool
    ) async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        var tablet = try Device("tablet", transport, configure: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: Self.small)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        try await tablet.kill()
        let views = Self.counts(of: phone)
        let faults = Faults(transport)
        let lost = CKError(.networkUnavailable, "the device died")
        for number in 1...60 {
            faults.plan(
                "records/modify", number < request ? .pass : number == request && isCarriedOut ? .answer { _ in throw lost } : .fail(lost))
        }
        tablet = try Device("tablet", transport, over: faults, file: tablet.file, configure: Self.small)
        try insert(90, tablet)
        try await tablet.until { $0.activity == .offline }
        try await phone.container.sync(timeout: .seconds(600))
        // The fourth request is the last one.
        #expect(try phone.read { try $0.all("Post").count } == (request == 4 && isCarriedOut ? 90 : 0))
        try await tablet.kill()
        tablet = try Device("tablet", transport, file: tablet.file, configure: Self.small)
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(views.all.filter { $0 != "0" } == ["90"])
        #expect(try phone.dump == tablet.dump)
        #expect(try phone.read { try $0.all("Post").count } == 90)
        #expect(try tablet.container.conflicts().isEmpty)
    }

    /// Without it the save arrives request by request, and completely.
    @Test func withoutTheCapabilityASaveArrivesRequestByRequest() async throws {
        let cloud = try InProcessCloud(limits: Self.limits, offered: Set(Capability.allCases).subtracting([.wholeSaves]))
        let transport = try await cloud.addUser("mia", device: "tablet")
        let holding = Mutex(0)
        let held = Holding(transport) { path, _ in
            path.hasSuffix("records/modify")
                && holding.withLock { count in
                    count += 1
                    return count == 3
                }
        }
        let tablet = try Device("tablet", transport, over: held, configure: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: Self.small)
        try await phone.container.sync(timeout: .seconds(600))
        let views = Self.counts(of: phone)
        try insert(180, tablet)
        try await held.gate.reached()
        try await phone.container.sync(timeout: .seconds(600))
        #expect(Int(views.all.last ?? "").map { $0 > 0 && $0 < 180 } == true)
        held.gate.open()
        try await tablet.container.sync(timeout: .seconds(600))
        try await phone.container.sync(timeout: .seconds(600))
        #expect(try phone.dump == tablet.dump)
        #expect(try phone.read { try $0.all("Post").count } == 180)
    }

    /// Objects that a participant or the owner saves together with shared objects are sent to the zone of the share.
    @Test func aSaveInASharedZoneAppearsWholeForAllParticipants() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        func device(_ name: String, _ transport: InProcessTransport) throws -> Device {
            try Device.sharing(name, transport, itemsMax: Self.requestItems, requestsMax: 20)
        }
        let tablet = try device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try device("phone", try await cloud.addDevice("phone", of: "mia"))
        let bo = try device("bo's", try await cloud.addUser("bo", device: "bo's"))
        try await cloud.introduce("bo", givenName: "Bo", emailAddress: "bo@example.org")
        let devices = [tablet, phone, bo]
        try tablet.edit { $0.insert("Post", ["title": "Trip"]) }
        try await tablet.sync()
        let share = try await tablet.share("Trip")
        try await tablet.sync()
        try await bo.join(share)
        for device in devices { try await device.sync() }
        let views = devices.map { device in
            Views(of: device) { context in "\(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Attachment")))" }
        }
        func attach(_ count: Int, on device: Device) throws {
            try device.edit { context in
                let trip = try #require(try context.post(titled: "Trip"))
                for number in 0..<count { context.insert("Attachment", ["thumbnail": Data([UInt8(number)]), "post": trip]) }
            }
        }
        try attach(120, on: bo)
        for device in [bo, tablet, phone, bo] { try await device.sync() }
        try attach(130, on: tablet)
        for device in [tablet, phone, bo, tablet] { try await device.sync() }
        for view in views { #expect(view.all.filter { $0 != "0" } == ["120", "250"]) }
        #expect(try phone.dump == tablet.dump)
        #expect(try bo.dump == tablet.dump)
        // Three requests each, and none for records one by one.
        #expect(bo.transport.log.count { $0 == "records/modify" } == 3)
    }

    @Test func aSaveInThePublicDatabaseAppearsTogether() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        func publish(_ description: NSPersistentStoreDescription) { description.cloudKitContainerOptions?.databaseScope = .public }
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish, configure: Self.small)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish, configure: Self.small)
        try mia.edit { $0.insert("Post", ["title": "Mia's"]) }
        for device in [mia, bo] { try await device.container.sync(timeout: .seconds(600)) }
        let views = Self.counts(of: bo)
        try insert(180, mia)
        for device in [mia, bo] { try await device.container.sync(timeout: .seconds(600)) }
        #expect(views.all == ["181"])
        #expect(try bo.dump == mia.dump)
        // What Bo may not write is left out, and the rest of the save arrives together.
        let others = Self.counts(of: mia)
        try bo.edit { context in
            try #require(try context.post(titled: "Mia's")).setValue("changed by Bo", forKey: "content")
            for number in 0..<90 { context.insert("Post", ["title": "Bo's \(number)"]) }
        }
        try await mia.settles { try mia.read { try $0.all("Post").count } > 181 }
        #expect(others.all == ["271"])
        #expect(try mia.read { try $0.post(titled: "Mia's")?.value(forKey: "content") == nil })
    }

    /// The status counts the requests that the server received, before it executes all of them.
    @Test func exportingCountsTheRequestsOfASave() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        let requests = Mutex(0)
        let holding = Holding(transport) { path, _ in
            path.hasSuffix("records/modify")
                && requests.withLock { count in
                    count += 1
                    return count == 3
                }
        }
        let tablet = try Device("tablet", transport, over: holding, configure: Self.small)
        try insert(85, tablet)
        try await holding.gate.reached()
        // 85 posts, as many links, one tag: four requests, of which two have been staged.
        try await tablet.until { $0.activity == .exporting(done: 100, total: 171) }
        holding.gate.open()
        try await tablet.container.sync(timeout: .seconds(600))
    }

    /// A peer that changes the same record each time delays a save for three rounds. Then it is saved without conflicting records, which
    /// follow later.
    @Test func aRecordThatChangesAllTheTimeHoldsASaveUpForThreeRounds() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: Self.small)
        let laptop = try Device("laptop", try await cloud.addDevice("laptop", of: "mia"), configure: Self.small)
        let isContending = Mutex(false), rounds = Mutex(0)
        let contended = Contending(transport) { last in
            guard last, isContending.withLock({ $0 }) else { return }
            let round = rounds.withLock { count in
                count += 1
                return count
            }
            try phone.edit { try $0.post(titled: "7")?.setValue(Date(timeIntervalSinceReferenceDate: Double(round)), forKey: "timestamp") }
            try await phone.container.sync(timeout: .seconds(600))
        }
        let tablet = try Device("tablet", transport, over: contended, configure: Self.small)
        try insert(60, tablet)
        for device in [tablet, phone, laptop] { try await device.container.sync(timeout: .seconds(600)) }
        let views = Views(of: laptop) { context in
            "\(try context.all("Post").count { $0.value(forKey: "content") as? String == "changed" })"
        }
        isContending.withLock { $0 = true }
        try tablet.edit { context in for post in try context.all("Post") { post.setValue("changed", forKey: "content") } }
        try await laptop.until { _ in views.all.contains { $0 != "0" } }
        #expect(rounds.withLock { $0 } == 4)
        #expect(views.all.first { $0 != "0" } == "59")
        isContending.withLock { $0 = false }
        // The laptop may have the save before the tablet has its response. A sync that is requested until then waits for the timer.
        try await tablet.until { if case .error = $0.activity { true } else { false } }
        for device in [tablet, phone, laptop, phone] { try await device.container.sync(timeout: .seconds(600)) }
        #expect(try laptop.dump == tablet.dump)
        #expect(try phone.dump == tablet.dump)
        #expect(try laptop.read { context in try context.all("Post").count { $0.value(forKey: "content") as? String == "changed" } } == 60)
    }

    /// One object of a save was changed elsewhere: the others wait until both are merged.
    @Test func aConflictOfOneObjectHoldsTheSaveTogether() async throws {
        let cloud = try InProcessCloud(limits: Self.limits)
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport, configure: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: Self.small)
        let laptop = try Device("laptop", try await cloud.addDevice("laptop", of: "mia"), configure: Self.small)
        try insert(60, tablet)
        for device in [tablet, phone, laptop] { try await device.container.sync(timeout: .seconds(600)) }
        transport.goOffline()
        try tablet.edit { context in for post in try context.all("Post") { post.setValue("changed", forKey: "content") } }
        try await tablet.until { $0.activity == .offline }
        try phone.edit { try $0.post(titled: "7")?.setValue(Date(timeIntervalSinceReferenceDate: 5), forKey: "timestamp") }
        try await phone.container.sync(timeout: .seconds(600))
        let views = Views(of: laptop) { context in
            "\(try context.all("Post").count { $0.value(forKey: "content") as? String == "changed" })"
        }
        transport.goOnline()
        try await tablet.container.sync(timeout: .seconds(600))
        try await laptop.container.sync(timeout: .seconds(600))
        #expect(views.all.filter { $0 != "0" } == ["60"])
        #expect(try laptop.dump == tablet.dump)
    }

    /// Objects that the server rejects permanently are left out, and the others arrive together.
    @Test func aRejectedObjectIsLeftOutAndTheRestAppearsTogether() async throws {
        var strict = Self.limits
        strict.recordBytes = 10_000
        let cloud = try InProcessCloud(limits: strict)
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), configure: Self.small)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), configure: Self.small)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        let views = Self.counts(of: phone)
        try tablet.edit { context in
            for number in 0..<120 {
                context.insert("Post", ["title": "\(number)", "content": number == 70 ? String(repeating: "x", count: 20_000) : "short"])
            }
        }
        try await phone.settles { try phone.read { try $0.all("Post").count } == 119 }
        #expect(views.all.filter { $0 != "0" } == ["119"])
        try await tablet.until { if case .error = $0.activity { true } else { false } }
    }
}

/// Acts before a request to modify records reaches the server; its argument is whether the request is the last of its group.
private final class Contending: CloudTransport {
    private let transport: InProcessTransport
    private let before: @Sendable (_ isLast: Bool) async throws -> Void
    var needsIdleTimeout: Bool { transport.needsIdleTimeout }
    var credential: String? { transport.credential }

    init(_ transport: InProcessTransport, _ before: @escaping @Sendable (_ isLast: Bool) async throws -> Void) {
        self.transport = transport
        self.before = before
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if case .service(let path) = request.target, path.hasSuffix("records/modify"), case .bytes(let body) = request.body {
            try await before(try ModifyRecordsRequest(json: body).saveGroup?.isLast == true)
        }
        return try await transport.send(request)
    }

    func stream(_ request: TransportRequest) async throws -> TransportStream { try await transport.stream(request) }
}
