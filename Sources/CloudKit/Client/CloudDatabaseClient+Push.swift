// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension CloudDatabaseClient {
    /// Opens the push stream of this device and container, with the changes of all its databases.
    ///
    /// If a proxy blocks streams, or the server has none, the client polls for notifications.
    ///
    /// The connection opens when the first event is awaited. The stream ends with ``CKError``: `.networkFailure` if
    /// nothing arrived for ``heartbeatTimeout`` or the server closed it. Open a new stream to continue, and fetch
    /// changes once it is connected. Dropping the sequence closes the connection.
    ///
    /// The client of the public database receives every change there, if the server has the feed, and needs no account
    /// for it. It receives the notifications of its subscriptions as well. It does not poll.
    ///
    /// - Parameters:
    ///   - wishes: Capabilities to request in addition to those of each request.
    ///   - pace: The clock of delays between polls.
    package func pushStream(
        asking wishes: Set<Capability> = [], pace: ClientClock = .real
    ) -> AsyncThrowingStream<PushStreamEvent, any Error> {
        pushStream(asking: wishes, pace: pace, clock: ContinuousClock())
    }

    /// - Parameter clock: The clock of the idle timeout.
    package func pushStream<C: Clock<Duration>>(
        asking wishes: Set<Capability> = [], pace: ClientClock = .real, clock: C
    ) -> AsyncThrowingStream<PushStreamEvent, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task(executorPreference: transport.executor) {
                do {
                    try await listen(asking: wishes, pace: pace, clock: clock) { continuation.yield($0) }
                    continuation.finish(throwing: CKError(.networkFailure, "the server closed the push stream"))
                } catch {
                    continuation.finish(throwing: CKError(transportFailure: error))
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func listen<C: Clock<Duration>>(
        asking wishes: Set<Capability>, pace: ClientClock, clock: C, _ deliver: @escaping @Sendable (PushStreamEvent) -> Void
    ) async throws {
        guard dialect.hasPushStream else { return try await poll(pace, deliver) }
        let hasHeard = Locked(false)
        do {
            try await hold(asking: wishes, clock: clock) { event in
                if event != .connected { hasHeard.update { $0 = true } }
                deliver(event)
            }
        } catch {
            // A stream that delivered not even a heartbeat is blocked, so poll. A device that is offline polls in vain.
            let failure = CKError(transportFailure: error)
            guard scope != .public, !hasHeard.value, !Task.isCancelled, failure.code == .networkFailure || failure.code == .unknownItem
            else {
                throw error
            }
            let isPolling = Locked(false)
            do {
                try await poll(pace) { event in
                    isPolling.update { $0 = true }
                    deliver(event)
                }
            } catch let pollFailure {
                throw isPolling.value ? pollFailure : error
            }
        }
    }

    /// Idle timeout of a push stream: three heartbeats may be lost.
    package static var heartbeatTimeout: Duration { .seconds(3 * Capability.heartbeatSeconds) }

    private func hold<C: Clock<Duration>>(
        asking wishes: Set<Capability>, clock: C, _ deliver: @escaping @Sendable (PushStreamEvent) -> Void
    ) async throws {
        let path = DevicePath(containerIdentifier: containerIdentifier, environment: environment, operation: .pushStream)
        let isPublic = scope == .public
        let request = TransportRequest(
            method: "GET", target: .service(path: path.path + (isPublic ? "?database=\(DatabaseScope.public.rawValue)" : "")),
            headers: headers(asking: isPublic ? wishes.union([.publicChanges]) : wishes), responseBytesMax: Limits.messageBytes)
        let silence = CKError(.networkFailure, "the push stream timed out; open it again")
        try await withIdleTimeout(within: transport.needsIdleTimeout ? Self.heartbeatTimeout : nil, by: clock, orThrow: silence) { heard in
            let stream = try await transport.stream(request)
            guard stream.status == 200 else { throw try await refusal(stream) }
            heard()
            deliver(.connected)
            var lines = PushLines()
            for try await chunk in stream.chunks {
                heard()
                for event in try lines.receive(chunk) { deliver(event) }
            }
        }
    }

    /// Reads the error from the body of a response that isn't a stream.
    private func refusal(_ stream: TransportStream) async throws -> CKError {
        var body: [UInt8] = []
        for try await chunk in stream.chunks {
            body.append(contentsOf: chunk)
            if body.count > PushLines.lineBytesMax { break }
        }
        return CKError(TransportResponse(status: stream.status, headers: stream.headers, body: body))
    }
}
