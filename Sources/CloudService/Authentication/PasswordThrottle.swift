// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Synchronization

/// Decides whether a password or a code of a second factor may be tried, before it is hashed. An attempt counts from then on, so that
/// concurrent ones count.
///
///     one account from one network    5 wrong, then one at a time, waiting twice as long each time
///     one network, any accounts       4 × as many
///     one account, any networks      20 × as many; networks from which its owner signed in are not kept waiting
///
/// A stranger cannot lock an owner out: the count of an account alone delays only networks that the owner never used.
///
/// The counts are in the storage if several processes share it, and otherwise in this process. Networks of owners are in the storage: after a
/// restart, strangers' attempts would delay owners.
final class PasswordThrottle: Sendable {
    /// An attempt that was let through; it is over with ``end(_:isRight:now:allowed:)``.
    struct Attempt: Hashable, Sendable {
        fileprivate let before: [Key: AttemptCount]
        fileprivate let account: String
        fileprivate let network: String
    }

    fileprivate enum Key: Hashable, Sendable {
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

        /// Lengths keep the texts of two keys apart.
        var text: String {
            switch self {
            case .accountFromNetwork(let account, let network): "both \(account.utf8.count) \(account)\(network)"
            case .network(let network): "network \(network)"
            case .account(let account): "account \(account)"
            }
        }
    }

    private struct Table {
        var counts: [String: AttemptCount] = [:]
        /// Networks from which owners signed in, by account, if no storage has them.
        var known: [String: Set<String>] = [:]
    }

    /// Limit of counts. Beyond it, those that delay no attempt are removed.
    private static let countsMax = 30_000
    private static let knownMax = 10_000
    private static let networksOfAccountMax = 8

    private let table = Mutex(Table())
    private let shared: (any AttemptStorage)?
    private let networks: (any NetworkStorage)?

    /// - Parameters:
    ///   - shared: Nil for a process that has its storage alone.
    ///   - networks: Used without `shared`; nil for networks in memory.
    init(shared: (any AttemptStorage)? = nil, networks: (any NetworkStorage)? = nil) {
        self.shared = shared
        self.networks = networks
    }

    /// The key of a name without an account. A name may be any text, also that of an account's key.
    static func key(ofName name: String) -> String { "name \(name.lowercased())" }

    /// The storage of an account's networks; nil for a name without an account, and for keys of other attempts: a client could make any
    /// number of them.
    private func networkStorage(of account: String) -> (any NetworkStorage)? { account.hasPrefix("#") ? networks : nil }

    /// - Parameters:
    ///   - account: The key of the account, or of the name if there is none.
    ///   - allowed: Wrong passwords in a row of one account from one network.
    /// - Throws: `WireError` with `.throttled` and the time to wait; errors of a shared storage.
    func begin(_ account: String, from network: String, now: Int64, allowed: Int) async throws -> Attempt {
        let isStored =
            try await networkStorage(of: account)?.isKnown(Self.networkKey(account, network), ofAccount: account, now: now) ?? false
        let before = try await change(account, network, isStored: isStored, now: now) { counts, isKnown in
            try Self.begin(Self.keys(account, network, isKnown: isKnown), in: &counts, now: now, allowed: allowed)
        }
        return Attempt(before: before, account: account, network: network)
    }

    /// - Returns: The counts before the attempt.
    private static func begin(
        _ keys: [Key], in counts: inout [String: AttemptCount], now: Int64, allowed: Int
    ) throws(WireError) -> [Key: AttemptCount] {
        var before: [Key: AttemptCount] = [:]
        for key in keys {
            let count = counts[key.text] ?? AttemptCount()
            if let seconds = count.wait(now) {
                throw WireError(.throttled, "too many wrong passwords or codes: wait before the next one", retryAfter: seconds)
            }
            before[key] = count
        }
        for key in keys { counts[key.text, default: AttemptCount()].begin(now, allowed: allowed * key.factor) }
        return before
    }

    /// A wrong attempt was counted when it began.
    func end(_ attempt: Attempt, isRight: Bool, now: Int64, allowed: Int) async throws {
        guard isRight else { return }
        try await takeBack(attempt, forgetsAccount: true, now: now, allowed: allowed)
        let networkKey = Self.networkKey(attempt.account, attempt.network)
        if let shared { return try await shared.storeNetwork(networkKey, now: now) }
        if let networks = networkStorage(of: attempt.account) {
            return try await networks.storeNetwork(networkKey, ofAccount: attempt.account, now: now)
        }
        table.withLock { table in
            if table.known.count >= Self.knownMax { table.known = [:] }
            var networks = table.known[attempt.account] ?? []
            if networks.count >= Self.networksOfAccountMax { networks = [] }
            networks.insert(attempt.network)
            table.known[attempt.account] = networks
        }
    }

    /// Ends an attempt with the right password of an account that needs a second factor. It counts neither as wrong nor as right:
    /// otherwise a stranger with the password could forget wrong codes by signing in again.
    func end(halfDone attempt: Attempt, now: Int64, allowed: Int) async throws {
        try await takeBack(attempt, forgetsAccount: false, now: now, allowed: allowed)
    }

    private func takeBack(_ attempt: Attempt, forgetsAccount: Bool, now: Int64, allowed: Int) async throws {
        try await change(attempt.account, attempt.network, now: now) { counts, _ in
            for (key, before) in attempt.before {
                if forgetsAccount, case .accountFromNetwork = key {
                    counts[key.text] = nil
                    continue
                }
                guard var count = counts[key.text] else { continue }
                count.takeBack(before: before, allowed: allowed * key.factor)
                counts[key.text] = count.failed == 0 ? nil : count
            }
        }
    }

    /// - Parameter isStored: Whether the storage of a process that counts by itself knows the network.
    private func change<Value: Sendable>(
        _ account: String, _ network: String, isStored: Bool = false, now: Int64,
        _ body: @escaping @Sendable (inout [String: AttemptCount], _ isKnown: Bool) throws -> Value
    ) async throws -> Value {
        if let shared {
            let keys = Self.keys(account, network, isKnown: false).map(\.text)
            return try await shared.changeAttempts(keys, networkKey: Self.networkKey(account, network), now: now, body)
        }
        return try table.withLock { table in
            if table.counts.count >= Self.countsMax { table.counts = table.counts.filter { $0.value.until > now } }
            return try body(&table.counts, isStored || table.known[account]?.contains(network) == true)
        }
    }

    static func networkKey(_ account: String, _ network: String) -> String {
        "known \(account.utf8.count) \(account)\(network)"
    }

    private static func keys(_ account: String, _ network: String, isKnown: Bool) -> [Key] {
        [.accountFromNetwork(account, network), .network(network)] + (isKnown ? [] : [.account(account)])
    }
}
