// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import Foundation
import Synchronization

/// The connections of this process: one thread each, which waits for the network, so that no thread of Swift's tasks does.
///
/// ```
/// task ─▶ fair queue ─▶ worker 1 ─ connection 1
///                       worker 2 ─ connection 2
/// task ─▶ queue of a busy partition ─▶ fair queue, once the unit before it ended
/// ```
///
/// Units that write to one partition wait for each other here and not on its row's lock, where each would hold a connection.
final class PostgresPool: @unchecked Sendable {
    /// Jobs that may wait; more are refused as busy.
    static let waitingMax = 4096

    private struct Job {
        let requester: String
        /// Nil for a job that excludes no other.
        let partition: Partition?
        let run: (PostgresConnection) -> Void
        let fail: (any Error) -> Void
    }

    private let primary: PostgresPrimary
    private let size: Int
    private let onSlowStatement: (@Sendable (SlowStatement) -> Void)?
    private var perRequesterMax: Int { max(1, size * 3 / 5) }
    // The condition guards what follows.
    private let condition = NSCondition()
    private var queue = FairQueue<Job>()
    private var busy: Set<Partition> = []
    private var behind: [Partition: [Job]] = [:]
    private var behindCount = 0
    private var isClosed = false
    private var workers = 0

    /// Connects once, so that a wrong address fails here.
    ///
    /// - Parameter size: Connections at most.
    init(_ primary: PostgresPrimary, size: Int, onSlowStatement: (@Sendable (SlowStatement) -> Void)? = nil) throws {
        self.primary = primary
        self.onSlowStatement = onSlowStatement
        self.size = max(1, size)
        let first = try primary.connect(onSlowStatement: onSlowStatement)
        startWorker(first)
    }

    /// Runs a job on a worker's thread.
    ///
    /// - Throws: What `body` throws; `StorageFailure` with `.busy` if too many wait; `PostgresUnreachable`.
    func run<Value: Sendable>(
        _ requester: String = "", partition: Partition? = nil, _ body: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            add(
                Job(
                    requester: requester, partition: partition,
                    run: { connection in continuation.resume(with: Result { try body(connection) }) },
                    fail: { continuation.resume(throwing: $0) }))
        }
    }

    private func add(_ job: Job) {
        condition.lock()
        let isRefused = isClosed || queue.waitingCount + behindCount >= Self.waitingMax
        if !isRefused {
            if let partition = job.partition, !busy.insert(partition).inserted {
                behind[partition, default: []].append(job)
                behindCount += 1
            } else {
                queue.add(job, for: job.requester)
            }
            if workers < size, queue.waitingCount > 0 { startWorker(nil) }
            condition.signal()
        }
        let wasClosed = isClosed
        condition.unlock()
        if isRefused {
            job.fail(
                StorageFailure(wasClosed ? .unavailable : .busy, wasClosed ? "the storage is closed" : "too many requests are waiting"))
        }
    }

    private func startWorker(_ connection: PostgresConnection?) {
        workers += 1
        // A connection is used by the thread that gets it alone.
        Thread.detachNewThread { [self] in work(connection) }
    }

    private func work(_ first: PostgresConnection?) {
        var connection = first
        while let job = next() {
            let started = Self.threadTime
            do {
                let usable: PostgresConnection
                if let known = connection, !known.isBroken, !known.isSuperseded {
                    usable = known
                } else {
                    connection?.close()
                    usable = try primary.connect(onSlowStatement: onSlowStatement)
                }
                connection = usable
                job.run(usable)
                // While it is open, the database keeps its transaction, which holds back the removal of old rows.
                if usable.isBroken {
                    usable.close()
                    connection = nil
                }
            } catch {
                connection = nil
                job.fail(PostgresUnreachable(reason: (error as? StorageFailure)?.what ?? "unknown reason"))
            }
            end(job, nanoseconds: Self.threadTime - started)
        }
        connection?.close()
        condition.lock()
        workers -= 1
        condition.broadcast()
        condition.unlock()
    }

    private func next() -> Job? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let (_, job) = queue.next(runningMax: perRequesterMax) { return job }
            if isClosed, queue.waitingCount == 0, behindCount == 0 { return nil }
            condition.wait()
        }
    }

    private func end(_ job: Job, nanoseconds: Int64) {
        condition.lock()
        queue.end(job.requester, nanoseconds: nanoseconds)
        if let partition = job.partition {
            if var waiting = behind[partition] {
                let next = waiting.removeFirst()
                behindCount -= 1
                behind[partition] = waiting.isEmpty ? nil : waiting
                queue.add(next, for: next.requester)
            } else {
                busy.remove(partition)
            }
        }
        // One requester's limit may have held back another worker.
        condition.broadcast()
        condition.unlock()
    }

    /// Ends the connections once the jobs that wait are done, without waiting for that.
    func beginClosing() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }

    /// Ends the connections once the jobs that wait are done.
    func close() {
        beginClosing()
        condition.withLock {
            while workers > 0 { condition.wait() }
        }
    }

    /// Processor time of the calling thread in nanoseconds.
    static var threadTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
