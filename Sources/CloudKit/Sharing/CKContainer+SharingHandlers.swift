// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The forms with completion handlers. Each does what the async form of its kind does.
extension CKContainer {
    // MARK: Shares

    @preconcurrency
    public func fetchShareMetadata(
        with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.shareMetadata(for: url) }
    }

    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.shareMetadatas(for: urls) }
    }

    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.accept(metadata) }
    }

    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler: @escaping @Sendable (
            Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>
        ) -> Void
    ) {
        answer(completionHandler) { try await self.accept(metadatas) }
    }

    // MARK: People

    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.shareParticipant(forEmailAddress: emailAddress) }
    }

    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.shareParticipant(forPhoneNumber: phoneNumber) }
    }

    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.shareParticipant(forUserRecordID: userRecordID) }
    }

    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        found(completionHandler) { try await self.userIdentity(forEmailAddress: email) }
    }

    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        found(completionHandler) { try await self.userIdentity(forPhoneNumber: phoneNumber) }
    }

    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        found(completionHandler) { try await self.userIdentity(forUserRecordID: userRecordID) }
    }

    /// As `answer`, where finding nobody is no error.
    private func found(
        _ handler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void,
        _ body: @escaping @Sendable () async throws -> CKUserIdentity?
    ) {
        answer({ (identity: CKUserIdentity??, error) in handler(identity ?? nil, error) }, body)
    }
}
