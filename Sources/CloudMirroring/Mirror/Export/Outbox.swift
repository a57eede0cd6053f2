// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import SQLiteStore

/// The outbox. A request without a response may have been executed, may still be in flight, or neither. If a newer request were sent or a
/// page imported first, an old value could win against an edit of it, and a late creation could restore a deleted record. So the same
/// request is replayed until it is acknowledged, also by the next process.
struct Outbox: FileTransactions {
    let file: MirrorFile

    /// The attempts without a response after which a request is dropped, so that it does not block others.
    static let uncertainAttemptsMax: Int64 = 8

    func put(_ batch: ExportBatch, _ request: ExportBatch.Request) throws { try store.write { try put(batch, request, $0) } }

    func put(_ batch: ExportBatch, _ request: ExportBatch.Request, _ writer: StoreWriter) throws {
        // Staged pages have the state before the request, and would undo a part of it: they are fetched again.
        try StagedPageTable.remove(batch.zone.number, writer)
        file.stagedPages.files?.remove(batch.zone.number)
        let notes = batch.items.map(\.note).joined(separator: "\n")
        try OutboxTable.append(OutboxTable.Row(key: request.key, bodies: request.bodies, opened: request.plainBodies, notes: notes), writer)
    }

    /// Returns the batch that has to be replayed before anything else is sent; nil if all requests were acknowledged.
    func next() throws -> ExportBatch? {
        try store.read { reader in
            for row in try OutboxTable.rows(reader) {
                let requests = try (row.opened ?? row.bodies).map { try ModifyRecordsRequest(json: $0) }
                guard let first = requests.first, let zone = try ZoneTable.row(normal(first.zoneID), reader)?.zone else { continue }
                let items = zip(requests.flatMap(\.operations), row.notes.split(separator: "\n")).compactMap { operation, note in
                    ExportBatch.Operation(operation.kind).flatMap { ExportBatch.Item($0, operation.record, note: note) }
                }
                let request = ExportBatch.Request(
                    key: row.key, bodies: row.bodies, plainBodies: row.opened, counts: requests.map(\.operations.count), isReplay: true)
                return ExportBatch(items: items, zone: zone, phase: .written(request))
            }
            return nil
        }
    }

    func names(_ reader: StoreReader) throws -> Set<String> {
        var names: Set<String> = []
        for row in try OutboxTable.rows(reader) {
            names.formUnion(try row.bodies.flatMap { try ModifyRecordsRequest(json: $0).operations.map(\.record.recordName) })
        }
        return names
    }

    /// Removes the requests of a deleted zone.
    func clear(of zone: MirrorZone, _ writer: StoreWriter) throws {
        for row in try OutboxTable.rows(writer)
        where try row.bodies.first.map({ try normal(ModifyRecordsRequest(json: $0).zoneID) }) == zone.id {
            try OutboxTable.remove(row.key, writer)
        }
    }

    /// Notes the creations of requests in doubt. A restored server has no responses to requests since its backup, and other devices may have
    /// received the records.
    func noteCreationsInDoubt(_ writer: StoreWriter) throws {
        for row in try OutboxTable.rows(writer) where try OutboxTable.attempts(of: row.key, writer) ?? 0 > 0 {
            for body in row.bodies {
                let request = try ModifyRecordsRequest(json: body)
                guard let zone = try ZoneTable.row(normal(request.zoneID), writer)?.zone else { continue }
                for operation in request.operations where operation.kind == .create {
                    try self.writer(writer, zone: zone.number).noteCreationInDoubt(operation.record.recordName)
                }
            }
        }
    }

    /// Decides whether a failed request is replayed.
    func note(_ failure: CloudFailure, ofRequest key: String, in zone: MirrorZone) throws {
        try store.write { writer in
            if failure.code == .serverRecordChanged {
                // The server has another history of the zone. The list of changed zones may not name it.
                try ZoneTable.set(.needsFetch, .int(1), of: zone.number, writer)
                try noteCreationsInDoubt(writer)
            }
            guard let attempts = try OutboxTable.attempts(of: key, writer) else { return }
            switch RetryPolicy.fate(of: failure) {
            case .uncertain where attempts + 1 < Self.uncertainAttemptsMax: try OutboxTable.setAttempts(attempts + 1, of: key, writer)
            case .notNow where attempts > 0: break
            case .uncertain, .notNow, .refused: try OutboxTable.remove(key, writer)
            }
        }
    }
}
