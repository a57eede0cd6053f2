// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
package import Logging
import Synchronization
import SystemSupport

/// Batches spans of requests and exports them with the OpenTelemetry protocol. Requests never wait for it: spans that don't fit the
/// buffer or fail to export are dropped and counted.
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
    ///   - send: Sends one export request.
    package init(
        now: @escaping @Sendable () -> Int64, randomBytes: @escaping @Sendable (Int) -> [UInt8], logger: Logger,
        send: @escaping @Sendable ([UInt8]) async throws -> Void
    ) {
        self.now = now
        self.randomBytes = randomBytes
        self.logger = logger
        self.send = send
    }

    /// Spans dropped since the start of the process.
    package var dropped: Int { state.withLock { $0.dropped } }

    /// Adds the span of a request that has just been answered, unless its trace is not sampled.
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

    /// Exports buffered spans every second until the task is cancelled.
    package func run() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil { await flush() }
    }

    /// Exports batches until the buffer is empty or an export fails.
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
