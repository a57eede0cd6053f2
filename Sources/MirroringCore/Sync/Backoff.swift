// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Exponential backoff with jitter: delays double from ``first`` to ``longest``.
///
/// A random half of each delay is jitter, so that clients that lost the server at the same time do not return at the same time.
package struct Backoff: Hashable, Sendable {
    /// The delay before the second attempt, without jitter.
    package let first: Duration
    /// The longest delay, without jitter.
    package let longest: Duration

    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// Returns how long to wait after failed attempts.
    ///
    /// - Parameters:
    ///   - attempt: Failures in a row, from 1 on.
    ///   - jitter: A random number from 0 (half of the delay) to 1 (the whole delay).
    package func delay(afterAttempt attempt: Int, jitter: Double) -> Duration {
        precondition(attempt > 0, "attempts are counted from 1")
        let doubled = first * (1 << min(attempt - 1, Self.doublingsMax))
        return min(doubled, longest) * (0.5 + min(max(jitter, 0), 1) / 2)
    }

    private static let doublingsMax = 20
}
