// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
public import CloudKit
import Synchronization

/// The time of a test's cloud: the server's dates, and how long devices wait before they try again.
///
/// It stands still until it is moved. Whoever waits for it is woken when its time has come. By default, a wait within an
/// operation moves the clock itself, so that nothing ever waits in truth; waits in the background are always held.
public final class TestClock: Sendable {
    private struct Sleeper {
        var due: Duration
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Duration.zero
        var skipsWaits = true
        var sleepers: [Int: Sleeper] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let server: HandDrivenClock

    init(_ server: HandDrivenClock) { self.server = server }

    /// The server's date.
    public var now: Date { Date(timeIntervalSince1970: Double(server.milliseconds) / 1000) }

    /// Whether a wait moves the clock instead of being held until somebody else does.
    public var skipsWaits: Bool {
        get { state.withLock { $0.skipsWaits } }
        set { state.withLock { $0.skipsWaits = newValue } }
    }

    /// How many waits are held at the moment.
    public var waits: Int { state.withLock { $0.sleepers.count } }

    public func advance(by duration: Duration) {
        server.advance(by: duration)
        let woken = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            state.now += duration
            let due = state.sleepers.filter { $0.value.due <= state.now }
            for key in due.keys { state.sleepers[key] = nil }
            return due.values.sorted { $0.due < $1.due }.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    var pace: Pace {
        Pace(
            now: { self.state.withLock { $0.now } },
            sleep: { duration in
                if self.skipsWaits { self.advance(by: duration) } else { try await self.sleep(duration) }
            }, idle: { try await self.sleep($0) })
    }

    /// Held until the clock was moved that far.
    func sleep(_ duration: Duration) async throws {
        try Task.checkCancellation()
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state -> Bool in
                    if Task.isCancelled { return true }
                    state.sleepers[number] = Sleeper(due: state.now + duration, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
