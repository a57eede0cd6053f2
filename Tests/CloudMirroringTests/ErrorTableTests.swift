// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

/// The engine's decision on each rejection, with a clock that the test moves and no code in the app.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ErrorTableTests {
    /// A synced tablet with a transport that can fail.
    private struct Bench {
        let cloud: InProcessCloud
        let transport: InProcessTransport
        let faults: Faults
        let tablet: Device

        init(limits: Limits = Limits()) async throws {
            cloud = try InProcessCloud(limits: limits)
            transport = try await cloud.addUser("mia", device: "tablet")
            faults = Faults(transport)
            tablet = try Device("tablet", transport, over: faults)
            try await tablet.container.sync(timeout: .seconds(600))
        }

        func save(_ title: String) throws { try tablet.edit { $0.insert("Post", ["title": title]) } }

        /// The posts on a new device.
        func elsewhere() async throws -> String {
            let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
            try await phone.container.sync(timeout: .seconds(600))
            let dump = try phone.dump
            try await phone.discard()
            return dump
        }

        var client: CloudDatabaseClient {
            CloudDatabaseClient(
                containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
        }

        func fails(_ text: String) async throws {
            try await tablet.until { status in
                guard case .error(let reason) = status.activity else { return false }
                return reason.contains(text)
            }
        }
    }

    private static let zone = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")

    /// Everything that passes: whichever request meets it, it is tried again by itself and nothing is lost or doubled.
    private static let passing: [(name: String, fault: Faults.Fault)] = [
        ("throttled", .refuse(status: 429, WireError(.throttled, "slow down"))),
        ("service unavailable", .refuse(status: 503, WireError(.tryAgainLater, "later"))),
        ("zone busy", .fail(CKError(.zoneBusy, "busy"))),
        ("internal error", .refuse(status: 500, WireError(.internalError, "a fault"))),
        ("a proxy's page", .fail(CKError(.serviceUnavailable, "the server answered 502"))),
        ("time-out", .fail(CKError(.networkFailure, "took too long"))),
        ("response lost", .fail(CKError(.serverResponseLost, "lost"))),
        ("asset not available", .fail(CKError(.assetNotAvailable, "gone for now"))),
        ("asset file modified", .fail(CKError(.assetFileModified, "changed while it was sent"))),
        ("constraint", .refuse(status: 409, WireError(.uniqueFieldError, "not now"))),
        ("network unavailable", .fail(CKError(.networkUnavailable, "no way"))),
        ("cancelled", .fail(CKError(.operationCancelled, "cancelled"))),
    ]
    private static let requests = [
        "users/caller", "zones/modify", "subscriptions/modify", "changes/zone", "records/modify", "assets/upload", "asset",
    ]

    @Test(arguments: passing.indices) func transientFailuresAreRetried(_ index: Int) async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let faults = Faults(transport)
        for request in Self.requests { faults.plan(request, Self.passing[index].fault) }
        let tablet = try Device("tablet", transport, over: faults)
        tablet.timers.runFreely()
        try tablet.edit { context in
            let image = context.insert("ImageData", ["data": Data(repeating: 7, count: 800_000)])
            context.insert("Attachment", ["imageData": image, "post": context.insert("Post", ["title": "Kept"])])
        }
        try await tablet.settles { faults.isSpent }
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.settles { try phone.read { try $0.all("ImageData").count } == 1 }
        #expect(try phone.dump == tablet.dump, "\(Self.passing[index].name)")
        #expect(try phone.read { try $0.all("Post").count } == 1)
    }

    @Test func theServersWaitIsHonouredExactly() async throws {
        let bench = try await Bench()
        bench.faults.plan("records/modify", .refuse(status: 503, WireError(.tryAgainLater, "come back", retryAfter: 120)))
        try bench.save("Waits")
        try await bench.fails("come back")
        let before = bench.faults.log.count { $0 == "records/modify" }
        bench.tablet.timers.advance(by: 119)
        // Saving more does not make it impatient.
        try bench.save("Waits, too")
        try await bench.tablet.until { $0.pendingCount == 2 }
        #expect(bench.faults.log.count { $0 == "records/modify" } == before)
        bench.tablet.timers.advance(by: 1)
        try await bench.tablet.settles()
        #expect(try await bench.elsewhere() == "Post  title Waits\nPost  title Waits, too")
    }

    @Test func anExpiredTokenRefetchesAndFindsDeletions() async throws {
        let bench = try await Bench()
        for title in ["Stays", "Goes"] { try bench.save(title) }
        try await bench.tablet.container.sync(timeout: .seconds(600))
        let goes = try #require(try bench.tablet.read { try $0.post(titled: "Goes")?.objectID })
        let name = try #require(bench.tablet.container.recordID(for: goes)?.recordName)
        bench.tablet.container.pauseSyncing()
        _ = try await bench.client.modifyRecords(
            ModifyRecordsRequest(
                operations: [RecordOperation(.forceDelete, Record(recordName: name, recordType: "CD_Post"))], zoneID: Self.zone),
            idempotencyKey: "elsewhere")
        try bench.save("Unsent")
        bench.faults.plan("changes/zone", .refuse(status: 400, WireError(.badRequest, "expired", nativeCode: .changeTokenExpired)))
        bench.tablet.container.resumeSyncing()
        try await bench.tablet.container.sync(timeout: .seconds(600))
        #expect(bench.faults.isSpent)
        #expect(try bench.tablet.dump == "Post  title Stays\nPost  title Unsent")
        #expect(try await bench.elsewhere() == bench.tablet.dump)
    }

    @Test func deletionInSettingsRemovesObjectsAndKeepsUnsentOnes() async throws {
        let bench = try await Bench()
        try bench.save("Synced")
        try await bench.tablet.container.sync(timeout: .seconds(600))
        bench.tablet.container.pauseSyncing()
        try bench.save("Unsent")
        _ = try await bench.client.modifyZones(ZonesModifyRequest(operations: [.delete(Self.zone)]))
        bench.faults.plan(
            "changes/zone", .refuse(status: 404, WireError(.zoneNotFound, "the user deleted it", nativeCode: .userDeletedZone)))
        bench.tablet.container.resumeSyncing()
        try await bench.tablet.container.sync(timeout: .seconds(600))
        #expect(try bench.tablet.dump == "Post  title Unsent")
        #expect(try await bench.elsewhere() == "Post  title Unsent")
    }

    @Test func aFullStorageKeepsTheQueueSaysSoAndTriesRarely() async throws {
        let bench = try await Bench()
        bench.faults.plan("records/modify", .refuse(status: 413, WireError(.quotaExceeded, "the storage is full")))
        try bench.save("Waits for room")
        try await bench.fails("the storage is full")
        let events = try bench.tablet.read { context in
            let result = try context.execute(NSPersistentCloudKitContainerEventRequest.fetchEvents(after: Date.distantPast))
            return (result as? NSPersistentCloudKitContainerEventResult)?.result as? [NSPersistentCloudKitContainer.Event] ?? []
        }
        #expect(events.contains { $0.type == .export && ($0.error as? CKError)?.code == .quotaExceeded })
        let before = bench.faults.log.count { $0 == "records/modify" }
        bench.tablet.timers.advance(by: 3_500)
        try bench.save("And this")
        try await bench.tablet.until { $0.pendingCount == 2 }
        #expect(bench.faults.log.count { $0 == "records/modify" } == before)
        bench.tablet.timers.advance(by: 100)
        try await bench.tablet.settles()
        #expect(try await bench.elsewhere().contains("And this"))
    }

    @Test func importContinuesWhileTheQuotaIsExceeded() async throws {
        let bench = try await Bench()
        bench.faults.plan("records/modify", .refuse(status: 413, WireError(.quotaExceeded, "the storage is full")))
        try bench.save("Waits for room")
        try await bench.fails("the storage is full")
        let phone = try Device("phone", try await bench.cloud.addDevice("phone", of: "mia"))
        try phone.edit { $0.insert("Post", ["title": "From elsewhere"]) }
        try await phone.container.sync(timeout: .seconds(600))
        try await bench.tablet.until { _ in try bench.tablet.dump.contains("From elsewhere") }
        // It is still said, and still not sent.
        try await bench.fails("the storage is full")
        #expect(bench.tablet.container.syncStatus.pendingCount == 1)
        bench.tablet.timers.advance(by: 3_600)
        try await bench.tablet.settles()
        #expect(try await bench.elsewhere() == bench.tablet.dump)
    }

    @Test func deletionsAreSentWhileTheQuotaIsExceeded() async throws {
        var limits = Limits()
        limits.userBytes = 900_000
        let bench = try await Bench(limits: limits)
        try bench.tablet.edit { $0.insert("ImageData", ["data": Data(repeating: 1, count: 600_000)]) }
        try await bench.tablet.settles()
        try bench.tablet.edit { $0.insert("ImageData", ["data": Data(repeating: 2, count: 500_000)]) }
        try await bench.fails("quota")
        try bench.tablet.edit { context in
            for image in try context.all("ImageData") where (image.value(forKey: "data") as? Data)?.first == 1 { context.delete(image) }
        }
        try await bench.tablet.settles()
        #expect(try await bench.elsewhere() == bench.tablet.dump)
        #expect(try bench.tablet.read { try $0.all("ImageData").count } == 1)
    }

    @Test func aRequestThatIsTooLargeIsSentInHalves() async throws {
        let bench = try await Bench()
        let refusal = Faults.Fault.refuse(status: 413, WireError(.quotaExceeded, "too large", nativeCode: .limitExceeded))
        bench.faults.plan("records/modify", refusal, refusal, refusal)
        try bench.tablet.edit { context in for number in 0..<40 { context.insert("Post", ["title": "\(number)"]) } }
        try await bench.tablet.settles { bench.faults.isSpent }
        #expect(bench.faults.log.count { $0 == "records/modify" } > 4)
        #expect(try await bench.elsewhere() == bench.tablet.dump)
    }

    /// A batch size that the server rejected is not retried with each request.
    @Test func aServerThatTakesFewerItemsGetsFewer() async throws {
        var limits = Limits()
        limits.operationsPerRequest = 10
        let bench = try await Bench(limits: limits)
        let before = bench.faults.answers("records/modify").count
        try bench.tablet.edit { context in for number in 0..<100 { context.insert("Post", ["title": "\(number)"]) } }
        try await bench.tablet.container.sync(timeout: .seconds(600))
        let refused = bench.faults.answers("records/modify").dropFirst(before).count { (try? ModifyRecordsResponse(json: $0)) == nil }
        #expect(refused <= 8, "of 100, 50, 25, 12; and whether it takes 12 by now")
        #expect(try await bench.elsewhere() == bench.tablet.dump)
    }

    @Test func oneRejectedRecordBlocksNoOther() async throws {
        let bench = try await Bench()
        try bench.tablet.edit { context in
            for number in 0..<20 { context.insert("Post", ["title": number == 11 ? "poison" : "fine \(number)"]) }
        }
        // The server refuses every request that the record is in, as one that it cannot read.
        bench.faults.refuseAll("records/modify", containing: "poison", status: 400, WireError(.badRequest, "cannot read this"))
        try await bench.tablet.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.contains("refused an object") && status.pendingCount == 0
        }
        bench.faults.stopRefusing()
        let dump = try await bench.elsewhere()
        #expect(dump.split(separator: "\n").count == 19)
        #expect(!dump.contains("poison"))
        // Changed, it is sent again.
        try bench.tablet.edit { try $0.post(titled: "poison")?.setValue("cured", forKey: "title") }
        try await bench.tablet.settles()
        #expect(try await bench.elsewhere().contains("cured"))
    }

    @Test func oneItemsFailureIsNotTheOthers() async throws {
        let bench = try await Bench()
        bench.faults.plan(
            "records/modify",
            .answer { body in
                // One was innocent of what another did: it is sent again.
                var answer = try ModifyRecordsResponse(json: body)
                guard case .record(let record) = answer.results[0] else { return body }
                answer.results[0] = .failure(
                    recordName: record.recordName, WireError(.atomicError, "another one failed"), serverRecord: nil)
                return answer.encoded()
            })
        for title in ["one", "two"] { try bench.save(title) }
        bench.tablet.timers.runFreely()
        try await bench.tablet.settles { bench.faults.isSpent }
        #expect(try await bench.elsewhere() == "Post  title one\nPost  title two")
        #expect(try bench.tablet.container.conflicts().isEmpty)
    }

    @Test func signingOutKeepsPendingChangesUntilSignIn() async throws {
        let bench = try await Bench()
        bench.faults.plan("records/modify", .refuse(status: 401, WireError(.authenticationFailed, "the token was revoked")))
        try bench.save("Waits")
        try await bench.fails("the token was revoked")
        #expect(bench.tablet.container.syncStatus.pendingCount == 1)
        try await bench.tablet.container.sync(timeout: .seconds(600))
        #expect(try await bench.elsewhere() == "Post  title Waits")
    }

    @Test func aWrongConfigurationStopsWithASentence() async throws {
        let bench = try await Bench()
        bench.faults.plan("changes/zone", .fail(CKError(.badContainer, "no server is configured")))
        let error = await #expect(throws: CKError.self) { try await bench.tablet.container.sync(timeout: .seconds(600)) }
        #expect(error?.code == .badContainer)
        try await bench.fails("no server is configured")
    }

    @Test func syncWithTimeoutReportsTheReason() async throws {
        let bench = try await Bench()
        bench.transport.goOffline()
        try bench.save("Waits")
        let sync = Task { try await bench.tablet.container.sync(timeout: .seconds(30)) }
        try await bench.tablet.until { $0.activity == .offline && $0.pendingCount == 1 }
        bench.tablet.timers.advance(by: 30)
        let error = await #expect(throws: CKError.self) { try await sync.value }
        #expect(error?.code == .networkUnavailable)
        bench.transport.goOnline()
        try await bench.tablet.container.sync(timeout: .seconds(30))
        #expect(try await bench.elsewhere() == "Post  title Waits")
    }

    @Test func syncReportsTheExceededQuota() async throws {
        let bench = try await Bench()
        let refusal = Faults.Fault.refuse(status: 413, WireError(.quotaExceeded, "the storage is full"))
        bench.faults.plan("records/modify", refusal, refusal)
        try bench.save("Waits for room")
        try await bench.fails("the storage is full")
        let sync = Task { try await bench.tablet.container.sync(timeout: .seconds(30)) }
        await bench.tablet.timers.asleep(within: 30)
        try await until { bench.faults.isSpent }
        try await bench.fails("the storage is full")
        bench.tablet.timers.advance(by: 30)
        let error = await #expect(throws: CKError.self) { try await sync.value }
        #expect(error?.code == .quotaExceeded)
    }

    @Test func syncReportsTheUnreachableServer() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        transport.goOffline()
        let tablet = try Device("tablet", transport)
        try await tablet.until { $0.activity == .offline }
        tablet.timers.runFreely()
        let error = await #expect(throws: CKError.self) { try await tablet.container.sync(timeout: .seconds(30)) }
        #expect(error?.code == .networkUnavailable)
        #expect(error?.localizedDescription == "the device is offline")
    }
}
