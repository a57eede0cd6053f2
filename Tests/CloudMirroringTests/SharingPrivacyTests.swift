// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudMirroring
import CoreData
import Foundation
import TestBasics
import Testing

/// A participant writes to the zone of a share, and to nothing else of the owner.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct SharingPrivacyTests {
    /// The owner's devices relocate what deferred references connect with a share. A record of a participant names a private object.
    @Test func aReferenceOfAParticipantDoesNotShareAPrivateObject() async throws {
        let sharers = try await Sharers()
        try await sharers.plan()
        try await sharers.bo.join(try await sharers.mia.share("Trip"))
        try await sharers.sync()
        let (mia, bo) = (sharers.mia, sharers.bo)
        let diary = try #require(mia.container.recordID(for: mia.postID("Diary")))
        let trip = try #require(bo.container.recordID(for: bo.postID("Trip")))
        let record = CKRecord(recordType: "CD_Attachment", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: trip.zoneID))
        record["CD_entityName"] = "Attachment"
        record["CD_post"] = diary.recordName
        try await bo.account.sharedCloudDatabase.save(record)
        try await sharers.sync()
        #expect(try mia.read { try $0.count(for: NSFetchRequest<NSManagedObject>(entityName: "Attachment")) } == 2)
        #expect(try mia.container.recordID(for: mia.postID("Diary")) == diary)
        #expect(try bo.read { try $0.post(titled: "Diary") == nil })
    }
}
