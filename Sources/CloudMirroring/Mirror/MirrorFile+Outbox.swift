// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import SQLiteStore

/// A request to modify records, kept byte for byte until its answer is known.
struct OutgoingRequest: Sendable {
    /// The server carries requests with one key out once, and gives each the same answer.
    let key: String
    let body: [UInt8]
    /// The body before values were sealed; nil if none was.
    let opened: [UInt8]?
    /// Items as they were sent.
    let batch: ExportBatch
    let zone: MirrorZone
    /// As of ``MirrorFile/ZonedBatch/token``; what is sent once more has none.
    var token: String?
}

/// A request whose answer is lost may have been carried out, may still be on its way, or neither. If something newer were sent
/// or imported first, an old value could win against one that was made in its knowledge, and a late creation could bring a
/// deleted record back. So the same request is sent again until its answer is there, in the next life of the app, too.
extension MirrorFile {
    /// After so many attempts without an answer the request is given up: whatever it is that nobody answers, it holds nothing
    /// else up.
    static let uncertainAttemptsMax: Int64 = 8

    func put(_ request: OutgoingRequest) throws { try store.write { try put(request, $0) } }

    func put(_ request: OutgoingRequest, _ writer: StoreWriter) throws {
        try MirrorState.set(.outboxKey, .text(request.key), writer)
        try MirrorState.set(.outboxBody, .blob(Data(request.body)), writer)
        try MirrorState.set(.outboxOpened, request.opened.map { .blob(Data($0)) } ?? .null, writer)
        try MirrorState.set(.outboxNotes, .text(request.batch.items.map(\.note).joined(separator: "\n")), writer)
        try MirrorState.set(.outboxAttempts, .int(0), writer)
    }

    /// What has to be sent again; nil when every request was answered.
    func outbox() throws -> OutgoingRequest? {
        try store.read { reader in
            guard let key = try MirrorState.text(.outboxKey, reader), let body = try MirrorState.blob(.outboxBody, reader),
                let notes = try MirrorState.text(.outboxNotes, reader)
            else { return nil }
            let opened = try MirrorState.blob(.outboxOpened, reader)
            let request = try ModifyRecordsRequest(json: opened ?? body)
            guard let zone = try ZoneTable.row(normal(request.zoneID), reader)?.zone else { return nil }
            let items = zip(request.operations, notes.split(separator: "\n")).compactMap { operation, note in
                ExportBatch.Operation(operation.kind).flatMap { ExportBatch.Item($0, operation.record, note: note) }
            }
            return OutgoingRequest(key: key, body: body, opened: opened, batch: ExportBatch(items: items), zone: zone)
        }
    }

    func namesInOutbox(_ reader: StoreReader) throws -> Set<String> {
        guard try MirrorState.text(.outboxKey, reader) != nil, let body = try MirrorState.blob(.outboxBody, reader) else { return [] }
        return Set(try ModifyRecordsRequest(json: body).operations.map(\.record.recordName))
    }

    /// A zone that goes takes along what was sent to it.
    func clearOutbox(of zone: MirrorZone, _ writer: StoreWriter) throws {
        guard let body = try MirrorState.blob(.outboxBody, writer) else { return }
        if try normal(ModifyRecordsRequest(json: body).zoneID) == zone.id { try clearOutbox(writer) }
    }

    func clearOutbox(_ writer: StoreWriter) throws {
        guard try MirrorState.text(.outboxKey, writer) != nil else { return }
        for key in [MirrorState.Key.outboxKey, .outboxBody, .outboxOpened, .outboxNotes, .outboxAttempts] {
            try MirrorState.set(key, .null, writer)
        }
    }

    /// What was under way when an earlier life of the app ended may have arrived.
    func doubtOutbox(_ writer: StoreWriter) throws {
        if try MirrorState.int(.outboxAttempts, writer) == 0 { try MirrorState.set(.outboxAttempts, .int(1), writer) }
    }

    /// Decides whether a request that failed is to be sent again as it was.
    func note(_ failure: CloudFailure, of request: OutgoingRequest) throws {
        try store.write { writer in
            guard try MirrorState.text(.outboxKey, writer) == request.key else { return }
            let attempts = try MirrorState.int(.outboxAttempts, writer) ?? 0
            switch RetryPolicy.fate(of: failure) {
            case .uncertain where attempts + 1 < Self.uncertainAttemptsMax:
                try MirrorState.set(.outboxAttempts, .int(attempts + 1), writer)
            case .notNow where attempts > 0: break
            case .uncertain, .notNow, .refused: try clearOutbox(writer)
            }
        }
    }
}

extension ExportBatch.Operation {
    fileprivate init?(_ kind: RecordOperation.Kind) {
        switch kind {
        case .create: self = .create
        case .update: self = .update
        case .delete: self = .delete
        case .forceDelete: self = .forceDelete
        case .forceUpdate, .replace, .forceReplace: return nil
        }
    }
}
