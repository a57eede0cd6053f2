// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Synchronization
import Testing

/// A clock that the test moves.
final class ManualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [(due: Instant, wake: CheckedContinuation<Void, any Error>)] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let watchers = state.withLock { state in
                    state.sleepers.append((deadline, continuation))
                    defer { state.watchers = [] }
                    return state.watchers
                }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let sleepers = state.withLock { state in
                defer { state.sleepers = [] }
                return state.sleepers
            }
            for sleeper in sleepers { sleeper.wake.resume(throwing: CancellationError()) }
        }
    }

    /// Waits until a task sleeps.
    func untilATaskSleeps() async {
        await withCheckedContinuation { continuation in
            let sleeps = state.withLock { state in
                if state.sleepers.isEmpty { state.watchers.append(continuation) }
                return !state.sleepers.isEmpty
            }
            if sleeps { continuation.resume() }
        }
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.due <= state.now }
            state.sleepers.removeAll { $0.due <= state.now }
            return due
        }
        for sleeper in due { sleeper.wake.resume() }
    }
}

private let notification = PushNotification(
    notificationID: "1", containerIdentifier: "iCloud.n", subscriptionID: "s", subject: .database(.private))

@Suite struct PushTests {
    @Test func linesArePutTogetherFromPiecesOfAnySize() throws {
        let bytes = [10] + notification.encoded() + [13, 10] + [10] + notification.encoded() + [10]
        for size in [1, 2, 7, 64, bytes.count] {
            var lines = PushLines()
            var events: [PushStreamEvent] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                events += try lines.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(events == [.heartbeat, .notification(notification), .heartbeat, .notification(notification)])
        }
    }

    @Test func anEndlessLineIsRejected() {
        var lines = PushLines()
        #expect(throws: WireError.self) {
            for _ in 0..<100 { _ = try lines.receive([UInt8](repeating: 0x20, count: 1000)) }
        }
    }

    @Test func theStreamDeliversAndEndsWhenTheServerClosesIt() async {
        let transport = RecordingTransport(.pieces(status: 200, [notification.encoded() + [10], [10]], endless: false))
        var events: [PushStreamEvent] = []
        let error = await failure {
            for try await event in CloudDatabaseClient(transport).pushStream() { events.append(event) }
        }
        #expect(events == [.connected, .notification(notification), .heartbeat])
        #expect(error?.code == .networkFailure)
        #expect(transport.calls == ["GET /device/1/iCloud.n/development/push/stream"])
    }

    @Test func aRejectedStreamEndsWithTheReason() async {
        let transport = RecordingTransport(.refused(WireError(.authenticationFailed, "unknown token")))
        let error = await failure { for try await _ in CloudDatabaseClient(transport).pushStream() {} }
        #expect(error?.code == .notAuthenticated)
        #expect(error?.localizedDescription == "unknown token")
    }

    @Test func anIdleStreamTimesOut() async {
        let clock = ManualClock()
        let transport = RecordingTransport(.pieces(status: 200, [[10]], endless: true))
        var events: [PushStreamEvent] = []
        let error = await failure {
            for try await event in CloudDatabaseClient(transport).pushStream(clock: clock) {
                events.append(event)
                guard event == .heartbeat else { continue }
                await clock.untilATaskSleeps()
                clock.advance(by: CloudDatabaseClient.heartbeatTimeout)
            }
        }
        #expect(events == [.connected, .heartbeat])
        #expect(error?.localizedDescription == "the push stream timed out; open it again")
    }
}
