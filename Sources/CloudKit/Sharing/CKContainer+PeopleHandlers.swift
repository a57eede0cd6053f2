// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Lookup of several users, and the completion-handler forms.
extension CKContainer {
    // MARK: Participants

    /// Finds users by email addresses, to invite them; completion-handler form of
    /// `shareParticipants(forEmailAddresses:)`.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emailAddresses: [String],
        completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipants(forEmailAddresses: emailAddresses) }
    }

    /// Finds users by phone numbers, to invite them; completion-handler form of `shareParticipants(forPhoneNumbers:)`.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipants(forPhoneNumbers: phoneNumbers) }
    }

    /// Finds users by record IDs, to invite them; completion-handler form of `shareParticipants(forUserRecordIDs:)`.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>
            ) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipants(forUserRecordIDs: userRecordIDs) }
    }

    // MARK: Discovery

    /// Finds users by email addresses. Users that were not found, or do not allow lookup, have no entry.
    ///
    /// - Throws: ``CKError`` if the request failed.
    public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(emails) { CKUserIdentity.LookupInfo(emailAddress: $0) }
    }

    /// Finds users by phone numbers. Users that were not found, or do not allow lookup, have no entry.
    ///
    /// - Throws: ``CKError`` if the request failed.
    public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(phoneNumbers) { CKUserIdentity.LookupInfo(phoneNumber: $0) }
    }

    /// Finds users by record IDs. Users that were not found, or do not allow lookup, have no entry.
    ///
    /// - Throws: ``CKError`` if the request failed.
    public func userIdentities(forUserRecordIDs userRecordIDs: [CKRecord.ID]) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await identities(userRecordIDs) { CKUserIdentity.LookupInfo(userRecordID: $0) }
    }

    private func identities<Key: Hashable>(
        _ keys: [Key], _ info: (Key) -> CKUserIdentity.LookupInfo
    ) async throws -> [Key: CKUserIdentity] {
        let outcomes = try await ContainerRequests(self).identities(keys.map(info))
        var identities: [Key: CKUserIdentity] = [:]
        for (key, outcome) in zip(keys, outcomes) { identities[key] = outcome.result.value }
        return identities
    }

    /// Finds users; completion-handler form of `userIdentities(forEmailAddresses:)`.
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.userIdentities(forEmailAddresses: emails) }
    }

    /// Finds users; completion-handler form of `userIdentities(forPhoneNumbers:)`.
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.userIdentities(forPhoneNumbers: phoneNumbers) }
    }

    /// Finds users; completion-handler form of `userIdentities(forUserRecordIDs:)`.
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.userIdentities(forUserRecordIDs: userRecordIDs) }
    }

    /// Returns an empty list: Linux has no address book.
    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.allUserIdentitiesFromContacts() }
    }
}

/// Finds the users in the address book. Linux has none, so the result is empty.
///
/// Source: Apple's documentation of `CKDiscoverAllUserIdentitiesOperation`, which is deprecated.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// Called at the end.
    /// Never called.
    @preconcurrency public var userIdentityDiscoveredBlock: (@Sendable (CKUserIdentity) -> Void)?
    @preconcurrency public var discoverAllUserIdentitiesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``discoverAllUserIdentitiesResultBlock``.
    @preconcurrency public var discoverAllUserIdentitiesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    /// Creates an operation without inputs. Set its properties before you add it.
    public override init() { super.init() }

    override func conclude(_ result: Result<Void, any Error>) {
        discoverAllUserIdentitiesResultBlock?(result)
        discoverAllUserIdentitiesCompletionBlock?(result.failure)
    }
}
