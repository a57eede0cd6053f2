// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// Batches of pending changes, and the outcomes in the server's responses.
struct ExportTransactions: FileTransactions {
    let file: MirrorFile

    /// The size of loaded rows at which a batch ends.
    private static let batchRowBytesMax = 48_000_000

    /// Reads history and plans the next batch. Shared zones come first: the source record of a relocated object is deleted after its
    /// destination record has arrived.
    ///
    /// - Parameters:
    ///   - pending: The number of pending items, if it is known: counting takes time in proportion.
    ///   - hasImported: Whether an import preceded, so that probably nothing is pending: a read without a write transaction finds that out.
    ///   - write: Creates the request of a batch without uploads. The request is stored in the same transaction.
    func nextBatch(
        itemsMax: Int, pending: Int?, hasImported: Bool, write writeRequest: (ExportBatch) throws -> ExportBatch? = { _ in nil }
    ) throws -> Committed<ExportPlan> {
        if hasImported, let nothing = try store.read({ try nothingToSend($0) }) { return Committed(value: nothing) }
        return try write { writer, related in
            try file.history.scan(writer, &related)
            if scope == .shared { try forgetUnsharedDeletions(writer) }
            let rows = try ZoneTable.all(writer).filter { $0.zone.number >= firstZone }
            for row in rows.sorted(by: { $0.zone.number > $1.zone.number }) {
                let zone = row.zone
                let metadata = reader(writer, zone: zone.number)
                while true {
                    let batch = try batch(itemsMax: itemsMax, zone, writer, metadata)
                    try self.writer(writer, zone: zone.number).write(batch.changes, now: now)
                    if !batch.items.isEmpty {
                        // The count may lack items of the last save, and changes of the plan.
                        let known = batch.changes.isEmpty ? pending.flatMap { $0 < batch.items.count ? nil : $0 } : nil
                        let planned = ExportBatch(
                            items: batch.items, zone: zone, syncToken: exportToken(row), historyToken: historyToken(row))
                        let written = try writeRequest(planned)
                        if let written, let request = written.request { try file.outbox.put(written, request, writer) }
                        return ExportPlan(
                            batch: written ?? planned, pendingCount: try known ?? metadata.pendingCount(from: firstZone),
                            rejection: try refusal(metadata))
                    }
                    if batch.changes.isEmpty { break }
                }
            }
            return ExportPlan(batch: nil, pendingCount: 0, rejection: try refusal(reader(writer)))
        }
    }

    /// Reads history and plans a batch of deletions, which need no storage on the server.
    ///
    /// Links keep their order with other items, and so do objects with unique values: their duplicates must be known first.
    func nextDeletions(itemsMax: Int) throws -> Committed<ExportPlan> {
        try write { writer, related in
            try file.history.scan(writer, &related)
            var plan = ExportPlan(
                batch: nil, pendingCount: try reader(writer).pendingCount(from: firstZone), rejection: try refusal(reader(writer)))
            for row in try ZoneTable.all(writer) where row.zone.number >= firstZone {
                let deletions = try reader(writer, zone: row.zone.number).pendingDeletions(limit: itemsMax).filter {
                    !mapping.isUnique($0.key.entityIndex)
                }
                let batch = BatchPlan.plan(
                    records: deletions, links: [], loaded: BatchPlan.Loaded(), mapping: mapping, itemsMax: itemsMax,
                    requestsMax: surroundings.requestsPerBatch, limits: surroundings.limits)
                guard !batch.items.isEmpty else { continue }
                plan.batch = ExportBatch(items: batch.items, zone: row.zone, syncToken: exportToken(row), historyToken: historyToken(row))
                break
            }
            return plan
        }
    }

    /// Returns the change token for a batch of a zone; nil if it does not save an import.
    func exportToken(_ row: ZoneTable.Row) -> String? { scope == .private && !row.isFullFetch ? row.token : nil }

    /// Returns the change token that names the history of a batch's zone; nil before the first import, and for a public database.
    private func historyToken(_ row: ZoneTable.Row) -> String? { scope == .public ? nil : row.exportedToken ?? row.token }

    /// Returns the plan of an empty batch if only imports happened since history was read. It needs no write transaction.
    private func nothingToSend(_ reader: StoreReader) throws -> ExportPlan? {
        let metadata = self.reader(reader)
        guard scope == .private, try !metadata.hasPending(from: firstZone), let read = try StateTable.int(.historyRead, reader)
        else { return nil }
        let heads = try reader.historyHeads(after: read, limit: Self.importsPassedOver + 1)
        // Transactions are numbered without gaps: a missing one was purged before it was read.
        guard heads.count <= Self.importsPassedOver, try reader.latestTransaction() == read + Int64(heads.count),
            heads.allSatisfy({ MirrorNames.isMirror($0.author) })
        else { return nil }
        return ExportPlan(batch: nil, pendingCount: 0, rejection: try refusal(metadata))
    }

    /// The unread imports that are tolerated. With more of them history is read, so that its unread part stays short.
    private static let importsPassedOver = 8

    /// Removes deletions of objects that belonged to no share: the server never had them.
    private func forgetUnsharedDeletions(_ writer: StoreWriter) throws {
        try self.writer(writer, zone: MirrorZone.home).removePendingDeletions()
    }

    /// The reason of the first item that needs an action of the user or the app; nil without one.
    func refusal(_ metadata: SyncMetadataReader) throws -> String? {
        if let refusal = try metadata.refusal() { return refusal }
        guard scope == .shared else { return nil }
        let count = try reader(metadata.reader).recordCount()
        guard count > 0 else { return nil }
        return
            "\(count == 1 ? "an object" : "\(count) objects") in the store for shared data belong\(count == 1 ? "s" : "") to no share: relate to objects of one, or share with share(_:to:)"
    }

    func countPending() throws -> Committed<Int> {
        try write { writer, related in
            try file.history.scan(writer, &related)
            return try reader(writer).pendingCount(from: firstZone)
        }
    }

    var itemsPerBatch: Int { surroundings.limits.operationsPerRequest * surroundings.requestsPerBatch }

    /// - Parameter names: Names of records and links that are in flight.
    func batch(
        itemsMax: Int, _ zone: MirrorZone, _ writer: StoreWriter, _ metadata: SyncMetadataReader, passingOver names: Set<String> = []
    ) throws -> BatchPlan {
        var pending: [RecordState] = []
        var loaded = BatchPlan.Loaded()
        var bytes = 0
        let hasParked = try metadata.hasDeferredReferences()
        func load(_ row: Row, of state: RecordState, into loaded: inout BatchPlan.Loaded) throws {
            loaded.rows[state.key] = row
            for key in row.references where loaded.names[key] == nil { loaded.names[key] = try metadata.name(of: key) }
            if hasParked { loaded.parked += try metadata.deferredReferences(from: state.recordName) }
            if !zone.isHome { loaded.receipts[state.recordName] = try file.relocationArrivals.stamp(of: row, for: state, writer) }
        }
        for state in try metadata.pendingRecords(limit: itemsMax, passingOver: names) {
            if state.stage == .needsUpload, let row = try writer.row(state.key) {
                bytes += row.approximateBytes
                // The first record is included regardless of its size.
                if bytes > Self.batchRowBytesMax, !pending.isEmpty { break }
                try load(row, of: state, into: &loaded)
            }
            pending.append(state)
        }
        if mapping.hasUniqueness {
            try loaded.addSeparated(by: pending) {
                try metadata.record(named: $0)
            } load: { loaded, state in
                if let row = try writer.row(state.key) { try load(row, of: state, into: &loaded) }
            }
        }
        let links = try metadata.pendingLinks(limit: itemsMax + names.count).filter { !names.contains($0.recordName) }
        return BatchPlan.plan(
            records: pending, links: links, loaded: loaded, mapping: mapping, itemsMax: itemsMax,
            requestsMax: surroundings.requestsPerBatch, limits: surroundings.limits)
    }

    /// Stores the outcome of a batch.
    ///
    /// - Parameters:
    ///   - key: The key of the acknowledged request; nil if none was sent.
    ///   - response: The response to the request; nil if none was sent.
    func settle(_ sent: ExportBatch, key: String?, outcomes: [String: ItemOutcome], response: SyncDatabase.Response? = nil) throws
        -> BatchVerdict
    {
        try store.write { writer in
            let verdict = try settle(sent, key: key, outcomes: outcomes, response: response, writer)
            if let key, verdict.accepted < sent.items.count { try OutboxTable.removeUnsent(but: key, writer) }
            return verdict
        }
    }

    func settle(
        _ sent: ExportBatch, key: String?, outcomes: [String: ItemOutcome], response: SyncDatabase.Response?, _ writer: StoreWriter
    ) throws -> BatchVerdict {
        if let key { try OutboxTable.remove(key, writer) } else { try OutboxTable.removeAll(writer) }
        let metadata = reader(writer, zone: sent.zone.number)
        // A concurrently deleted zone.
        guard let zone = try ZoneTable.row(sent.zone.number, writer), zone.zone == sent.zone else { return BatchVerdict() }
        var records: [String: RecordState] = [:]
        var links: [String: LinkState] = [:]
        for item in sent.items {
            if item.isLink {
                links[item.recordName] = try metadata.link(named: item.recordName)
            } else {
                records[item.recordName] = try metadata.record(named: item.recordName)
            }
        }
        let settlement = ExportSettlement.settle(
            sent.items, outcomes: outcomes,
            generation: zone.token == nil ? zone.generation - 1 : zone.generation, records: records, links: links, mapping: mapping)
        try self.writer(writer, zone: sent.zone.number).write(settlement.changes, now: now)
        try file.deletions.remember(of: sent, settlement.changes, records, writer)
        try file.deletions.storeForwarded(from: settlement.changes.removedRecords.compactMap { records[$0] }, writer)
        // Items that were not accepted need the changes of the server.
        if let token = response?.syncToken, let known = sent.syncToken, zone.token == known, !zone.isFullFetch,
            settlement.verdict.accepted == sent.items.count
        {
            try ZoneTable.set(.token, .text(token), of: sent.zone.number, writer)
            try ZoneTable.set(.exportedToken, .null, of: sent.zone.number, writer)
        } else if scope != .public, let token = response?.exportedToken {
            try ZoneTable.set(.exportedToken, .text(token), of: sent.zone.number, writer)
        }
        // The list of zones names no zone that this device alone changed. Fetching it shows whether a restored server has lost the change.
        if !sent.zone.isHome, response?.exportedToken != nil { try ZoneTable.set(.needsFetch, .int(1), of: sent.zone.number, writer) }
        if settlement.verdict.leavesUnapplied { try ZoneTable.beginFullFetch(sent.zone.number, expectsHistory: true, writer) }
        return settlement.verdict
    }

    /// Quarantines every item of a batch as rejected permanently; for a failure that may be the server's fault, moves them behind all
    /// others instead.
    func quarantine(_ sent: ExportBatch, _ failure: CloudFailure) throws -> BatchVerdict {
        guard failure.code == .invalidArguments else {
            try store.write { writer in
                let metadata = self.writer(writer, zone: sent.zone.number)
                for item in sent.items { try metadata.moveToEndOfQueue(item.recordName) }
            }
            return BatchVerdict()
        }
        let refusal = ItemOutcome.refused(CloudFailure(.invalidArguments, failure.reason))
        return try settle(
            sent, key: nil, outcomes: Dictionary(sent.items.map { ($0.recordName, refusal) }, uniquingKeysWith: { first, _ in first }))
    }

    /// Clears permanent rejections: they are retried once in each launch, since the server's schema or rules may have changed.
    func forgiveRefusals(_ writer: StoreWriter) throws {
        try RecordTable.clearRejections(writer)
        try LinkTable.clearRejections(writer)
    }
}

extension Row {
    var references: [RowKey] { values.compactMap(\.reference) }

    var approximateBytes: Int {
        values.reduce(0) { sum, value in
            switch value {
            case .string(let text), .url(let text): sum + text.utf8.count
            case .data(let data): sum + data.count
            default: sum + 8
            }
        }
    }
}
