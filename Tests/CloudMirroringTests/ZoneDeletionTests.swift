// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import TestBasics
import Testing

/// The zone of a store is gone: what devices do depends on why.
///
/// Source: `CKDatabase.DatabaseChange.Deletion.Reason`.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ZoneDeletionTests {
    private static let zone = "com.apple.coredata.cloudkit.zone"

    /// Two devices in step, of which each has something that it did not send.
    private struct Stage {
        let cloud: InProcessCloud
        let faults: Faults
        let tablet: Device
        let phone: Device

        init() async throws {
            cloud = try InProcessCloud()
            let transport = try await cloud.addUser("mia", device: "tablet")
            faults = Faults(transport)
            tablet = try Device("tablet", transport, over: faults)
            phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
            try tablet.edit { context in
                let post = context.insert("Post", ["title": "Sent"])
                post.setValue(Set([context.insert("Tag", ["name": "tagged"])]), forKey: "tags")
            }
            for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
            for device in [tablet, phone] {
                device.container.pauseSyncing()
                try device.edit { $0.insert("Post", ["title": "Of the \(device.name)"]) }
            }
        }

        func delete(_ reason: ZoneDeletionReason) async throws {
            try await cloud.deleteZone(ZoneDeletionTests.zone, of: "mia", because: reason, container: Device.containerIdentifier)
        }

        func resume(_ devices: Device...) async throws {
            for device in devices {
                device.container.resumeSyncing()
                try await device.container.sync(timeout: .seconds(600))
            }
        }
    }

    private static let unsent = "Post  title Of the phone\nPost  title Of the tablet"
    private static let everything = unsent + "\nPost  title Sent  tags [\"tagged\"]\nTag  name tagged  posts [\"Sent\"]"

    @Test(arguments: [ZoneDeletionReason.deleted, .purged]) func aZoneDeletedByTheUserRemovesObjectsAndKeepsUnsentOnes(
        _ reason: ZoneDeletionReason
    ) async throws {
        let stage = try await Stage()
        try await stage.delete(reason)
        try await stage.resume(stage.tablet, stage.phone, stage.tablet)
        #expect(try stage.tablet.dump == Self.unsent)
        #expect(try stage.phone.dump == Self.unsent)
    }

    /// The device that comes second finds a zone that was made again, and hears all the same why the one that it knew went.
    @Test func aResetOfTheUsersKeysReuploadsAllObjects() async throws {
        let stage = try await Stage()
        // Only the phone has heard of this.
        try await stage.resume(stage.phone)
        stage.phone.container.pauseSyncing()
        try await stage.delete(.encryptedDataReset)
        try await stage.resume(stage.tablet)
        #expect(try stage.tablet.dump == Self.everything.replacing("Post  title Of the phone\n", with: ""))
        try await stage.resume(stage.phone, stage.tablet)
        #expect(try stage.tablet.dump == Self.everything)
        #expect(try stage.phone.dump == Self.everything)
        #expect(try stage.tablet.container.conflicts().isEmpty)
        #expect(try stage.phone.container.conflicts().isEmpty)
    }

    @Test func aMissingZoneIsReuploaded() async throws {
        let stage = try await Stage()
        try await stage.delete(.deleted)
        // Its history starts again as well.
        stage.faults.plan("changes/database", .refuse(status: 400, WireError(.badRequest, "expired", nativeCode: .changeTokenExpired)))
        try await stage.resume(stage.tablet)
        #expect(stage.faults.isSpent)
        #expect(try stage.tablet.dump == Self.everything.replacing("Post  title Of the phone\n", with: ""))
        try await stage.resume(stage.phone, stage.tablet)
        #expect(try stage.phone.dump == Self.everything)
        #expect(try stage.tablet.dump == Self.everything)
    }

    @Test func aPurgeRemovesObjectsFromOtherDevices() async throws {
        let stage = try await Stage()
        let store = stage.tablet.container.persistentStoreCoordinator.persistentStores[0]
        let zoneID = try #require(
            stage.tablet.read { try $0.post(titled: "Sent")?.objectID }.flatMap { stage.tablet.container.recordID(for: $0)?.zoneID })
        try await stage.tablet.container.purgeObjectsAndRecordsInZone(with: zoneID, in: store)
        #expect(try stage.tablet.dump == "")
        try await stage.resume(stage.phone, stage.tablet)
        #expect(try stage.phone.dump == "Post  title Of the phone")
        #expect(try stage.tablet.dump == stage.phone.dump)
    }

    /// A share's zone goes with the keys, too: its objects are the user's own again.
    @Test func aResetOfKeysReturnsSharedObjectsToTheHomeZone() async throws {
        let all = try await Sharers()
        try await all.plan()
        let share = try await all.mia.share("Trip")
        try await all.sync()
        try await all.cloud.deleteZone(
            share.recordID.zoneID.zoneName, of: "mia", because: .encryptedDataReset, container: Device.containerIdentifier)
        try await all.mia.sync()
        let trip = try all.mia.postID("Trip")
        #expect(all.mia.container.recordID(for: trip)?.zoneID.zoneName == Self.zone)
        #expect(try all.mia.container.fetchShares(matching: [trip]).isEmpty)
        try await all.sync()
        #expect(try all.phone.dump == all.mia.dump)
        #expect(try all.mia.dump.contains("Trip  attachments"))
    }
}
