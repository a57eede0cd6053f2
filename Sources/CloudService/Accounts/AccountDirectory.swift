// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudWire

/// The profiles of accounts.
package struct AccountDirectory: ServiceSubject {
    let core: ServiceCore

    /// The account of a user record name in a container; nil for one that is not known, such as that of a removed account.
    package func profile(ofUser userRecordName: String, in containerIdentifier: String) async throws -> AccountProfile? {
        guard let account = try await accounts.account(matching: .userRecordName(userRecordName), containerIdentifier: containerIdentifier)
        else { return nil }
        return try await accounts.profile(ofAccount: account)
    }

    package func profile(ofAccount account: Int64) async throws -> AccountProfile? {
        try await accounts.profile(ofAccount: account)
    }

    /// Containers in which an account has data.
    package func containers(ofAccount account: Int64) async throws -> [String] { try await accounts.containers(ofAccount: account) }
}
