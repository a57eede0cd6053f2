// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The clock of a client: the time since some instant, and how to wait. Tests inject their own.
package struct ClientClock: Sendable {
    package var now: @Sendable () -> Duration
    /// Waits in the foreground, while a caller waits.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Waits in the background, without a caller.
    package var idle: @Sendable (Duration) async throws -> Void
    /// Whether this is the real clock.
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

    package static let real: ClientClock = {
        let start = ContinuousClock.now
        var clock = ClientClock(now: { ContinuousClock.now - start }, sleep: { try await Task.sleep(for: $0) })
        clock.isReal = true
        clock.jitter = { .random(in: 0...1) }
        return clock
    }()
}
