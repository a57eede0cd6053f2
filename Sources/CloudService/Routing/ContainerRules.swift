// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The containers and environments of the server, and their callers.
package struct ContainerRules: Hashable, Sendable {
    /// Callers that may use the development environment, where types and fields are created by use.
    package enum Development: String, Hashable, Sendable, CaseIterable {
        case all
        /// Accounts of operators, and server-to-server keys, which operators make.
        case operators
        case off
    }

    /// Nil for any container.
    package var containers: Set<String>?
    package var development = Development.all

    package init(containers: Set<String>? = nil, development: Development = .all) {
        self.containers = containers
        self.development = development
    }
}

extension ContainerRules {
    /// Refuses containers that the server does not have, and the development environment for accounts that may not use it.
    ///
    /// - Throws: `WireError` with `.accessDenied`.
    func check(
        _ containerIdentifier: String, _ environment: CloudEnvironment, _ credentials: Credentials, _ accounts: any AccountStorage
    ) async throws {
        if let containers, !containers.contains(containerIdentifier) {
            throw WireError(.accessDenied, "the server does not have the container")
        }
        guard environment == .development, development != .all else { return }
        if development == .operators {
            if case .serverKey = credentials.proof { return }
            if let account = credentials.account, try await accounts.profile(ofAccount: account)?.isOperator == true { return }
        }
        throw WireError(.accessDenied, "the development environment is not open to the caller")
    }
}
