// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import SQLiteStore

/// Planning while the batch before is on its way, so that device and server work at once.
extension MirrorFile {
    /// What comes after a batch, if the server takes all of it and nothing else is written meanwhile.
    struct BatchAhead: Sendable {
        fileprivate let batch: ZonedBatch
        /// nil where something has to be uploaded first. It is kept until it is known that it is not to be sent.
        let request: OutgoingRequest?
        /// Whose change says that something was written since the batch was planned.
        fileprivate let version: FileVersion
    }

    /// - Parameter write: As of ``nextBatch(itemsMax:pending:write:)``.
    /// - Returns: nil if there is nothing more in the zone, or what there is needs more than reading: it is planned in its turn.
    func batchAhead(
        of sent: ZonedBatch, itemsMax: Int, write: (ZonedBatch) throws -> OutgoingRequest?
    ) throws -> BatchAhead? {
        try store.write { writer in
            guard try MirrorState.int(.historyRead, writer) == writer.latestTransaction() else { return nil }
            let bookkeeping = reader(writer, zone: sent.zone.number)
            let batch = try batch(itemsMax: itemsMax, sent.zone, writer, bookkeeping, passingOver: Set(sent.batch.items.map(\.recordName)))
            let ahead = ZonedBatch(batch: batch, zone: sent.zone, token: sent.token)
            guard batch.changes.isEmpty, !batch.items.isEmpty else { return nil }
            let request = try write(ahead)
            if let request { try put(request, writer) }
            return BatchAhead(batch: ahead, request: request, version: try writer.fileVersion())
        }
    }

    /// Whether what was planned ahead is still what comes next.
    func holds(_ ahead: BatchAhead) throws -> Bool { try store.write { try ahead.version == $0.fileVersion() } }

    /// Forgets what was planned to follow a request, which was not answered.
    func forgetAhead(of request: OutgoingRequest) throws { try store.write { try OutboxTable.removeUnsent(but: request.key, $0) } }

    /// Writes down what the server did with a batch, as ``settle(_:key:outcomes:token:)`` does.
    ///
    /// - Parameters:
    ///   - isAheadSent: Whether what was planned ahead is on its way already.
    ///   - ending: The event that ends with this, if nothing failed.
    /// - Returns: Also what was planned ahead, if it holds.
    func settle(
        _ sent: ZonedBatch, key: String, outcomes: [String: ItemOutcome], token: String?, ahead: BatchAhead?, isAheadSent: Bool,
        ending: EventTable.Row?
    ) throws -> (verdict: BatchVerdict, next: PlannedBatch?) {
        try store.write { writer in
            let holds = try ahead.map { try isAheadSent || $0.version == writer.fileVersion() } ?? false
            let verdict = try settle(sent, key: key, outcomes: outcomes, token: token, writer)
            if let ending, verdict.firstFailure == nil { try EventTable.end(ending, writer) }
            guard let ahead, holds, verdict.accepted == sent.batch.items.count else {
                if !isAheadSent { try OutboxTable.removeUnsent(but: key, writer) }
                return (verdict, nil)
            }
            var (batch, request) = (ahead.batch, ahead.request)
            batch.token = try ZoneTable.row(sent.zone.number, writer).flatMap(exportToken)
            request?.token = batch.token
            return (verdict, PlannedBatch(batch: batch, request: request, pending: batch.batch.items.count, refusal: try refusal(reader(writer))))
        }
    }
}
