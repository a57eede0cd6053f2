// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Logging
import ManagedModel
import MirroringCore
import ObjectGraph
import Synchronization

/// Syncs one store with one database: a loop that takes one event at a time and carries out the effects of `SyncMachine`.
///
///     saves ─┐                                ┌─ operation (one at a time) ─┐
///     push ──┼─▶ events ─▶ SyncMachine ─▶ effects ─ timer                   ├─▶ events
///     timers ┘                                └─ push stream                ┘
///
/// ``Exporter``, ``Importer``, ``AccountSetUp`` and ``PushListener`` carry out the operations. They hold no state of their own: all of it
/// is in ``state``.
///
/// Invariant: at most one operation runs; the next one waits for the end of a cancelled one.
final class StoreSync: Sendable {
    /// Receives status and events, on any thread.
    struct Observer: Sendable {
        var status: @Sendable (SyncStatus) -> Void
        var event: @Sendable (NSPersistentCloudKitContainer.Event) -> Void
    }

    let store: NSPersistentStore
    let file: MirrorFile
    let coordinator: NSPersistentStoreCoordinator
    let cloud: CloudAccess
    let observer: Observer
    let permissions: PermissionCache
    let connection = SetUpConnection()
    let state = Mutex(SyncState())
    let logger = Logger(label: "tarn.mirror")
    private let events: AsyncStream<SyncMachine.Event>
    private let eventSink: AsyncStream<SyncMachine.Event>.Continuation
    private let waiters = SyncWaiters()
    private let queue: DispatchQueue

    var environment: SyncEnvironment { file.surroundings }

    /// For users and shares.
    var container: CKContainer { environment.container(file.containerIdentifier) }

    init(
        store: NSPersistentStore, file: MirrorFile, coordinator: NSPersistentStoreCoordinator,
        cloud: CloudAccess, observer: Observer, restoration: StoreRestoration?
    ) {
        self.store = store
        self.file = file
        self.coordinator = coordinator
        self.cloud = cloud
        self.observer = observer
        permissions = PermissionCache(file)
        (events, eventSink) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        // Without a quality of service: at `.utility`, imports would wait behind all other threads of the machine.
        queue = DispatchQueue(label: "tarn.mirror.file")
        state.withLock { $0.restoration = restoration }
    }

    // MARK: Life

    func start() {
        let number = store.number
        coordinator.observeCommits { [eventSink] commits in
            if commits.contains(where: { $0.store == number }) { eventSink.yield(.storeChanged) }
        }
        do {
            if !environment.isDeterministic { try coordinator.observeOthers(of: store) { [eventSink] in eventSink.yield(.storeChanged) } }
        } catch {
            // Saves of other processes are sent with the next save of this one, or the next sync.
            logger.warning("the store's file cannot be watched", metadata: ["store": "\(store.identifier ?? "")"])
        }
        store.keepHistory { try StateTable.historyRead($0) }
        state.withLock { $0.tasks.loop = begin { await self.runLoop() } }
        send(.started)
    }

    func send(_ event: SyncMachine.Event) { eventSink.yield(event) }

    /// Schedules an export. The count of pending changes is stale.
    func storeChanged() {
        state.withLock { $0.exporter.pendingCount.invalidate() }
        send(.storeChanged)
    }

    /// Suspends the caller until import and export have been idle since the call.
    ///
    /// - Throws: `CloudFailure` if sync needs an action of the app or the user, `CancellationError` if the task is cancelled.
    func waitUntilIdle() async throws { try await waiters.wait { send(.syncRequested($0)) } }

    /// Ends the loop and all tasks, without waiting for their end.
    func cancel() {
        eventSink.finish()
        waiters.close()
        state.withLock { $0.exporter.pipelined }?.response.cancel()
        let (tasks, prefetched) = state.withLock { state in
            state.tasks.isStopped = true
            return (state.tasks.all, state.importer.prefetched.pages)
        }
        for task in tasks { task.cancel() }
        for page in prefetched { page.page.cancel() }
    }

    /// Ends the loop and returns once no task of it touches the store any more.
    func stop() async {
        cancel()
        for task in state.withLock({ $0.tasks.all }) { await task.value }
        for page in state.withLock({ $0.importer.prefetched.pages }) { _ = await page.page.result }
        await Exporter(sync: self).abandonPipelinedRequest()
    }

    func begin(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: environment.executor, operation: body)
    }

    // MARK: Account

    /// Schedules a set-up unless the connection is still the one that was set up.
    func accountMayHaveChanged() {
        if connection.doubt(try cloud.open().client.transport) { accountChanged() }
    }

    func accountChanged() {
        let tasks = state.withLock { state in
            defer { state.tasks.feedListener = nil }
            return [state.tasks.listener, state.tasks.feedListener]
        }
        for task in tasks { task?.cancel() }
        send(.accountChanged)
    }

    /// Returns the database, if its connection is the one that was set up: another connection may be another user's.
    ///
    /// - Throws: `CloudFailure` with `.operationCancelled` for another connection; a set-up is scheduled then.
    func openDatabase() throws -> SyncDatabase {
        let database = try cloud.open()
        guard connection.mayBeUsed(database.client.transport) else {
            accountChanged()
            throw CloudFailure(.operationCancelled, "another account may be signed in")
        }
        return database
    }

    // MARK: The loop

    private func runLoop() async {
        // Ends events that an earlier process left open. If the file cannot be written, the set-up reports it.
        try? await onQueue { try self.file.opening.begin() }
        var machine = SyncMachine(itemsMax: file.exports.itemsPerBatch)
        for await event in events {
            for effect in machine.handle(event, now: environment.now(), jitter: environment.random()) { carryOut(effect) }
        }
    }

    private func carryOut(_ effect: SyncMachine.Effect) {
        switch effect {
        case .perform(let operation, let id): begin(operation, id)
        case .cancel:
            state.withLock { $0.tasks.operation }?.cancel()
            PageReader(sync: self).dropPrefetched()
        case .listen: listen()
        case .wait(let delay, let timer): wait(delay, timer)
        case .countPending: countPending()
        // Behind the writes of earlier operations, so that callers and observers find them in the file.
        case .report(let status): later { self.report(status) }
        case .resume(let waiters, let failure): later { self.waiters.resume(waiters, failure) }
        }
    }

    private func begin(_ operation: SyncMachine.Operation, _ id: SyncMachine.OperationID) {
        state.withLock { state in
            guard !state.tasks.isStopped else { return }
            state.tasks.operation = begin { [previous = state.tasks.operation, self] in
                await previous?.value
                if Task.isCancelled { return }
                let outcome = await OperationRun(sync: self).outcome(of: operation)
                if !Task.isCancelled { send(.finished(id, outcome)) }
            }
        }
    }

    private func listen() {
        state.withLock { $0.tasks.isStopped ? nil : $0.tasks.listener }?.cancel()
        state.withLock { state in
            guard !state.tasks.isStopped else { return }
            state.tasks.listener = begin { [file, self] in
                let listener = PushListener(sync: self)
                if file.scope == .public { return await listener.poll() }
                // A connection that cannot be opened has no dialect: the listener retries it.
                guard (try? cloud.open())?.client.dialect.mayMissNotifications == true else { return await listener.listen() }
                await withTaskGroup { group in
                    group.addTask { await listener.poll() }
                    group.addTask { await listener.listen() }
                }
            }
        }
    }

    private func wait(_ delay: Duration, _ timer: SyncMachine.TimerID) {
        state.withLock { $0.tasks.isStopped ? nil : $0.tasks.timer }?.cancel()
        state.withLock { state in
            guard !state.tasks.isStopped else { return }
            state.tasks.timer = begin { [environment, eventSink] in
                do { try await environment.sleep(delay) } catch { return }
                eventSink.yield(.timerFired(timer))
            }
        }
    }

    private func countPending() {
        state.withLock { state in
            guard !state.tasks.isStopped else { return }
            state.tasks.pendingCount = begin { [previous = state.tasks.pendingCount, self] in
                await previous?.value
                // The next operation reports a file that cannot be read.
                if let count = try? await onQueue({ try self.file.exports.countPending() }) { send(.pendingCounted(count)) }
            }
        }
    }

    // MARK: Status

    /// The shortest time between two successes that are stored in the file.
    private static let successInterval = 10.0

    private func report(_ machineStatus: SyncStatus) {
        let (status, isSuccessDue) = state.withLock { state -> (SyncStatus, Bool) in
            state.details.lastReport = machineStatus
            var status = machineStatus
            status.incompleteCount = state.details.withheldCount
            status.rejectedCount = state.details.rejectedCount
            status.unreadableCount = state.details.unreadableCount
            status.accountChange = state.details.accountChange
            guard status.activity == .idle, let success = status.lastSuccess,
                abs(success.timeIntervalSince(state.details.storedSuccess)) >= Self.successInterval
            else { return (status, false) }
            state.details.storedSuccess = success
            return (status, true)
        }
        observer.status(status)
        if isSuccessDue, let success = status.lastSuccess { try? file.events.remember(success: success) }
    }

    /// Reports the last status with details that the app changed.
    func reportAgain() { later { [self] in if let last = state.withLock({ $0.details.lastReport }) { report(last) } } }

    /// Reads the latest account change that the app has not acknowledged, for the status.
    func readAccountChange() async throws {
        let latest = try await onQueue { try self.file.accountChanges.all().last }
        state.withLock { $0.details.accountChange = latest }
    }

    func countWithheld() async throws {
        guard file.mapping.keepsIncomplete else { return }
        let count = try await onQueue { try self.file.withheldRecords.count() }
        state.withLock { $0.details.withheldCount = count }
    }

    func countUnreadable() async throws {
        let count = try await onQueue { try self.file.unreadableValues.count() }
        state.withLock { $0.details.unreadableCount = count }
    }

    // MARK: The file's queue

    /// Runs a closure behind all earlier work on the file, without waiting for it.
    func later(_ body: @escaping @Sendable () -> Void) {
        if environment.isDeterministic { body() } else { queue.async(execute: body) }
    }

    /// Runs a closure on the file's queue: the store blocks its thread, which must not be a thread of the task pool.
    func onQueue<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        if environment.isDeterministic { return try body() }
        return try await withCheckedThrowingContinuation { continuation in queue.async { continuation.resume(with: Result(catching: body)) }
        }
    }

    /// The same, for transactions that may relate rows. Contexts merge the rows before this returns.
    func onQueue<T: Sendable>(_ body: @escaping @Sendable () throws -> Committed<T>) async throws -> T {
        let merged: @Sendable () throws -> T = {
            let committed = try body()
            if let commit = committed.commit { self.merge(commit) }
            return committed.value
        }
        return try await onQueue(merged)
    }

    /// Merges a commit into the app's contexts.
    func merge(_ commit: StoreCommit) {
        permissions.forget()
        coordinator.didCommit([commit], by: nil)
    }

    /// Merges deletions into the app's contexts.
    func mergeDeletions(of keys: [RowKey]) {
        if keys.isEmpty { return }
        var commit = StoreCommit(store: store.number)
        commit.deleted = keys
        merge(commit)
    }

    /// Merges the removal of zones into the app's contexts. The status and the event of the present operation name an archive.
    func merge(_ removed: RemovedZones) async throws {
        mergeDeletions(of: removed.keys)
        if removed.isArchived { try await EventRecorder(sync: self).nameAccountChange() }
    }
}
