// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
package import Logging
import Synchronization

/// Gathers what requests took and sends it away now and then, in the form of the OpenTelemetry protocol. Requests never wait
/// for it: what cannot be sent, or comes faster than it goes, is dropped and counted.
package final class SpanExporter: Sendable {
    private struct State {
        var waiting: [Span] = []
        var dropped = 0
    }

    static let spansWaitingMax = 4096
    /// Spans in one request.
    static let spansAtOnce = 512

    private let state = Mutex(State())
    private let send: @Sendable ([UInt8]) async throws -> Void
    private let randomBytes: @Sendable (Int) -> [UInt8]
    private let now: @Sendable () -> Int64
    private let logger: Logger

    /// - Parameters:
    ///   - now: Milliseconds since 1970 UTC.
    ///   - send: Takes one request of the protocol.
    package init(
        now: @escaping @Sendable () -> Int64, randomBytes: @escaping @Sendable (Int) -> [UInt8], logger: Logger,
        send: @escaping @Sendable ([UInt8]) async throws -> Void
    ) {
        self.now = now
        self.randomBytes = randomBytes
        self.logger = logger
        self.send = send
    }

    /// Spans that were lost since the start.
    package var dropped: Int { state.withLock { $0.dropped } }

    /// Takes a request that has just been answered; passed over if whoever began its trace does not keep it.
    func add(_ answer: ServiceResponse, method: String, took duration: Duration, in trace: TraceParent?) {
        if let trace, !trace.isSampled { return }
        let end = now() * 1_000_000
        let (seconds, attoseconds) = duration.components
        let span = Span(
            traceID: trace?.traceID ?? Hex.text(randomBytes(16)), spanID: Hex.text(randomBytes(8)), parentID: trace?.parentID,
            method: method, endpoint: answer.endpoint, status: answer.status, errorCode: answer.errorCode,
            requestUUID: answer.requestUUID, start: end - seconds * 1_000_000_000 - attoseconds / 1_000_000_000, end: end)
        state.withLock { state in
            if state.waiting.count < Self.spansWaitingMax { state.waiting.append(span) } else { state.dropped += 1 }
        }
    }

    /// Sends what waits, every second until the task is cancelled.
    package func run() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil { await flush() }
    }

    /// Sends what waits, until there is no more or it cannot be sent.
    package func flush() async {
        while true {
            let spans = state.withLock { state in
                defer { state.waiting.removeFirst(min(Self.spansAtOnce, state.waiting.count)) }
                return Array(state.waiting.prefix(Self.spansAtOnce))
            }
            guard !spans.isEmpty else { return }
            do {
                try await send(spans.exportText())
            } catch {
                state.withLock { $0.dropped += spans.count }
                logger.warning("spans could not be sent", metadata: ["spans": "\(spans.count)", "cause": "\(type(of: error))"])
                return
            }
        }
    }
}
