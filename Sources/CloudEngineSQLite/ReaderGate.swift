// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Dispatch
import GRDB
import Synchronization

/// Lets readers in until the store closes, as many at once as there are connections, and lets the store close once they are
/// out.
///
/// The pool keeps its readers in a variable that closing clears without regard to who is looking at it, so nobody may
/// look while it closes. Neither side waits on a thread that Swift's tasks need, and an answer comes when the connection
/// is free again.
final class ReaderGate: Sendable {
    private struct State {
        var isClosed = false
        var reading = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let pool: DatabasePool
    private let most: Int
    private let queue = DispatchQueue(label: "tarn.readers", attributes: .concurrent, target: .global(qos: .userInitiated))
    private let state = Mutex(State())
    private let readers = DispatchGroup()

    init(_ pool: DatabasePool) {
        self.pool = pool
        most = max(1, pool.configuration.maximumReaderCount)
    }

    /// Reads from one state of the database.
    ///
    /// - Throws: What `body` throws; `StorageFailure` with `.unavailable` once the store closes.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            let job: @Sendable () -> Void = { [pool, readers] in
                let outcome = Result { try pool.read(body) }
                readers.leave()
                continuation.resume(with: outcome)
            }
            let (isClosed, starts) = state.withLock { state in
                guard !state.isClosed else { return (true, false) }
                readers.enter()
                guard state.reading < most else {
                    state.waiting.append(job)
                    return (false, false)
                }
                state.reading += 1
                return (false, true)
            }
            if isClosed { continuation.resume(throwing: StorageFailure(.unavailable, "the storage is closed")) }
            if starts { queue.async { self.run(job) } }
        }
    }

    /// Runs a job, and those that wait.
    private func run(_ first: @Sendable () -> Void) {
        first()
        while true {
            let next = state.withLock { state -> (@Sendable () -> Void)? in
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                state.reading -= 1
                return nil
            }
            guard let next else { return }
            next()
        }
    }

    /// Lets nobody in any more, and waits for those who are.
    func close() {
        state.withLock { $0.isClosed = true }
        readers.wait()
    }
}
