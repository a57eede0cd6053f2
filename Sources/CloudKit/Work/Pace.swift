// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Time as the client sees it: how long it is since some instant, and how to wait. Tests bring their own.
package struct Pace: Sendable {
    package var now: @Sendable () -> Duration
    /// Waits within a piece of work that somebody waits for.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Waits in the background, where nobody does.
    package var idle: @Sendable (Duration) async throws -> Void
    /// Whether it is everybody's time.
    package private(set) var isReal = false
    /// A random number from 0 to 1 that spreads retries. 1, the longest delay, unless time is real: runs are repeatable.
    package var jitter: @Sendable () -> Double = { 1 }

    package init(
        now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
        idle: (@Sendable (Duration) async throws -> Void)? = nil
    ) {
        self.now = now
        self.sleep = sleep
        self.idle = idle ?? sleep
    }

    package static let real: Pace = {
        let start = ContinuousClock.now
        var pace = Pace(now: { ContinuousClock.now - start }, sleep: { try await Task.sleep(for: $0) })
        pace.isReal = true
        pace.jitter = { .random(in: 0...1) }
        return pace
    }()
}
