// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Synchronization

/// How many requests a caller may still send: a bucket that holds one minute's worth and fills evenly.
struct RequestBudget: Hashable, Sendable {
    let perMinute: Int
    private var left: Double
    /// Milliseconds since 1970 UTC.
    private var time: Int64
    /// Seconds until the next request is allowed; nil if this one is.
    private(set) var wait: Double?
    /// Requests since the last exchange with other processes.
    private var count = 0

    init(perMinute: Int, now: Int64) {
        self.perMinute = perMinute
        left = Double(perMinute)
        time = now
    }

    /// Takes requests out, all or none, or says how long to wait for all of them.
    mutating func take(_ wanted: Int = 1, now: Int64) {
        fill(now)
        // The bucket never has more than a minute's worth.
        let needed = Double(min(wanted, perMinute))
        wait = left < needed ? ((needed - left) * 60 / Double(perMinute)).rounded(.up) : nil
        if wait == nil {
            left -= Double(wanted)
            count += wanted
        }
    }

    mutating func removeCount() -> Int {
        defer { count = 0 }
        return count
    }

    mutating func isFull(now: Int64) -> Bool {
        fill(now)
        return left >= Double(perMinute)
    }

    /// Deducts requests that were accepted without this budget. It may fall below zero: the sender then waits for longer.
    mutating func deduct(_ count: Int, now: Int64) {
        fill(now)
        left = max(-Double(perMinute), left - Double(count))
    }

    var remaining: Int { max(0, Int(left)) }

    /// Seconds until the bucket is full.
    var secondsToFull: Int { Int(((Double(perMinute) - left) * 60 / Double(perMinute)).rounded(.up)) }

    private mutating func fill(_ now: Int64) {
        // A clock that went back fills nothing.
        left = min(Double(perMinute), left + Double(max(0, now - time)) * Double(perMinute) / 60_000)
        time = now
    }
}

/// The budgets of all callers. They are forgotten when the server ends.
///
/// An account has one, with any container and endpoint and from any network. Anonymous clients share one per
/// network; so do requests with wrong credentials, and those to addresses of assets and couriers.
final class RequestBudgets: Sendable {
    /// Callers that are remembered; beyond it those go that have their whole budget.
    private static let callersMax = 10_000

    private struct Table {
        var budgets: [String: RequestBudget] = [:]
        /// Time of the last search for full ones; once a second is enough, even for thousands of requests.
        var cleared: Int64 = .min

        mutating func makeRoom(atMost most: Int, now: Int64) {
            guard budgets.count >= most, cleared == .min || abs(now - cleared) >= 1000 else { return }
            cleared = now
            budgets = budgets.filter { entry in
                var budget = entry.value
                return !budget.isFull(now: now)
            }
        }

        mutating func take(_ count: Int, of key: String, perMinute: Int, now: Int64) -> RequestBudget {
            var budget = budgets[key] ?? RequestBudget(perMinute: perMinute, now: now)
            budget.take(count, now: now)
            budgets[key] = budget
            return budget
        }

        /// The senders that send much, and their requests since the last call.
        mutating func removeCounts(ofAtLeast least: Int) -> [String: Int] {
            var counts: [String: Int] = [:]
            for index in budgets.indices {
                let count = budgets.values[index].removeCount()
                if count >= least { counts[budgets[index].key] = count }
            }
            return counts
        }
    }

    private let perMinute: Int
    private let networksMax: Int
    private let users = Mutex(Table())
    private let networks = Mutex(Table())

    /// - Parameters:
    ///   - perMinute: Requests of one caller; 0 means without limit.
    ///   - networksMax: Networks that are remembered. While all of them wait for requests, those that come new have one budget together.
    init(perMinute: Int, networksMax: Int = 10_000) {
        self.perMinute = perMinute
        self.networksMax = networksMax
    }

    /// Budgets of networks in memory.
    var networkCount: Int { networks.withLock { $0.budgets.count } }

    /// Takes requests out of the budget of their sender, all or none.
    ///
    /// - Returns: The remaining budget, or the time to wait; nil without a limit.
    func take(_ count: Int = 1, of sender: Sender, now: Int64) -> RequestBudget? {
        guard perMinute > 0 else { return nil }
        switch sender {
        case .account(let key):
            return users.withLock { table in
                table.makeRoom(atMost: Self.callersMax, now: now)
                return table.take(count, of: key, perMinute: perMinute, now: now)
            }
        case .network(let network):
            return networks.withLock { table in
                table.makeRoom(atMost: networksMax, now: now)
                let hasRoom = table.budgets.count < networksMax || table.budgets[network] != nil
                return table.take(count, of: hasRoom ? network : "", perMinute: perMinute, now: now)
            }
        }
    }

    /// Removes the counts of requests since the last call, for the exchange with other processes: once a second.
    ///
    /// - Returns: Only senders with a tenth of what is allowed in a second, or more: few in a service that is used as usual. Up to ten
    ///   processes together accept no more of another sender than one process may.
    func removeCounts() -> [SharedSender: Int] {
        let least = max(1, perMinute / 600)
        var shared: [SharedSender: Int] = [:]
        for (key, count) in users.withLock({ $0.removeCounts(ofAtLeast: least) }) {
            shared[SharedSender(isNetwork: false, key: key)] = count
        }
        for (key, count) in networks.withLock({ $0.removeCounts(ofAtLeast: least) }) {
            shared[SharedSender(isNetwork: true, key: key)] = count
        }
        return shared
    }

    /// Deducts requests of other processes from the budgets of this one.
    func takeElsewhere(_ counts: [SharedSender: Int], now: Int64) {
        for (sender, count) in counts where count > 0 {
            if sender.isNetwork {
                networks.withLock { $0.budgets[sender.key]?.deduct(count, now: now) }
            } else {
                users.withLock { $0.budgets[sender.key]?.deduct(count, now: now) }
            }
        }
    }

    /// Deducts more from the budget of a sender than was taken before: the sender then waits for longer.
    func deduct(_ count: Int, from sender: Sender, now: Int64) {
        let shared =
            switch sender {
            case .account(let key): SharedSender(isNetwork: false, key: key)
            case .network(let network): SharedSender(isNetwork: true, key: network)
            }
        takeElsewhere([shared: count], now: now)
    }

    enum Sender: Hashable, Sendable {
        /// An account, or a server-to-server key.
        case account(String)
        case network(String)
    }
}

/// A sender of requests, to all processes of one service.
package struct SharedSender: Hashable, Sendable {
    package var isNetwork: Bool
    package var key: String

    package init(isNetwork: Bool, key: String) {
        self.isNetwork = isNetwork
        self.key = key
    }
}

/// Counts requests of all processes of one service. A storage of several processes conforms to it.
package protocol BudgetExchange: Sendable {
    /// Adds the requests that this process has accepted since the last call.
    ///
    /// - Returns: The requests of these senders that other processes have added since this process's last call about the sender.
    func exchangeRequests(_ counts: [SharedSender: Int], now: Int64) async throws -> [SharedSender: Int]
}

extension ServiceResponse {
    /// Publishes the remaining budget of the caller.
    mutating func publish(_ budget: RequestBudget) {
        headers.append((name: HeaderNames.rateLimit, value: String(budget.perMinute)))
        headers.append((name: HeaderNames.rateLimitRemaining, value: String(budget.remaining)))
        headers.append((name: HeaderNames.rateLimitReset, value: String(budget.secondsToFull)))
    }
}
