// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import TestBasics
import Testing

/// The operator restores a backup that is older than shares, or than saves of their participants.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RestoredShareTests {
    private func backUp(_ cloud: InProcessCloud) async throws -> String {
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await cloud.backUp(to: backup)
        return backup
    }

    /// A trip that Bo shares with its owner, on all devices.
    private func joined() async throws -> Sharers {
        let sharers = try await Sharers()
        try await sharers.plan()
        try await sharers.bo.join(try await sharers.mia.share("Trip"))
        try await sharers.sync()
        return sharers
    }

    private func content(of title: String, on device: Device) throws -> String? {
        try device.read { try $0.post(titled: title)?.value(forKey: "content") as? String }
    }

    @Test func objectsOfALostShareReturnToTheirOwner() async throws {
        let sharers = try await Sharers()
        try await sharers.plan()
        let backup = try await backUp(sharers.cloud)
        try await sharers.bo.join(try await sharers.mia.share("Trip"))
        try await sharers.sync()
        try sharers.mia.set("Trip", "content", "Land")
        try await sharers.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.sync()
        let new = try Device.sharing("new", try await sharers.cloud.addDevice("new", of: "mia"))
        try await new.sync()
        for device in [sharers.mia, sharers.phone, new] {
            #expect(try content(of: "Trip", on: device) == "Land", "\(device.name)")
            #expect(try device.dump == sharers.mia.dump, "\(device.name)")
            #expect(try device.container.recordID(for: device.postID("Trip"))?.zoneID.zoneName == "com.apple.coredata.cloudkit.zone")
            #expect(try device.container.fetchShares(in: device.own).isEmpty)
        }
        #expect(try sharers.mia.read { try $0.all("Attachment").count } == 1)
    }

    /// The owner sends the objects again. The participant's copies are in an archive, which status and event name.
    @Test func objectsOfALostShareAreArchivedForParticipants() async throws {
        let sharers = try await Sharers()
        try await sharers.plan()
        let backup = try await backUp(sharers.cloud)
        try await sharers.bo.join(try await sharers.mia.share("Trip"))
        try await sharers.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.bo.sync()
        #expect(try sharers.bo.read { try $0.all("Post").isEmpty })
        let change = try #require(try sharers.bo.container.accountChanges(in: sharers.bo.others).last)
        #expect(change.kind == .shareLost)
        #expect(change.outcome == .emptied)
        let folder = try #require(try sharers.bo.others.url?.deletingLastPathComponent())
        #expect(try StoredPosts.titles(in: folder.appendingPathComponent(try #require(change.archiveName))) == ["Trip"])
        // The owner shares it again.
        try await sharers.sync()
        try await sharers.bo.join(try await sharers.mia.share("Trip"))
        try await sharers.sync()
        #expect(try content(of: "Trip", on: sharers.bo) == "Sea")
    }

    /// Devices of the owner have not received the participant's save.
    @Test func aParticipantSendsLostChangesAgain() async throws {
        let sharers = try await joined()
        let backup = try await backUp(sharers.cloud)
        try sharers.bo.set("Trip", "content", "Land")
        try sharers.bo.edit { context in
            context.insert("Post", ["title": "Hint"]).mutableSetValue(forKey: "tags").add(try context.holiday)
        }
        try await sharers.bo.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.bo.sync()
        try await sharers.sync()
        for device in [sharers.mia, sharers.phone, sharers.bo] {
            #expect(try content(of: "Trip", on: device) == "Land", "\(device.name)")
            #expect(try device.read { try $0.post(titled: "Hint") != nil }, "\(device.name)")
        }
    }

    /// The participant has read-only access by now.
    @Test func lostChangesWithoutPermissionAreArchived() async throws {
        let sharers = try await joined()
        let backup = try await backUp(sharers.cloud)
        try sharers.bo.set("Trip", "title", "Voyage")
        try await sharers.bo.sync()
        let share = try #require(try sharers.mia.container.fetchShares(in: sharers.mia.own).first)
        share.publicPermission = .readOnly
        _ = try await sharers.mia.container.persistUpdatedShare(share, in: sharers.mia.own)
        try await sharers.bo.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.bo.sync()
        let change = try #require(try sharers.bo.container.accountChanges(in: sharers.bo.others).last)
        #expect(change.kind == .shareLost)
        let folder = try #require(try sharers.bo.others.url?.deletingLastPathComponent())
        #expect(try StoredPosts.titles(in: folder.appendingPathComponent(try #require(change.archiveName))) == ["Voyage"])
    }

    /// The zone has no changes since the backup but those of the share.
    @Test func devicesShowTheShareOfTheBackup() async throws {
        let sharers = try await joined()
        let backup = try await backUp(sharers.cloud)
        let share = try #require(try sharers.mia.container.fetchShares(in: sharers.mia.own).first)
        share.publicPermission = .readOnly
        _ = try await sharers.mia.container.persistUpdatedShare(share, in: sharers.mia.own)
        try sharers.mia.set("Diary", "content", "Rain")
        try await sharers.mia.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.mia.sync()
        #expect(try sharers.mia.container.fetchShares(in: sharers.mia.own).map(\.publicPermission) == [.readWrite])
    }

    /// The app's copy of the share is from the lost history.
    @Test func aRejectedChangeOfAShareBringsThePresentShare() async throws {
        let sharers = try await joined()
        let lost = try #require(try sharers.mia.container.fetchShares(in: sharers.mia.own).first)
        lost.publicPermission = .readOnly
        let share = try #require(try sharers.phone.container.fetchShares(in: sharers.phone.own).first)
        share[CKShare.SystemFieldKey.title] = "Voyage"
        _ = try await sharers.phone.container.persistUpdatedShare(share, in: sharers.phone.own)
        await #expect(throws: CKError.self) { try await sharers.mia.container.persistUpdatedShare(lost, in: sharers.mia.own) }
        let present = try #require(try sharers.mia.container.fetchShares(in: sharers.mia.own).first)
        #expect(present[CKShare.SystemFieldKey.title] as? String == "Voyage")
        present.publicPermission = .readOnly
        _ = try await sharers.mia.container.persistUpdatedShare(present, in: sharers.mia.own)
    }

    /// A participant's record has the name of a private object, and both return to the home zone.
    @Test func aRecordOfALostShareDoesNotReplaceAPrivateObject() async throws {
        let sharers = try await Sharers()
        try await sharers.plan()
        let backup = try await backUp(sharers.cloud)
        try await sharers.bo.join(try await sharers.mia.share("Trip"))
        try await sharers.sync()
        let diary = try #require(sharers.mia.container.recordID(for: sharers.mia.postID("Diary")))
        let trip = try #require(sharers.bo.container.recordID(for: sharers.bo.postID("Trip")))
        let record = CKRecord(recordType: "CD_Post", recordID: CKRecord.ID(recordName: diary.recordName, zoneID: trip.zoneID))
        record["CD_entityName"] = "Post"
        record["CD_title"] = "Forged"
        try await sharers.bo.account.sharedCloudDatabase.save(record)
        try await sharers.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.sync()
        for device in [sharers.mia, sharers.phone] {
            #expect(try device.container.recordID(for: device.postID("Diary")) == diary, "\(device.name)")
            #expect(try device.read { try $0.post(titled: "Diary")?.mutableSetValue(forKey: "tags").count } == 1, "\(device.name)")
            #expect(try device.read { try $0.post(titled: "Forged") != nil }, "\(device.name)")
        }
    }

    /// The restored server has the record of the home zone again, from which the object was relocated.
    @Test func anObjectThatWasSharedAfterTheBackupAndDeletedStaysDeleted() async throws {
        let sharers = try await joined()
        let backup = try await backUp(sharers.cloud)
        try sharers.mia.edit { context in
            try #require(try context.post(titled: "Diary")).mutableSetValue(forKey: "tags").add(try context.holiday)
        }
        try await sharers.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.sync()
        #expect(try sharers.bo.read { try $0.post(titled: "Diary") != nil })
        try sharers.mia.edit { context in context.delete(try #require(try context.post(titled: "Diary"))) }
        try await sharers.sync()
        let new = try Device.sharing("new", try await sharers.cloud.addDevice("new", of: "mia"))
        try await new.sync()
        #expect(try new.read { try $0.post(titled: "Diary") == nil })
        #expect(try new.dump == sharers.mia.dump)
    }

    /// A device deletes an object, the backup has it again, and another device shares it: the first one deleted it in the share as well.
    @Test func anObjectThatReturnsAndIsSharedStays() async throws {
        let sharers = try await Sharers()
        try await sharers.plan()
        let backup = try await backUp(sharers.cloud)
        try sharers.mia.edit { context in context.delete(try #require(try context.post(titled: "Diary"))) }
        try await sharers.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.sync()
        #expect(try sharers.mia.read { try $0.post(titled: "Diary") != nil })
        try await sharers.phone.share("Diary")
        try await sharers.sync()
        for device in [sharers.mia, sharers.phone] {
            #expect(try device.read { try $0.post(titled: "Diary") != nil }, "\(device.name)")
        }
    }

    /// A relationship between objects of two shares is on this device alone, and is sent once one of them is in the home zone again.
    @Test func objectsOfALostShareFollowThoseOfAnother() async throws {
        let sharers = try await Sharers()
        try await sharers.plan()
        try sharers.mia.edit { context in
            context.insert("Post", ["title": "Walk"]).setValue(Set([context.insert("Tag", ["name": "steep"])]), forKey: "tags")
        }
        try await sharers.mia.share("Trip")
        try await sharers.sync()
        let backup = try await backUp(sharers.cloud)
        try await sharers.mia.share("Walk")
        try await sharers.sync()
        try sharers.mia.edit { context in
            let steep = try #require(try context.all("Tag").first { $0.value(forKey: "name") as? String == "steep" })
            try #require(try context.post(titled: "Trip")).mutableSetValue(forKey: "tags").add(steep)
        }
        try await sharers.sync()
        try await sharers.cloud.restore(from: backup)
        try await sharers.sync()
        let new = try Device.sharing("new", try await sharers.cloud.addDevice("new", of: "mia"))
        try await new.sync()
        let tags = try new.read { try $0.post(titled: "Trip")?.mutableSetValue(forKey: "tags").count }
        #expect(tags == 2)
        #expect(try new.dump == sharers.mia.dump)
    }

    /// The backup lacks the subscription and has the last change that the device knows, so that its token is valid.
    @Test func aDeviceSubscribesAgainWhenItConnectsAgain() async throws {
        let sharers = try await joined()
        let database = sharers.bo.account.sharedCloudDatabase
        let first = try await database.allSubscriptions().map(\.subscriptionID)
        #expect(first.count == 1)
        for subscription in first { try await database.deleteSubscription(withID: subscription) }
        let backup = try await backUp(sharers.cloud)
        try await sharers.cloud.restore(from: backup)
        sharers.bo.timers.runFreely(upTo: 600)
        while try await database.allSubscriptions().isEmpty { try Task.checkCancellation() }
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == first)
    }
}
