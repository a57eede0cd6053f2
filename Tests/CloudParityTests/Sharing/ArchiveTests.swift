// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

/// The parts of shares that apps archive.
@Suite struct ShareArchiveTests {
    private func sharedZone() async throws -> (owner: CKContainer, guest: CKContainer, share: CKShare, zoneID: CKRecordZone.ID) {
        let (owner, guest) = try await twoAccounts()
        let zone = try await owner.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
        let share = CKShare(recordZoneID: zone.zoneID)
        share.publicPermission = .readWrite
        share[CKShare.SystemFieldKey.title] = "All of it"
        let saved = try #require(try await owner.privateCloudDatabase.save(share) as? CKShare)
        return (owner, guest, saved, zone.zoneID)
    }

    @Test func aZoneHasItsShare() async throws {
        let (owner, _, share, zoneID) = try await sharedZone()
        let zone = try await owner.privateCloudDatabase.recordZone(for: zoneID)
        #expect(zone.share?.recordID == share.recordID)
        #expect(zone.share?.recordID.recordName == CKRecordNameZoneWideShare)
        #expect(zone.share?.action == CKRecord.ReferenceAction.none)
        let repeated = try #require(try archived(zone))
        #expect(repeated.zoneID == zoneID)
        #expect(repeated.share?.recordID == share.recordID)
        #expect(repeated.capabilities == zone.capabilities)
        #expect(CKRecordZone(zoneName: "New").share == nil)
        try await owner.privateCloudDatabase.deleteRecord(withID: share.recordID)
        #expect(try await owner.privateCloudDatabase.recordZone(for: zoneID).share == nil)
    }

    @Test func anInvitationIsArchived() async throws {
        let (_, guest, share, _) = try await sharedZone()
        let metadata = try await guest.shareMetadata(for: try #require(share.url))
        let stored = try #require(try archived(metadata))
        #expect(stored == metadata)
        #expect(stored.containerIdentifier == metadata.containerIdentifier)
        #expect(stored.share.recordID == metadata.share.recordID)
        #expect(stored.share[CKShare.SystemFieldKey.title] == "All of it")
        #expect(stored.ownerIdentity == metadata.ownerIdentity)
        #expect(stored.participantRole == metadata.participantRole)
        #expect(stored.participantStatus == metadata.participantStatus)
        #expect(stored.participantPermission == metadata.participantPermission)
        #expect(stored.hierarchicalRootRecordID == nil)
        #expect(stored.rootRecord == nil)
        let joined = try await guest.accept(stored)
        #expect(joined.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(try await guest.sharedCloudDatabase.allRecordZones().map(\.zoneID.zoneName) == ["Garden"])
    }

    @Test func participantsAndPeopleAreArchived() async throws {
        let (owner, _, share, _) = try await sharedZone()
        let participant = try await owner.shareParticipant(forEmailAddress: guestAddress)
        participant.permission = .readWrite
        participant.role = .privateUser
        let stored = try #require(try archived(participant))
        #expect(stored == participant)
        #expect(stored.participantID == participant.participantID)
        #expect(stored.permission == .readWrite)
        #expect(stored.role == .privateUser)
        #expect(stored.acceptanceStatus == participant.acceptanceStatus)
        #expect(stored.userIdentity.lookupInfo?.emailAddress == guestAddress)
        let identity = try #require(try archived(participant.userIdentity))
        #expect(identity == participant.userIdentity)
        #expect(identity.hasiCloudAccount == participant.userIdentity.hasiCloudAccount)
        #expect(identity.nameComponents?.givenName == participant.userIdentity.nameComponents?.givenName)
        let info = try #require(try archived(CKUserIdentity.LookupInfo(phoneNumber: "+49 89 1")))
        #expect(info == CKUserIdentity.LookupInfo(phoneNumber: "+49 89 1"))
        let whole = try #require(try archived(share))
        #expect(whole.participants == share.participants)
        #expect(whole.publicPermission == .readWrite)
        #expect(whole.url == share.url)
    }

    @Test func aRecordIsInOneShareOnly() async throws {
        let (owner, _, _, zoneID) = try await sharedZone()
        let root = plant("root", in: zoneID)
        let error = await failure {
            let results = try await owner.privateCloudDatabase.modifyRecords(
                saving: [root, CKShare(rootRecord: root)], deleting: [], atomically: false)
            for result in results.saveResults.values { _ = try result.get() }
        }
        #expect(error?.code == .alreadyShared)
    }

    @Test func anUninvitedUserMayNeedVerification() async throws {
        let (owner, guest) = try await twoAccounts()
        let zone = try await owner.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
        let share = CKShare(recordZoneID: zone.zoneID)
        let url = try #require((try await owner.privateCloudDatabase.save(share) as? CKShare)?.url)
        let stranger = await failure { try await guest.shareMetadata(for: url) }
        #expect(stranger?.code == .permissionFailure)
        let unknown = try #require(await owner.shareParticipants(forEmailAddresses: ["nobody@example.org"])["nobody@example.org"])
        #expect(throws: CKError.self) { try unknown.get() }
    }
}
