// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
public import CloudKit
import Synchronization

/// The clock of a test's cloud: the server's dates, and the delays before retries of devices.
///
/// It stands still until the test moves it, which resumes the waits that end by then. By default, a wait inside an
/// operation moves the clock itself, so that no test waits in real time. Waits in the background always hold.
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

    /// Whether a wait moves the clock, instead of waiting for another task to move it.
    public var skipsWaits: Bool {
        get { state.withLock { $0.skipsWaits } }
        set { state.withLock { $0.skipsWaits = newValue } }
    }

    /// The number of tasks that wait at present.
    public var waits: Int { state.withLock { $0.sleepers.count } }

    /// Moves the clock, and resumes the waits that end by then.
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

    var clientClock: ClientClock {
        ClientClock(
            now: { self.state.withLock { $0.now } },
            sleep: { duration in
                if self.skipsWaits { self.advance(by: duration) } else { try await self.sleep(duration) }
            }, idle: { try await self.sleep($0) })
    }

    /// Waits until the clock was moved that far.
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
