// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension CloudDatabaseClient {
    /// Opens the push stream of this device and container, which tells of changes in all its databases.
    ///
    /// Where something on the way holds a stream back, or the server has none, notifications are waited for one by one.
    ///
    /// Nothing is opened before the first event is asked for. The stream ends with ``CKError``: with `.networkFailure`
    /// if nothing was heard for ``heartbeatDeadline`` or the server closed it. Whoever wants it again opens a new one,
    /// and asks for changes once it is connected. Giving up the sequence closes the stream.
    ///
    /// The client of the public database hears of every change there, where the server has its feed, and needs no account
    /// for it; of changes that it subscribed to it hears as well. It has no other way than the stream.
    ///
    /// - Parameter wishes: Capabilities to ask for beyond those of each request.
    package func pushStream(asking wishes: Set<Capability> = []) -> AsyncThrowingStream<PushEvent, any Error> {
        pushStream(asking: wishes, clock: ContinuousClock())
    }

    package func pushStream<C: Clock<Duration>>(
        asking wishes: Set<Capability> = [], clock: C
    ) -> AsyncThrowingStream<PushEvent, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task(executorPreference: transport.executor) {
                do {
                    try await listen(asking: wishes, clock: clock) { continuation.yield($0) }
                    continuation.finish(throwing: CKError(.networkFailure, "the server closed the push stream"))
                } catch {
                    continuation.finish(throwing: CKError(transportFailure: error))
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func listen<C: Clock<Duration>>(
        asking wishes: Set<Capability>, clock: C, _ tell: @escaping @Sendable (PushEvent) -> Void
    ) async throws {
        let hasHeard = Locked(false)
        do {
            try await hold(asking: wishes, clock: clock) { event in
                if event != .connected { hasHeard.update { $0 = true } }
                tell(event)
            }
        } catch {
            // A stream on which not even a heartbeat came, or that is not offered; a device that is offline polls in vain.
            let failure = CKError(transportFailure: error)
            guard scope != .public, !hasHeard.value, !Task.isCancelled, failure.code == .networkFailure || failure.code == .unknownItem else {
                throw error
            }
            let isPolling = Locked(false)
            do {
                try await poll { event in
                    isPolling.update { $0 = true }
                    tell(event)
                }
            } catch let pollFailure {
                throw isPolling.value ? pollFailure : error
            }
        }
    }

    /// How long a held connection may say nothing before it counts as broken: three heartbeats may be lost.
    package static var heartbeatDeadline: Duration { .seconds(3 * Capability.heartbeatSeconds) }

    private func hold<C: Clock<Duration>>(
        asking wishes: Set<Capability>, clock: C, _ tell: @escaping @Sendable (PushEvent) -> Void
    ) async throws {
        let path = DevicePath(containerIdentifier: containerIdentifier, environment: environment, operation: .pushStream)
        let isPublic = scope == .public
        let request = TransportRequest(
            method: "GET", target: .service(path: path.path + (isPublic ? "?database=\(DatabaseScope.public.rawValue)" : "")),
            headers: headers(asking: isPublic ? wishes.union([.publicChanges]) : wishes), responseBytesMax: Limits.messageBytes)
        let silence = CKError(.networkFailure, "the push stream fell silent; it is to be opened again")
        try await whileHeard(within: transport.fallsSilent ? Self.heartbeatDeadline : nil, by: clock, orThrow: silence) { heard in
            let stream = try await transport.stream(request)
            guard stream.status == 200 else { throw try await refusal(stream) }
            heard()
            tell(.connected)
            var lines = PushLines()
            for try await chunk in stream.chunks {
                heard()
                for event in try lines.receive(chunk) { tell(event) }
            }
        }
    }

    /// Reads the body of an answer that is no stream.
    private func refusal(_ stream: TransportStream) async throws -> CKError {
        var body: [UInt8] = []
        for try await chunk in stream.chunks {
            body.append(contentsOf: chunk)
            if body.count > PushLines.lineBytesMax { break }
        }
        return CKError(TransportResponse(status: stream.status, headers: stream.headers, body: body))
    }
}
