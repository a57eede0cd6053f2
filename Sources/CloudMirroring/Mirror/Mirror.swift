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

/// Keeps one store in step with one database: a loop that takes one event at a time and does what `SyncMachine` says.
///
///     saves ─┐                                ┌─ operation (one at a time) ─┐
///     push ──┼─▶ events ─▶ SyncMachine ─▶ effects ─ timer                   ├─▶ events
///     timers ┘                                └─ push connection            ┘
///
/// Invariant: at most one operation runs; the next one waits for the end of a cancelled one.
final class Mirror: Sendable {
    /// What the container is told, on any thread.
    struct Observer: Sendable {
        var status: @Sendable (SyncStatus) -> Void
        var event: @Sendable (NSPersistentCloudKitContainer.Event) -> Void
    }

    struct Running {
        var loop: Task<Void, Never>?
        var operation: Task<Void, Never>?
        var listener: Task<Void, Never>?
        /// Listens to the feed of the public database, where there is one.
        var feedListener: Task<Void, Never>?
        var timers: [Task<Void, Never>] = []
        var counting: Task<Void, Never>?
        var isStopped = false

        var tasks: [Task<Void, Never>] { [loop, operation, listener, feedListener, counting].compactMap(\.self) + timers }
    }

    /// How much waits to be sent, so that it is counted when something else than sending changed it.
    struct Waiting {
        var count: Int?
        /// Tells whether something changed while it was counted.
        var changes = 0

        mutating func forget() {
            count = nil
            changes += 1
        }
    }

    let store: NSPersistentStore
    let file: MirrorFile
    let coordinator: NSPersistentStoreCoordinator
    let cloud: CloudAccess
    let observer: Observer
    private let events: AsyncStream<SyncMachine.Event>
    let feed: AsyncStream<SyncMachine.Event>.Continuation
    let running = Mutex(Running())
    let prepared = Mutex<MirrorFile.PlannedBatch?>(nil)
    /// What was planned while the batch before it was sent. It is good for the operation that comes at once: after any other its
    /// request, which is kept, is one that was not answered.
    let next = Mutex<MirrorFile.PlannedBatch?>(nil)
    /// Where ``next`` is on its way already.
    let underWay = Mutex<UnderWay?>(nil)
    /// The batch that was sent last.
    let sent = Mutex<MirrorFile.ZonedBatch?>(nil)
    /// How far the import has come that is under way.
    let round = Mutex(ImportRound())
    let ahead = Mutex<PageAhead?>(nil)
    /// Pages that have arrived and are not applied, by the numbers of their zones.
    let chains = Mutex<[Int64: ImportChain]>([:])
    /// Numbers of zones of which it is known what an earlier process staged.
    let stagedZones = Mutex<Set<Int64>>([])
    let pushed = Mutex(PushedPages())
    /// The home zone as the last page left it; nil where that is not known any more. A page that was asked for with what is
    /// over by then is dropped.
    let home = Mutex<ZoneTable.Row?>(nil)
    let waiting = Mutex(Waiting())
    /// Whether something was imported since what waits was looked for.
    let hasImported = Mutex(false)
    /// How much of the zone is still to come that is being read.
    let coming = Mutex(ImportCount())
    /// When the server was asked last what the user may do in the public database.
    let permissionsAsked = Mutex(Date.distantPast)
    /// The event of the step that is under way, and the same with its end once that is in the file.
    let underWayEvent = Mutex<(event: EventTable.Row?, written: EventTable.Row?)>((nil, nil))
    /// Records that no row shows.
    let incompleteCount = Mutex(0)
    /// The latest account change that the app has not acknowledged, and the event of the step that made it.
    let accountChange = Mutex<(change: AccountChange?, event: UUID?)>((nil, nil))
    /// What the next set-up does first, once an archive has taken the place of the store's file.
    let restoration = Mutex<StoreRestoration?>(nil)
    /// Changes that the server rejected permanently.
    let rejectedCount = Mutex(0)
    /// Whether a request may be in the file that was not answered.
    let mayOwe = Mutex(true)
    private let remembered = Mutex(Date.distantPast)
    private let asks = Asks()
    let permissions: PermissionCache
    let connection = SetUpConnection()
    /// Why the last operation failed, if it did.
    let lastFailure = Mutex<CloudFailure?>(nil)
    private let queue: DispatchQueue
    let logger = Logger(label: "tarn.mirror")

    var surroundings: MirrorSurroundings { file.surroundings }

    /// For what has to do with people and shares.
    var container: CKContainer { surroundings.container(file.containerIdentifier) }

    init(
        store: NSPersistentStore, file: MirrorFile, coordinator: NSPersistentStoreCoordinator,
        cloud: CloudAccess, observer: Observer
    ) {
        self.store = store
        self.file = file
        self.coordinator = coordinator
        self.cloud = cloud
        self.observer = observer
        permissions = PermissionCache(file)
        (events, feed) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        // What others change is to be seen at once: as a utility its threads would stand back behind all others of the machine.
        queue = DispatchQueue(label: "tarn.mirror.file")
    }

    // MARK: Life

    func start() {
        let store = store.number
        coordinator.observeCommits { [feed] commits in
            if commits.contains(where: { $0.store == store }) { feed.yield(.storeChanged) }
        }
        do {
            if surroundings.executor == nil { try coordinator.observeOthers(of: self.store) { [feed] in feed.yield(.storeChanged) } }
        } catch {
            // What other processes save is sent with the next save here, or the next sync.
            logger.warning("the store's file cannot be watched", metadata: ["store": "\(self.store.identifier ?? "")"])
        }
        self.store.keepHistory { try MirrorState.read($0) }
        running.withLock { $0.loop = begin { await self.run() } }
        feed.yield(.started)
    }

    func storeChanged() {
        waiting.withLock { $0.forget() }
        feed.yield(.storeChanged)
    }

    func send(_ event: SyncMachine.Event) { feed.yield(event) }

    /// Finds out who is signed in before anything else is sent or fetched, unless the connection is the one there was.
    func accountMayHaveChanged() {
        if connection.doubt(try cloud.open().client.transport) { accountChanged() }
    }

    func accountChanged() {
        running.withLock { running in
            running.listener?.cancel()
            running.feedListener?.cancel()
            running.feedListener = nil
        }
        feed.yield(.accountChanged)
    }

    /// The database, while the connection to it is the one that was set up: another one may be another user's.
    func openCloud() throws -> MirrorCloud {
        let cloud = try cloud.open()
        guard connection.mayBeUsed(cloud.client.transport) else {
            accountChanged()
            throw CloudFailure(.operationCancelled, "another account may be signed in")
        }
        return cloud
    }

    /// Returns when both directions have been quiet since the call.
    ///
    /// - Throws: `CloudFailure` when nothing more will happen by itself, `CancellationError` when the task is cancelled.
    func becomeQuiet() async throws { try await asks.wait { feed.yield(.asked($0)) } }

    /// Ends the loop, and everything it began, without waiting for it.
    func cancel() {
        feed.finish()
        asks.close()
        ahead.withLock { $0 }?.page.cancel()
        underWay.withLock { $0 }?.answer.cancel()
        let tasks = running.withLock { running in
            running.isStopped = true
            return running.tasks
        }
        for task in tasks { task.cancel() }
    }

    /// Ends the loop and waits until nothing of it touches the store any more.
    func stop() async {
        cancel()
        let tasks = running.withLock { $0.tasks }
        for task in tasks { await task.value }
        _ = await ahead.withLock { $0.take() }?.page.result
        await abandonAhead()
    }

    func begin(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: surroundings.executor, operation: body)
    }

    /// Asks for the page that comes after a token.
    func lookAhead(to row: ZoneTable.Row, _ token: String, _ cloud: MirrorCloud) {
        running.withLock { running in
            guard !running.isStopped else { return }
            let isCounting = coming.withLock { $0.isDue(row.zone.number) }
            let page = Task(executorPreference: surroundings.executor) { try await cloud.page(of: row, isCounting: isCounting) }
            ahead.withLock { $0 = PageAhead(zone: row.zone, token: token, isFullFetch: row.isFullFetch, isCounting: isCounting, page: page) }
        }
    }

    private func run() async {
        // What an earlier life of the app left open; setting up reports a file that cannot be written.
        try? await onQueue { try self.file.begin() }
        var machine = SyncMachine(itemsMax: file.itemsPerBatch)
        for await event in events {
            let effects = machine.handle(event, now: surroundings.now(), unit: surroundings.random())
            for effect in effects { perform(effect) }
        }
    }

    private func perform(_ effect: SyncMachine.Effect) {
        switch effect {
        case .perform(let operation, let id): begin(operation, id)
        case .cancel: running.withLock { $0.operation }?.cancel()
        case .listen:
            running.withLock { running in
                guard !running.isStopped else { return }
                running.listener?.cancel()
                running.listener = begin { [file, self] in if file.scope == .public { await poll() } else { await listen() } }
            }
        case .wait(let seconds, let timer): wait(seconds, timer)
        case .countPending: count()
        // Whoever is told, or asked, finds everything written that came before.
        case .report(let status): later { self.report(status) }
        case .answer(let asks, let failure): later { self.asks.answer(asks, failure) }
        }
    }

    private func begin(_ operation: SyncMachine.Operation, _ id: SyncMachine.OperationID) {
        running.withLock { running in
            guard !running.isStopped else { return }
            running.operation = begin { [previous = running.operation, self] in
                await previous?.value
                if Task.isCancelled { return }
                let event = began(operation)
                let outcome = await outcome(of: operation)
                if let failure = outcome.failure {
                    logger.debug("operation failed", metadata: ["code": "\(failure.code)", "store": "\(store.identifier ?? "")"])
                }
                // What is planned on this device takes nothing of what the server said.
                if outcome.failure != nil || event != nil { lastFailure.withLock { $0 = outcome.failure } }
                ended(event, outcome.failure)
                if !Task.isCancelled { feed.yield(.finished(id, outcome)) }
            }
        }
    }

    private func wait(_ seconds: Double, _ timer: SyncMachine.TimerID) {
        running.withLock { running in
            guard !running.isStopped else { return }
            // Only the last timer counts; the machine ignores the others.
            for timer in running.timers { timer.cancel() }
            running.timers = [
                begin { [surroundings, feed] in
                    do { try await surroundings.sleep(seconds) } catch { return }
                    feed.yield(.timerFired(timer))
                }
            ]
        }
    }

    private func count() {
        running.withLock { running in
            guard !running.isStopped else { return }
            running.counting = begin { [previous = running.counting, self] in
                await previous?.value
                // A count that fails is no news; the operation that needs the store says what is wrong.
                if let count = try? await onQueue({ try self.file.countPending() }) { feed.yield(.pendingCounted(count)) }
            }
        }
    }

    private func report(_ reported: SyncStatus) {
        var status = reported
        status.incompleteCount = incompleteCount.withLock { $0 }
        status.rejectedCount = rejectedCount.withLock { $0 }
        status.accountChange = accountChange.withLock { $0.change }
        observer.status(status)
        guard status.activity == .idle, let success = status.lastSuccess else { return }
        let isDue = remembered.withLock { last in
            guard abs(success.timeIntervalSince(last)) >= Self.rememberSeconds else { return false }
            last = success
            return true
        }
        if isDue { try? file.remember(success: success) }
    }

    /// Between times that the last success is written down.
    static let rememberSeconds = 10.0

    // MARK: Operations

    private func outcome(of operation: SyncMachine.Operation) async -> SyncMachine.Outcome {
        switch operation {
        case .planExport, .planRoom, .sendBatch: break
        case .setUp, .fetchChanges, .fetchPushed, .quarantine, .reset:
            waiting.withLock { $0.forget() }
            next.withLock { $0 = nil }
            await abandonAhead()
            hasImported.withLock { $0 = true }
        }
        switch operation {
        case .planExport, .planRoom, .fetchChanges, .fetchPushed: break
        case .setUp, .sendBatch, .quarantine, .reset: home.withLock { $0 = nil }
        }
        do {
            switch operation {
            case .setUp: return try await setUp()
            case .fetchChanges: return try await fetchChanges()
            case .fetchPushed: return try await fetchChanges(isPushed: true)
            case .planExport(let size): return try await planExport(size)
            case .planRoom(let size): return try await planRoom(size)
            case .sendBatch: return try await sendBatch()
            case .quarantine(let failure):
                guard let batch = sent.withLock({ $0 }) else { preconditionFailure("what is put aside was sent before") }
                return .batchSettled(try await onQueue { try self.file.putAside(batch, failure) })
            case .reset(let reset):
                tellContexts(deleted: try await onQueue { try self.file.reset(reset) })
                try await showAccountChange()
                return .done
            }
        } catch {
            home.withLock { $0 = nil }
            return .failed(await explained(CloudFailure(error)))
        }
    }

    func tellContexts(deleted: [RowKey]) {
        if deleted.isEmpty { return }
        permissions.forget()
        var commit = StoreCommit(store: store.number)
        commit.deleted = deleted
        coordinator.didCommit([commit], by: nil)
    }

    /// Works on the file after all that was begun before, without waiting for it.
    func later(_ body: @escaping @Sendable () -> Void) {
        if surroundings.executor != nil { body() } else { queue.async(execute: body) }
    }

    /// The store blocks its caller; the pool of tasks must not be blocked.
    func onQueue<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        if surroundings.executor != nil { return try told(body) }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.told(body) }) }
        }
    }

    /// Tells contexts of rows that were written beside what was to be written.
    private func told<T>(_ body: () throws -> T) throws -> T {
        defer {
            if let commit = file.aside.take() {
                permissions.forget()
                coordinator.didCommit([commit], by: nil)
            }
        }
        return try body()
    }
}

extension SyncMachine.Outcome {
    /// What an app is told of: the failure of all, or of a part that is not tried again.
    fileprivate var failure: CloudFailure? {
        switch self {
        case .failed(let failure): failure
        case .batchSettled(let verdict): verdict.firstFailure
        case .done, .pageApplied, .batchPlanned: nil
        }
    }
}
