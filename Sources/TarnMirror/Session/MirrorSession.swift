// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import CoreData
import Foundation
import MirroringCore
import Synchronization

/// Syncs one store: a loop that takes one event at a time and carries out the effects of `SyncMachine`.
///
///     saves ─┐                                ┌─ operation (one at a time) ─┐
///     polls ─┼─▶ events ─▶ SyncMachine ─▶ effects ─ timer                   ├─▶ events
///     timers ┘                                └─ polling                    ┘
///
/// Invariant: at most one operation runs; the next one waits for the end of a cancelled one.
final class MirrorSession: Sendable {
    private struct State {
        var isStarted = false
        var isStopped = false
        var loop: Task<Void, Never>?
        var operation: Task<Void, Never>?
        var timer: Task<Void, Never>?
        var polling: Task<Void, Never>?
        var counting: Task<Void, Never>?
        var observer: Observation?
        var lastFailure: CloudFailure?
        var rejectedCount = 0
        var conflictCount = 0
        var unreadableCount = 0
        /// When quarantined values were last fetched again; nil before the first attempt.
        var quarantineRetried: Date?
        /// The last status of the machine.
        var lastReport: SyncStatus?

        var tasks: [Task<Void, Never>] { [loop, operation, timer, polling, counting].compactMap(\.self) }
    }

    let mirrored: MirroredStore
    let client: MirrorClient
    let environment: MirrorEnvironment
    let status = StatusBoard()
    /// Pages that arrived and are not applied.
    let chain = Mutex(PageChain())
    /// Positions of the fetched pages.
    let positions = Mutex(PagePositions())
    private let pollInterval: Duration
    private let state = Mutex(State())
    private let waiters = SyncWaiters()
    private let events: AsyncStream<SyncMachine.Event>
    private let eventSink: AsyncStream<SyncMachine.Event>.Continuation
    private let queue = DispatchQueue(label: "tarn.mirror.store")

    init(_ mirrored: MirroredStore, client: MirrorClient, environment: MirrorEnvironment, pollInterval: Duration) {
        self.mirrored = mirrored
        self.client = client
        self.environment = environment
        self.pollInterval = pollInterval
        (events, eventSink) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    // MARK: Life

    func start() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && !state.isStopped
        }
        guard isFirst else { return }
        // Saves of this process and of others, this mirror's own included: those find nothing to send.
        let observer = NotificationCenter.default.addObserver(
            forName: .NSPersistentStoreRemoteChange, object: mirrored.container.persistentStoreCoordinator, queue: nil
        ) { [eventSink] _ in eventSink.yield(.storeChanged) }
        let observed = Observation(observer)
        let isStopped = state.withLock { state in
            // Stopped since: nobody else would end the observer.
            if state.isStopped { return true }
            state.observer = observed
            state.loop = run { [weak self, events, limits = environment.limits] in
                await self?.prepare()
                var machine = SyncMachine(itemsMax: limits.operationsPerRequest)
                for await event in events {
                    guard let self else { return }
                    for effect in machine.handle(event, now: environment.now(), jitter: environment.random()) { carryOut(effect) }
                }
            }
            return false
        }
        if isStopped { return observed.end() }
        eventSink.yield(.started)
    }

    private func prepare() async {
        // If the file cannot be written, the set-up tries it again, and reports the failure.
        try? await onFile { [mirrored] in try mirrored.begin() }
    }

    /// Ends the loop and all tasks, without waiting for their end.
    func cancel() {
        eventSink.finish()
        waiters.close()
        let (tasks, observer) = state.withLock { state in
            state.isStopped = true
            defer { state.observer = nil }
            return (state.tasks, state.observer)
        }
        for task in tasks { task.cancel() }
        observer?.end()
        let last = status.current
        status.end(with: TarnMirror.Status(activity: .stopped, pendingCount: last.pendingCount, conflictCount: last.conflictCount))
    }

    /// Ends the loop and returns once no task of it touches the store any more.
    func stop() async {
        cancel()
        for task in state.withLock({ $0.tasks }) { await task.value }
        try? await onFile { [mirrored] in try mirrored.metadata.close() }
    }

    /// - Throws: ``TarnMirror/Failure``, `CancellationError`.
    func sync(timeout: Duration) async throws {
        guard state.withLock({ $0.isStarted }) else {
            throw TarnMirror.Failure(.notStarted, "the mirror isn't started; call start() before sync(timeout:)")
        }
        do {
            let isIdle = try await withThrowingTaskGroup(of: Bool.self) { [environment, waiters, eventSink] group in
                group.addTask {
                    try await waiters.wait { eventSink.yield(.syncRequested($0)) }
                    return true
                }
                group.addTask {
                    try await environment.sleep(timeout)
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
            if isIdle { return }
        } catch let failure as CloudFailure {
            throw TarnMirror.Failure(failure)
        }
        throw TarnMirror.Failure(
            state.withLock { $0.lastFailure }
                ?? CloudFailure(.serviceUnavailable, "the sync takes longer than the time to wait; it continues"))
    }

    // MARK: Effects

    private func carryOut(_ effect: SyncMachine.Effect) {
        switch effect {
        case .perform(let operation, let id): begin(operation, id)
        case .cancel: state.withLock { $0.operation }?.cancel()
        case .listen: poll()
        case .wait(let delay, let timer): wait(delay, timer)
        case .countPending: countPending()
        // Behind the writes of earlier operations, so that callers and observers find them in the file.
        case .report(let status): later { [weak self] in self?.report(status) }
        case .resume(let ids, let failure): later { [waiters] in waiters.resume(ids, failure) }
        }
    }

    private func run(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: environment.executor, operation: body)
    }

    private func begin(_ operation: SyncMachine.Operation, _ id: SyncMachine.OperationID) {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.operation = run { [previous = state.operation, weak self] in
                await previous?.value
                guard !Task.isCancelled, let self else { return }
                let outcome = await OperationRun(session: self).outcome(of: operation)
                if !Task.isCancelled { eventSink.yield(.finished(id, outcome)) }
            }
        }
    }

    /// Whether ``cancel()`` was called.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    func failed(_ failure: CloudFailure?) { state.withLock { $0.lastFailure = failure } }

    func rejected(_ count: Int) { state.withLock { $0.rejectedCount = count } }

    private func wait(_ delay: Duration, _ timer: SyncMachine.TimerID) {
        state.withLock { state in
            state.timer?.cancel()
            guard !state.isStopped else { return }
            state.timer = run { [environment, eventSink] in
                do { try await environment.sleep(delay) } catch { return }
                eventSink.yield(.timerFired(timer))
            }
        }
    }

    /// The server's push stream is not used: an idle mirror asks for changes from time to time.
    private func poll() {
        state.withLock { state in
            state.polling?.cancel()
            guard !state.isStopped else { return }
            state.polling = run { [environment, eventSink, status, pollInterval] in
                while !Task.isCancelled {
                    do { try await environment.sleep(pollInterval) } catch { return }
                    // An offline mirror keeps to its backoff: a poll, unlike a push, doesn't prove that the server can be reached. Other
                    // waits ignore the event, except one for storage, during which imports continue.
                    if status.current.activity != .offline { eventSink.yield(.pushArrived) }
                }
            }
        }
    }

    private func countPending() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.counting = run { [previous = state.counting, weak self] in
                await previous?.value
                // The next operation reports a file that cannot be read.
                if let self, let count = try? await onFile({ [mirrored] in try mirrored.pendingCount() }) {
                    eventSink.yield(.pendingCounted(count))
                }
            }
        }
    }

    private func report(_ machineStatus: SyncStatus) {
        var reported = TarnMirror.Status(machineStatus)
        state.withLock { state in
            state.lastReport = machineStatus
            (reported.rejectedCount, reported.conflictCount) = (state.rejectedCount, state.conflictCount)
            reported.unreadableCount = state.unreadableCount
        }
        status.post(reported)
    }

    /// Reads the numbers of entries in the conflict log and of objects with quarantined values, for the next report.
    func countConflicts() async {
        // The next operation reports a file that cannot be read. A stopped mirror has closed it.
        let counts = try? await onFile { [self] () throws -> (conflicts: Int, unreadable: Int)? in
            if isStopped { return nil }
            return (conflicts: try mirrored.conflictCount(), unreadable: try mirrored.quarantinedCount())
        }
        guard let counts else { return }
        state.withLock { ($0.conflictCount, $0.unreadableCount) = (counts.conflicts, counts.unreadable) }
    }

    /// Whether quarantined values are to be fetched again.
    func retriesQuarantined() -> Bool {
        let now = environment.now()
        let last = state.withLock { $0.quarantineRetried }
        return RetryPolicy.retriesQuarantined(secondsSinceLast: last.map { now.timeIntervalSince($0) })
    }

    func didRetryQuarantined() {
        let now = environment.now()
        state.withLock { $0.quarantineRetried = now }
    }

    /// Reports the last status again, after the app changed the conflict log.
    func conflictsChanged() async {
        await countConflicts()
        // Behind earlier reports.
        try? await onFile { [self] in
            guard let last = state.withLock({ $0.lastReport }) else { return }
            report(last)
        }
    }

    // MARK: The file's queue

    /// Runs a closure behind all earlier work on the files, without waiting for it.
    private func later(_ body: @escaping @Sendable () -> Void) {
        if environment.executor != nil { body() } else { queue.async(execute: body) }
    }

    /// Runs a closure on the store's queue: Core Data blocks its thread, which must not be a thread of the task pool.
    func onFile<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        if environment.executor != nil { return try body() }
        return try await withCheckedThrowingContinuation { continuation in queue.async { continuation.resume(with: Result(catching: body)) }
        }
    }
}

/// An observer of notifications, until it ends.
///
/// Unchecked: the token is only passed to the notification center, which is thread-safe.
private final class Observation: @unchecked Sendable {
    private let token: any NSObjectProtocol

    init(_ token: any NSObjectProtocol) { self.token = token }

    func end() { NotificationCenter.default.removeObserver(token) }
}
