// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import Dispatch
import GRDB
import Synchronization

/// The one writer of the process. Units that arrive while a commit is in flight share the next one, so that many small writes wait for
/// one flush of the disk.
///
/// ```
/// unit A ─┐
/// unit B ─┼─ fair queue ─ BEGIN, A, B, C each in a savepoint, COMMIT ─ responses to A, B, C
/// unit C ─┘
/// ```
///
/// A unit that throws is undone alone. A response comes after the commit, never before. The order is that of ``FairQueue``: a requester
/// with long units delays the units of others by one unit at most.
final class GroupCommit: Sendable {
    /// Units in one commit at most, so that the first does not wait long for the last.
    static let unitsPerCommit = 64
    /// Processor time after which a commit takes no more units in, in nanoseconds.
    private static let commitTime: Int64 = 20_000_000
    /// Units that may wait; more are refused as busy, but for requesters with few.
    static let unitsWaitingMax = 4096
    private static let unitsWaitingOfOthersMax = 16_384
    private static let fewUnits = 64

    /// Runs a unit and returns a function to be called once its commit succeeded or failed.
    private struct Unit: Sendable {
        /// Takes the processor time at which it begins, in nanoseconds, and whether it is the first of its transaction.
        let run: @Sendable (Database, Int64, _ isFirst: Bool) -> @Sendable ((any Error)?) -> Void
        let abandon: @Sendable (any Error) -> Void
    }

    private struct State {
        var queue = FairQueue<Unit>()
        var isDraining = false
        var commits = 0
    }

    private let pool: DatabasePool
    private let lock: FolderLock
    private let memory = WriterMemory()
    /// Has a thread of its own: Dispatch's global queues have one per core, which long reads would take from the writer.
    private let queue = DispatchQueue(label: "tarn.writer", qos: .userInitiated)
    private let state = Mutex(State())

    init(_ pool: DatabasePool, lock: FolderLock) {
        self.pool = pool
        self.lock = lock
    }

    /// Commits so far; tests see from it that units shared one.
    var commits: Int { state.withLock { $0.commits } }

    /// Units that wait.
    var waitingCount: Int { state.withLock { $0.queue.waitingCount } }

    /// Carries out a unit and returns once it is durable.
    ///
    /// It is not cancelled with its task: a unit that ended has effects elsewhere, such as notifications, which must not be lost.
    ///
    /// - Throws: What `body` throws, with nothing changed; `WireError` with the native code `limitExceeded` once its time is up.
    func submit<Value: Sendable>(
        _ terms: WorkTerms, _ body: @escaping @Sendable (Database, WriterMemory, UnitClock) throws -> Value
    ) async throws -> Value {
        let memory = memory
        return try await withCheckedThrowingContinuation { continuation in
            enqueue(
                Unit(
                    run: { db, started, isFirst in
                        let outcome = Self.run(body, UnitClock(terms, UnitClock.Cancellation(), started: started), db, memory)
                        return { failure in
                            continuation.resume(with: failure.map { Self.lost(outcome, $0, isFirst: isFirst) } ?? outcome)
                        }
                    },
                    abandon: { continuation.resume(throwing: $0) }), for: terms.requester)
        }
    }

    private static func run<Value: Sendable>(
        _ body: (Database, WriterMemory, UnitClock) throws -> Value, _ clock: UnitClock, _ db: Database, _ memory: WriterMemory
    ) -> Result<Value, any Error> {
        do {
            try db.run("SAVEPOINT unit")
            let value = try clock.watch(db) { try body(db, memory, clock) }
            try db.run("RELEASE unit")
            return .success(value)
        } catch {
            memory.forget()
            // If SQLite gave the transaction up there is nothing to undo; `commit` reports that.
            try? db.run("ROLLBACK TO unit")
            try? db.run("RELEASE unit")
            return .failure(error is UnitClock.TimeIsUp ? UnitClock.TimeIsUp.wireError : error)
        }
    }

    /// Returns the result of a unit after its commit failed.
    ///
    /// The unit's own error stands if it is SQLite's, which may be the reason, or if no unit was before it. Otherwise it may follow from
    /// changes that were lost.
    private static func lost<Value>(
        _ outcome: Result<Value, any Error>, _ failure: any Error, isFirst: Bool
    ) -> Result<Value, any Error> {
        if case .failure(let error) = outcome, isFirst || error is DatabaseError { outcome } else { .failure(failure) }
    }

    private func enqueue(_ unit: Unit, for requester: String) {
        let (isRefused, startsDraining) = state.withLock { state in
            let most = state.queue.waitingCount(of: requester) < Self.fewUnits ? Self.unitsWaitingOfOthersMax : Self.unitsWaitingMax
            guard state.queue.waitingCount < most else { return (true, false) }
            state.queue.add(unit, for: requester)
            defer { state.isDraining = true }
            return (false, !state.isDraining)
        }
        if isRefused { unit.abandon(StorageFailure(.busy, "too many writes are waiting")) }
        if startsDraining { queue.async { self.drain() } }
    }

    private func next() -> (requester: String, job: Unit)? { state.withLock { $0.queue.next() } }

    private func drain() {
        while true {
            let first = state.withLock { state in
                let first = state.queue.next()
                if first == nil { state.isDraining = false }
                return first
            }
            guard let first else { return }
            commit(first)
        }
    }

    /// Runs a unit and those that wait in one transaction.
    private func commit(_ first: (requester: String, job: Unit)) {
        var finishers: [@Sendable ((any Error)?) -> Void] = []
        var failure: (any Error)?
        do {
            try lock.withLock {
                try pool.writeWithoutTransaction { db in
                    try Self.transaction(db) {
                        try memory.begin(db)
                        let started = UnitClock.threadTime
                        var before = started
                        var unit: (requester: String, job: Unit)? = first
                        while let (requester, job) = unit {
                            finishers.append(job.run(db, before, finishers.isEmpty))
                            let after = UnitClock.threadTime, used = after - before
                            before = after
                            state.withLock { $0.queue.end(requester, nanoseconds: used) }
                            // SQLite gives a transaction up for some failures, such as a full disk, with all that was in it.
                            guard db.isInsideTransaction else { throw StorageFailure(.busy, "the transaction was given up") }
                            let isFull = finishers.count >= Self.unitsPerCommit || after - started > Self.commitTime
                            unit = isFull ? nil : next()
                        }
                    }
                }
            }
        } catch {
            failure = error
            memory.forget()
        }
        state.withLock { $0.commits += 1 }
        for finish in finishers { finish(failure) }
        if finishers.isEmpty { abandon(first, failure ?? StorageFailure(.unavailable, "the unit did not run")) }
    }

    /// Begins and commits by statements that are prepared once. GRDB prepares its own each time, and observes changes, which nothing asks for.
    private static func transaction(_ db: Database, _ body: () throws -> Void) throws {
        try db.run("BEGIN IMMEDIATE")
        do {
            try body()
            try db.run("COMMIT")
        } catch {
            // SQLite may have given the transaction up.
            if db.isInsideTransaction { try? db.run("ROLLBACK") }
            throw error
        }
    }

    /// Fails the units that would have shared a transaction that did not begin.
    private func abandon(_ first: (requester: String, job: Unit), _ failure: any Error) {
        var unit: (requester: String, job: Unit)? = first
        for _ in 0..<Self.unitsPerCommit {
            guard let (requester, job) = unit else { return }
            state.withLock { $0.queue.end(requester, nanoseconds: 0) }
            job.abandon(failure)
            unit = next()
        }
        if let (requester, job) = unit {
            state.withLock { $0.queue.end(requester, nanoseconds: 0) }
            job.abandon(failure)
        }
    }
}
