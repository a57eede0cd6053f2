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

/// The operator restores a backup that is older than what devices synced.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RestoredServerTests {
    private struct Stage {
        let cloud: InProcessCloud
        let backup: String
        let transport: InProcessTransport
        /// Of the tablet's requests.
        let faults: Faults
        let tablet: Device
        let phone: Device

        /// Both devices have the post Before. The backup has it too.
        init() async throws {
            cloud = try InProcessCloud()
            transport = try await cloud.addUser("mia", device: "tablet")
            faults = Faults(transport)
            tablet = try Device("tablet", transport, over: faults)
            phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
            try tablet.edit { $0.insert("Post", ["title": "Before"]) }
            for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
            backup = TestScope.temporaryFolder("tarn-backup").path
            try await cloud.backUp(to: backup)
        }

        /// Texts in the conflict log of a device.
        func losing(_ device: Device) throws -> [String] { try device.container.conflicts().compactMap { $0.losingValue as? String } }

        func sync(_ devices: Device...) async throws {
            for device in devices { try await device.container.sync(timeout: .seconds(600)) }
        }

        func editBefore(_ device: Device, _ title: String) throws {
            try device.edit { context in
                let post = try #require(
                    try context.all("Post").first { ($0.value(forKey: "title") as? String)?.hasPrefix("Before") == true })
                post.setValue(title, forKey: "title")
            }
        }
    }

    @Test func savesAfterTheBackupAreSentAgain() async throws {
        let stage = try await Stage()
        try stage.tablet.edit { context in
            let post = context.insert("Post", ["title": "After"])
            post.setValue(Set([context.insert("Tag", ["name": "new"])]), forKey: "tags")
        }
        try stage.editBefore(stage.tablet, "Before, edited")
        try await stage.sync(stage.tablet, stage.phone)
        try await stage.cloud.restore(from: stage.backup)
        #expect(try await stage.cloud.records(ofType: "CD_Post").count == 1)
        try await stage.sync(stage.tablet, stage.phone, stage.tablet)
        let everything = "Post  title After  tags [\"new\"]\nPost  title Before, edited\nTag  name new  posts [\"After\"]"
        #expect(try stage.tablet.dump == everything)
        #expect(try stage.phone.dump == everything)
        #expect(try await stage.cloud.records(ofType: "CD_Post").count == 2)
    }

    /// The first response to the save is lost. That of its replay can't move the device's token, which is from before the backup.
    @Test func aSaveThatWasAcknowledgedByItsReplayIsSentAgain() async throws {
        let stage = try await Stage()
        stage.faults.plan("records/modify", .answer { _ in throw CKError(.networkFailure, "the response was lost") })
        try stage.tablet.edit { $0.insert("Post", ["title": "After"]) }
        try await stage.tablet.until { $0.activity == .offline }
        // Not by `sync()`, which also imports.
        await stage.tablet.timers.asleep(within: 30)
        stage.tablet.timers.advance(by: 30)
        try await stage.tablet.settles()
        #expect(try await stage.cloud.records(ofType: "CD_Post").count == 2)
        try await stage.cloud.restore(from: stage.backup)
        #expect(try await stage.cloud.records(ofType: "CD_Post").count == 1)
        try await stage.sync(stage.tablet, stage.phone)
        #expect(try stage.phone.dump == "Post  title After\nPost  title Before")
    }

    /// A device that synced last before the backup has nothing to send, and its older values don't win.
    @Test func tokensFromBeforeTheBackupStayValid() async throws {
        let stage = try await Stage()
        stage.phone.container.pauseSyncing()
        try stage.editBefore(stage.tablet, "Before, edited")
        try await stage.sync(stage.tablet)
        try await stage.cloud.restore(from: stage.backup)
        try await stage.sync(stage.tablet)
        stage.phone.container.resumeSyncing()
        try await stage.sync(stage.phone, stage.tablet)
        #expect(try stage.tablet.dump == "Post  title Before, edited")
        #expect(try stage.phone.dump == "Post  title Before, edited")
        #expect(try stage.phone.container.conflicts().isEmpty)
    }

    /// A device that misses an edit from after the backup, and has sent something since: its versions from before the backup are replaced.
    @Test func versionsThatTheBackupHasDoNotWin() async throws {
        let stage = try await Stage()
        try stage.phone.edit { $0.insert("Post", ["title": "Of the phone"]) }
        try await stage.sync(stage.phone)
        stage.phone.container.pauseSyncing()
        try stage.editBefore(stage.tablet, "Before, edited")
        try await stage.sync(stage.tablet)
        try await stage.cloud.restore(from: stage.backup)
        try await stage.sync(stage.tablet)
        stage.phone.container.resumeSyncing()
        try await stage.sync(stage.phone, stage.tablet)
        let everything = "Post  title Before, edited\nPost  title Of the phone"
        #expect(try stage.tablet.dump == everything)
        #expect(try stage.phone.dump == everything)
        #expect(try stage.phone.container.conflicts().isEmpty)
    }

    /// A deletion that was not sent before the restore, of an object that the backup has.
    @Test func aPendingDeletionOfAVersionThatTheBackupHasIsSent() async throws {
        let stage = try await Stage()
        stage.tablet.container.pauseSyncing()
        try stage.phone.edit { $0.insert("Post", ["title": "Of the phone"]) }
        try await stage.sync(stage.phone)
        stage.phone.container.pauseSyncing()
        try stage.phone.edit { context in for post in try context.all("Post") { context.delete(post) } }
        try await stage.cloud.restore(from: stage.backup)
        for device in [stage.phone, stage.tablet] { device.container.resumeSyncing() }
        try await stage.sync(stage.phone, stage.tablet)
        #expect(try stage.phone.dump.isEmpty)
        #expect(try stage.tablet.dump.isEmpty)
    }

    /// The backup is older than the user's first contact with the app's container.
    @Test func objectsOfAnAppThatTheBackupLacksAreSentAgain() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await cloud.backUp(to: backup)
        let tablet = try Device("tablet", transport)
        try tablet.edit { $0.insert("Post", ["title": "After"]) }
        try await tablet.container.sync(timeout: .seconds(600))
        try await cloud.restore(from: backup)
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(try tablet.dump == "Post  title After")
        #expect(tablet.container.syncStatus.accountChange == nil)
        #expect(try await cloud.records(ofType: "CD_Post").count == 1)
    }

    /// One backup is restored twice: tokens of the first restored history are unknown to the second.
    @Test func aSecondRestoreOfTheSameBackupIsRecognised() async throws {
        let stage = try await Stage()
        try await stage.cloud.restore(from: stage.backup)
        try stage.tablet.edit { $0.insert("Post", ["title": "Between"]) }
        try await stage.sync(stage.tablet, stage.phone)
        try await stage.cloud.restore(from: stage.backup)
        try await stage.sync(stage.phone, stage.tablet, stage.phone)
        #expect(try stage.tablet.dump == "Post  title Before\nPost  title Between")
        #expect(try stage.phone.dump == "Post  title Before\nPost  title Between")
    }

    /// The phone misses an edit that the tablet sent after the first restore: its version of the record, which the backup has, does not win
    /// after the second one.
    @Test func versionsThatTheBackupHasDoNotWinAfterASecondRestore() async throws {
        let stage = try await Stage()
        try await stage.cloud.restore(from: stage.backup)
        try stage.phone.edit { $0.insert("Post", ["title": "Of the phone"]) }
        try await stage.sync(stage.phone, stage.tablet)
        stage.phone.container.pauseSyncing()
        try stage.editBefore(stage.tablet, "Before, edited")
        try await stage.sync(stage.tablet)
        try await stage.cloud.restore(from: stage.backup)
        try await stage.sync(stage.tablet)
        stage.phone.container.resumeSyncing()
        try await stage.sync(stage.phone, stage.tablet)
        let everything = "Post  title Before, edited\nPost  title Of the phone"
        #expect(try stage.tablet.dump == everything)
        #expect(try stage.phone.dump == everything)
        #expect(try stage.phone.container.conflicts().isEmpty)
    }

    /// The phone has version 5 of the post, the tablet version 6, and the backup version 4. The device that syncs last wins, and logs the
    /// other version. A third device, which joins later, and a second restore of the backup change nothing of it.
    @Test(arguments: [false, true]) func devicesWithDifferentLostVersionsConvergeAndLogTheLosingOne(isPhoneLast: Bool) async throws {
        let stage = try await Stage()
        try stage.editBefore(stage.phone, "Before 5")
        try await stage.sync(stage.phone, stage.tablet)
        stage.phone.container.pauseSyncing()
        try stage.editBefore(stage.tablet, "Before 6")
        try await stage.sync(stage.tablet)
        stage.tablet.container.pauseSyncing()
        try await stage.cloud.restore(from: stage.backup)
        let order = isPhoneLast ? [stage.tablet, stage.phone] : [stage.phone, stage.tablet]
        for device in order {
            device.container.resumeSyncing()
            try await stage.sync(device)
        }
        try await stage.sync(order[0])
        let versions = isPhoneLast ? (winner: "Before 5", loser: "Before 6") : (winner: "Before 6", loser: "Before 5")
        for device in order { #expect(try device.dump == "Post  title \(versions.winner)") }
        #expect(try stage.losing(order[1]).contains(versions.loser))
        try await stage.cloud.restore(from: stage.backup)
        let watch = try Device("watch", try await stage.cloud.addDevice("watch", of: "mia"))
        try await stage.sync(watch, order[0], order[1], watch)
        for device in [watch] + order { #expect(try device.dump == "Post  title \(versions.winner)") }
        #expect(try stage.losing(watch).isEmpty)
    }

    /// A field of a later version of the app, which this version keeps: it is sent with a record that the server lacks.
    @Test func aFieldThatTheModelLacksIsSentAgain() async throws {
        let stage = try await Stage()
        try stage.tablet.edit { $0.insert("Post", ["title": "After"]) }
        try await stage.sync(stage.tablet)
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: stage.transport)
        var record = try #require(
            try await stage.cloud.records(ofType: "CD_Post").first { $0.fields["CD_title"]?.value == .string("After") })
        record.fields = ["CD_mood": Field(.string("good"))]
        _ = try await client.modifyRecords(
            ModifyRecordsRequest(
                operations: [RecordOperation(.update, record)], zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")),
            idempotencyKey: "mood")
        try await stage.sync(stage.tablet)
        try await stage.cloud.restore(from: stage.backup)
        try await stage.sync(stage.tablet)
        let sent = try await stage.cloud.records(ofType: "CD_Post").first { $0.recordName == record.recordName }
        #expect(sent?.fields["CD_mood"]?.value == .string("good"))
        #expect(sent?.fields["CD_title"]?.value == .string("After"))
    }
}
