// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Synchronization
import Testing

private let token = PushTokenResponse(
    apnsEnvironment: .development, apnsToken: "t", webcourierURL: "https://cloud.example.org/courier/1/abc")
private let news = PushNotification(
    notificationID: "n", containerIdentifier: "iCloud.n", subscriptionID: "s", subject: .database(.private))

/// A clock that records delays and does not wait.
private final class RecordedDelays: Sendable {
    private struct State {
        var now = Duration.zero
        var delays: [Duration] = []
    }

    private let state = Mutex(State())
    /// The time that passes between two looks at the clock.
    private let step: Duration

    init(step: Duration = .zero) { self.step = step }

    var delays: [Duration] { state.withLock { $0.delays } }

    var clock: ClientClock {
        ClientClock(
            now: {
                self.state.withLock { state in
                    state.now += self.step
                    return state.now
                }
            },
            sleep: { delay in self.state.withLock { $0.delays.append(delay) } })
    }
}

@Suite struct LongPollTests {
    @Test func aServerWithoutStreamIsPolled() async throws {
        let transport = RecordingTransport(
            .refused(WireError(.notFound, "no stream here")), .ok(token), .ok(news), .ok(""), .ok(news),
            .failure(CKError(.networkFailure)))
        var events: [PushStreamEvent] = []
        let error = await failure {
            for try await event in CloudDatabaseClient(transport).pushStream(pace: RecordedDelays().clock) { events.append(event) }
        }
        #expect(error?.code == .networkFailure)
        #expect(events == [.connected, .notification(news), .heartbeat, .notification(news)])
        #expect(
            transport.calls.prefix(3) == [
                "GET /device/1/iCloud.n/development/push/stream", "POST /device/1/iCloud.n/development/tokens/create",
                "GET asset https://cloud.example.org/courier/1/abc",
            ])
    }

    /// Without delays, a proxy that responds by itself, or a server that shuts down, would get one request after the other.
    @Test func emptyResponsesThatArriveEarlyAreFollowedByDelays() async {
        let transport = RecordingTransport(
            .refused(WireError(.notFound, "no stream here")), .ok(token), .ok(""), .ok(""), .ok(""), .ok(news), .ok(news), .ok(""),
            .failure(CKError(.networkFailure)))
        let recorded = RecordedDelays()
        var events = 0
        _ = await failure { for try await _ in CloudDatabaseClient(transport).pushStream(pace: recorded.clock) { events += 1 } }
        #expect(events == 7)
        #expect(recorded.delays == [1, 2, 4, 1].map { .seconds($0) })
    }

    /// A delay would make notifications late.
    @Test func anEmptyResponseAfterAWaitIsFollowedByTheNextPoll() async {
        let transport = RecordingTransport(
            .refused(WireError(.notFound, "no stream here")), .ok(token), .ok(""), .ok(""), .failure(CKError(.networkFailure)))
        let recorded = RecordedDelays(step: .seconds(5))
        _ = await failure { for try await _ in CloudDatabaseClient(transport).pushStream(pace: recorded.clock) {} }
        #expect(transport.requests.count == 5)
        #expect(recorded.delays.isEmpty)
    }

    @Test func aBlockedStreamIsReplacedByPolling() async throws {
        // A proxy ends the response before the first heartbeat.
        let transport = RecordingTransport(
            .failure(CKError(.networkFailure)), .ok(token), .ok(news), .failure(CKError(.networkFailure)))
        var events: [PushStreamEvent] = []
        _ = await failure {
            for try await event in CloudDatabaseClient(transport).pushStream() { events.append(event) }
        }
        #expect(events == [.connected, .notification(news)])
    }

    @Test func anOfflineDeviceDoesNotPoll() async {
        let transport = RecordingTransport(.failure(CKError(.networkUnavailable)))
        let error = await failure { for try await _ in CloudDatabaseClient(transport).pushStream() {} }
        #expect(error?.code == .networkUnavailable)
        #expect(transport.requests.count == 1)
    }
}
