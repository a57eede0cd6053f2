// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// Answers about the sync of a store, for apps and support.
struct SyncInspection: FileTransactions {
    let file: MirrorFile

    /// Returns why each object is, or isn't, on the server. Reasons of rejections were stored when `ExportSettlement` settled
    /// the batch; the whole store's reasons (quota, account, no connection) are in `SyncStatus`.
    ///
    /// History is read first, so that the last save counts as pending.
    func states(of keys: [RowKey]) throws -> Committed<[RowKey: NSPersistentCloudKitContainer.ObjectSyncState]> {
        try write { writer, related in
            // Before the tables exist, everything is pending.
            try SyncMetadataSchema.open(writer, home: homeZone)
            try file.history.scan(writer, &related)
            let metadata = reader(writer)
            let sent = try file.outbox.names(writer)
            var states: [RowKey: NSPersistentCloudKitContainer.ObjectSyncState] = [:]
            for key in keys {
                guard let record = try metadata.record(of: key) else { continue }
                states[key] =
                    if let failure = record.failure, record.stage != .uploaded {
                        .refused(because: failure)
                    } else if record.stage == .uploaded, let modified = record.modified {
                        .onServer(since: Date(timeIntervalSince1970: Double(modified.timestamp) / 1000))
                    } else {
                        sent.contains(record.recordName) ? .uploading : .waiting
                    }
            }
            return states
        }
    }

    // MARK: For support

    /// Diagnostics of a store for support: counts, names of the model, and reasons of failures.
    struct Findings: Encodable, Sendable {
        struct Step: Encodable, Sendable {
            var type: String
            var started: Date
            var ended: Date?
            var errorCode: Int?
            var reason: String?
        }

        var container: String
        var scope: String
        var formats: [String: Int64]
        var modelFingerprint: String?
        var isSignedInOnce: Bool
        var hasChangeToken: Bool
        var isFetchingEverything: Bool
        var fullFetches: Int64
        var lastSuccess: Date?
        var historyLatest: Int64
        var historyRead: Int64?
        var unansweredRequestAttempts: Int64?
        /// By entity and stage: `Post waiting` and the like.
        var objects: [String: Int64]
        var links: [String: Int64]
        var refusals: [String: Int64]
        var relationshipsWaitingForTheirTarget: Int64
        var objectsWaitingForWhatTheyNeed: Int64
        var conflicts: [String: Int64]
        var steps: [Step]
    }

    static let supportStepsMax = 200

    func findings() throws -> Findings {
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            let counts = try metadata.counts(writer)
            let home = try ZoneTable.row(MirrorZone.home, writer)
            return Findings(
                container: file.containerIdentifier, scope: "\(scope)",
                formats: ["bookkeeping": try StateTable.int(.format, writer) ?? 0],
                modelFingerprint: try StateTable.text(.fingerprint, writer),
                isSignedInOnce: try StateTable.text(.user, writer) != nil, hasChangeToken: home?.token != nil,
                isFetchingEverything: home?.isFullFetch == true,
                fullFetches: home?.generation ?? 0,
                lastSuccess: try StateTable.double(.lastSuccess, writer).map { Date(timeIntervalSinceReferenceDate: $0) },
                historyLatest: try writer.latestTransaction(), historyRead: try StateTable.int(.historyRead, writer),
                unansweredRequestAttempts: try OutboxTable.attempts(writer),
                objects: counts.objects, links: counts.links, refusals: counts.refusals,
                relationshipsWaitingForTheirTarget: counts.deferredReferences, objectsWaitingForWhatTheyNeed: counts.withheldRecords,
                conflicts: counts.conflicts,
                steps: try EventTable.rows(after: nil, writer).suffix(Self.supportStepsMax).map(Findings.Step.init))
        }
    }
}

extension SyncInspection.Findings.Step {
    fileprivate init(_ row: EventTable.Row) {
        let type = NSPersistentCloudKitContainer.EventType(rawValue: row.type).map { "\($0)" }
        self.init(
            type: type ?? "\(row.type)", started: Date(timeIntervalSinceReferenceDate: row.started),
            ended: row.ended.map { Date(timeIntervalSinceReferenceDate: $0) }, errorCode: row.failure?.code.rawValue,
            reason: row.failure?.reason)
    }
}
