// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// Answers the `users/…` operations.
    ///
    /// - Returns: Nil for any other operation.
    ///
    /// Source: *CloudKit Web Services Reference*, "Users".
    func respondAboutUsers(
        _ operation: ServicePath.Operation, _ call: Call, _ credentials: Credentials, body: [UInt8], method: String
    ) async throws -> ServiceResponse? {
        switch operation {
        case .caller:
            let identity = CallerIdentity(
                identity: try await own(call, credentials), quota: try await quota(call), permissions: try await permissions(call))
            return answer(identity, operation)
        case .currentUser:
            let own = try await own(call, credentials)
            var user = UserDictionary(userRecordName: own.userRecordName, firstName: own.givenName, lastName: own.familyName)
            user.quota = try await quota(call)
            return answer(user, operation)
        case .discoverUsers where method == "GET":
            // The caller's address book, and this server keeps none.
            return answer(UserIdentitiesResponse(users: []), operation)
        case .discoverUsers:
            let infos = try DiscoverUsersRequest(json: body).lookupInfos
            return answer(UserIdentitiesResponse(users: try await discover(infos, call)), operation)
        case .lookupUsersByEmail, .lookupUsersByID:
            let found = try await discover(try LookupUsersRequest(json: body).users, call)
            return answer(UserDictionariesResponse(users: found.map(Self.dictionary)), operation)
        case .lookupUsersByContacts:
            return answer(UserDictionariesResponse(users: []), operation)
        default:
            return nil
        }
    }

    private func answer(_ message: some WireMessage, _ operation: ServicePath.Operation) -> ServiceResponse {
        .json(message.encoded(), endpoint: operation.rawValue)
    }

    private static func dictionary(_ identity: UserIdentity) -> UserDictionary {
        var address: String?
        if case .emailAddress(let email) = identity.lookupInfo { address = email }
        return UserDictionary(
            userRecordName: identity.userRecordName, firstName: identity.givenName, lastName: identity.familyName,
            emailAddress: address)
    }

    /// What the caller's private database takes, for who asked.
    private func quota(_ call: Call) async throws -> QuotaStatus? {
        guard call.capabilities.contains(.quota) else { return nil }
        var partition = call.partition
        (partition.scope, partition.owner) = (.private, call.caller.userRecordName)
        let (engine, own) = (engine, partition)
        return try await storage.read(own) { try engine.quotaStatus(of: own, in: $0) }
    }

    /// What the caller may do in the public database, for who asked.
    private func permissions(_ call: Call) async throws -> [TypePermissions]? {
        guard call.capabilities.contains(.permissions) else { return nil }
        var call = call
        (call.partition.scope, call.partition.owner) = (.public, Partition.publicOwner)
        return try await storage.read(call.partition) { [call] view in
            var access = RecordAccess(view, call)
            return try access.permissions()
        }
    }

    private func own(_ call: Call, _ credentials: Credentials) async throws -> UserIdentity {
        let account: Int64? =
            switch credentials.proof {
            case .device(let device): device.account
            case .session(let session, _): session.account
            case .none, .serverKey: nil
            }
        var identity = UserIdentity(userRecordName: call.caller.userRecordName)
        if let account, let profile = try await accounts.profile(ofAccount: account) { identity.name = profile.name }
        return identity
    }

    /// Who is found and agreed to be found; the caller always is.
    private func discover(_ infos: [LookupInfo], _ call: Call) async throws -> [UserIdentity] {
        try engine.checkCount(infos.count, of: "users", atMost: engine.limits.recordsPerResponse)
        var found: [UserIdentity] = []
        for info in infos {
            let container = call.partition.containerIdentifier
            guard let account = try await accounts.account(matching: info, containerIdentifier: container),
                let profile = try await accounts.profile(ofAccount: account)
            else { continue }
            let name = try await userRecordName(of: account, in: container)
            guard profile.isDiscoverable || name == call.caller.userRecordName else { continue }
            found.append(UserIdentity(userRecordName: name, name: profile.name, lookupInfo: info))
        }
        return found
    }
}
