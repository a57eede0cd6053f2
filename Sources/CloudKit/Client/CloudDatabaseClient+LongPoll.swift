// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CloudDatabaseClient {
    /// How long the server may hold the answer to one wait.
    private static var waitDeadline: Duration { .seconds(150) }

    /// Waits for notifications one by one, where something on the way does not let a stream through. Ends by throwing.
    ///
    /// Source: *CloudKit Web Services Reference*, "Creating APNs Tokens": the web courier.
    func poll(_ tell: @escaping @Sendable (PushEvent) -> Void) async throws {
        let path = DevicePath(containerIdentifier: containerIdentifier, environment: environment, operation: .createToken)
        let message = PushTokenRequest(apnsEnvironment: environment, clientID: deviceID)
        var create = TransportRequest(
            method: "POST", target: .service(path: path.path), headers: headers, body: .bytes(message.encoded()),
            responseBytesMax: Limits.messageBytes)
        create.headers.add(HeaderNames.contentType, HeaderNames.json)
        let token: PushTokenResponse = try read(try await send(create))
        var wait = TransportRequest(
            method: "GET", target: .asset(address: token.webcourierURL), headers: headers,
            responseBytesMax: PushLines.lineBytesMax)
        wait.timeout = Self.waitDeadline
        tell(.connected)
        while true {
            try Task.checkCancellation()
            let answer = try await send(wait)
            guard 200..<300 ~= answer.status else { throw CKError(answer) }
            tell(answer.body.isEmpty ? .heartbeat : .notification(try PushNotification(json: answer.body)))
        }
    }
}
