// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension CKContainer {
    // MARK: Shares

    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await shareMetadatas(for: [url]).item(url)
    }

    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await ContainerRun(self).metadata(for: urls, fetchesRoot: false, desiredKeys: nil).byID()
    }

    /// Joins a share. Its zone is in the shared database afterwards.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare { try await accept([metadata]).item(metadata) }

    @discardableResult
    public func accept(_ metadatas: [CKShare.Metadata]) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await ContainerRun(self).accept(metadatas).byID()
    }

    // MARK: Participants

    public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(emailAddress: emailAddress))
    }

    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    public func shareParticipants(
        forEmailAddresses emailAddresses: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        let found = try await ContainerRun(self).participants(emailAddresses.map { .init(emailAddress: $0) })
        return Dictionary(zip(emailAddresses, found.map(\.result)), uniquingKeysWith: { first, _ in first })
    }

    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        let found = try await ContainerRun(self).participants(phoneNumbers.map { .init(phoneNumber: $0) })
        return Dictionary(zip(phoneNumbers, found.map(\.result)), uniquingKeysWith: { first, _ in first })
    }

    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        let found = try await ContainerRun(self).participants(userRecordIDs.map { .init(userRecordID: $0) })
        return Dictionary(zip(userRecordIDs, found.map(\.result)), uniquingKeysWith: { first, _ in first })
    }

    private func participant(_ info: CKUserIdentity.LookupInfo) async throws -> CKShare.Participant {
        try await ContainerRun(self).participants([info]).byID().item(info)
    }

    // MARK: Discovery

    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(emailAddress: email))
    }

    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    /// Nobody: there is no address book.
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] { [] }

    private func identity(_ info: CKUserIdentity.LookupInfo) async throws -> CKUserIdentity? {
        do {
            return try await ContainerRun(self).identities([info]).byID().item(info)
        } catch CKError.unknownItem {
            return nil
        }
    }
}
