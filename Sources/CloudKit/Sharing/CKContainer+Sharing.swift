// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension CKContainer {
    // MARK: Shares

    /// Fetches the metadata of a share by its link.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if the link is invalid, or why the request failed.
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await shareMetadatas(for: [url]).item(url)
    }

    /// Fetches the metadata of shares by their links.
    ///
    /// - Returns: A result for each link.
    /// - Throws: ``CKError`` if the request failed as a whole.
    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await ContainerRequests(self).metadata(for: urls, fetchesRoot: false, desiredKeys: nil).byID()
    }

    /// Accepts a share. Its zone is in the shared database afterwards.
    ///
    /// - Throws: ``CKError``, such as `.unknownItem`, `.permissionFailure` or `.tooManyParticipants`. The share is not
    ///   accepted.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare { try await accept([metadata]).item(metadata) }

    /// Accepts shares.
    ///
    /// - Returns: A result for each share.
    /// - Throws: ``CKError`` if the request failed as a whole.
    @discardableResult
    public func accept(_ metadatas: [CKShare.Metadata]) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await ContainerRequests(self).accept(metadatas).byID()
    }

    // MARK: Participants

    /// Finds a user by email address, to invite them.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if no user was found, or why the request failed.
    public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(emailAddress: emailAddress))
    }

    /// Finds a user by phone number, to invite them.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if no user was found, or why the request failed.
    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    /// Finds a user by record ID, to invite them.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if no user was found, or why the request failed.
    public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    /// Finds users by email addresses, to invite them.
    ///
    /// - Returns: A result for each address.
    /// - Throws: ``CKError`` if the request failed as a whole.
    public func shareParticipants(
        forEmailAddresses emailAddresses: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        let outcomes = try await ContainerRequests(self).participants(emailAddresses.map { .init(emailAddress: $0) })
        return Dictionary(zip(emailAddresses, outcomes.map(\.result)), uniquingKeysWith: { first, _ in first })
    }

    /// Finds users by phone numbers, to invite them.
    ///
    /// - Returns: A result for each number.
    /// - Throws: ``CKError`` if the request failed as a whole.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        let outcomes = try await ContainerRequests(self).participants(phoneNumbers.map { .init(phoneNumber: $0) })
        return Dictionary(zip(phoneNumbers, outcomes.map(\.result)), uniquingKeysWith: { first, _ in first })
    }

    /// Finds users by record IDs, to invite them.
    ///
    /// - Returns: A result for each record ID.
    /// - Throws: ``CKError`` if the request failed as a whole.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        let outcomes = try await ContainerRequests(self).participants(userRecordIDs.map { .init(userRecordID: $0) })
        return Dictionary(zip(userRecordIDs, outcomes.map(\.result)), uniquingKeysWith: { first, _ in first })
    }

    private func participant(_ info: CKUserIdentity.LookupInfo) async throws -> CKShare.Participant {
        try await ContainerRequests(self).participants([info]).byID().item(info)
    }

    // MARK: Discovery

    /// Finds a user by email address.
    ///
    /// - Returns: `nil` if no user was found, or the user does not allow lookup.
    /// - Throws: ``CKError`` if the request failed.
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(emailAddress: email))
    }

    /// Finds a user by phone number.
    ///
    /// - Returns: `nil` if no user was found, or the user does not allow lookup.
    /// - Throws: ``CKError`` if the request failed.
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    /// Finds a user by record ID.
    ///
    /// - Returns: `nil` if no user was found, or the user does not allow lookup.
    /// - Throws: ``CKError`` if the request failed.
    public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    /// Returns an empty list: Linux has no address book.
    ///
    /// - Throws: Nothing at present.
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] { [] }

    private func identity(_ info: CKUserIdentity.LookupInfo) async throws -> CKUserIdentity? {
        do {
            return try await ContainerRequests(self).identities([info]).byID().item(info)
        } catch CKError.unknownItem {
            return nil
        }
    }
}
