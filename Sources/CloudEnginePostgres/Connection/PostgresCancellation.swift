// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CLibPQ
import CloudStorageSupport
import Synchronization

/// Ends the statement that a connection runs, from another thread.
///
/// Source: PostgreSQL's documentation, "libpq - Canceling Queries in Progress": `PQcancel` is safe in any thread.
final class PostgresCanceller: @unchecked Sendable {
    /// A cancellation connects to the server and waits for it, so it has threads of its own.
    private static let threads = BlockingThreads(label: "tarn.cancel", count: 2)

    // Only read after the initializer.
    private let handle: OpaquePointer

    /// - Returns: Nil without memory, or a connection.
    init?(_ connection: OpaquePointer) {
        guard let handle = PQgetCancel(connection) else { return nil }
        self.handle = handle
    }

    deinit { PQfreeCancel(handle) }

    func start() {
        Self.threads.start { [self] in
            // A failure leaves the statement to its time limit.
            var message = [CChar](repeating: 0, count: 256)
            _ = PQcancel(handle, &message, Int32(message.count))
        }
    }
}

/// Set when the client of a unit disconnects. The statement that runs then ends.
final class PostgresCancellation: Sendable {
    private struct State {
        var isCancelled = false
        var running: PostgresCanceller?
        var isSent = false
    }

    private let state = Mutex(State())

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            guard let running = state.running, !state.isSent else { return }
            state.isSent = true
            running.start()
        }
    }

    /// Runs a unit on a connection.
    ///
    /// The request to the server may arrive after the statement's end, so a connection that was cancelled is not used again.
    ///
    /// - Throws: `CancellationError` instead of the error of a statement that was ended.
    func run<Value>(on connection: PostgresConnection, _ body: () throws -> Value) throws -> Value {
        let isCancelled = state.withLock { state in
            state.running = connection.canceller
            state.isSent = false
            return state.isCancelled
        }
        if isCancelled { throw CancellationError() }
        defer {
            let isSent = state.withLock { state in
                state.running = nil
                return state.isSent
            }
            if isSent { connection.discard() }
        }
        do {
            return try body()
        } catch is PostgresError where self.isCancelled {
            throw CancellationError()
        }
    }
}
