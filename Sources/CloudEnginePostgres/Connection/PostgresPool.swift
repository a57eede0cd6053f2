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
/// task ─▶ fair queue of a partition ─▶ the worker that writes to it, or the fair queue
/// ```
///
/// The worker that became idle last is woken first: its thread and its connection have the most in their caches.
///
/// Units that write to one partition wait for each other here and not on its row's lock, where each would hold a connection. The worker
/// that writes to the partition takes those that wait into its transaction (``PartitionTransaction``).
final class PostgresPool: @unchecked Sendable {
    /// Jobs that may wait; more are refused as busy.
    static let waitingMax = 4096

    private enum Job {
        /// Excludes no other job.
        case read(requester: String, run: (PostgresConnection) -> Void, fail: (any Error) -> Void)
        case write(PostgresWrite)

        var requester: String {
            switch self {
            case .read(let requester, _, _): requester
            case .write(let write): write.terms.requester
            }
        }

        func fail(_ error: any Error) {
            switch self {
            case .read(_, _, let fail): fail(error)
            case .write(let write): write.fail(error)
            }
        }
    }

    private let primary: PostgresPrimary
    private let units: PostgresUnits
    private let joinTime: Duration
    private let size: Int
    private let waits: WaitObserver?
    private let onSlowStatement: (@Sendable (SlowStatement) -> Void)?
    private var perRequesterMax: Int { max(1, size * 3 / 5) }
    /// Connections that requesters with a running job leave to others: two requesters with long reads would hold all of them otherwise. A
    /// unit that others wait behind is exempt (``isAwaited(_:)``).
    private var reservedCount: Int { size / 4 }
    // The condition guards what follows.
    private let condition = NSCondition()
    private var queue = FairQueue<Job>()
    private var runningCount = 0
    /// Units of the partitions that one writes to: that one, which runs or waits for a worker, and those behind it.
    private var lines: [Partition: FairQueue<PostgresWrite>] = [:]
    /// Units behind others.
    private var behindCount = 0
    private var isClosed = false
    private var workers = 0
    /// Wakes workers without a job; the one that became idle last is the last.
    private var idle: [DispatchSemaphore] = []

    /// Connects once, so that a wrong address fails here.
    ///
    /// - Parameters:
    ///   - joinTime: Time in which units join a transaction.
    ///   - size: Connections at most.
    ///   - waits: Called around each job, by the task that waits for it.
    init(
        _ primary: PostgresPrimary, _ units: PostgresUnits, joinTime: Duration, size: Int, waits: WaitObserver? = nil,
        onSlowStatement: (@Sendable (SlowStatement) -> Void)? = nil
    ) throws {
        self.primary = primary
        self.units = units
        self.joinTime = joinTime
        self.waits = waits
        self.onSlowStatement = onSlowStatement
        self.size = max(1, size)
        let first = try primary.connect(onSlowStatement: onSlowStatement)
        startWorker(first)
    }

    /// Runs a job on a worker's thread.
    ///
    /// - Throws: What `body` throws; `StorageFailure` with `.busy` if too many wait; `PostgresUnreachable`.
    func run<Value: Sendable>(
        _ requester: String = "", _ body: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        waits?.began()
        defer { waits?.ended() }
        return try await withCheckedThrowingContinuation { continuation in
            add(
                .read(
                    requester: requester, run: { connection in continuation.resume(with: Result { try body(connection) }) },
                    fail: { continuation.resume(throwing: $0) }))
        }
    }

    /// Runs a unit that writes to a partition, after the commit of the unit before it or in its transaction.
    ///
    /// - Parameters:
    ///   - event: Stored by the same transaction.
    ///   - isRepeated: Whether an earlier call for the unit threw ``PostgresRetry``.
    ///   - makesPartition: Whether a partition without a row gets one.
    /// - Throws: What `body` throws; ``PostgresRetry``; ``PartitionVanished``; `StorageFailure`; `PostgresUnreachable`.
    func write<Value: Sendable>(
        _ partition: Partition, _ terms: WorkTerms, audited event: AuditEvent?, isRepeated: Bool, makesPartition: Bool,
        _ body: @escaping @Sendable (PostgresUnit) throws -> Value
    ) async throws -> Value {
        waits?.began()
        defer { waits?.ended() }
        return try await withCheckedThrowingContinuation { continuation in
            add(
                .write(
                    PostgresWrite(
                        partition: partition, terms: terms, event: event, isRepeated: isRepeated, makesPartition: makesPartition,
                        run: { unit in
                            let value = try body(unit)
                            return { continuation.resume(returning: value) }
                        },
                        fail: { continuation.resume(throwing: $0) })))
        }
    }

    private func add(_ job: Job) {
        condition.lock()
        let isRefused = isClosed || queue.waitingCount + behindCount >= Self.waitingMax
        if !isRefused {
            if case .write(let write) = job { add(write) } else { queue.add(job, for: job.requester) }
            wakeWorker()
        }
        let wasClosed = isClosed
        condition.unlock()
        if isRefused {
            job.fail(
                StorageFailure(wasClosed ? .unavailable : .busy, wasClosed ? "the storage is closed" : "too many requests are waiting"))
        }
    }

    /// Call with the lock.
    private func add(_ write: PostgresWrite) {
        let isBusy = lines[write.partition] != nil
        lines[write.partition, default: FairQueue()].add(write, for: write.terms.requester)
        behindCount += 1
        if !isBusy { beginNext(of: write.partition) }
    }

    /// Lets the next unit of a partition wait for a worker. Call with the lock.
    private func beginNext(of partition: Partition) {
        if let write = takeNext(of: partition) {
            queue.add(.write(write), for: write.terms.requester)
        } else {
            lines[partition] = nil
        }
    }

    /// Call with the lock.
    private func takeNext(of partition: Partition) -> PostgresWrite? {
        guard let write = lines[partition]?.next()?.job else { return nil }
        behindCount -= 1
        return write
    }

    /// Takes the next unit if it is shareable; otherwise it begins the next transaction. Call with the lock.
    private func takeShareable(of partition: Partition) -> PostgresWrite? {
        lines[partition]?.first?.isShareable == true ? takeNext(of: partition) : nil
    }

    /// Call with the lock.
    private func wakeWorker() {
        guard queue.waitingCount > 0 else { return }
        if let worker = idle.popLast() { worker.signal() } else if workers < size { startWorker(nil) }
    }

    /// Call with the lock.
    private func wakeAllWorkers() {
        for worker in idle { worker.signal() }
        idle = []
    }

    private func startWorker(_ connection: PostgresConnection?) {
        workers += 1
        // A connection is used by the thread that gets it alone.
        Thread.detachNewThread { [self] in work(connection) }
    }

    private func work(_ first: PostgresConnection?) {
        var connection = first
        let wakeUp = DispatchSemaphore(value: 0)
        while let job = next(wakeUp) {
            var nanoseconds: Int64 = 0
            do {
                let usable: PostgresConnection
                if let known = connection, !known.isBroken, !known.isSuperseded {
                    usable = known
                } else {
                    connection?.close()
                    usable = try primary.connect(onSlowStatement: onSlowStatement)
                }
                connection = usable
                nanoseconds = run(job, usable)
                // While it is open, the database keeps its transaction, which holds back the removal of old rows.
                if usable.isBroken {
                    usable.close()
                    connection = nil
                }
            } catch {
                connection = nil
                if case .write(let write) = job {
                    condition.withLock { lines[write.partition]?.end(write.terms.requester, nanoseconds: 0) }
                }
                job.fail(PostgresUnreachable(reason: (error as? StorageFailure)?.what ?? "unknown reason"))
            }
            end(job, nanoseconds: nanoseconds)
        }
        connection?.close()
        condition.lock()
        workers -= 1
        condition.broadcast()
        condition.unlock()
    }

    /// - Returns: Processor time of the job in nanoseconds, without that of units which shared its transaction.
    private func run(_ job: Job, _ connection: PostgresConnection) -> Int64 {
        let started = Self.threadTime
        switch job {
        case .read(_, let run, _):
            run(connection)
            return Self.threadTime - started
        case .write(let first):
            return run(first, connection)
        }
    }

    /// Runs a unit and those that join it. The last one is charged for the commit, and for units that run again.
    ///
    /// - Returns: Processor time of the first one.
    private func run(_ first: PostgresWrite, _ connection: PostgresConnection) -> Int64 {
        var running: (write: PostgresWrite, start: Int64)? = (first, Self.threadTime)
        var timeOfFirst: Int64?
        func unitEnded() {
            guard let (write, start) = running else { return }
            running = nil
            let used = Self.threadTime - start
            condition.withLock {
                lines[write.partition]?.end(write.terms.requester, nanoseconds: used)
                // The first one is charged with its job.
                if timeOfFirst != nil { queue.charge(write.terms.requester, nanoseconds: used) }
            }
            timeOfFirst = timeOfFirst ?? used
        }
        PartitionTransaction(connection: connection, units: units, joinTime: joinTime).run(first) {
            unitEnded()
            let write = condition.withLock { takeShareable(of: first.partition) }
            running = write.map { ($0, Self.threadTime) }
            return write
        }
        unitEnded()
        return timeOfFirst ?? 0
    }

    /// Units that write to a partition or wait for it; tests see from it that one waits.
    func writesCount(of partition: Partition) -> Int {
        condition.withLock { lines[partition].map { 1 + $0.waitingCount } ?? 0 }
    }

    /// - Returns: Nil once the pool is closed and no job waits.
    private func next(_ wakeUp: DispatchSemaphore) -> Job? {
        while true {
            condition.lock()
            let job = queue.next(runningMax: runningCount < size - reservedCount ? perRequesterMax : 1, exempting: isAwaited)?.job
            if job != nil { runningCount += 1 }
            let isOver = job == nil && isClosed && queue.waitingCount == 0 && behindCount == 0
            if job == nil, !isOver { idle.append(wakeUp) }
            condition.unlock()
            if job != nil || isOver { return job }
            wakeUp.wait()
        }
    }

    /// Whether units of other requesters are behind a unit in the line of a partition: a limit of its requester would make them wait, too.
    /// Call with the lock.
    private func isAwaited(_ job: Job) -> Bool {
        guard case .write(let write) = job, let line = lines[write.partition] else { return false }
        return line.waitingCount > line.waitingCount(of: write.terms.requester)
    }

    private func end(_ job: Job, nanoseconds: Int64) {
        condition.lock()
        runningCount -= 1
        queue.end(job.requester, nanoseconds: nanoseconds)
        if case .write(let write) = job { beginNext(of: write.partition) }
        // The worker itself takes one.
        if queue.waitingCount > 1 { wakeWorker() }
        if isClosed { wakeAllWorkers() }
        condition.unlock()
    }

    /// Ends the connections once the jobs that wait are done, without waiting for that.
    func beginClosing() {
        condition.withLock {
            isClosed = true
            wakeAllWorkers()
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
