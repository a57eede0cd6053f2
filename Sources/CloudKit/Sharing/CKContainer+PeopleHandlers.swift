// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Finding several people at once, and the forms with completion handlers.
extension CKContainer {
    // MARK: Participants

    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emailAddresses: [String],
        completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.shareParticipants(forEmailAddresses: emailAddresses) }
    }

    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.shareParticipants(forPhoneNumbers: phoneNumbers) }
    }

    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (
            Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>
        ) -> Void
    ) {
        answer(completionHandler) { try await self.shareParticipants(forUserRecordIDs: userRecordIDs) }
    }

    // MARK: Discovery

    /// Those of the people who are found; others have no entry.
    public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(emails) { CKUserIdentity.LookupInfo(emailAddress: $0) }
    }

    /// Those of the people who are found; others have no entry.
    public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(phoneNumbers) { CKUserIdentity.LookupInfo(phoneNumber: $0) }
    }

    /// Those of the people who are found; others have no entry.
    public func userIdentities(forUserRecordIDs userRecordIDs: [CKRecord.ID]) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await identities(userRecordIDs) { CKUserIdentity.LookupInfo(userRecordID: $0) }
    }

    private func identities<Key: Hashable>(
        _ keys: [Key], _ info: (Key) -> CKUserIdentity.LookupInfo
    ) async throws -> [Key: CKUserIdentity] {
        let found = try await ContainerRun(self).identities(keys.map(info))
        var identities: [Key: CKUserIdentity] = [:]
        for (key, outcome) in zip(keys, found) { identities[key] = outcome.result.value }
        return identities
    }

    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.userIdentities(forEmailAddresses: emails) }
    }

    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.userIdentities(forPhoneNumbers: phoneNumbers) }
    }

    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.userIdentities(forUserRecordIDs: userRecordIDs) }
    }

    /// Nobody: there is no address book.
    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.allUserIdentitiesFromContacts() }
    }
}

/// Finds the people of the address book, of whom there are none here.
///
/// Source: Apple's documentation of `CKDiscoverAllUserIdentitiesOperation`, which is deprecated.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    @preconcurrency public var userIdentityDiscoveredBlock: (@Sendable (CKUserIdentity) -> Void)?
    @preconcurrency public var discoverAllUserIdentitiesResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
    /// Older form of ``discoverAllUserIdentitiesResultBlock``.
    @preconcurrency public var discoverAllUserIdentitiesCompletionBlock: (@Sendable ((any Error)?) -> Void)?

    public override init() { super.init() }

    override func conclude(_ result: Result<Void, any Error>) {
        discoverAllUserIdentitiesResultBlock?(result)
        discoverAllUserIdentitiesCompletionBlock?(result.failure)
    }
}
