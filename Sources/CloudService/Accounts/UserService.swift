// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Handlers of the `users/…` operations.
///
/// Source: *CloudKit Web Services Reference*, "Users".
struct UserService: ServiceSubject {
    let core: ServiceCore

    func caller(_ exchange: Exchange) async throws -> ServiceResponse {
        if profile.listsCaller {
            return response(UserIdentitiesResponse(users: [try await own(exchange.call, exchange.credentials)]), exchange)
        }
        return response(
            CallerIdentity(
                identity: try await own(exchange.call, exchange.credentials), quota: try await quota(exchange.call),
                permissions: try await permissions(exchange.call)), exchange)
    }

    func currentUser(_ exchange: Exchange) async throws -> ServiceResponse {
        let own = try await own(exchange.call, exchange.credentials)
        var user = UserDictionary(userRecordName: own.userRecordName, firstName: own.givenName, lastName: own.familyName)
        user.quota = try await quota(exchange.call)
        return response(user, exchange)
    }

    func discover(_ exchange: Exchange) async throws -> ServiceResponse {
        // GET asks for the caller's address book, and this server has none.
        guard exchange.method != "GET" else { return response(UserIdentitiesResponse(users: []), exchange) }
        let infos = try DiscoverUsersRequest(json: exchange.body).lookupInfos
        return response(UserIdentitiesResponse(users: try await discover(infos, exchange)), exchange)
    }

    func lookup(_ exchange: Exchange) async throws -> ServiceResponse {
        let identities = try await discover(try LookupUsersRequest(json: exchange.body).users, exchange)
        return response(UserDictionariesResponse(users: identities.map(Self.dictionary)), exchange)
    }

    func lookupByContacts(_ exchange: Exchange) -> ServiceResponse {
        response(UserDictionariesResponse(users: []), exchange)
    }

    private func response(_ message: some WireMessage, _ exchange: Exchange) -> ServiceResponse {
        .json(message.encoded(), endpoint: exchange.operation.rawValue)
    }

    private static func dictionary(_ identity: UserIdentity) -> UserDictionary {
        var address: String?
        if case .emailAddress(let email) = identity.lookupInfo { address = email }
        return UserDictionary(
            userRecordName: identity.userRecordName, firstName: identity.givenName, lastName: identity.familyName,
            emailAddress: address)
    }

    /// Usage of the caller's private database, if the caller requests it.
    private func quota(_ call: Call) async throws -> QuotaStatus? {
        guard call.capabilities.contains(.quota) else { return nil }
        var call = call
        (call.partition.scope, call.partition.owner) = (.private, call.caller.userRecordName)
        return try await core.read(call) { [engine, partition = call.partition] in try engine.quotas.status(of: partition, in: $0) }
    }

    /// The caller's permissions in the public database, if the caller requests them.
    private func permissions(_ call: Call) async throws -> [TypePermissions]? {
        guard call.capabilities.contains(.permissions) else { return nil }
        var call = call
        (call.partition.scope, call.partition.owner) = (.public, Partition.publicOwner)
        return try await core.read(call) { [call] view in
            var access = RecordAccess(view, call)
            return try access.permissions()
        }
    }

    private func own(_ call: Call, _ credentials: Credentials) async throws -> UserIdentity {
        var identity = UserIdentity(userRecordName: call.caller.userRecordName)
        if let account = credentials.account, let profile = try await accounts.profile(ofAccount: account) { identity.name = profile.name }
        return identity
    }

    /// Users that match and agreed to be found; the caller always does.
    private func discover(_ infos: [LookupInfo], _ exchange: Exchange) async throws -> [UserIdentity] {
        let caller = exchange.credentials.account
        try engine.limits.checkCount(infos.count, of: "users", atMost: engine.limits.recordsPerResponse)
        var found: [UserIdentity] = []
        for info in infos {
            let container = exchange.call.partition.containerIdentifier
            guard let account = try await accounts.account(matching: info, containerIdentifier: container),
                let profile = try await accounts.profile(ofAccount: account)
            else { continue }
            // Storing the name takes time, which would reveal a person who is not discoverable.
            guard profile.isDiscoverable || account == caller else { continue }
            let name = try await core.userRecordName(of: account, in: container)
            found.append(UserIdentity(userRecordName: name, name: profile.name, lookupInfo: info))
        }
        return found
    }
}
