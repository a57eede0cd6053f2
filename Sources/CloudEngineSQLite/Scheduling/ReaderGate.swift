// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import Dispatch
import GRDB
import Synchronization
import SystemSupport

/// Runs reads until the store closes, as many concurrently as there are connections, and lets the store close once they have ended.
///
/// The order is that of ``FairQueue``, and one requester has at most three fifths of the connections, so that a read of another one
/// never waits for all of them. Background work has a queue of its own, and half of the processors at most.
///
/// The pool keeps its readers in a variable that closing clears regardless of running reads, so no read may run while it closes. Neither
/// side waits on a thread that Swift's tasks need, and a result is returned once the connection is free again.
final class ReaderGate: Sendable {
    private struct Job: Sendable {
        let run: @Sendable () -> Void
    }

    private struct State {
        var isClosed = false
        /// Queues without a running job.
        var idleQueues: [DispatchQueue]
        var queue = FairQueue<Job>()
        var background = FairQueue<Job>()
        var backgroundCount = 0
    }

    private struct Next {
        let requester: String
        let job: Job
        let isBackground: Bool
    }

    private let pool: DatabasePool
    private let connections: Int
    private var connectionsPerRequester: Int { max(1, connections * 3 / 5) }
    /// Concurrent background jobs.
    let backgroundMax: Int
    private let state: Mutex<State>
    private let readers = DispatchGroup()

    init(_ pool: DatabasePool, processors: Int = Processors.count) {
        self.pool = pool
        backgroundMax = max(1, processors / 2)
        connections = max(1, pool.configuration.maximumReaderCount)
        // Serial queues have a thread each while they run. Dispatch's global queues have one per core, so that long reads of one
        // requester would take the threads from all others.
        let queues = (0..<connections).map { DispatchQueue(label: "tarn.reader.\($0)", qos: .userInitiated) }
        state = Mutex(State(idleQueues: queues))
    }

    /// Reads from one state of the database.
    ///
    /// - Throws: What `body` throws; `StorageFailure` with `.unavailable` once the store closes; `WireError` with the native code
    ///   `limitExceeded` once the time of the terms is up; `CancellationError` if the task is cancelled.
    func read<Value: Sendable>(
        _ terms: WorkTerms, _ body: @escaping @Sendable (Database, UnitClock) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let cancellation = UnitClock.Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let job = Job { [pool, readers] in
                    let outcome = Result {
                        let clock = UnitClock(terms, cancellation)
                        try clock.check()
                        return try pool.read { db in try clock.watch(db) { try body(db, clock) } }
                    }.mapError { $0 is UnitClock.TimeIsUp ? UnitClock.TimeIsUp.wireError : $0 }
                    readers.leave()
                    continuation.resume(with: outcome)
                }
                let isClosed = state.withLock { state in
                    guard !state.isClosed else { return true }
                    readers.enter()
                    if terms.isBackground {
                        state.background.add(job, for: terms.requester)
                    } else {
                        state.queue.add(job, for: terms.requester)
                    }
                    return false
                }
                if isClosed { return continuation.resume(throwing: StorageFailure(.unavailable, "the storage is closed")) }
                startJobs()
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Background jobs that wait.
    var waitingBackgroundCount: Int { state.withLock { $0.background.waitingCount } }

    /// Starts waiting jobs on connections that are free.
    private func startJobs() {
        while let (queue, next) = nextJob() { queue.async { self.run(next, on: queue) } }
    }

    private func nextJob() -> (queue: DispatchQueue, next: Next)? {
        state.withLock { state in
            guard let queue = state.idleQueues.last, let next = takeNext(&state) else { return nil }
            state.idleQueues.removeLast()
            return (queue, next)
        }
    }

    private func takeNext(_ state: inout State) -> Next? {
        if state.backgroundCount < backgroundMax, let (requester, job) = state.background.next() {
            state.backgroundCount += 1
            return Next(requester: requester, job: job, isBackground: true)
        }
        return state.queue.next(runningMax: connectionsPerRequester).map { Next(requester: $0.requester, job: $0.job, isBackground: false) }
    }

    /// Runs a job, and those that wait.
    private func run(_ first: Next, on queue: DispatchQueue) {
        var job: Next? = first
        while let present = job {
            let before = UnitClock.threadTime
            present.job.run()
            let used = UnitClock.threadTime - before
            job = state.withLock { state in
                if present.isBackground {
                    state.background.end(present.requester, nanoseconds: used)
                    state.backgroundCount -= 1
                } else {
                    state.queue.end(present.requester, nanoseconds: used)
                }
                let next = takeNext(&state)
                if next == nil { state.idleQueues.append(queue) }
                return next
            }
        }
        // A job that had to wait for another job of this requester may run now.
        startJobs()
    }

    /// Refuses new reads, and waits for those that run or wait.
    func close() {
        state.withLock { $0.isClosed = true }
        readers.wait()
    }
}
