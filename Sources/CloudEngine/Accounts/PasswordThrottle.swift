// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Synchronization

/// Makes guessing of passwords slow: after a few wrong ones in a row a name has to wait, twice as long each time.
final class PasswordThrottle: Sendable {
    private struct Failures {
        var count = 0
        /// Milliseconds since 1970 UTC.
        var until: Int64 = 0
    }

    /// Names that are remembered at most. When there are more, all are forgotten but those that wait.
    private static let namesMax = 10_000
    private static let secondsMax: Int64 = 900

    private let failures = Mutex<[String: Failures]>([:])

    /// - Throws: `WireError` with `.throttled` while the name has to wait.
    func check(_ name: String, now: Int64) throws(WireError) {
        let until = failures.withLock { $0[name]?.until ?? 0 }
        guard now < until else { return }
        throw WireError(
            .throttled, "too many wrong passwords: wait before the next one", retryAfter: Double((until - now) / 1000 + 1))
    }

    func failed(_ name: String, now: Int64, allowed: Int) {
        failures.withLock { failures in
            if failures.count >= Self.namesMax { failures = failures.filter { $0.value.until > now } }
            var entry = failures[name] ?? Failures()
            entry.count += 1
            if entry.count >= allowed {
                entry.until = now + min(Self.secondsMax, 1 << min(entry.count - allowed, 20)) * 1000
            }
            failures[name] = entry
        }
    }

    func succeeded(_ name: String) { failures.withLock { $0[name] = nil } }
}
