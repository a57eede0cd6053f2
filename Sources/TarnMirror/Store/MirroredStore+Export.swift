// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore

/// Plans batches, and stores the server's responses.
extension MirroredStore {
    /// The size of loaded rows at which a batch ends.
    private static let batchRowBytesMax = 16_000_000
    /// Rows that are loaded before their size is known.
    private static let rowsPerLoad = 20
    /// The attempts without a response after which a request is dropped, so that it does not block others.
    private static let uncertainAttemptsMax: Int64 = 8

    private var home: MirrorZone { MirrorZone(number: MirrorZone.home, id: MirrorClient.home) }

    /// Reads history and plans the next batch.
    ///
    /// - Parameter write: Creates the request of a batch without uploads. The request is stored in the same save.
    /// - Returns: The plan, and the number of items that the server rejected permanently.
    func nextBatch(
        _ scope: SyncMachine.ExportScope, itemsMax: Int, write: (ExportBatch) throws -> ExportBatch?
    ) throws -> (plan: ExportPlan, rejectedCount: Int) {
        try transaction {
            try scan()
            let rejections = try rejections()
            let rejection = rejections.reason.map {
                "the server refused \(rejections.count == 1 ? "an object" : "\(rejections.count) objects"): \($0)"
            }
            while true {
                let batch = try plan(scope, itemsMax: itemsMax)
                if !batch.changes.isEmpty {
                    knownPendingCount = nil
                    try metadata.apply(try MetadataChanges(batch.changes, now: now, mapping: mapping) { try keys.uri(of: $0) })
                }
                if !batch.items.isEmpty {
                    let state = try metadata.state()
                    let planned = ExportBatch(
                        items: batch.items, zone: home, syncToken: state.isFullFetch ? nil : state.token,
                        historyToken: state.exportedToken ?? state.token)
                    let written = scope == .all ? try write(planned) : nil
                    if let written { try appendRequest(of: written) }
                    let plan = ExportPlan(batch: written ?? planned, pendingCount: try countPending(), rejection: rejection)
                    return (plan, rejections.count)
                }
                if batch.changes.isEmpty { return (ExportPlan(batch: nil, pendingCount: 0, rejection: rejection), rejections.count) }
            }
        }
    }

    /// Queries the rejections only if there may be some: the items that are to be sent are all compared for that.
    private func rejections() throws -> (count: Int, reason: String?) {
        if !mayHaveRejections { return (0, nil) }
        let rejections = try metadata.rejections()
        mayHaveRejections = rejections.count > 0
        return rejections
    }

    private func plan(_ scope: SyncMachine.ExportScope, itemsMax: Int) throws -> BatchPlan {
        let stages: [MirrorStage] = scope == .all ? [.needsUpload, .needsDelete] : [.needsDelete]
        let pending = try metadata.pendingRecords(stages, limit: itemsMax).compactMap { try $0.state(mapping) }
        var (fitting, loaded) = try load(pending)
        loaded.names = try names(ofTargetsIn: loaded.rows.values)
        if try metadata.has(.deferred) {
            for state in fitting where state.stage == .needsUpload {
                loaded.parked += try metadata.deferredReferences(from: state.recordName)
            }
        }
        let links = scope == .all ? try metadata.pendingLinks(limit: itemsMax) : []
        return BatchPlan.plan(
            records: fitting, links: links, loaded: loaded, mapping: mapping, itemsMax: itemsMax, limits: environment.limits)
    }

    /// Loads the rows of records up to the size of a batch, a few at a time.
    private func load(_ pending: [RecordState]) throws -> (fitting: [RecordState], loaded: BatchPlan.Loaded) {
        var fitting: [RecordState] = []
        var loaded = BatchPlan.Loaded()
        var bytes = 0
        for start in stride(from: 0, to: pending.count, by: Self.rowsPerLoad) {
            let part = pending[start..<min(start + Self.rowsPerLoad, pending.count)]
            let rows = try rows(part.filter { $0.stage == .needsUpload }.map(\.key))
            for state in part {
                bytes += rows[state.key]?.approximateBytes ?? 0
                // The first record is included regardless of its size.
                guard bytes <= Self.batchRowBytesMax || fitting.isEmpty else { return (fitting, loaded) }
                fitting.append(state)
                loaded.rows[state.key] = rows[state.key]
            }
        }
        return (fitting, loaded)
    }

    // MARK: Outbox

    /// Stores a request before it is sent. If its response is lost, the same request is replayed, also by the next process: a newer one
    /// could let an old value win against an edit of it.
    func put(_ batch: ExportBatch) throws { try transaction { try appendRequest(of: batch) } }

    private func appendRequest(of batch: ExportBatch) throws {
        guard let request = batch.request, let body = request.bodies.first else { return }
        try metadata.append(
            MetadataFile.StoredRequest(
                key: request.key, body: Data(body), notes: batch.items.map(\.note).joined(separator: "\n")))
    }

    /// Returns the batch that has to be replayed before anything else is sent; nil if all requests were acknowledged.
    func outbox() throws -> ExportBatch? {
        try transaction {
            guard let stored = try metadata.firstRequest() else { return nil }
            let request = try ModifyRecordsRequest(json: [UInt8](stored.body))
            let items = zip(request.operations, stored.notes.split(separator: "\n")).compactMap { operation, note in
                ExportBatch.Operation(operation.kind).flatMap { ExportBatch.Item($0, operation.record, note: note) }
            }
            return ExportBatch(
                items: items, zone: home,
                phase: .written(
                    ExportBatch.Request(
                        key: stored.key, bodies: [[UInt8](stored.body)], plainBodies: nil, counts: [request.operations.count],
                        isReplay: true)))
        }
    }

    /// Decides whether a failed request is replayed.
    func note(_ failure: CloudFailure, ofRequest key: String) throws {
        try transaction {
            if failure.code == .serverRecordChanged { try noteCreationsInDoubt() }
            guard let attempts = try metadata.attempts(ofRequest: key) else { return }
            switch RetryPolicy.fate(of: failure) {
            case .uncertain where attempts + 1 < Self.uncertainAttemptsMax: try metadata.setAttempts(attempts + 1, ofRequest: key)
            case .notNow where attempts > 0: break
            case .uncertain, .notNow, .refused: try metadata.removeRequests(key)
            }
        }
    }

    /// Notes the creations of requests in doubt. A restored server has no responses to requests since its backup, and other devices may
    /// have received the records.
    func noteCreationsInDoubt() throws {
        for (body, attempts) in try metadata.requests() where attempts > 0 {
            let created = try ModifyRecordsRequest(json: [UInt8](body)).operations.filter { $0.kind == .create }.map(\.record.recordName)
            var changes = MetadataChanges()
            for var columns in try metadata.records(named: created) where columns.tag == nil && columns.created == nil {
                columns.created = RecordStamp.unknownTime
                changes.records.append(columns)
            }
            try metadata.apply(changes)
        }
    }

    // MARK: Responses

    /// Stores the outcome of a batch.
    ///
    /// - Parameters:
    ///   - key: The key of the acknowledged request; nil if none was sent.
    ///   - next: The zone's token behind the batch, if nothing else changed.
    ///   - saved: A token of the history with the batch.
    func settle(
        _ sent: ExportBatch, key: String?, outcomes: [String: ItemOutcome], next: String? = nil, saved: String? = nil
    ) throws -> BatchVerdict {
        try transaction {
            try metadata.removeRequests(key)
            var state = try metadata.state()
            var records: [String: RecordState] = [:]
            var links: [String: LinkState] = [:]
            for record in try self.records(named: sent.items.filter { !$0.isLink }.map(\.recordName)) {
                records[record.recordName] = record
            }
            for link in try metadata.links(named: sent.items.filter(\.isLink).map(\.recordName)) { links[link.recordName] = link }
            let settlement = ExportSettlement.settle(
                sent.items, outcomes: outcomes, generation: state.token == nil ? state.generation - 1 : state.generation, records: records,
                links: links, mapping: mapping)
            try metadata.apply(try MetadataChanges(settlement.changes, now: now, mapping: mapping) { try keys.uri(of: $0) })
            // Records that the server lacks are no longer to be sent, and not counted as accepted.
            let verdict = settlement.verdict
            knownPendingCount = verdict.needImport > 0 ? nil : knownPendingCount.map { max(0, $0 - verdict.accepted - verdict.failed) }
            if verdict.failed > 0 { mayHaveRejections = true }
            // Items that were not accepted need the changes of the server.
            if let next, let known = sent.syncToken, state.token == known, !state.isFullFetch,
                verdict.accepted == sent.items.count
            {
                (state.token, state.exportedToken) = (next, nil)
            } else if let saved {
                state.exportedToken = saved
            }
            if verdict.leavesUnapplied { state.beginFullFetch(expectsHistory: true) }
            try metadata.set(state)
            return verdict
        }
    }

    /// Quarantines every item of a batch as rejected permanently; for a failure that may be the server's fault, moves them behind all
    /// others instead.
    func quarantine(_ sent: ExportBatch, _ failure: CloudFailure) throws -> BatchVerdict {
        guard failure.code == .invalidArguments else {
            try transaction {
                var state = try metadata.state()
                state.lastMark += 1
                for item in sent.items { try metadata.moveToEndOfQueue(item.recordName, mark: state.lastMark) }
                try metadata.set(state)
            }
            return BatchVerdict()
        }
        let refusal = ItemOutcome.refused(CloudFailure(.invalidArguments, failure.reason))
        return try settle(
            sent, key: nil, outcomes: Dictionary(sent.items.map { ($0.recordName, refusal) }, uniquingKeysWith: { first, _ in first }))
    }

    // MARK: Resets

    /// Fetches the zone from its beginning, and treats its objects as a reset demands.
    func reset(_ reset: SyncMachine.Reset) throws {
        try transaction {
            try scan()
            knownPendingCount = nil
            var state = try metadata.state()
            switch reset {
            case .fetchAgain: state.beginFullFetch(expectsHistory: true)
            // An import that finds the deletion halts: see ``Importer``. Without an archive, this store may be the last copy.
            case .removeRows: throw CloudFailure.dataDeleted
            case .uploadAgain:
                try noteCreationsInDoubt()
                try metadata.removeRequests()
                state.beginFullFetch(expectsHistory: false)
                // The set-up that follows creates the zone.
                state.databaseToken = nil
                try metadata.markUnsent { _, _ in true }
            case .uploadLost(let version):
                try noteCreationsInDoubt()
                try metadata.removeRequests()
                state.beginFullFetch(expectsHistory: false)
                try metadata.markUnsent { tag, stage in tag.map { version.isLost($0) } ?? (stage == .uploaded) }
            }
            try metadata.set(state)
        }
    }
}

extension RestoredVersion {
    /// Whether a version is later than the backup. Numbers in base 36 have their digits in the order of characters.
    fileprivate func isLost(_ tag: String) -> Bool {
        (tag.utf8.count, tag) > (changeTag.utf8.count, changeTag)
    }
}

extension Row {
    fileprivate var approximateBytes: Int {
        values.reduce(0) { sum, value in
            switch value {
            case .string(let text), .url(let text): sum + text.utf8.count
            case .data(let data): sum + data.count
            default: sum + 8
            }
        }
    }
}
