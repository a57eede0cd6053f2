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

        let requested = try await fetch(share, from: owner)
        let requester = try #require(requested.requesters.first)
        #expect(requested.requesters.count == 1)
        #expect(requester.userIdentity.userRecordID == (try await guest.userRecordID()))
        #expect(requester.userIdentity.nameComponents?.givenName == "ben")
        let participants = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<[CKShare.Participant], any Error>) in
            let fetched = ReceivedValues<CKShare.Participant>()
            let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [requester.participantLookupInfo])
            operation.perShareParticipantResultBlock = { _, result in
                if case .success(let participant) = result { fetched.add(participant) }
            }
            operation.fetchShareParticipantsResultBlock = { result in continuation.resume(with: result.map { fetched.all }) }
            owner.add(operation)
        }
        let participant = try #require(participants.first)
        participant.permission = .readWrite
        requested.addParticipant(participant)
        try await owner.privateCloudDatabase.save(requested)
        #expect(requested.requesters.isEmpty)
        let approved = try #require(requested.participants.first { $0.role == .privateUser })
        #expect(approved.isApprovedRequester)
        #expect(approved.acceptanceStatus == .pending)
        #expect(approved.dateAddedToShare != nil)
        #expect(requested.owner.isApprovedRequester == false)

        let accepted = try await guest.accept(try await guest.shareMetadata(for: url))
        #expect(accepted.currentUserParticipant?.permission == .readWrite)
        #expect(accepted.requesters.isEmpty)
    }

    @Test func aDeniedRequesterMayRequestAgainAndABlockedOneMayNot() async throws {
        let (owner, guest, share, url) = try await closedShare()
        try await guest.requestShareAccess(for: [url])
        var requested = try await fetch(share, from: owner)
        requested.denyRequesters(requested.requesters)
        #expect(requested.requesters.isEmpty)
        try await owner.privateCloudDatabase.save(requested)
        #expect(try await fetch(share, from: owner).requesters.isEmpty)

        try await guest.requestShareAccess(for: [url])
        requested = try await fetch(share, from: owner)
        requested.blockRequesters(requested.requesters)
        #expect(requested.requesters.isEmpty)
        #expect(requested.blockedIdentities.count == 1)
        try await owner.privateCloudDatabase.save(requested)
        let refused = try await guest.requestShareAccess(for: [url])
        let error = await failure { try refused[url]?.get() }
        #expect(error?.code == .permissionFailure)

        requested = try await fetch(share, from: owner)
        let blocked = try #require(requested.blockedIdentities.first)
        #expect(blocked.userIdentity.userRecordID == (try await guest.userRecordID()))
        requested.unblockIdentities([blocked])
        #expect(requested.blockedIdentities.isEmpty)
        try await owner.privateCloudDatabase.save(requested)
        let repeated = try await guest.requestShareAccess(for: [url])
        try repeated[url]?.get()
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
        let requested = try await fetch(share, from: owner)
        let stored = try #require(try archived(requested))
        #expect(stored.allowsAccessRequests)
        #expect(stored.requesters == requested.requesters)
        #expect(try archived(try #require(requested.requesters.first)) == requested.requesters.first)
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

        let visible = try await fetch(share, from: owner)
        #expect(visible.oneTimeURL(for: participant.participantID) == nil)
        #expect(visible.oneTimeURL(for: other.participantID) != nil)
        let joined = visible.participants.first { $0.participantID == participant.participantID }
        #expect(joined?.userIdentity.userRecordID == (try await guest.userRecordID()))

        let rest = try #require(visible.participants.first { $0.participantID == other.participantID })
        let spare = try #require(visible.oneTimeURL(for: other.participantID))
        visible.removeParticipant(rest)
        #expect(visible.participants.count == 2)
        try await owner.privateCloudDatabase.save(visible)
        let deleted = await failure { try await guest.shareMetadata(for: spare) }
        #expect(deleted?.code == .unknownItem)
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
