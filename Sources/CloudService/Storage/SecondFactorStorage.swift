// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Second factors of accounts: a secret for codes of the time (TOTP), and recovery codes. An account has at most one.
///
/// Source: RFC 6238, with HMAC-SHA-1, 6 digits and steps of 30 seconds, which all authenticator apps have.
package protocol SecondFactorStorage: Sendable {
    /// The confirmed second factor of an account; nil if it has none.
    func secondFactor(ofAccount account: Int64) async throws -> SecondFactorState?

    /// Makes a secret that takes effect with ``confirmSecondFactor(ofAccount:code:now:)``; an unconfirmed one from before is replaced.
    ///
    /// - Returns: The secret, 20 bytes.
    /// - Throws: `StorageFailure` with `.nameTaken` if the account has a second factor.
    func beginSecondFactor(ofAccount account: Int64, now: Int64) async throws -> [UInt8]

    /// Turns the second factor on.
    ///
    /// - Returns: Recovery codes, shown once: their hashes are stored. Nil for a wrong code, or without a secret to confirm.
    func confirmSecondFactor(ofAccount account: Int64, code: String, now: Int64) async throws -> [String]?

    /// Returns `true` for the code of this step of the time or one next to it, and for a recovery code. Each is right once, and a code of
    /// the time only if no later one was used.
    func useSecondFactor(_ code: String, ofAccount account: Int64, now: Int64) async throws -> Bool

    /// Bytes that change whenever the account's password is set, and say nothing about it; empty for an account without a password.
    /// A sign-in that waits for its code ends with the password.
    func passwordVersion(ofAccount account: Int64) async throws -> [UInt8]

    /// Deletes the second factor and its recovery codes.
    ///
    /// - Throws: `StorageFailure` with `.unknownName` for an account without one.
    func removeSecondFactor(ofUser name: String) async throws
}

package struct SecondFactorState: Hashable, Sendable {
    /// Milliseconds since 1970 UTC.
    package var since: Int64
    package var recoveryCodes: Int

    package init(since: Int64, recoveryCodes: Int) {
        self.since = since
        self.recoveryCodes = recoveryCodes
    }
}
