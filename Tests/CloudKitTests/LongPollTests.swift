// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Testing

private let token = PushTokenResponse(
    apnsEnvironment: .development, apnsToken: "t", webcourierURL: "https://cloud.example.org/courier/1/abc")
private let news = PushNotification(
    notificationID: "n", containerIdentifier: "iCloud.n", subscriptionID: "s", subject: .database(.private))

@Suite struct LongPollTests {
    @Test func aServerWithoutStreamIsPolled() async throws {
        let transport = RecordingTransport(
            .refused(WireError(.notFound, "no stream here")), .ok(token), .ok(news), .ok(""), .ok(news),
            .failure(CKError(.networkFailure)))
        var events: [PushStreamEvent] = []
        let error = await failure {
            for try await event in CloudDatabaseClient(transport).pushStream() { events.append(event) }
        }
        #expect(error?.code == .networkFailure)
        #expect(events == [.connected, .notification(news), .heartbeat, .notification(news)])
        #expect(
            transport.calls.prefix(3) == [
                "GET /device/1/iCloud.n/development/push/stream", "POST /device/1/iCloud.n/development/tokens/create",
                "GET asset https://cloud.example.org/courier/1/abc",
            ])
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
