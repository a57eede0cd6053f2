// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// The time of the last activity on a connection. A class, so that two tasks share it.
final class LastActivity<Instant: InstantProtocol>: Sendable {
    private let instant: Mutex<Instant>

    init(_ instant: Instant) { self.instant = Mutex(instant) }

    var value: Instant { instant.withLock { $0 } }

    func update(_ now: Instant) { instant.withLock { $0 = now } }
}

/// Runs an operation with an idle timeout: it fails if nothing arrives for a while.
///
/// - Parameters:
///   - limit: The idle timeout. `nil` disables it.
///   - body: Calls its argument at each activity.
/// - Throws: The error of `body`, or `failure` after the timeout.
func withIdleTimeout<C: Clock<Duration>, Value: Sendable>(
    within limit: Duration?, by clock: C, orThrow failure: any Error,
    _ body: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Value
) async throws -> Value {
    guard let limit else { return try await body {} }
    let lastActivity = LastActivity(clock.now)
    return try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body { lastActivity.update(clock.now) } }
        group.addTask {
            while true {
                let due = lastActivity.value.advanced(by: limit)
                guard clock.now < due else { throw failure }
                try await clock.sleep(until: due, tolerance: nil)
            }
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
