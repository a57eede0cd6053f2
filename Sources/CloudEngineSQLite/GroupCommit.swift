// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Dispatch
import GRDB
import Synchronization

/// The one writer of the process. Units that arrive while a commit is under way share the next one, so that many
/// small writes wait for one flush of the disk.
///
/// ```
/// unit A ─┐
/// unit B ─┼─ queue ─ BEGIN, A, B, C each in a savepoint, COMMIT ─ answers to A, B, C
/// unit C ─┘
/// ```
///
/// A unit that throws is undone alone. An answer comes after the commit, never before.
final class GroupCommit: Sendable {
    /// Units in one commit at most, so that the first does not wait long for the last.
    static let unitsPerCommit = 64
    /// Units that may wait; more are refused as busy.
    static let unitsWaitingMax = 4096

    /// Runs a unit and returns what is to be called once its commit succeeded or failed.
    private struct Unit: Sendable {
        let run: @Sendable (Database) -> @Sendable ((any Error)?) -> Void
        let abandon: @Sendable (any Error) -> Void
    }

    private struct State {
        var waiting: [Unit] = []
        var isDraining = false
        var commits = 0
    }

    private let pool: DatabasePool
    private let lock: FolderLock
    private let memory = WriterMemory()
    private let queue = DispatchQueue(label: "tarn.writer", target: .global(qos: .userInitiated))
    private let state = Mutex(State())

    init(_ pool: DatabasePool, lock: FolderLock) {
        self.pool = pool
        self.lock = lock
    }

    /// Commits so far; tests tell from it that units shared one.
    var commits: Int { state.withLock { $0.commits } }

    func submit<Value: Sendable>(
        _ body: @escaping @Sendable (Database, WriterMemory) throws -> Value
    ) async throws -> Value {
        let memory = memory
        return try await withCheckedThrowingContinuation { continuation in
            enqueue(
                Unit(
                    run: { db in
                        var outcome: Result<Value, any Error> = .failure(StorageFailure(.unavailable, "the unit did not run"))
                        do {
                            try db.run("SAVEPOINT unit")
                            outcome = .success(try body(db, memory))
                            try db.run("RELEASE unit")
                        } catch {
                            outcome = .failure(error)
                            memory.forget()
                            // What fails when there is no transaction any more is told by who runs the units.
                            try? db.run("ROLLBACK TO unit")
                            try? db.run("RELEASE unit")
                        }
                        return { [outcome] failure in
                            if let failure, case .success = outcome {
                                continuation.resume(throwing: failure)
                            } else {
                                continuation.resume(with: outcome)
                            }
                        }
                    },
                    abandon: { continuation.resume(throwing: $0) }))
        }
    }

    private func enqueue(_ unit: Unit) {
        let (isRefused, startsDraining) = state.withLock { state in
            guard state.waiting.count < Self.unitsWaitingMax else { return (true, false) }
            state.waiting.append(unit)
            defer { state.isDraining = true }
            return (false, !state.isDraining)
        }
        if isRefused { unit.abandon(StorageFailure(.busy, "too many writes are waiting")) }
        if startsDraining { queue.async { self.drain() } }
    }

    private func drain() {
        while true {
            let batch = state.withLock { state -> [Unit] in
                let batch = Array(state.waiting.prefix(Self.unitsPerCommit))
                state.waiting.removeFirst(batch.count)
                if batch.isEmpty { state.isDraining = false }
                return batch
            }
            if batch.isEmpty { return }
            commit(batch)
        }
    }

    private func commit(_ batch: [Unit]) {
        var finishers: [@Sendable ((any Error)?) -> Void] = []
        var failure: (any Error)?
        do {
            try lock.withLock {
                try pool.writeWithoutTransaction { db in
                    try db.inTransaction(.immediate) {
                        try memory.begin(db)
                        for unit in batch {
                            finishers.append(unit.run(db))
                            // SQLite gives a transaction up for some failures, such as a full disk, with all that was in it.
                            guard db.isInsideTransaction else { throw StorageFailure(.busy, "the transaction was given up") }
                        }
                        return .commit
                    }
                }
            }
        } catch {
            failure = error
            memory.forget()
        }
        state.withLock { $0.commits += 1 }
        for finish in finishers { finish(failure) }
        for unit in batch.dropFirst(finishers.count) {
            unit.abandon(failure ?? StorageFailure(.unavailable, "the unit did not run"))
        }
    }
}
