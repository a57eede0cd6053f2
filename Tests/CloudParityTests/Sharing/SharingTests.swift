// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import Testing

/// A bed with a plant, shared by its owner with anyone with the link.
private func sharedBed(
    permission: CKShare.ParticipantPermission = .readWrite
) async throws -> (owner: CKContainer, guest: CKContainer, share: CKShare, bed: CKRecord.ID) {
    let (owner, guest) = try await twoAccounts()
    let zone = try await owner.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
    let bed = CKRecord(recordType: "Bed", recordID: CKRecord.ID(recordName: "bed", zoneID: zone.zoneID))
    bed["name"] = "South"
    let sage = plant("sage", in: zone.zoneID)
    sage.setParent(bed)
    let share = CKShare(rootRecord: bed)
    share.publicPermission = permission
    share[CKShare.SystemFieldKey.title] = "Our bed"
    let results = try await owner.privateCloudDatabase.modifyRecords(saving: [bed, share, sage], deleting: [])
    let saved = try #require(try results.saveResults[share.recordID]?.get() as? CKShare)
    return (owner, guest, saved, bed.recordID)
}

@Suite struct ShareValueTests {
    @Test func aNewShareBelongsToItsCreator() {
        let root = CKRecord(recordType: "Bed", recordID: CKRecord.ID(zoneID: CKRecordZone.ID(zoneName: "Garden")))
        let share = CKShare(rootRecord: root)
        #expect(share.recordType == CKRecord.SystemType.share)
        #expect(share.recordID.zoneID == root.recordID.zoneID)
        #expect(share.publicPermission == .none)
        #expect(share.url == nil)
        let owner: CKShare.Participant = share.owner
        #expect(owner.role == .owner)
        #expect(share.owner.permission == .readWrite)
        #expect(share.owner.acceptanceStatus == .accepted)
        #expect(share.participants.count == 1)
        #expect(share.currentUserParticipant == share.owner)
        #expect(root.share?.recordID == share.recordID)
        let zoneWide = CKShare(recordZoneID: root.recordID.zoneID)
        #expect(zoneWide.recordID.recordName == CKRecordNameZoneWideShare)
        #expect(CKShareTitleKey == "cloudkit.title")
        #expect(CKShare.SystemFieldKey.shareType == "cloudkit.type")
        #expect(CKShare.SystemFieldKey.thumbnailImageData == "cloudkit.thumbnailImageData")
    }

    @Test func aCopyOfAShareHasParticipantsOfItsOwn() throws {
        let root = CKRecord(recordType: "Bed", recordID: CKRecord.ID(zoneID: CKRecordZone.ID(zoneName: "Garden")))
        let share = CKShare(rootRecord: root)
        share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
        let copy = try #require(share.copy() as? CKShare)
        #expect(copy.participants.map(\.participantID) == share.participants.map(\.participantID))
        copy.participants[1].permission = .readWrite
        #expect(copy.participants[1].permission == .readWrite)
        #expect(share.participants[1].permission == .readOnly)
    }

    @Test func numbersAreThoseOfTheFramework() {
        #expect(CKShare.ParticipantRole.owner.rawValue == 1)
        #expect(CKShare.ParticipantRole.privateUser.rawValue == 3)
        #expect(CKShare.ParticipantRole.publicUser.rawValue == 4)
        #expect(CKShare.ParticipantPermission.none.rawValue == 1)
        #expect(CKShare.ParticipantPermission.readOnly.rawValue == 2)
        #expect(CKShare.ParticipantPermission.readWrite.rawValue == 3)
        #expect(CKShare.ParticipantAcceptanceStatus.pending.rawValue == 1)
        #expect(CKShare.ParticipantAcceptanceStatus.accepted.rawValue == 2)
        #expect(CKShare.ParticipantAcceptanceStatus.removed.rawValue == 3)
    }

    @Test func parentsAreSetAndCleared() {
        let bed = CKRecord(recordType: "Bed")
        let plant = CKRecord(recordType: "Plant")
        #expect(plant.parent == nil)
        plant.setParent(bed)
        #expect(plant.parent?.recordID == bed.recordID)
        plant.parent = nil
        #expect(plant.parent == nil)
        plant.setParent(bed.recordID)
        #expect(plant.parent?.recordID == bed.recordID)
    }

    @Test func lookupInfosHaveTheirKind() throws {
        let email = CKUserIdentity.LookupInfo(emailAddress: "mia@example.org")
        #expect(email.emailAddress == "mia@example.org")
        #expect(email.phoneNumber == nil)
        #expect(email == CKUserIdentity.LookupInfo(emailAddress: "mia@example.org"))
        #expect(try archived(email) == email)
        let id = CKRecord.ID(recordName: "_a")
        #expect(CKUserIdentity.LookupInfo(userRecordID: id).userRecordID == id)
        #expect(CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["a", "b"]).count == 2)
    }
}

@Suite struct SharingTests {
    @Test func aShareIsSavedWithItsRoot() async throws {
        let (owner, _, share, bed) = try await sharedBed()
        #expect(share.url != nil)
        #expect(share.publicPermission == .readWrite)
        #expect(share[CKShare.SystemFieldKey.title] as? String == "Our bed")
        #expect(share.participants.map(\.role) == [.owner])
        #expect(share.currentUserParticipant?.role == .owner)
        let root = try await owner.privateCloudDatabase.record(for: bed)
        #expect(root.share?.recordID == share.recordID)
        let sage = try await owner.privateCloudDatabase.record(for: CKRecord.ID(recordName: "sage", zoneID: bed.zoneID))
        #expect(sage.parent?.recordID == bed)
        let fetched = try await owner.privateCloudDatabase.record(for: share.recordID)
        #expect((fetched as? CKShare)?.url == share.url)
    }

    /// Another device changed the root, and the app saves the same share again with the server's version of the root.
    @Test func aShareIsSavedAfterAConflictOfItsRoot() async throws {
        let database = try await testContainer().privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Garden"))
        let bed = CKRecord(recordType: "Bed", recordID: CKRecord.ID(recordName: "bed", zoneID: zone.zoneID))
        try await database.save(bed)
        let other = try await database.record(for: bed.recordID)
        other["name"] = "South"
        try await database.save(other)
        let share = CKShare(rootRecord: bed)
        bed["count"] = 1
        let first = try await database.modifyRecords(saving: [bed, share], deleting: [])
        let conflict = await failure { try first.saveResults[bed.recordID]?.get() }
        #expect(conflict?.code == .serverRecordChanged)
        let server = try #require(conflict?.serverRecord)
        server["count"] = 1
        let second = try await database.modifyRecords(saving: [server, share], deleting: [])
        let saved = try #require(try second.saveResults[share.recordID]?.get() as? CKShare)
        #expect(saved.url != nil)
        #expect(try await database.record(for: bed.recordID).share?.recordID == share.recordID)
    }

    @Test func aConflictOfAShareHasThreeShares() async throws {
        let (owner, _, share, _) = try await sharedBed()
        let database = owner.privateCloudDatabase
        let first = try #require(try await database.record(for: share.recordID) as? CKShare)
        let second = try #require(try await database.record(for: share.recordID) as? CKShare)
        first[CKShare.SystemFieldKey.title] = "Our South bed"
        try await database.save(first)
        second[CKShare.SystemFieldKey.title] = "Our North bed"
        let error = await failure { try await database.save(second) }
        #expect(error?.code == .serverRecordChanged)
        #expect((error?.serverRecord as? CKShare)?.url == share.url)
        let ancestor = try #require(error?.ancestorRecord as? CKShare)
        #expect(ancestor.url == share.url)
        #expect(ancestor[CKShare.SystemFieldKey.title] as? String == "Our bed")
    }

    @Test func aGuestAcceptsAndSeesTheHierarchy() async throws {
        let (owner, guest, share, bed) = try await sharedBed()
        let url = try #require(share.url)
        let metadata = try await guest.shareMetadata(for: url)
        #expect(metadata.containerIdentifier == guest.containerIdentifier)
        #expect(metadata.hierarchicalRootRecordID?.recordName == "bed")
        #expect(metadata.participantStatus != .accepted)
        #expect(metadata.ownerIdentity.userRecordID == (try await owner.userRecordID()))
        let accepted = try await guest.accept(metadata)
        #expect(accepted.recordID.recordName == share.recordID.recordName)
        let zones = try await guest.sharedCloudDatabase.allRecordZones()
        let zoneID = try #require(zones.first?.zoneID)
        #expect(zoneID.zoneName == "Garden")
        #expect(zoneID.ownerName == (try await owner.userRecordID().recordName))
        let sage = try await guest.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "sage", zoneID: zoneID))
        sage["count"] = 3
        try await guest.sharedCloudDatabase.save(sage)
        let visible = try await owner.privateCloudDatabase.record(for: CKRecord.ID(recordName: "sage", zoneID: bed.zoneID))
        #expect(visible["count"] == 3)
        #expect(visible.lastModifiedUserRecordID == (try await guest.userRecordID()))
    }

    @Test func aReadOnlyParticipantCannotWrite() async throws {
        let (_, guest, share, _) = try await sharedBed(permission: .readOnly)
        let url = try #require(share.url)
        _ = try await guest.accept(try await guest.shareMetadata(for: url))
        let zoneID = try #require(try await guest.sharedCloudDatabase.allRecordZones().first?.zoneID)
        let sage = try await guest.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "sage", zoneID: zoneID))
        sage["count"] = 3
        let error = await failure { try await guest.sharedCloudDatabase.save(sage) }
        #expect(error?.code == .permissionFailure)
    }

    @Test func operationsReportEachShare() async throws {
        let (_, guest, share, _) = try await sharedBed()
        let url = try #require(share.url)
        let log = CallbackLog()
        let match = Mutex<[CKShare.Metadata]>([])
        let fetch = CKFetchShareMetadataOperation(shareURLs: [url])
        fetch.shouldFetchRootRecord = true
        fetch.perShareMetadataResultBlock = { _, result in
            if case .success(let metadata) = result { match.withLock { $0.append(metadata) } }
        }
        fetch.fetchShareMetadataResultBlock = { _ in log.add("fetched") }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            fetch.completionBlock = { continuation.resume() }
            guest.add(fetch)
        }
        let metadatas = match.withLock { $0 }
        #expect(metadatas.first?.rootRecord?["name"] as? String == "South")
        let accept = CKAcceptSharesOperation(shareMetadatas: metadatas)
        accept.perShareResultBlock = { _, result in
            if case .success = result { log.add("accepted") }
        }
        accept.acceptSharesResultBlock = { _ in log.add("done") }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            accept.completionBlock = { continuation.resume() }
            guest.add(accept)
        }
        #expect(log.all == ["fetched", "accepted", "done"])
    }

    @Test func theOwnerEndsSharing() async throws {
        let (owner, guest, share, bed) = try await sharedBed()
        let url = try #require(share.url)
        _ = try await guest.accept(try await guest.shareMetadata(for: url))
        try await owner.privateCloudDatabase.deleteRecord(withID: share.recordID)
        #expect(try await guest.sharedCloudDatabase.allRecordZones().isEmpty)
        #expect(try await owner.privateCloudDatabase.record(for: bed)["name"] == "South")
        let error = await failure { try await guest.shareMetadata(for: url) }
        #expect(error?.code == .unknownItem)
    }

    @Test func peopleAreInvitedByTheirAddress() async throws {
        let (owner, guest, share, bed) = try await sharedBed(permission: .none)
        let participant = try await owner.shareParticipant(forEmailAddress: guestAddress)
        #expect(participant.userIdentity.lookupInfo?.emailAddress == guestAddress)
        #expect(participant.userIdentity.hasiCloudAccount)
        participant.permission = .readWrite
        share.addParticipant(participant)
        share.addParticipant(participant)
        #expect(share.participants.count == 2)
        let saved = try #require(try await owner.privateCloudDatabase.save(share) as? CKShare)
        #expect(saved.participants.count == 2)
        let invited = try #require(saved.participants.first { $0.role != .owner })
        #expect(invited.role == .privateUser)
        #expect(invited.permission == .readWrite)
        #expect(invited.acceptanceStatus == .pending)
        let url = try #require(saved.url)
        let metadata = try await guest.shareMetadata(for: url)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.participantStatus == .pending)
        let accepted = try await guest.accept(metadata)
        #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
        let repeated = try #require(try await owner.privateCloudDatabase.record(for: saved.recordID) as? CKShare)
        let guestInShare = try #require(repeated.participants.first { $0.role != .owner })
        #expect(guestInShare.acceptanceStatus == .accepted)
        repeated.removeParticipant(guestInShare)
        #expect(repeated.participants.count == 1)
        try await owner.privateCloudDatabase.save(repeated)
        #expect(try await guest.sharedCloudDatabase.allRecordZones().isEmpty)
        #expect(try await owner.privateCloudDatabase.record(for: bed)["name"] == "South")
    }

    @Test func anUnknownUserIsNotFound() async throws {
        let (owner, guest) = try await twoAccounts()
        let error = await failure { try await owner.shareParticipant(forEmailAddress: "nobody@example.org") }
        #expect(error?.code == .unknownItem)
        let results = try await owner.shareParticipants(forEmailAddresses: [guestAddress, "nobody@example.org"])
        #expect(results.count == 2)
        #expect(try results[guestAddress]?.get().userIdentity.userRecordID == (try await guest.userRecordID()))
        #expect(try await owner.userIdentity(forEmailAddress: "nobody@example.org") == nil)
        #expect(try await owner.userIdentity(forEmailAddress: guestAddress)?.nameComponents?.givenName == "ben")
    }

    @Test func aWholeZoneIsShared() async throws {
        let (owner, guest) = try await twoAccounts()
        let zone = try await owner.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
        #expect(zone.capabilities.contains(.zoneWideSharing))
        try await owner.privateCloudDatabase.save(plant("sage", in: zone.zoneID))
        let share = CKShare(recordZoneID: zone.zoneID)
        share.publicPermission = .readWrite
        let saved = try #require(try await owner.privateCloudDatabase.save(share) as? CKShare)
        let url = try #require(saved.url)
        let metadata = try await guest.shareMetadata(for: url)
        #expect(metadata.hierarchicalRootRecordID == nil)
        try await guest.accept(metadata)
        try await owner.privateCloudDatabase.save(plant("mint", in: zone.zoneID))
        let changes = try await guest.sharedCloudDatabase.databaseChanges(since: nil)
        let zoneID = try #require(changes.modifications.first?.zoneID)
        let records = try await guest.sharedCloudDatabase.recordZoneChanges(inZoneWith: zoneID, since: nil)
        let names = records.modificationResultsByID.keys.map(\.recordName).filter { $0 != CKRecordNameZoneWideShare }
        #expect(Set(names) == ["sage", "mint"])
        let thyme = plant("thyme", in: zoneID)
        try await guest.sharedCloudDatabase.save(thyme)
        let visible = try await owner.privateCloudDatabase.record(for: CKRecord.ID(recordName: "thyme", zoneID: zone.zoneID))
        #expect(visible.creatorUserRecordID == (try await guest.userRecordID()))
    }

    @Test func sharesNeedACustomZone() async throws {
        let (owner, _) = try await twoAccounts()
        let root = CKRecord(recordType: "Bed")
        let share = CKShare(rootRecord: root)
        let results = try await owner.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        let error = await failure { try results.saveResults[share.recordID]?.get() }
        #expect(error != nil)
    }

    @Test func guestsFindPeopleByTheirIdentity() async throws {
        let (owner, guest) = try await twoAccounts()
        let log = CallbackLog()
        let operation = CKDiscoverUserIdentitiesOperation(
            userIdentityLookupInfos: CKUserIdentity.LookupInfo.lookupInfos(withEmails: [guestAddress, "nobody@example.org"]))
        operation.userIdentityDiscoveredBlock = { identity, info in
            log.add("\(info.emailAddress ?? "") \(identity.nameComponents?.givenName ?? "")")
        }
        operation.discoverUserIdentitiesResultBlock = { result in log.add("\((try? result.get()) != nil)") }
        let participants = CKFetchShareParticipantsOperation(
            userIdentityLookupInfos: [CKUserIdentity.LookupInfo(userRecordID: try await guest.userRecordID())])
        participants.perShareParticipantResultBlock = { _, result in log.add("participant \((try? result.get()) != nil)") }
        participants.addDependency(operation)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            participants.completionBlock = { continuation.resume() }
            owner.add(participants)
            owner.add(operation)
        }
        #expect(log.all == ["\(guestAddress) ben", "true", "participant true"])
        #expect(try await owner.requestApplicationPermission(.userDiscoverability) == .granted)
        let status = await withCheckedContinuation { continuation in
            owner.status(forApplicationPermission: .userDiscoverability) { status, _ in continuation.resume(returning: status) }
        }
        #expect(status == .granted)
    }
}
