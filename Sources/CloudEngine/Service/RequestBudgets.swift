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

    init(perMinute: Int, now: Int64) {
        self.perMinute = perMinute
        left = Double(perMinute)
        time = now
    }

    /// Takes one request out.
    ///
    /// - Returns: Nil, or the seconds after which there is one again.
    mutating func take(now: Int64) -> Double? {
        fill(now)
        guard left < 1 else {
            left -= 1
            return nil
        }
        return ((1 - left) * 60 / Double(perMinute)).rounded(.up)
    }

    mutating func isFull(now: Int64) -> Bool {
        fill(now)
        return left >= Double(perMinute)
    }

    var remaining: Int { Int(left) }

    /// Seconds until the bucket is full.
    var secondsToFull: Int { Int(((Double(perMinute) - left) * 60 / Double(perMinute)).rounded(.up)) }

    private mutating func fill(_ now: Int64) {
        // A clock that went back fills nothing.
        left = min(Double(perMinute), left + Double(max(0, now - time)) * Double(perMinute) / 60_000)
        time = now
    }
}

/// The budgets of all callers. They are forgotten when the server ends.
final class RequestBudgets: Sendable {
    /// Callers that are remembered; beyond it those go that have their whole budget.
    private static let callersMax = 10_000

    private let perMinute: Int
    private let budgets = Mutex<[String: RequestBudget]>([:])

    /// - Parameter perMinute: 0 means without limit.
    init(perMinute: Int) {
        self.perMinute = perMinute
    }

    /// - Returns: What the caller has left; nil if there is no limit.
    /// - Throws: `WireError` with `.throttled` and the seconds to wait.
    func take(_ call: Call) throws(WireError) -> RequestBudget? {
        guard perMinute > 0 else { return nil }
        let caller = "\(call.partition.containerIdentifier) \(call.caller.userRecordName)"
        let (budget, wait) = budgets.withLock { budgets in
            if budgets.count >= Self.callersMax {
                budgets = budgets.filter { entry in
                    var budget = entry.value
                    return !budget.isFull(now: call.now)
                }
            }
            var budget = budgets[caller] ?? RequestBudget(perMinute: perMinute, now: call.now)
            let wait = budget.take(now: call.now)
            budgets[caller] = budget
            return (budget, wait)
        }
        if let wait { throw WireError(.throttled, "too many requests", retryAfter: wait) }
        return budget
    }
}

extension ServiceResponse {
    /// Publishes what the caller has left.
    mutating func publish(_ budget: RequestBudget) {
        headers.append((name: HeaderNames.rateLimit, value: String(budget.perMinute)))
        headers.append((name: HeaderNames.rateLimitRemaining, value: String(budget.remaining)))
        headers.append((name: HeaderNames.rateLimitReset, value: String(budget.secondsToFull)))
    }
}
