// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// When operators last entered their password or code, by session. In memory: after a restart they enter it again.
final class Confirmations: Sendable {
    static let minutesValid: Int64 = 5
    /// Sessions at most; beyond it the oldest confirmation is removed.
    static let sessionsMax = 1000

    private let times = Mutex<[[UInt8]: Int64]>([:])

    /// - Parameters:
    ///   - session: Its identifier.
    ///   - now: Milliseconds since 1970 UTC.
    func add(_ session: [UInt8], now: Int64) {
        times.withLock { times in
            times[session] = now
            guard times.count > Self.sessionsMax, let oldest = times.min(by: { $0.value < $1.value }) else { return }
            times[oldest.key] = nil
        }
    }

    /// - Parameter started: When the session began: a sign-in is a confirmation.
    func isValid(_ session: [UInt8], started: Int64, now: Int64) -> Bool {
        let last = max(started, times.withLock { $0[session] } ?? started)
        return (0..<Self.minutesValid * 60_000).contains(now - last)
    }
}
