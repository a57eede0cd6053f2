// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Exponential backoff with jitter: delays double from the first to the longest, and each is spread over its upper half, so
/// that clients that failed together don't retry together.
///
/// ```text
/// attempt           1          2          3     …      longest
/// delay in first    0.5 … 1    1 … 2      2 … 4        longest / 2 … longest
/// ```
///
/// A pure function: the random number comes in, so that a seed decides it in tests and simulations.
package struct Backoff: Hashable, Sendable {
    package let firstSeconds: Double
    package let longestSeconds: Double

    /// - Precondition: `0 < firstSeconds <= longestSeconds`.
    package init(firstSeconds: Double, longestSeconds: Double) {
        precondition(0 < firstSeconds && firstSeconds <= longestSeconds, "a backoff begins above zero and doesn't shrink")
        self.firstSeconds = firstSeconds
        self.longestSeconds = longestSeconds
    }

    /// - Parameters:
    ///   - attempt: 1 after the first failure in a row.
    ///   - jitter: A random number from 0, the shortest delay of the attempt, to 1, its longest.
    /// - Precondition: `attempt` is positive.
    package func seconds(attempt: Int, jitter: Double) -> Double {
        precondition(attempt > 0, "attempts are counted from 1")
        let doubled = firstSeconds * Double(1 << min(attempt - 1, 20))
        return min(doubled, longestSeconds) * (0.5 + min(max(jitter, 0), 1) / 2)
    }

    /// Returns the backoff with the same first delay and a shorter longest one. The jitter is under that limit as well: a delay that is cut
    /// after the jitter was added is the same for all clients.
    ///
    /// - Precondition: `longestSeconds` is at least ``firstSeconds``.
    package func capped(at longestSeconds: Double) -> Backoff {
        Backoff(firstSeconds: firstSeconds, longestSeconds: min(longestSeconds, self.longestSeconds))
    }

    /// The same as ``seconds(attempt:jitter:)``.
    package func delay(attempt: Int, jitter: Double) -> Duration { .seconds(seconds(attempt: attempt, jitter: jitter)) }
}

extension Backoff {
    /// Between attempts at a push stream, which is the first to notice that the server is back: an attempt costs little.
    package static let push = Backoff(firstSeconds: 1, longestSeconds: 5)
    /// Between attempts at a push stream that the server rejects, for example for an unknown token.
    package static let rejectedPush = Backoff(firstSeconds: 1, longestSeconds: 60)
}
