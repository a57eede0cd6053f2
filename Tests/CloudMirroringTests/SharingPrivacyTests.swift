// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import TestBasics
import Testing

/// A participant writes to the zone of a share, and to nothing else of the owner.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharingPrivacyTests {
    private func joined() async throws -> (sharers: Sharers, diary: CKRecord.ID, zone: CKRecordZone.ID) {
        let sharers = try await Sharers()
        try await sharers.plan()
        try await sharers.bo.join(try await sharers.mia.share("Trip"))
        try await sharers.sync()
        let diary = try #require(sharers.mia.container.recordID(for: sharers.mia.postID("Diary")))
        let trip = try #require(sharers.bo.container.recordID(for: sharers.bo.postID("Trip")))
        return (sharers, diary, trip.zoneID)
    }

    /// Fails unless the owner's diary is where it was, and the participant sees nothing of it.
    private func expectPrivate(_ diary: CKRecord.ID, _ sharers: Sharers) throws {
        #expect(try sharers.mia.container.recordID(for: sharers.mia.postID("Diary")) == diary)
        #expect(try sharers.bo.read { try $0.post(titled: "Diary") == nil })
        #expect(try sharers.bo.read { try $0.all("Tag").map { $0.value(forKey: "name") as? String } } == ["holiday"])
    }

    /// The owner's devices relocate what deferred references connect with a share. A record of a participant names a private object.
    @Test func aReferenceOfAParticipantDoesNotShareAPrivateObject() async throws {
        let (sharers, diary, zone) = try await joined()
        let record = CKRecord(recordType: "CD_Attachment", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: zone))
        record["CD_entityName"] = "Attachment"
        record["CD_post"] = diary.recordName
        try await sharers.bo.account.sharedCloudDatabase.save(record)
        try await sharers.sync()
        #expect(try sharers.mia.read { try $0.all("Attachment").count } == 2)
        try expectPrivate(diary, sharers)
    }

    /// A record of a participant says that the owner relocated a private object.
    @Test func aForgedRelocationDoesNotShareAPrivateObject() async throws {
        let (sharers, diary, zone) = try await joined()
        let record = CKRecord(recordType: "CD_Post", recordID: CKRecord.ID(recordName: diary.recordName, zoneID: zone))
        record["CD_entityName"] = "Post"
        record["CD_title"] = "Forged"
        record["CD_moveReceipt"] = Data(
            #"{"recordName":"\#(diary.recordName)","zoneID":{"zoneName":"\#(diary.zoneID.zoneName)"},"fields":{}}"#.utf8)
        try await sharers.bo.account.sharedCloudDatabase.save(record)
        try await sharers.sync()
        #expect(try sharers.mia.read { try $0.post(titled: "Forged") != nil })
        try expectPrivate(diary, sharers)
    }

    /// The owner's devices send records of participants again to a restored server, which makes the owner their author.
    @Test(arguments: [false, true]) func aRestoreMakesNoRecordOfAParticipantTheOwners(isForged: Bool) async throws {
        let (sharers, diary, zone) = try await joined()
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await sharers.cloud.backUp(to: backup)
        let name = isForged ? diary.recordName : UUID().uuidString
        let record = CKRecord(recordType: isForged ? "CD_Post" : "CD_Attachment", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["CD_entityName"] = isForged ? "Post" : "Attachment"
        if isForged {
            record["CD_title"] = "Forged"
            record["CD_moveReceipt"] = Data(
                #"{"recordName":"\#(diary.recordName)","zoneID":{"zoneName":"\#(diary.zoneID.zoneName)"},"fields":{}}"#.utf8)
        } else {
            record["CD_post"] = diary.recordName
        }
        try await sharers.bo.account.sharedCloudDatabase.save(record)
        try await sharers.sync()
        try await sharers.cloud.restore(from: backup)
        for device in [sharers.mia, sharers.phone, sharers.mia, sharers.phone, sharers.bo] { try await device.sync() }
        try expectPrivate(diary, sharers)
        #expect(try sharers.phone.container.recordID(for: sharers.phone.postID("Diary")) == diary)
    }

    /// A record of a participant has the name that a private object gets in the share, should its owner share it.
    @Test func aRecordWithTheNameOfAPrivateObjectDoesNotKeepItFromBeingShared() async throws {
        let (sharers, diary, zone) = try await joined()
        let record = CKRecord(recordType: "CD_Post", recordID: CKRecord.ID(recordName: diary.recordName, zoneID: zone))
        record["CD_entityName"] = "Post"
        record["CD_title"] = "Forged"
        try await sharers.bo.account.sharedCloudDatabase.save(record)
        try await sharers.sync()
        try sharers.mia.edit { context in
            try #require(try context.post(titled: "Diary")).mutableSetValue(forKey: "tags").add(try context.holiday)
        }
        try await sharers.sync()
        for device in [sharers.mia, sharers.phone, sharers.bo] {
            let titles = try device.read { Set(try $0.all("Post").compactMap { $0.value(forKey: "title") as? String }) }
            #expect(titles == ["Trip", "Diary", "Forged"], "\(device.name)")
        }
    }

    /// Another client of the owner refers to an object that was relocated before: the owner's devices let its object follow.
    @Test func aReferenceOfTheOwnerBringsItsObjectToTheShare() async throws {
        let (sharers, diary, zone) = try await joined()
        let record = CKRecord(recordType: "CD_Attachment", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: diary.zoneID))
        record["CD_entityName"] = "Attachment"
        record["CD_post"] = try #require(sharers.mia.container.recordID(for: sharers.mia.postID("Trip"))).recordName
        try await sharers.mia.account.privateCloudDatabase.save(record)
        try await sharers.sync()
        for device in [sharers.mia, sharers.phone, sharers.bo] {
            let attached = try device.read { context in
                try #require(try context.post(titled: "Trip")).mutableSetValue(forKey: "attachments").count
            }
            #expect(attached == 2, "\(device.name)")
        }
        let attachments = try sharers.mia.read { try $0.all("Attachment").map(\.objectID) }
        #expect(Set(attachments.compactMap { sharers.mia.container.recordID(for: $0)?.zoneID.zoneName }) == [zone.zoneName])
        try expectPrivate(diary, sharers)
    }
}
