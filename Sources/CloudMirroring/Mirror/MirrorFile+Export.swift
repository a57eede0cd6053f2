// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

extension MirrorFile {
    /// Reads history and prepares the next batch. Shared zones come first: what moves there leaves the home zone after it
    /// has arrived.
    ///
    /// - Parameters:
    ///   - pending: How much waits, where that is known: counting takes the longer the more it is.
    ///   - hasImported: Whether an import came before, so that there is probably nothing: that is found out without a turn to write.
    ///   - write: Writes the request of a batch, if it can be written at once. Then it is kept in the same transaction.
    func nextBatch(
        itemsMax: Int, pending: Int?, hasImported: Bool, write: (ExportBatch) throws -> ExportBatch? = { _ in nil }
    ) throws -> ExportPlan {
        if hasImported, let nothing = try store.read({ try nothingToSend($0) }) { return nothing }
        return try store.write { writer in
            try scan(writer)
            if scope == .shared { try forgetUnsharedDeletions(writer) }
            let rows = try ZoneTable.all(writer).filter { $0.zone.number >= firstZone }
            for row in rows.sorted(by: { $0.zone.number > $1.zone.number }) {
                let zone = row.zone
                let bookkeeping = reader(writer, zone: zone.number)
                while true {
                    let batch = try batch(itemsMax: itemsMax, zone, writer, bookkeeping)
                    try self.writer(writer, zone: zone.number).write(batch.changes, now: now)
                    if !batch.items.isEmpty {
                        // What was saved just now may not be among what was counted.
                        let known = pending.flatMap { $0 < batch.items.count ? nil : $0 }
                        let planned = ExportBatch(items: batch.items, zone: zone, syncToken: exportToken(row))
                        let written = try write(planned)
                        if let written, let request = written.request { try put(written, request, writer) }
                        return ExportPlan(
                            batch: written ?? planned, pendingCount: try known ?? bookkeeping.pendingCount(from: firstZone),
                            rejection: try refusal(bookkeeping))
                    }
                    if batch.changes.isEmpty { break }
                }
            }
            return ExportPlan(batch: nil, pendingCount: 0, rejection: try refusal(reader(writer)))
        }
    }

    /// Reads history and prepares a batch of what needs no room on the server.
    ///
    /// Links stay in their order with others, and so do objects whose equals have to be known before they go.
    func nextDeletions(itemsMax: Int) throws -> ExportPlan {
        try store.write { writer in
            try scan(writer)
            var plan = ExportPlan(batch: nil, pendingCount: try reader(writer).pendingCount(from: firstZone), rejection: try refusal(reader(writer)))
            for row in try ZoneTable.all(writer) where row.zone.number >= firstZone {
                let deletions = try reader(writer, zone: row.zone.number).pendingDeletions(limit: itemsMax).filter { !mapping.isUnique($0.key.entityIndex) }
                let batch = BatchPlan.plan(
                    records: deletions, links: [], loaded: BatchPlan.Loaded(), mapping: mapping, itemsMax: itemsMax, requestsMax: surroundings.requestsPerBatch, limits: surroundings.limits)
                guard !batch.items.isEmpty else { continue }
                plan.batch = ExportBatch(items: batch.items, zone: row.zone, syncToken: exportToken(row))
                break
            }
            return plan
        }
    }

    /// Up to where a zone is known to who sends something to it now; nil where that spares no import.
    func exportToken(_ row: ZoneTable.Row) -> String? { scope == .private && !row.isFullFetch ? row.token : nil }

    /// What planning comes to where nothing happened but imports, as after each of them: known without a turn to write.
    private func nothingToSend(_ reader: StoreReader) throws -> ExportPlan? {
        let bookkeeping = self.reader(reader)
        guard scope == .private, try !bookkeeping.hasPending(from: firstZone), let read = try MirrorState.int(.historyRead, reader)
        else { return nil }
        let heads = try reader.historyHeads(after: read, limit: Self.importsPassedOver + 1)
        // Transactions are numbered without gaps: a missing one was purged before it was read.
        guard heads.count <= Self.importsPassedOver, try reader.latestTransaction() == read + Int64(heads.count),
            heads.allSatisfy({ MirrorNames.isMirror($0.author) })
        else { return nil }
        return ExportPlan(batch: nil, pendingCount: 0, rejection: try refusal(bookkeeping))
    }

    /// Imports that were not read yet; more are read, so that what is to be read stays little.
    private static let importsPassedOver = 8

    /// What belonged to no share and is gone is nobody's concern.
    private func forgetUnsharedDeletions(_ writer: StoreWriter) throws {
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try writer.execute("DELETE FROM \(table) WHERE zone = \(MirrorZone.home) AND stage = \(MirrorStage.needsDelete.rawValue)")
        }
    }

    /// Why something does not reach the server until somebody does something.
    func refusal(_ bookkeeping: BookkeepingReader) throws -> String? {
        if let refusal = try bookkeeping.refusal() { return refusal }
        guard scope == .shared else { return nil }
        let count = try reader(bookkeeping.reader).recordCount()
        guard count > 0 else { return nil }
        return "\(count == 1 ? "an object" : "\(count) objects") in the store for shared data belong\(count == 1 ? "s" : "") to no share: relate to objects of one, or share with share(_:to:)"
    }

    func countPending() throws -> Int {
        try store.write { writer in
            try scan(writer)
            return try reader(writer).pendingCount(from: firstZone)
        }
    }

    var itemsPerBatch: Int { surroundings.limits.operationsPerRequest * surroundings.requestsPerBatch }

    /// - Parameter names: Of records and links that are on their way already.
    func batch(
        itemsMax: Int, _ zone: MirrorZone, _ writer: StoreWriter, _ bookkeeping: BookkeepingReader, passingOver names: Set<String> = []
    ) throws -> BatchPlan {
        var pending: [RecordState] = []
        var loaded = BatchPlan.Loaded()
        var bytes = 0
        let hasParked = try bookkeeping.hasParked()
        for state in try bookkeeping.pendingRecords(limit: itemsMax, passingOver: names) {
            if state.stage == .needsUpload, let row = try writer.row(state.key) {
                bytes += row.approximateBytes
                // The first is taken however long it is.
                if bytes > Self.batchRowBytesMax, !pending.isEmpty { break }
                loaded.rows[state.key] = row
                for key in row.references where loaded.names[key] == nil { loaded.names[key] = try bookkeeping.name(of: key) }
                if hasParked { loaded.parked += try bookkeeping.parked(source: state.recordName) }
                if !zone.isHome, state.changeTag == nil { loaded.receipts[state.recordName] = try receipt(of: row, writer) }
            }
            pending.append(state)
        }
        let links = try bookkeeping.pendingLinks(limit: itemsMax + names.count).filter { !names.contains($0.recordName) }
        return BatchPlan.plan(
            records: pending, links: links, loaded: loaded, mapping: mapping, itemsMax: itemsMax, requestsMax: surroundings.requestsPerBatch, limits: surroundings.limits)
    }

    /// Writes down what the server did with a batch.
    ///
    /// - Parameters:
    ///   - key: Of the request that was answered; nil if none was sent.
    ///   - token: The point after the batch, if nothing but the batch lies between it and the batch's own.
    func settle(_ sent: ExportBatch, key: String?, outcomes: [String: ItemOutcome], token: String? = nil) throws -> BatchVerdict {
        try store.write { writer in
            let verdict = try settle(sent, key: key, outcomes: outcomes, token: token, writer)
            if let key, verdict.accepted < sent.items.count { try OutboxTable.removeUnsent(but: key, writer) }
            return verdict
        }
    }

    func settle(_ sent: ExportBatch, key: String?, outcomes: [String: ItemOutcome], token: String?, _ writer: StoreWriter) throws -> BatchVerdict {
        if let key { try OutboxTable.remove(key, writer) } else { try OutboxTable.removeAll(writer) }
        let bookkeeping = reader(writer, zone: sent.zone.number)
        // A zone that went meanwhile took everything with it.
        guard let zone = try ZoneTable.row(sent.zone.number, writer), zone.zone == sent.zone else { return BatchVerdict() }
        var records: [String: RecordState] = [:]
        var links: [String: LinkState] = [:]
        for item in sent.items {
            if item.isLink {
                links[item.recordName] = try bookkeeping.link(named: item.recordName)
            } else {
                records[item.recordName] = try bookkeeping.record(named: item.recordName)
            }
        }
        let settlement = ExportSettlement.settle(
            sent.items, outcomes: outcomes,
            generation: zone.token == nil ? zone.generation - 1 : zone.generation, records: records, links: links, mapping: mapping)
        try self.writer(writer, zone: sent.zone.number).write(settlement.changes, now: now)
        try rememberDeletions(of: sent, settlement.changes, records, writer)
        // Of anything that was not settled the server says more in its changes.
        if let token, let known = sent.syncToken, zone.token == known, !zone.isFullFetch, settlement.verdict.accepted == sent.items.count {
            try ZoneTable.set("token", .text(token), of: sent.zone.number, writer)
        }
        return settlement.verdict
    }

    /// Quarantines every item of a batch as rejected permanently; for a failure that may be the server's fault, moves them behind all
    /// others instead.
    func quarantine(_ sent: ExportBatch, _ failure: CloudFailure) throws -> BatchVerdict {
        guard failure.code == .invalidArguments else {
            try store.write { writer in
                for item in sent.items {
                    for table in ["TARN_RECORD", "TARN_LINK"] {
                        try writer.execute(
                            """
                            UPDATE \(table) SET mark = 1 + COALESCE((SELECT MAX(mark) FROM \(table) WHERE zone = ?1 \
                            AND stage IN (1, 2) AND failure IS NULL), mark) WHERE zone = ?1 AND name = ?2
                            """, [.int(sent.zone.number), .text(item.recordName)])
                    }
                }
            }
            return BatchVerdict()
        }
        let refusal = ItemOutcome.refused(CloudFailure(.invalidArguments, failure.reason))
        return try settle(
            sent, key: nil, outcomes: Dictionary(sent.items.map { ($0.recordName, refusal) }, uniquingKeysWith: { first, _ in first }))
    }

    /// What the server refused is tried once more in each life of the app: its schema or its rules may be others now.
    func forgiveRefusals(_ writer: StoreWriter) throws {
        for table in ["TARN_RECORD", "TARN_LINK"] { try writer.execute("UPDATE \(table) SET failure = NULL WHERE failure IS NOT NULL") }
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
