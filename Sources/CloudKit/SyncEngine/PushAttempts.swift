// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

/// Attempts at a push stream, with growing delays between them. A stream that stayed open ends the growth.
package struct PushAttempts: Sendable {
    /// A stream that ends earlier has not even sent a heartbeat, as behind a proxy that blocks it.
    private static let steadyTime = Duration.seconds(Capability.heartbeatSeconds)

    /// Failures in a row.
    private var failures = 0
    private var connectedAt: Duration?

    package init() {}

    package mutating func begin() { connectedAt = nil }

    package mutating func connected(at now: Duration) { connectedAt = connectedAt ?? now }

    /// Ends an attempt, and returns the delay before the next one.
    ///
    /// - Parameter failure: Why the stream ended, or was not opened; nil for no failure.
    package mutating func delay(after failure: CKError?, at now: Duration, jitter: Double) -> Duration {
        delay(
            isRejected: failure?.mayPass == false, retryAfter: failure?.retryAfterSeconds.map { .clamped(seconds: $0) }, at: now,
            jitter: jitter)
    }

    /// Ends an attempt, and returns the delay before the next one.
    ///
    /// - Parameters:
    ///   - isRejected: Whether the server rejected the stream, for example for an unknown token.
    ///   - retryAfter: The delay that the server asks for: no attempt is made earlier.
    package mutating func delay(isRejected: Bool, retryAfter: Duration?, at now: Duration, jitter: Double) -> Duration {
        if let connectedAt, now - connectedAt >= Self.steadyTime { failures = 0 }
        failures += 1
        let backoff = isRejected ? Backoff.rejectedPush : .push
        return max(backoff.delay(attempt: failures, jitter: jitter), retryAfter ?? .zero)
    }
}
