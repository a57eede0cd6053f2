// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

// Code as apps have it around sharing, people and accounts.

@MainActor
final class SharingController {
    enum State: Equatable { case unknown, signedOut, ready(userName: String) }

    let container: CKContainer
    private(set) var state = State.unknown
    private(set) var accountChanges = 0
    private var observer: NSObjectProtocol?

    init(container: CKContainer) {
        self.container = container
        observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { [weak self] _ in
            Task { @MainActor in self?.accountChanges += 1 }
        }
    }

    deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }

    func checkAccount() async {
        do {
            switch try await container.accountStatus() {
            case .available: state = .ready(userName: try await container.userRecordID().recordName)
            case .noAccount, .restricted: state = .signedOut
            case .couldNotDetermine, .temporarilyUnavailable: state = .unknown
            @unknown default: state = .unknown
            }
        } catch {
            state = .unknown
        }
    }

    /// The share of a record: the one there is, or a new one, saved with its root.
    func share(_ record: CKRecord, title: String) async throws -> CKShare {
        if let existing = record.share?.recordID {
            guard let share = try await container.privateCloudDatabase.record(for: existing) as? CKShare else {
                throw CKError(.unknownItem)
            }
            return share
        }
        let share = CKShare(rootRecord: record)
        share[CKShare.SystemFieldKey.title] = title as CKRecordValue
        share[CKShare.SystemFieldKey.shareType] = "org.example.list" as CKRecordValue
        share[CKShare.SystemFieldKey.thumbnailImageData] = Data([1, 2, 3]) as CKRecordValue
        share.publicPermission = .none
        let operation = CKModifyRecordsOperation(recordsToSave: [record, share], recordIDsToDelete: nil)
        operation.isAtomic = true
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            container.privateCloudDatabase.add(operation)
        }
        return share
    }

    func invite(_ address: String, to share: CKShare, permission: CKShare.ParticipantPermission) async throws -> URL? {
        let lookup = CKUserIdentity.LookupInfo(emailAddress: address)
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [lookup])
        nonisolated(unsafe) var participants: [CKShare.Participant] = []
        operation.perShareParticipantResultBlock = { _, result in
            if let participant = try? result.get() { participants.append(participant) }
        }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
            operation.fetchShareParticipantsResultBlock = { result in continuation.resume(with: result) }
            container.add(operation)
        }
        for participant in participants {
            participant.permission = permission
            participant.role = .privateUser
            share.addParticipant(participant)
        }
        let saved = try await container.privateCloudDatabase.save(share)
        return (saved as? CKShare)?.url
    }

    func join(_ url: URL) async throws -> (title: String?, owner: String?, canWrite: Bool) {
        let metadata = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<CKShare.Metadata, Error>) in
            container.fetchShareMetadata(with: url) { metadata, error in
                if let metadata = metadata {
                    continuation.resume(returning: metadata)
                } else {
                    continuation.resume(throwing: error ?? CKError(.unknownItem))
                }
            }
        }
        guard metadata.participantStatus == .pending else { throw CKError(.participantAlreadyInvited) }
        let accept = CKAcceptSharesOperation(shareMetadatas: [metadata])
        accept.perShareCompletionBlock = { metadata, share, error in
            assert(share != nil || error != nil)
        }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
            accept.acceptSharesCompletionBlock = { error in
                if let error = error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
            container.add(accept)
        }
        let owner = metadata.ownerIdentity.nameComponents?.givenName
        return (metadata.share[CKShare.SystemFieldKey.title] as? String, owner, metadata.participantPermission == .readWrite)
    }

    /// The participants, for a list on the screen.
    func people(in share: CKShare) -> [String] {
        share.participants.map { participant in
            let name = participant.userIdentity.nameComponents?.givenName ?? participant.userIdentity.lookupInfo?.emailAddress ?? "?"
            switch (participant.role, participant.acceptanceStatus) {
            case (.owner, _): return "\(name) owns"
            case (_, .accepted): return "\(name) joined"
            case (_, .pending): return "\(name) invited"
            default: return "\(name) gone"
            }
        }
    }

    func leave(_ share: CKShare) async throws {
        _ = try await container.sharedCloudDatabase.modifyRecords(saving: [], deleting: [share.recordID])
    }
}
