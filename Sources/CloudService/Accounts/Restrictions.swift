// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The people that have paused the processing of their data.
struct Restrictions: ServiceSubject {
    let core: ServiceCore

    /// Responds to `users/restrict` and `users/unrestrict`.
    ///
    /// Source: Apple, *Changing Access Controls on User Data*. The response's body, and the error of concurrent calls, are unverified.
    func set(_ isRestricted: Bool, _ exchange: Exchange) async throws -> ServiceResponse {
        let call = exchange.call
        try await accounts.setRestricted(
            isRestricted, user: call.caller.userRecordName, containerIdentifier: call.partition.containerIdentifier,
            environment: call.partition.environment, now: call.now)
        return .json(Array("{}".utf8), endpoint: exchange.operation.rawValue)
    }

    /// Rejects calls of and to a user with restricted data.
    ///
    /// - Throws: `WireError` with `.accessDenied`.
    func check(_ call: Call) async throws {
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
