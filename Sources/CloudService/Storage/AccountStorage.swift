// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Accounts, which are outside partitions.
package protocol AccountStorage: CredentialStorage, AuditStorage {
    /// The device that a token was made for, or nil for an unknown or expired token. Tokens are stored as hashes only.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    func device(forToken token: String, now: Int64) async throws -> DeviceIdentity?

    /// Returns `true` while the credential is neither revoked nor expired.
    func isInForce(_ credential: CredentialReference, now: Int64) async throws -> Bool

    /// Number of revocations so far, of any process that uses the data. It only grows.
    func revocationCount() async throws -> Int64

    /// Stores when and from where credentials were used last.
    func store(_ uses: [CredentialReference: CredentialUse]) async throws

    /// The account's record name in a container.
    ///
    /// - Parameter proposal: Kept if the account has no name there yet.
    func userRecordName(account: Int64, containerIdentifier: String, proposal: @autoclosure @Sendable () -> String) async throws -> String

    /// Containers in which the account has a user record name.
    func containers(ofAccount account: Int64) async throws -> [String]

    /// Whether the processing of a user's data is paused.
    func isRestricted(user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment) async throws -> Bool
    func setRestricted(
        _ isRestricted: Bool, user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment, now: Int64
    ) async throws
}

package struct DeviceIdentity: Hashable, Sendable {
    package var account: Int64
    /// The name under which the device hears of changes: its token's, unless a request names another.
    package var deviceID: String
    /// The token's own identifier, which a request cannot choose.
    package let credential: CredentialReference

    package init(account: Int64, deviceID: String) {
        self.account = account
        self.deviceID = deviceID
        credential = .device(account: account, deviceID: deviceID)
    }
}
