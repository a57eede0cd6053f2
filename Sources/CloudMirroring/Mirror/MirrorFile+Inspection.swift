// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

extension StoreSync {
    /// What reading the store's file throws, as apps catch it.
    func translated<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch let error as StoreError { throw CocoaError(error) }
    }
}

extension MirrorFile {
    /// History is read first, so that what was saved a moment ago counts as waiting.
    func states(of keys: [RowKey]) throws -> [RowKey: NSPersistentCloudKitContainer.ObjectSyncState] {
        try store.write { writer in
            // Before the mirror has made its tables, everything waits.
            try BookkeepingTables.open(writer, home: homeZone)
            try scan(writer)
            let bookkeeping = reader(writer)
            let sent = try namesInOutbox(writer)
            var states: [RowKey: NSPersistentCloudKitContainer.ObjectSyncState] = [:]
            for key in keys {
                guard let record = try bookkeeping.record(of: key) else { continue }
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

    /// What somebody who helps needs to know of a store: numbers, names of the model, and the reasons of failures.
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
            try BookkeepingTables.open(writer, home: homeZone)
            let stages = [0: "uploaded", 1: "waiting", 2: "deletion waiting", 3: "missing on the server"]
            func counts(_ sql: String) throws -> [String: Int64] {
                var counts: [String: Int64] = [:]
                try writer.query(sql) { row in
                    let stage = row.optionalInt(1).map { " " + (stages[Int($0)] ?? "in stage \($0)") } ?? ""
                    counts["\(row.text(0) ?? "")\(stage)", default: 0] += row.int(2)
                }
                return counts
            }
            let home = try ZoneTable.row(MirrorZone.home, writer)
            return Findings(
                container: containerIdentifier, scope: "\(scope)",
                formats: ["bookkeeping": try MirrorState.int(.format, writer) ?? 0],
                modelFingerprint: try MirrorState.text(.fingerprint, writer),
                isSignedInOnce: try MirrorState.text(.user, writer) != nil, hasChangeToken: home?.token != nil,
                isFetchingEverything: home?.isFullFetch == true,
                fullFetches: home?.generation ?? 0,
                lastSuccess: try MirrorState.double(.lastSuccess, writer).map { Date(timeIntervalSinceReferenceDate: $0) },
                historyLatest: try writer.latestTransaction(), historyRead: try MirrorState.int(.historyRead, writer),
                unansweredRequestAttempts: try OutboxTable.attempts(writer),
                objects: try counts("SELECT entity, stage, COUNT(*) FROM TARN_RECORD GROUP BY 1, 2"),
                links: try counts("SELECT relationships, stage, COUNT(*) FROM TARN_LINK GROUP BY 1, 2"),
                refusals: try counts(
                    """
                    SELECT failure, NULL, COUNT(*) FROM (SELECT failure FROM TARN_RECORD UNION ALL SELECT failure FROM TARN_LINK) \
                    WHERE failure IS NOT NULL GROUP BY 1
                    """),
                relationshipsWaitingForTheirTarget: try counts("SELECT '', NULL, COUNT(*) FROM TARN_PARKED").values.reduce(0, +),
                objectsWaitingForWhatTheyNeed: try counts("SELECT '', NULL, COUNT(*) FROM TARN_INCOMPLETE").values.reduce(0, +),
                conflicts: try counts("SELECT entity || '.' || property, NULL, COUNT(*) FROM TARN_CONFLICT GROUP BY 1"),
                steps: try EventTable.rows(after: nil, writer).suffix(Self.supportStepsMax).map(Findings.Step.init))
        }
    }
}

extension MirrorFile.Findings.Step {
    fileprivate init(_ row: EventTable.Row) {
        let type = NSPersistentCloudKitContainer.EventType(rawValue: row.type).map { "\($0)" }
        self.init(
            type: type ?? "\(row.type)", started: Date(timeIntervalSinceReferenceDate: row.started),
            ended: row.ended.map { Date(timeIntervalSinceReferenceDate: $0) }, errorCode: row.failure?.code.rawValue,
            reason: row.failure?.reason)
    }
}
