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
    /// Nil, or the seconds after which there is a request again for who had none left.
    private(set) var wait: Double?

    init(perMinute: Int, now: Int64) {
        self.perMinute = perMinute
        left = Double(perMinute)
        time = now
    }

    /// Takes one request out, or says how long to wait.
    mutating func take(now: Int64) {
        fill(now)
        wait = left < 1 ? ((1 - left) * 60 / Double(perMinute)).rounded(.up) : nil
        if wait == nil { left -= 1 }
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

    /// - Returns: What the caller has left, or how long to wait; nil if there is no limit.
    func take(_ call: Call) -> RequestBudget? {
        guard perMinute > 0 else { return nil }
        let caller = "\(call.partition.containerIdentifier) \(call.caller.userRecordName)"
        return budgets.withLock { budgets in
            if budgets.count >= Self.callersMax {
                budgets = budgets.filter { entry in
                    var budget = entry.value
                    return !budget.isFull(now: call.now)
                }
            }
            var budget = budgets[caller] ?? RequestBudget(perMinute: perMinute, now: call.now)
            budget.take(now: call.now)
            budgets[caller] = budget
            return budget
        }
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
