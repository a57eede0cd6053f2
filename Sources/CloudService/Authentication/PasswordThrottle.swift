// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Synchronization

/// Decides whether a password or a code of a second factor may be tried, before it is hashed. An attempt counts from then on, so that concurrent ones count.
///
///     one account from one network    5 wrong, then one at a time, waiting twice as long each time
///     one network, any accounts       4 × as many
///     one account, any networks      20 × as many; networks from which its owner signed in are not kept waiting
///
/// A stranger cannot lock an owner out: the count of an account alone delays only networks that the owner never used.
final class PasswordThrottle: Sendable {
    /// An attempt that was let through; it is over with ``end(_:isRight:now:)``.
    struct Attempt: Hashable, Sendable {
        fileprivate let keys: [Key]
        fileprivate let account: String
        fileprivate let network: String
    }

    fileprivate enum Key: Hashable {
        case accountFromNetwork(String, String)
        case network(String)
        case account(String)

        /// How many times as many failures as one account from one network may have.
        var factor: Int {
            switch self {
            case .accountFromNetwork: 1
            case .network: 4
            case .account: 20
            }
        }
    }

    private struct Count {
        var failed = 0
        var underWay = 0
        /// Milliseconds since 1970 UTC until which nothing more is tried.
        var until: Int64 = 0
        var lastFailure: Int64 = 0

        mutating func forgetOld(_ now: Int64) {
            if abs(now - lastFailure) > PasswordThrottle.memory { failed = 0 }
        }

        func mayTry(_ now: Int64, allowed: Int) -> Bool {
            // A clock that went back by more than the longest wait delays no attempt.
            if now < until, until - now <= PasswordThrottle.memory { return false }
            return underWay == 0 || failed + underWay < allowed
        }
    }

    private struct Waiting: Error {
        var seconds: Double
    }

    private struct Table {
        var counts: [Key: Count] = [:]
        /// Networks from which owners signed in, by account.
        var known: [String: Set<String>] = [:]
    }

    /// Limit of counts. Beyond it, those that delay no attempt are removed.
    private static let countsMax = 30_000
    private static let knownMax = 10_000
    private static let networksOfAccountMax = 8
    /// Milliseconds: the longest wait, and after which failures are forgotten.
    private static let memory: Int64 = 900_000

    private let table = Mutex(Table())

    /// - Parameters:
    ///   - account: The account, or the normalized name if there is none.
    ///   - allowed: Wrong passwords in a row of one account from one network.
    /// - Throws: `WireError` with `.throttled` and the time to wait.
    func begin(_ account: String, from network: String, now: Int64, allowed: Int) throws(WireError) -> Attempt {
        let keys: Result<[Key], Waiting> = table.withLock { table in
            if table.counts.count >= Self.countsMax { table.counts = table.counts.filter { $0.value.until > now || $0.value.underWay > 0 } }
            let keys = Self.keys(account, network, table)
            for key in keys {
                table.counts[key]?.forgetOld(now)
                let count = table.counts[key] ?? Count()
                if !count.mayTry(now, allowed: allowed * key.factor) {
                    return .failure(Waiting(seconds: Double(max(count.until - now, 0) / 1000 + 1)))
                }
            }
            for key in keys { table.counts[key, default: Count()].underWay += 1 }
            return .success(keys)
        }
        switch keys {
        case .success(let keys): return Attempt(keys: keys, account: account, network: network)
        case .failure(let waiting):
            throw WireError(.throttled, "too many wrong passwords or codes: wait before the next one", retryAfter: waiting.seconds)
        }
    }

    func end(_ attempt: Attempt, isRight: Bool, now: Int64, allowed: Int) {
        table.withLock { table in
            for key in attempt.keys {
                var count = table.counts[key] ?? Count()
                count.underWay = max(count.underWay - 1, 0)
                if !isRight {
                    count.failed += 1
                    count.lastFailure = now
                    let over = count.failed - allowed * key.factor
                    if over >= 0 { count.until = now + min(Self.memory, 1000 << Int64(min(over, 20))) }
                }
                table.counts[key] = count.failed == 0 && count.underWay == 0 ? nil : count
            }
            guard isRight else { return }
            table.counts[.accountFromNetwork(attempt.account, attempt.network)] = nil
            if table.known.count >= Self.knownMax { table.known = [:] }
            var networks = table.known[attempt.account] ?? []
            if networks.count >= Self.networksOfAccountMax { networks = [] }
            networks.insert(attempt.network)
            table.known[attempt.account] = networks
        }
    }

    /// Ends an attempt with the right password of an account that needs a second factor. It counts neither as wrong nor as right:
    /// otherwise a stranger with the password could forget wrong codes by signing in again.
    func end(halfDone attempt: Attempt) {
        table.withLock { table in
            for key in attempt.keys {
                var count = table.counts[key] ?? Count()
                count.underWay = max(count.underWay - 1, 0)
                table.counts[key] = count.failed == 0 && count.underWay == 0 ? nil : count
            }
        }
    }

    private static func keys(_ account: String, _ network: String, _ table: Table) -> [Key] {
        let isKnown = table.known[account]?.contains(network) == true
        return [.accountFromNetwork(account, network), .network(network)] + (isKnown ? [] : [.account(account)])
    }
}
