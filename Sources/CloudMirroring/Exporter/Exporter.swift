// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import ObjectGraph
import Synchronization

/// The export operations: plan a batch, send it, store the server's response.
///
/// Two batches overlap: the next one is planned while one is in flight, and sent while the response of the one before is stored.
///
///     batch 1  plan ── send ──────── response ── store
///     batch 2             └─ plan ──────────── send ──────── response ── store
struct Exporter: Sendable {
    struct State {
        var pendingCount = PendingCountCache()
        /// Whether an import ended since the last plan, so that probably nothing is to be sent.
        var hasImported = false
        /// The request that is in flight before its operation has begun.
        var pipelined: PipelinedRequest?
        /// Whether the outbox may contain an unacknowledged request.
        var mayHaveUnacknowledged = true
    }

    /// The number of pending changes, unless something other than sending changed it: counting takes time proportional to the number.
    struct PendingCountCache {
        private(set) var count: Int?
        private var version = 0

        mutating func invalidate() {
            count = nil
            version += 1
        }

        /// - Parameter earlier: The cache when counting began.
        mutating func set(_ newCount: Int, ifUnchangedSince earlier: PendingCountCache) {
            if version == earlier.version { count = newCount }
        }

        mutating func subtract(_ settled: Int) { if let pending = count { count = max(0, pending - settled) } }
    }

    /// Why changes of a public store are not sent.
    static let signedOutReason = "signed out: changes are sent after the user signs in"

    let sync: StoreSync

    private var file: MirrorFile { sync.file }

    // MARK: Plan

    func plan(_ size: RequestSize) async throws -> ExportPlan {
        await abandonPipelinedRequest()
        try await replayOutbox()
        try await Importer(sync: sync).applyWithheld()
        let (pendingBefore, hasImported) = sync.state.withLock { state in
            defer { state.exporter.hasImported = false }
            return (state.exporter.pendingCount, state.exporter.hasImported)
        }
        // A public store sends nothing before its user is known.
        let database = file.scope == .public ? nil : try? sync.openDatabase()
        var plan = try await sync.onQueue { [file, environment = sync.environment] in
            try file.exports.nextBatch(itemsMax: size.items, pending: pendingBefore.count, hasImported: hasImported) {
                try? database?.write($0, key: environment.makeName(), isAtomic: size.isAtomic)
            }
        }
        // Only after everything else is sent, so that the accepted changes of the same save are known.
        if plan.batch == nil, plan.rejection != nil, try await RejectedChangeReverter(sync: sync).restoreRejectedDeletions() {
            plan = try await sync.onQueue { [file] in try file.exports.nextBatch(itemsMax: size.items, pending: nil, hasImported: false) }
        }
        let rejectedCount = plan.rejection == nil ? 0 : try await sync.onQueue { [file] in try file.rejectedChanges.count() }
        sync.state.withLock { [plan] state in
            state.details.rejectedCount = rejectedCount
            if plan.batch?.request != nil { state.exporter.mayHaveUnacknowledged = true }
            state.exporter.pendingCount.set(plan.pendingCount, ifUnchangedSince: pendingBefore)
        }
        guard plan.batch != nil, sync.permissions.isSignedOut else { return plan }
        return try await isSignedIn() ? plan : ExportPlan(batch: nil, pendingCount: plan.pendingCount, rejection: Self.signedOutReason)
    }

    /// Asks the server for the account: reading a public database needs none, writing does.
    private func isSignedIn() async throws -> Bool {
        let database = try sync.openDatabase()
        let (caller, server) = try await database.introduction()
        try await PermissionUpdates(sync: sync).store(caller)
        guard let user = caller?.identity.userRecordName else { return false }
        let owner = StoreOwner(user: user, server: server)
        try await sync.onQueue { [file] in try file.account.remember(SignIn(owner: owner, credential: database.client.transport.credential))
        }
        return true
    }

    /// Plans deletions, for a server with full storage.
    func planDeletions(_ size: RequestSize) async throws -> ExportPlan {
        await abandonPipelinedRequest()
        try await replayOutbox()
        return try await sync.onQueue { [file] in try file.exports.nextDeletions(itemsMax: size.items) }
    }

    // MARK: Send

    func send(_ batch: ExportBatch, pendingCount: Int, _ size: RequestSize) async throws -> SyncMachine.Outcome {
        let database = try sync.openDatabase()
        let written: (batch: ExportBatch, request: ExportBatch.Request)?, rejected: [String: ItemOutcome]
        do {
            (written, rejected) = try await write(batch, isAtomic: size.isAtomic, database)
        } catch {
            return try await unsent(batch, CloudFailure(error))
        }
        guard let (sent, request) = written else {
            return .batchSettled(try await sync.onQueue { [file] in try file.exports.settle(batch, key: nil, outcomes: rejected) })
        }
        async let inFlight = response(to: sent, request, database)
        let nextSize = size.afterAcceptance
        let pipelined = pendingCount > batch.items.count ? await planPipelined(behind: batch, nextSize, database) : nil
        let response: SyncDatabase.Response
        do {
            response = try await inFlight
        } catch {
            if pipelined != nil { try? await sync.onQueue { [file] in try file.pipelinedExport.forget(behind: request.key) } }
            return try await unsent(batch, CloudFailure(error))
        }
        let following = rejected.isEmpty ? await sendPipelined(pipelined, after: response, to: sent, database) : nil
        sync.state.withLock { $0.exporter.pipelined = following }
        let events = EventRecorder(sync: sync)
        let ending = events.endingNow()
        var (verdict, next) = try await sync.onQueue { [file] in
            // Items with rejected uploads are settled together with the sent ones.
            let settled = ExportBatch(
                items: sent.items + batch.items.filter { rejected[$0.recordName] != nil }, zone: batch.zone, syncToken: batch.syncToken)
            return try file.pipelinedExport.settle(
                settled, key: request.key, outcomes: response.outcomes.merging(rejected) { sent, _ in sent }, response: response,
                pipelined: pipelined, isPipelinedSent: following != nil, ending: ending)
        }
        if verdict.firstFailure == nil { events.didStore(ending) }
        if let following { next?.batch?.syncToken = following.syncToken }
        next?.pendingCount = pendingCount - verdict.accepted
        sync.state.withLock { [next] in $0.exporter.mayHaveUnacknowledged = next?.batch?.request != nil || following != nil }
        if let failure = verdict.requestFailure, failure.isZoneGone {
            if !batch.zone.isHome { return try await unsent(batch, failure) }
            verdict.requestFailure = await Importer(sync: sync).explanation(of: failure)
        }
        if verdict.failure?.code == .permissionFailure { PermissionUpdates(sync: sync).requestSoon() }
        sync.state.withLock { [verdict] in $0.exporter.pendingCount.subtract(verdict.accepted + verdict.failed) }
        sync.permissions.forget()
        // Sent values replace quarantined ones.
        try await sync.countUnreadable()
        return .batchSettled(verdict, next: next)
    }

    /// Uploads the assets of a batch and stores its request in the outbox, unless planning did so.
    ///
    /// - Returns: nil if every item is rejected.
    private func write(
        _ batch: ExportBatch, isAtomic: Bool, _ database: SyncDatabase
    ) async throws -> (written: (batch: ExportBatch, request: ExportBatch.Request)?, rejected: [String: ItemOutcome]) {
        if let request = batch.request { return ((batch, request), [:]) }
        let (uploaded, rejected) = try await database.upload(batch, key: sync.environment.makeName(), isAtomic: isAtomic)
        guard let uploaded, let request = uploaded.request else { return (nil, rejected) }
        sync.state.withLock { $0.exporter.mayHaveUnacknowledged = true }
        try await sync.onQueue { [file] in try file.outbox.put(uploaded, request) }
        return ((uploaded, request), rejected)
    }

    /// Handles a batch that was not sent, since its shared zone is missing: the zone is removed with its pending changes.
    private func unsent(_ batch: ExportBatch, _ failure: CloudFailure) async throws -> SyncMachine.Outcome {
        guard !batch.zone.isHome, failure.isZoneGone else { throw failure }
        try await Importer(sync: sync).remove(batch.zone, failure)
        return .batchSettled(BatchVerdict())
    }

    /// Returns the response to a batch's request, which may be in flight already.
    private func response(
        to batch: ExportBatch, _ request: ExportBatch.Request, _ database: SyncDatabase
    ) async throws -> SyncDatabase.Response {
        let report = { @Sendable [sync] in sync.send(.itemsReceived($0)) }
        guard let pipelined = sync.state.withLock({ $0.exporter.pipelined?.key == request.key ? $0.exporter.pipelined.take() : nil }) else {
            return try await exchange(batch, request, database, progress: SendProgress(report))
        }
        pipelined.progress.begin(report)
        return try await withTaskCancellationHandler {
            try await pipelined.response.value
        } onCancel: {
            pipelined.response.cancel()
        }
    }

    private func exchange(
        _ batch: ExportBatch, _ request: ExportBatch.Request, _ database: SyncDatabase, progress: SendProgress = SendProgress()
    ) async throws -> SyncDatabase.Response {
        let wasInStep = sync.state.withLock { state in
            // Fetched pages show the records from before the request.
            state.importer.chains.removeAll()
            return state.importer.pushed.sends()
        }
        do {
            let response = try await database.send(batch, request) { progress.set($0) }
            if response.syncToken != nil { sync.state.withLock { $0.importer.pushed.sent(wasInStep: wasInStep) } }
            return response
        } catch {
            let failure = CloudFailure(error)
            // If the file cannot be written, the request stays in the outbox, which is safe.
            try? await sync.onQueue { [file] in try file.outbox.note(failure, ofRequest: request.key, in: batch.zone) }
            if failure.code == .notAuthenticated { sync.permissions.signIn(nil) }
            throw error
        }
    }

    // MARK: Outbox

    /// Replays unacknowledged requests in order: their effect is known before anything is imported or sent.
    func replayOutbox() async throws {
        guard sync.state.withLock({ $0.exporter.mayHaveUnacknowledged }) else { return }
        while let batch = try await sync.onQueue({ [file] in try file.outbox.next() }), let request = batch.request {
            let response: SyncDatabase.Response
            do {
                response = try await exchange(batch, request, try sync.openDatabase())
            } catch {
                _ = try await unsent(batch, CloudFailure(error))
                continue
            }
            _ = try await sync.onQueue { [file] in
                try file.exports.settle(batch, key: request.key, outcomes: response.outcomes, response: response)
            }
            sync.permissions.forget()
        }
        sync.state.withLock { $0.exporter.mayHaveUnacknowledged = false }
    }

    // MARK: Pipelining

    /// Plans the batch behind the one in flight. If the file cannot be read, settling the batch in flight reports it.
    private func planPipelined(behind batch: ExportBatch, _ size: RequestSize, _ database: SyncDatabase) async -> PipelinedExport.Batch? {
        try? await sync.onQueue { [file, environment = sync.environment] in
            try file.pipelinedExport.plan(behind: batch, itemsMax: size.items) {
                try database.write($0, key: environment.makeName(), isAtomic: size.isAtomic)
            }
        }
    }

    /// Sends the pipelined batch before the response to the one before it is stored.
    ///
    /// - Returns: nil if the response, or a later save, makes another batch the next one.
    private func sendPipelined(
        _ pipelined: PipelinedExport.Batch?, after response: SyncDatabase.Response, to sent: ExportBatch, _ database: SyncDatabase
    ) async -> PipelinedRequest? {
        guard let pipelined, let request = pipelined.batch.request,
            sent.items.allSatisfy({ response.outcomes[$0.recordName]?.isAcceptance == true }),
            (try? await sync.onQueue { [file] in try file.pipelinedExport.isCurrent(pipelined) }) == true
        else { return nil }
        var batch = pipelined.batch
        batch.syncToken = sent.syncToken == nil ? nil : response.syncToken
        let progress = SendProgress()
        let task = Task(executorPreference: sync.environment.executor) { [self, batch] in
            try await exchange(batch, request, database, progress: progress)
        }
        return PipelinedRequest(key: request.key, response: task, progress: progress, syncToken: batch.syncToken)
    }

    /// Cancels a pipelined request before its operation has begun. It stays in the outbox, and is replayed before anything else is sent.
    func abandonPipelinedRequest() async {
        guard let pipelined = sync.state.withLock({ $0.exporter.pipelined.take() }) else { return }
        pipelined.response.cancel()
        _ = await pipelined.response.result
    }
}
