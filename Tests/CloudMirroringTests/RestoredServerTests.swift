// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import TestBasics
import Testing

/// The operator restores a backup that is older than what devices synced.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RestoredServerTests {
    private struct Stage {
        let cloud: InProcessCloud
        let backup: String
        let tablet: Device
        let phone: Device

        /// Both devices have the post Before. The backup has it too.
        init() async throws {
            cloud = try InProcessCloud()
            tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
            phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
            try tablet.edit { $0.insert("Post", ["title": "Before"]) }
            for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
            backup = TestScope.temporaryFolder("tarn-backup").path
            try await cloud.backUp(to: backup)
        }

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
}
