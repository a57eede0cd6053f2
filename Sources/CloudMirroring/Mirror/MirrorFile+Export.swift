// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

extension MirrorFile {
    struct PlannedBatch: Sendable {
        /// Empty when nothing is left to be sent.
        var batch: ExportBatch
        /// How much waits in all.
        var pending: Int
        /// Why something was refused for good.
        var refusal: String?
    }

    /// Reads history and prepares the next batch.
    ///
    /// - Parameter pending: How much waits, where that is known: counting takes the longer the more it is.
    func nextBatch(itemsMax: Int, pending: Int?) throws -> PlannedBatch {
        try store.write { writer in
            try scan(writer)
            let bookkeeping = reader(writer)
            while true {
                let batch = try batch(itemsMax: itemsMax, writer, bookkeeping)
                try self.writer(writer).write(batch.changes, now: now)
                if batch.items.isEmpty, !batch.changes.isEmpty { continue }
                return PlannedBatch(
                    batch: batch, pending: batch.items.isEmpty ? 0 : try pending ?? bookkeeping.pendingCount(),
                    refusal: try bookkeeping.refusal())
            }
        }
    }

    func countPending() throws -> Int {
        try store.write { writer in
            try scan(writer)
            return try reader(writer).pendingCount()
        }
    }

    private func batch(itemsMax: Int, _ writer: StoreWriter, _ bookkeeping: BookkeepingReader) throws -> ExportBatch {
        var pending: [RecordState] = []
        var loaded = ExportBatch.Loaded()
        var bytes = 0
        for state in try bookkeeping.pendingRecords(limit: itemsMax) {
            if state.stage == .needsUpload, let row = try writer.row(state.key) {
                bytes += row.approximateBytes
                // The first is taken however long it is.
                if bytes > Self.batchRowBytesMax, !pending.isEmpty { break }
                loaded.rows[state.key] = row
                for key in row.references where loaded.names[key] == nil { loaded.names[key] = try bookkeeping.name(of: key) }
                loaded.parked += try bookkeeping.parked(source: state.recordName)
            }
            pending.append(state)
        }
        let links = try bookkeeping.pendingLinks(limit: itemsMax)
        return ExportBatch(records: pending, links: links, loaded: loaded, mapping: mapping, itemsMax: itemsMax)
    }

    /// Writes down what the server did with a batch.
    func settle(
        _ batch: ExportBatch, outcomes: [String: ItemOutcome], assets: [String: [String: AssetValue]] = [:]
    ) throws -> BatchVerdict {
        try store.write { writer in
            try clearOutbox(writer)
            let bookkeeping = reader(writer)
            var records: [String: RecordState] = [:]
            var links: [String: LinkState] = [:]
            for item in batch.items {
                records[item.recordName] = try bookkeeping.record(named: item.recordName)
                links[item.recordName] = try bookkeeping.link(named: item.recordName)
            }
            let generation = try MirrorState.int(.generation, writer) ?? 0
            let hasToken = try MirrorState.text(.token, writer) != nil
            let settlement = ExportSettlement(
                of: batch, outcomes: outcomes, assets: assets, generation: hasToken ? generation : generation - 1,
                records: records, links: links, mapping: mapping)
            try self.writer(writer).write(settlement.changes, now: now)
            return settlement.verdict
        }
    }

    /// Marks every item of a batch as refused for good; with a failure that may be the server's own, puts them behind all
    /// others instead.
    func putAside(_ batch: ExportBatch, _ failure: CloudFailure) throws -> BatchVerdict {
        guard failure.code == .invalidArguments else {
            try store.write { writer in
                for item in batch.items {
                    for table in ["TARN_RECORD", "TARN_LINK"] {
                        try writer.execute(
                            "UPDATE \(table) SET mark = (SELECT MAX(mark) + 1 FROM \(table)) WHERE name = ?", [.text(item.recordName)])
                    }
                }
            }
            return BatchVerdict()
        }
        let refusal = ItemOutcome.refused(CloudFailure(.invalidArguments, failure.reason))
        return try settle(
            batch, outcomes: Dictionary(batch.items.map { ($0.recordName, refusal) }, uniquingKeysWith: { first, _ in first }))
    }

    /// What the server refused is tried once more in each life of the app: its schema or its rules may be others now.
    func forgiveRefusals(_ writer: StoreWriter) throws {
        for table in ["TARN_RECORD", "TARN_LINK"] { try writer.execute("UPDATE \(table) SET failure = NULL WHERE failure IS NOT NULL") }
    }

    // MARK: Starting over

    func reset(_ reset: SyncMachine.Reset) throws -> [RowKey] {
        try store.write { writer in
            let generation = (try MirrorState.int(.generation, writer) ?? 0) + 1
            try MirrorState.set(.token, .null, writer)
            try MirrorState.set(.generation, .int(generation), writer)
            try MirrorState.set(.isFullFetch, .int(1), writer)
            if reset != .fetchAgain { try clearOutbox(writer) }
            switch reset {
            case .fetchAgain: return []
            case .uploadAgain:
                let now = MirrorStage.needsUpload.rawValue, gone = MirrorStage.needsDelete.rawValue
                let missing = MirrorStage.missing.rawValue
                for table in ["TARN_RECORD", "TARN_LINK"] {
                    try writer.execute("DELETE FROM \(table) WHERE stage IN (\(gone), \(missing))")
                    try writer.execute("UPDATE \(table) SET tag = NULL, stage = \(now), failure = NULL")
                }
                try writer.execute("UPDATE TARN_RECORD SET ancestor = NULL, unapplied = NULL, digests = NULL")
                return []
            case .removeRows: return try removeRows(writer)
            }
        }
    }

    /// The user deleted the app's data elsewhere: what came from there, or went there, goes here too. What was made
    /// here and never sent stays.
    private func removeRows(_ writer: StoreWriter) throws -> [RowKey] {
        try scan(writer)
        let keys = try reader(writer).keysOnServer()
        try writer.nullifyReferences(to: keys)
        var changes = StoreChanges()
        changes.deletes = keys.map { RowDelete(key: $0, expectedVersion: nil) }
        changes.author = MirrorNames.resetAuthor
        try writer.apply(changes)
        try writer.execute("DELETE FROM TARN_RECORD WHERE tag IS NOT NULL OR stage <> \(MirrorStage.needsUpload.rawValue)")
        try writer.execute("DELETE FROM TARN_LINK WHERE tag IS NOT NULL OR stage <> \(MirrorStage.needsUpload.rawValue)")
        try writer.execute(
            "DELETE FROM TARN_LINK WHERE first NOT IN (SELECT name FROM TARN_RECORD) OR second NOT IN (SELECT name FROM TARN_RECORD)")
        try writer.execute("DELETE FROM TARN_PARKED")
        return keys
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
