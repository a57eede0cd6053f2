// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Dispatch
import GRDB
import Synchronization

/// Lets readers in until the store closes, and lets the store close once they are out.
///
/// The pool keeps its readers in a variable that closing clears without regard to who is looking at it, so nobody may
/// look while it closes. Neither side waits on a thread that Swift's tasks need.
final class ReaderGate: Sendable {
    private let pool: DatabasePool
    private let isClosed = Mutex(false)
    private let readers = DispatchGroup()

    init(_ pool: DatabasePool) {
        self.pool = pool
    }

    /// Reads from one state of the database.
    ///
    /// - Throws: What `body` throws; `StorageFailure` with `.unavailable` once the store closes.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let isIn = isClosed.withLock { isClosed in
            if !isClosed { readers.enter() }
            return !isClosed
        }
        guard isIn else { throw StorageFailure(.unavailable, "the storage is closed") }
        return try await withCheckedThrowingContinuation { continuation in
            pool.asyncRead { [readers] result in
                let outcome = Result { try body(try result.get()) }
                readers.leave()
                continuation.resume(with: outcome)
            }
        }
    }

    /// Lets nobody in any more, and waits for those who are.
    func close() {
        isClosed.withLock { $0 = true }
        readers.wait()
    }
}
