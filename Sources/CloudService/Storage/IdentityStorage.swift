// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Identities at OpenID providers that sign in to accounts. An account is found by issuer and subject, never by an address or a name.
package protocol IdentityStorage: Sendable {
    func account(ofIdentity identity: Identity) async throws -> Int64?

    /// Lets an identity sign in to an account.
    ///
    /// - Throws: `StorageFailure` with `.unknownName`; with `.nameTaken` if the identity signs in to an account already.
    func addIdentity(_ identity: Identity, ofUser name: String, now: Int64) async throws

    /// Removes an identity and ends the account's web sessions.
    ///
    /// - Throws: `StorageFailure` with `.unknownName`.
    func removeIdentity(_ identity: Identity, ofUser name: String) async throws

    /// Identities of an account, oldest first.
    func identities(ofUser name: String) async throws -> [Identity]

    /// Makes an account without a password and a device token for an identity that has none.
    ///
    /// - Parameter names: The first that no account has is taken.
    /// - Returns: The account; the present one if the identity got it concurrently.
    /// - Throws: `StorageFailure` with `.nameTaken` if all names are taken.
    func addAccount(ofIdentity identity: Identity, names: [String], now: Int64) async throws -> Int64
}

/// A person at an OpenID provider.
///
/// Source: *OpenID Connect Core 1.0*, section 5.7: only `iss` and `sub` together identify a person.
package struct Identity: Hashable, Sendable {
    package var issuer: String
    package var subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}
