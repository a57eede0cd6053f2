// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// When the other side was last heard of; a class so that two tasks can share it.
final class LastHeard<Instant: InstantProtocol>: Sendable {
    private let instant: Mutex<Instant>

    init(_ instant: Instant) { self.instant = Mutex(instant) }

    var value: Instant { instant.withLock { $0 } }

    func note(_ now: Instant) { instant.withLock { $0 = now } }
}

/// Runs an exchange of any length that is given up when nothing was heard for a while.
///
/// - Parameters:
///   - limit: How long the silence may last; nil is for ever.
///   - body: Calls what it is given whenever something was heard.
/// - Throws: What `body` throws, or `failure`.
func whileHeard<C: Clock<Duration>, Value: Sendable>(
    within limit: Duration?, by clock: C, orThrow failure: any Error,
    _ body: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Value
) async throws -> Value {
    guard let limit else { return try await body {} }
    let lastHeard = LastHeard(clock.now)
    return try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask { try await body { lastHeard.note(clock.now) } }
        group.addTask {
            while true {
                let due = lastHeard.value.advanced(by: limit)
                guard clock.now < due else { throw failure }
                try await clock.sleep(until: due, tolerance: nil)
            }
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}
