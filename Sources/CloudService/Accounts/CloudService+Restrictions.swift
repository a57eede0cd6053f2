// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

extension CloudService {
    /// Answers `users/restrict` and `users/unrestrict`.
    ///
    /// - Returns: Nil for any other operation.
    ///
    /// Source: Apple, *Changing Access Controls on User Data*. The answer's body, and the error of whoever calls
    /// meanwhile, are unverified.
    func respondAboutRestrictions(_ operation: ServicePath.Operation, _ call: Call) async throws -> ServiceResponse? {
        guard operation.changesRestrictions else { return nil }
        try await accounts.setRestricted(
            operation == .restrictUser, user: call.caller.userRecordName,
            containerIdentifier: call.partition.containerIdentifier, environment: call.partition.environment, now: call.now)
        return .json(Array("{}".utf8), endpoint: operation.rawValue)
    }

    /// Refuses calls of and to a user whose data are not to be processed.
    ///
    /// - Throws: `WireError` with `.accessDenied`.
    func checkRestriction(_ call: Call) async throws {
        var users: Set = [call.caller.userRecordName]
        if call.isParticipant { users.insert(call.partition.owner) }
        for user in users where !user.isEmpty {
            let isRestricted = try await accounts.isRestricted(
                user: user, containerIdentifier: call.partition.containerIdentifier, environment: call.partition.environment)
            guard !isRestricted else { throw WireError(.accessDenied, "the processing of the user's data is paused") }
        }
    }
}

extension ServicePath.Operation {
    var changesRestrictions: Bool { self == .restrictUser || self == .unrestrictUser }
}
