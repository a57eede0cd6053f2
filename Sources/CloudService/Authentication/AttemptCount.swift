// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Wrong attempts of one key. An attempt counts as wrong from its beginning, so concurrent attempts count, also those of a process that
/// ends before it compares the password.
package struct AttemptCount: Hashable, Sendable {
    /// Milliseconds: the longest wait, and after which wrong attempts are forgotten.
    package static let memory: Int64 = 900_000

    package var failed = 0
    /// Milliseconds since 1970 UTC until which nothing more is tried.
    package var until: Int64 = 0
    /// When the last attempt began, in milliseconds since 1970 UTC.
    package var last: Int64 = 0

    package init(failed: Int = 0, until: Int64 = 0, last: Int64 = 0) {
        self.failed = failed
        self.until = until
        self.last = last
    }

    /// Seconds until the next attempt may begin; nil for now.
    func wait(_ now: Int64) -> Double? {
        // A clock that went back by more than the longest wait delays no attempt.
        guard now < until, until - now <= Self.memory else { return nil }
        return Double((until - now) / 1000 + 1)
    }

    /// - Parameter allowed: Wrong attempts before the first wait.
    mutating func begin(_ now: Int64, allowed: Int) {
        if abs(now - last) > Self.memory { failed = 0 }
        failed += 1
        last = now
        let over = failed - allowed
        if over >= 0 { until = now + min(Self.memory, 1000 << Int64(min(over, 20))) }
    }

    /// Takes an attempt back that was not wrong.
    ///
    /// - Parameter before: The count before it.
    mutating func takeBack(before: AttemptCount, allowed: Int) {
        failed = max(0, failed - 1)
        if failed == before.failed { (until, last) = (before.until, before.last) } else if failed < allowed { until = 0 }
    }
}

/// A storage in which all processes of a server count wrong passwords and codes.
package protocol AttemptStorage: Sendable {
    /// Changes counts in one transaction that excludes other transactions for the keys.
    ///
    /// - Parameters:
    ///   - keys: Any texts; the storage does not store them.
    ///   - networkKey: Names an account and a network from which its owner may have signed in.
    ///   - body: Gets the keys' counts, and whether the owner did. May run more than once; nothing is stored if it throws.
    func changeAttempts<Value: Sendable>(
        _ keys: [String], networkKey: String, now: Int64,
        _ body: @escaping @Sendable (_ counts: inout [String: AttemptCount], _ isKnown: Bool) throws -> Value
    ) async throws -> Value

    /// Stores that an account's owner signed in from a network.
    func storeNetwork(_ networkKey: String, now: Int64) async throws
}

/// Names accounts in counts of attempts and in stored networks.
package enum AttemptKey {
    package static func account(_ number: Int64) -> String { "#\(number)" }
}

/// A storage of the networks from which owners of accounts signed in, for a process that counts attempts by itself.
package protocol NetworkStorage: Sendable {
    /// - Parameters:
    ///   - networkKey: Names the account and the network. The storage has hashes of both texts.
    ///   - account: Names the account, for the limit of its networks and for its removal: ``AttemptKey/account(_:)``.
    func isKnown(_ networkKey: String, ofAccount account: String, now: Int64) async throws -> Bool

    /// Stores that an account's owner signed in from a network, in place of the account's oldest network beyond a limit.
    func storeNetwork(_ networkKey: String, ofAccount account: String, now: Int64) async throws
}
