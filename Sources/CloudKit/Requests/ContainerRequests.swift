// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Performs the requests of a container that need no database: shares by their links, and users.
struct ContainerRequests: Sendable {
    let container: CKContainer
    private let database: DatabaseRequests

    init(_ container: CKContainer, _ settings: OperationSettings? = nil) throws(CKError) {
        self.container = container
        database = try DatabaseRequests(container.publicCloudDatabase, settings)
    }

    func metadata(
        for urls: [URL], fetchesRoot: Bool, desiredKeys: [CKRecord.FieldKey]?
    ) async throws -> [Outcome<URL, CKShareMetadata>] {
        try await database.paged(urls) { urls in
            let guids = urls.map {
                ShortGUID(value: Self.shortGUID($0), shouldFetchRootRecord: fetchesRoot, rootRecordDesiredKeys: desiredKeys)
            }
            let response = try await database.client.resolveShares(ShortGUIDsRequest(shortGUIDs: guids))
            return zip(urls, response.results).map { Outcome(id: $0, result: metadata($1)) }
        }
    }

    func accept(_ metadatas: [CKShareMetadata]) async throws -> [Outcome<CKShareMetadata, CKShare>] {
        try await database.paged(metadatas) { metadatas in
            let guids = metadatas.map { ShortGUID(value: $0.shortGUID) }
            let response = try await database.client.acceptShares(ShortGUIDsRequest(shortGUIDs: guids))
            return zip(metadatas, response.results).map { Outcome(id: $0, result: metadata($1).map(\.share)) }
        }
    }

    func requestAccess(to urls: [URL]) async throws -> [Outcome<URL, Void>] {
        try await database.paged(urls) { urls in
            let guids = urls.map { ShortGUID(value: Self.shortGUID($0)) }
            let response = try await database.client.requestAccess(ShortGUIDsRequest(shortGUIDs: guids))
            return zip(urls, response.results).map { url, result in
                Outcome(id: url, result: result.error.map { .failure(CKError($0)) } ?? .success(()))
            }
        }
    }

    private func metadata(_ result: ShortGUIDResult) -> Result<CKShareMetadata, any Error> {
        switch result {
        case .failure(_, let error): return .failure(CKError(error))
        case .share(let metadata):
            let scope = CKDatabase.Scope(metadata.scope)
            let zoneID = CKRecordZone.ID(metadata.zoneID, scope: scope)
            guard let share = database.make(metadata.share, in: zoneID, scope: scope) as? CKShare else {
                return .failure(CKError.unreadable("the server returned a record that isn't a share"))
            }
            return .success(CKShareMetadata(metadata, share: share))
        }
    }

    /// The last part of a link, without the title that may follow it.
    private static func shortGUID(_ url: URL) -> String { url.lastPathComponent }

    // MARK: Users

    /// Looks up users. The result is `.unknownItem` if a user was not found, or does not allow lookup.
    func identities(
        _ infos: [CKUserIdentityLookupInfo]
    ) async throws -> [Outcome<CKUserIdentityLookupInfo, CKUserIdentity>] {
        let users = try await database.paged(infos) { infos in
            try await database.client.discoverUsers(DiscoverUsersRequest(lookupInfos: infos.map(\.wire))).users
        }
        return infos.map { info in
            let wire = info.wire
            let user = users.first { user in
                if case .userRecordName(let name) = wire, user.userRecordName == name { return true }
                return user.lookupInfo == wire
            }
            guard let user else {
                return Outcome(id: info, result: .failure(CKError(.unknownItem, "no user was found by this address")))
            }
            return Outcome(id: info, result: .success(CKUserIdentity(user, lookupInfo: info)))
        }
    }

    func participants(
        _ infos: [CKUserIdentityLookupInfo]
    ) async throws -> [Outcome<CKUserIdentityLookupInfo, CKShareParticipant>] {
        // A requester is known, even if they do not allow lookup.
        var outcomes = try await identities(infos.filter { $0.knownUser == nil })[...]
        return infos.compactMap { info in
            if let knownUser = info.knownUser { return Outcome(id: info, result: .success(Self.participant(knownUser))) }
            return outcomes.popFirst().map { Outcome(id: info, result: $0.result.map { Self.participant($0.wire) }) }
        }
    }

    private static func participant(_ identity: UserIdentity) -> CKShareParticipant {
        CKShareParticipant(ShareParticipant(identity: identity, permission: .readOnly))
    }

    func webAuthToken(_ apiToken: String) async throws -> String {
        try await database.client.webAuthToken(WebAuthTokenRequest(apiToken: apiToken)).webAuthToken
    }
}
