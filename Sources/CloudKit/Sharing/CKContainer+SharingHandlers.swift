// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Completion-handler forms. Each calls the async method of its name, then the handler once on a system queue.
extension CKContainer {
    // MARK: Shares

    /// Fetches a share's metadata; completion-handler form of `shareMetadata(for:)`.
    @preconcurrency
    public func fetchShareMetadata(
        with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareMetadata(for: url) }
    }

    /// Fetches metadata of shares; completion-handler form of `shareMetadatas(for:)`.
    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.shareMetadatas(for: urls) }
    }

    /// Accepts a share; completion-handler form of `accept(_:)`.
    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.accept(metadata) }
    }

    /// Accepts shares; completion-handler form of `accept(_:)`.
    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (
                Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>
            ) -> Void
    ) {
        complete(completionHandler) { try await self.accept(metadatas) }
    }

    // MARK: People

    /// Finds a user to invite; completion-handler form of `shareParticipant(forEmailAddress:)`.
    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipant(forEmailAddress: emailAddress) }
    }

    /// Finds a user to invite; completion-handler form of `shareParticipant(forPhoneNumber:)`.
    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipant(forPhoneNumber: phoneNumber) }
    }

    /// Finds a user to invite; completion-handler form of `shareParticipant(forUserRecordID:)`.
    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipant(forUserRecordID: userRecordID) }
    }

    /// Finds a user; completion-handler form of `userIdentity(forEmailAddress:)`.
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        completeLookup(completionHandler) { try await self.userIdentity(forEmailAddress: email) }
    }

    /// Finds a user; completion-handler form of `userIdentity(forPhoneNumber:)`.
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        completeLookup(completionHandler) { try await self.userIdentity(forPhoneNumber: phoneNumber) }
    }

    /// Finds a user; completion-handler form of `userIdentity(forUserRecordID:)`.
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        completeLookup(completionHandler) { try await self.userIdentity(forUserRecordID: userRecordID) }
    }

    /// As `complete`, for a lookup without a result, which isn't an error.
    private func completeLookup(
        _ handler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void,
        _ body: @escaping @Sendable () async throws -> CKUserIdentity?
    ) {
        complete({ (identity: CKUserIdentity??, error) in handler(identity ?? nil, error) }, body)
    }
}
