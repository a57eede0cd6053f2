// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

/// A zone that its owner shares with no user, and accepts requests for.
private func closedShare(
    taking requests: Bool = true
) async throws -> (owner: CKContainer, guest: CKContainer, share: CKShare, url: URL) {
    let (owner, guest) = try await twoAccounts()
    let zone = try await owner.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
    try await owner.privateCloudDatabase.save(plant("sage", in: zone.zoneID))
    let share = CKShare(recordZoneID: zone.zoneID)
    #expect(!share.allowsAccessRequests)
    share.allowsAccessRequests = requests
    try await owner.privateCloudDatabase.save(share)
    return (owner, guest, share, try #require(share.url))
}

private func fetch(_ share: CKShare, from container: CKContainer) async throws -> CKShare {
    try #require(try await container.privateCloudDatabase.record(for: share.recordID) as? CKShare)
}

@Suite struct AccessRequestTests {
    @Test func aRequesterIsAccepted() async throws {
        let (owner, guest, share, url) = try await closedShare()
        #expect(share.allowsAccessRequests)
        let closed = await failure { try await guest.shareMetadata(for: url) }
        #expect(closed?.code == .permissionFailure)
        let results = try await guest.requestShareAccess(for: [url])
        try results[url]?.get()
        _ = try await guest.requestShareAccess(for: [url])

        let asked = try await fetch(share, from: owner)
        let requester = try #require(asked.requesters.first)
        #expect(asked.requesters.count == 1)
        #expect(requester.userIdentity.userRecordID == (try await guest.userRecordID()))
        #expect(requester.userIdentity.nameComponents?.givenName == "ben")
        let participants = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[CKShare.Participant], any Error>) in
            let found = ReceivedValues<CKShare.Participant>()
            let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [requester.participantLookupInfo])
            operation.perShareParticipantResultBlock = { _, result in
                if case .success(let participant) = result { found.add(participant) }
            }
            operation.fetchShareParticipantsResultBlock = { result in continuation.resume(with: result.map { found.all }) }
            owner.add(operation)
        }
        let participant = try #require(participants.first)
        participant.permission = .readWrite
        asked.addParticipant(participant)
        try await owner.privateCloudDatabase.save(asked)
        #expect(asked.requesters.isEmpty)
        let approved = try #require(asked.participants.first { $0.role == .privateUser })
        #expect(approved.isApprovedRequester)
        #expect(approved.acceptanceStatus == .pending)
        #expect(approved.dateAddedToShare != nil)
        #expect(asked.owner.isApprovedRequester == false)

        let accepted = try await guest.accept(try await guest.shareMetadata(for: url))
        #expect(accepted.currentUserParticipant?.permission == .readWrite)
        #expect(accepted.requesters.isEmpty)
    }

    @Test func aDeniedRequesterMayRequestAgainAndABlockedOneMayNot() async throws {
        let (owner, guest, share, url) = try await closedShare()
        try await guest.requestShareAccess(for: [url])
        var asked = try await fetch(share, from: owner)
        asked.denyRequesters(asked.requesters)
        #expect(asked.requesters.isEmpty)
        try await owner.privateCloudDatabase.save(asked)
        #expect(try await fetch(share, from: owner).requesters.isEmpty)

        try await guest.requestShareAccess(for: [url])
        asked = try await fetch(share, from: owner)
        asked.blockRequesters(asked.requesters)
        #expect(asked.requesters.isEmpty)
        #expect(asked.blockedIdentities.count == 1)
        try await owner.privateCloudDatabase.save(asked)
        let refused = try await guest.requestShareAccess(for: [url])
        let error = await failure { try refused[url]?.get() }
        #expect(error?.code == .permissionFailure)

        asked = try await fetch(share, from: owner)
        let blocked = try #require(asked.blockedIdentities.first)
        #expect(blocked.userIdentity.userRecordID == (try await guest.userRecordID()))
        asked.unblockIdentities([blocked])
        #expect(asked.blockedIdentities.isEmpty)
        try await owner.privateCloudDatabase.save(asked)
        let again = try await guest.requestShareAccess(for: [url])
        try again[url]?.get()
        #expect(try await fetch(share, from: owner).requesters.count == 1)
    }

    @Test func theOperationReportsEachShare() async throws {
        let (owner, guest, share, url) = try await closedShare(taking: false)
        let nowhere = try #require(URL(string: url.absoluteString + "0"))
        let log = CallbackLog()
        func ask(_ container: CKContainer, _ urls: [URL]) async {
            let operation = CKShareRequestAccessOperation(shareURLs: urls)
            operation.perShareAccessRequestCompletionBlock = { _, result in log.add("\(code(result))") }
            operation.shareRequestAccessCompletionBlock = { result in log.add("all \(code(result))") }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                operation.completionBlock = { continuation.resume() }
                container.add(operation)
            }
        }
        await ask(guest, [url, nowhere])
        let partial = CKError.Code.partialFailure.rawValue
        #expect(log.all == ["\(CKError.Code.permissionFailure.rawValue)", "\(CKError.Code.unknownItem.rawValue)", "all \(partial)"])
        share.allowsAccessRequests = true
        try await owner.privateCloudDatabase.save(share)
        await ask(guest, [url])
        await ask(owner, [url])
        #expect(log.all.dropFirst(3) == ["0", "all 0", "\(CKError.Code.participantAlreadyInvited.rawValue)", "all \(partial)"])
    }

    @Test func requestersAreArchived() async throws {
        let (owner, guest, share, url) = try await closedShare()
        try await guest.requestShareAccess(for: [url])
        let asked = try await fetch(share, from: owner)
        let kept = try #require(try archived(asked))
        #expect(kept.allowsAccessRequests)
        #expect(kept.requesters == asked.requesters)
        #expect(try archived(try #require(asked.requesters.first)) == asked.requesters.first)
    }
}

private func code(_ result: Result<Void, any Error>) -> Int {
    guard case .failure(let error) = result else { return 0 }
    return (error as NSError).code
}

@Suite struct OneTimeLinkTests {
    @Test func aOneTimeLinkAdmitsTheFirstUser() async throws {
        let (owner, guest, share, url) = try await closedShare(taking: false)
        let participant = CKShare.Participant.oneTimeURLParticipant()
        participant.permission = .readWrite
        let other = CKShare.Participant.oneTimeURLParticipant()
        #expect(participant != other)
        share.addParticipant(participant)
        share.addParticipant(other)
        #expect(share.participants.count == 3)
        #expect(share.oneTimeURL(for: participant.participantID) == nil)
        try await owner.privateCloudDatabase.save(share)
        let own = try #require(share.oneTimeURL(for: participant.participantID))
        #expect(own != url)
        #expect(own != share.oneTimeURL(for: other.participantID))
        #expect(share.oneTimeURL(for: share.owner.participantID) == nil)

        let metadata = try await guest.shareMetadata(for: own)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.share.currentUserParticipant?.participantID == participant.participantID)
        let accepted = try await guest.accept(metadata)
        #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(accepted.participants.count == 2)
        #expect(try await guest.sharedCloudDatabase.allRecordZones().count == 1)
        try await guest.accept(metadata)

        let seen = try await fetch(share, from: owner)
        #expect(seen.oneTimeURL(for: participant.participantID) == nil)
        #expect(seen.oneTimeURL(for: other.participantID) != nil)
        let joined = seen.participants.first { $0.participantID == participant.participantID }
        #expect(joined?.userIdentity.userRecordID == (try await guest.userRecordID()))

        let rest = try #require(seen.participants.first { $0.participantID == other.participantID })
        let spare = try #require(seen.oneTimeURL(for: other.participantID))
        seen.removeParticipant(rest)
        #expect(seen.participants.count == 2)
        try await owner.privateCloudDatabase.save(seen)
        let gone = await failure { try await guest.shareMetadata(for: spare) }
        #expect(gone?.code == .unknownItem)
    }

    @Test func aOneTimeLinkRejectsLaterUsers() async throws {
        let people = try await accounts("mia", "ben", "eva")
        let (owner, guest, late) = (people[0], people[1], people[2])
        let zone = try await owner.privateCloudDatabase.save(CKRecordZone(zoneName: "Garden"))
        let share = CKShare(recordZoneID: zone.zoneID)
        let participant = CKShare.Participant.oneTimeURLParticipant()
        share.addParticipant(participant)
        try await owner.privateCloudDatabase.save(share)
        let url = try #require(share.oneTimeURL(for: participant.participantID))
        try await guest.accept(try await guest.shareMetadata(for: url))
        let spent = await failure { try await late.shareMetadata(for: url) }
        #expect(spent?.code == .unknownItem)
        let shared = try #require(share.url)
        let closed = await failure { try await late.shareMetadata(for: shared) }
        #expect(closed?.code == .permissionFailure)
    }
}
