// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import SQLiteStore

/// Planning behind a batch in flight, so that device and server work concurrently.
struct PipelinedExport: FileTransactions {
    let file: MirrorFile

    /// The batch that follows the one in flight, if the server accepts all of that and the store does not change.
    struct Batch: Sendable {
        /// Its request is in the outbox until it is known that it is not sent. Only planned if an asset has to be uploaded first.
        let batch: ExportBatch
        /// Another version shows that the store changed since the batch was planned.
        fileprivate let version: FileVersion
    }

    /// - Parameter write: As of ``nextBatch(itemsMax:pending:hasImported:write:)``.
    /// - Returns: nil if the zone has no further changes, or if planning them needs more than reading.
    func plan(
        behind sent: ExportBatch, itemsMax: Int, write: (ExportBatch) throws -> ExportBatch?
    ) throws -> Batch? {
        try store.write { writer in
            guard try StateTable.int(.historyRead, writer) == writer.latestTransaction() else { return nil }
            let metadata = reader(writer, zone: sent.zone.number)
            let plan = try file.exports.batch(
                itemsMax: itemsMax, sent.zone, writer, metadata, passingOver: Set(sent.items.map(\.recordName)))
            guard plan.changes.isEmpty, !plan.items.isEmpty else { return nil }
            let planned = ExportBatch(items: plan.items, zone: sent.zone, syncToken: sent.syncToken, historyToken: sent.historyToken)
            let written = try write(planned)
            if let written, let request = written.request { try file.outbox.put(written, request, writer) }
            return Batch(batch: written ?? planned, version: try writer.fileVersion())
        }
    }

    /// Whether a pipelined batch is still the next one.
    func isCurrent(_ pipelined: Batch) throws -> Bool { try store.write { try pipelined.version == $0.fileVersion() } }

    /// Forgets the batch that was planned behind a request without a response.
    func forget(behind key: String) throws { try store.write { try OutboxTable.removeUnsent(but: key, $0) } }

    /// Stores the server's response to a batch, as ``settle(_:key:outcomes:response:)`` does.
    ///
    /// - Parameters:
    ///   - isPipelinedSent: Whether the pipelined batch is in flight already.
    ///   - ending: The event that ends with this, if nothing failed.
    /// - Returns: Also the plan of the pipelined batch, if it is still the next one.
    func settle(
        _ sent: ExportBatch, key: String, outcomes: [String: ItemOutcome], response: SyncDatabase.Response, pipelined: Batch?,
        isPipelinedSent: Bool,
        ending: EventTable.Row?
    ) throws -> (verdict: BatchVerdict, next: ExportPlan?) {
        try store.write { writer in
            let isCurrent = try pipelined.map { try isPipelinedSent || $0.version == writer.fileVersion() } ?? false
            let verdict = try file.exports.settle(sent, key: key, outcomes: outcomes, response: response, writer)
            if let ending, verdict.firstFailure == nil { try EventTable.end(ending, writer) }
            guard let pipelined, isCurrent, verdict.accepted == sent.items.count else {
                if !isPipelinedSent { try OutboxTable.removeUnsent(but: key, writer) }
                return (verdict, nil)
            }
            var batch = pipelined.batch
            batch.syncToken = try ZoneTable.row(sent.zone.number, writer).flatMap(file.exports.exportToken)
            return (verdict, ExportPlan(batch: batch, pendingCount: batch.items.count, rejection: try file.exports.refusal(reader(writer))))
        }
    }
}
