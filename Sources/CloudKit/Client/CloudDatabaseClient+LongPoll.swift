// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

extension CloudDatabaseClient {
    /// Timeout of one long poll.
    private static var longPollTimeout: Duration { .seconds(150) }
    /// A server lets a poll wait for longer before it responds without a notification.
    private static var longPollMin: Duration { .seconds(5) }
    /// Between polls that end early: notifications are kept for longer.
    private static var longPollBackoff: Backoff { .rejectedPush }

    /// Registers a push token, which the documents require before notifications are sent to it. The content of the response is not
    /// documented.
    private func register(_ token: PushTokenResponse) async throws(CKError) {
        let path = DevicePath(containerIdentifier: containerIdentifier, environment: environment, operation: .registerToken)
        let message = PushTokenRequest(apnsEnvironment: environment, apnsToken: token.apnsToken, clientID: deviceID)
        var request = TransportRequest(
            method: "POST", target: .service(path: path.path), headers: headers, body: .bytes(message.encoded()),
            responseBytesMax: Limits.messageBytes)
        request.headers.add(HeaderNames.contentType, HeaderNames.json)
        let response = try await send(request)
        guard 200..<300 ~= response.status else { throw CKError(response) }
    }

    /// Polls for notifications, for networks that block the push stream. Ends by throwing.
    ///
    /// A server that shuts down, or a proxy, may respond without waiting for a notification. Delays follow such responses, which would be an
    /// endless loop of requests.
    ///
    /// Source: *CloudKit Web Services Reference*, "Creating APNs Tokens": the web courier.
    func poll(_ pace: ClientClock, _ deliver: @escaping @Sendable (PushStreamEvent) -> Void) async throws {
        let path = DevicePath(containerIdentifier: containerIdentifier, environment: environment, operation: .createToken)
        let message = PushTokenRequest(apnsEnvironment: environment, clientID: deviceID)
        var create = TransportRequest(
            method: "POST", target: .service(path: path.path), headers: headers, body: .bytes(message.encoded()),
            responseBytesMax: Limits.messageBytes)
        create.headers.add(HeaderNames.contentType, HeaderNames.json)
        let token: PushTokenResponse = try read(try await send(create))
        if dialect.registersPushTokens { try await register(token) }
        var wait = TransportRequest(
            method: "GET", target: .asset(address: token.webcourierURL), headers: headers,
            responseBytesMax: PushLines.lineBytesMax)
        wait.timeout = Self.longPollTimeout
        deliver(.connected)
        var earlyEnds = 0
        while true {
            try Task.checkCancellation()
            let start = pace.now()
            let response = try await send(wait)
            guard 200..<300 ~= response.status else { throw CKError(response) }
            let isEmpty = response.body.isEmpty
            deliver(isEmpty ? .heartbeat : .notification(try PushNotification(json: response.body)))
            guard isEmpty, pace.now() - start < Self.longPollMin else {
                earlyEnds = 0
                continue
            }
            earlyEnds += 1
            try await pace.idle(Self.longPollBackoff.delay(attempt: earlyEnds, jitter: pace.jitter()))
        }
    }
}
