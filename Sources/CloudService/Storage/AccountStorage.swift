// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Who may come in. Accounts stand outside partitions.
package protocol AccountStorage: CredentialStorage {
    /// The device that a token was made for, or nil for an unknown token. Tokens are stored as hashes only.
    func device(forToken token: String) async throws -> DeviceIdentity?

    /// The account's record name in a container.
    ///
    /// - Parameter proposal: Kept if the account has no name there yet.
    func userRecordName(account: Int64, containerIdentifier: String, proposal: String) async throws -> String

    /// Whether the processing of a user's data is paused.
    func isRestricted(user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment) async throws -> Bool
    func setRestricted(
        _ isRestricted: Bool, user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment, now: Int64
    ) async throws
}

package struct DeviceIdentity: Hashable, Sendable {
    package var account: Int64
    package var deviceID: String

    package init(account: Int64, deviceID: String) {
        self.account = account
        self.deviceID = deviceID
    }
}
