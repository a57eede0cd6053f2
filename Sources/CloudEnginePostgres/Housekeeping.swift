// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import Foundation

/// Housekeeping in short transactions of one partition that is due. Several processes may do it at the same time.
extension PostgresServerStore {
    /// How long answers, uploads and files that nothing refers to are kept, in milliseconds.
    static let unusedMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// How long deletions are remembered. A device that was away for longer starts again from the beginning.
    private static let deletedMilliseconds: Int64 = 90 * 24 * 60 * 60 * 1000
    private static let partitionsPerPage = 200

    package func removeExpired(now: Int64) async throws {
        try await removeExpiredCredentials(now: now)
        try await removeOldAttempts(now: now)
        let term = try await historyTerm()
        var last = Int64.min
        while true {
            let after = last
            let page = try await reading { connection in
                try connection.query(
                    """
                    SELECT container, environment, scope, owner, part FROM partitions WHERE part > $1 AND due <= $2 ORDER BY part LIMIT $3
                    """, [after, now, Self.partitionsPerPage]
                ).rows.map { (partition: try PartitionRows.partition($0), part: $0[4] as Int64) }
            }
            for (partition, part) in page { try await sweep(partition, part, term: term, now: now) }
            guard let end = page.last, page.count == Self.partitionsPerPage else { break }
            last = end.part
        }
        // Of uploads that another process received into a folder of its own, and files that were arriving whole when a process ended.
        assetFolder.removeIncoming(untouchedForSeconds: 2 * Self.unusedMilliseconds / 1000)
        try await removeUnreferencedObjects(now: now)
        try await removeFormerIndexes()
        try await countRecordSizes()
    }

    private func sweep(_ partition: Partition, _ part: Int64, term: HistoryTerm?, now: Int64) async throws {
        var isComplete = false
        while !isComplete {
            let outcome = try await maintain(partition) { unit in
                try unit.sweep(now: now, unused: now - Self.unusedMilliseconds, deleted: now - Self.deletedMilliseconds, term: term)
            }
            guard let swept = outcome else { return }
            for upload in swept.uploads { assetFolder.removePartial(upload: upload) }
            try await removeFiles(swept.files, in: partition)
            isComplete = swept.isComplete
        }
    }

    /// Removes the rows of a table outside of partitions that are before a time, ``UnitOfWork/removedRowsMax`` in a transaction.
    func remove(from table: String, key: String, where column: String, before time: Int64) async throws {
        var count = UnitOfWork.removedRowsMax
        while count == UnitOfWork.removedRowsMax {
            count = try await writing { connection in
                try connection.query(
                    """
                    DELETE FROM \(table) WHERE \(key) IN (SELECT \(key) FROM \(table) WHERE \(column) < $1 LIMIT $2) RETURNING 1
                    """, [time, UnitOfWork.removedRowsMax]
                ).rows.count
            }
        }
    }

    /// Removes files that have no row. The unit locks the partition, so that an upload of the same file comes before or after it; the rows
    /// were deleted in an earlier unit, because a file cannot come back if that one fails.
    func removeFiles(_ checksums: [String], in partition: Partition) async throws {
        guard !checksums.isEmpty else { return }
        let folder = assetFolder
        _ = try await maintain(partition) { unit in
            let present = Set(
                try unit.rows(
                    "SELECT checksum FROM assets WHERE part = $1 AND checksum = ANY ($2)", [unit.part] + .texts(checksums), from: .assets
                )
                .map { $0[0] as String })
            for checksum in checksums where !present.contains(checksum) { folder.remove(part: unit.part, checksum: checksum) }
        }
    }

    private func historyTerm() async throws -> HistoryTerm? {
        try await reading { connection in
            try connection.query("SELECT value FROM meta WHERE key = $1", [HistoryTerm.key]).rows.first.map { try HistoryTerm($0[0]) }
        }
    }

    package func keepHistory(milliseconds: Int64, now: Int64) async throws {
        let known = try await historyTerm()
        guard known?.milliseconds != milliseconds, known != nil || milliseconds > 0 else { return }
        try await writing { connection in
            guard milliseconds > 0 else { return try connection.send("DELETE FROM meta WHERE key = $1", [HistoryTerm.key]) }
            try connection.send(
                "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [HistoryTerm.key, HistoryTerm(milliseconds: milliseconds, since: known?.since ?? now).value])
        }
        if milliseconds == 0 { try await makeVersionsDue(now: now) }
    }

    /// Makes partitions with versions due, so that the next housekeeping removes them. One that a unit has locked is due within a day.
    private func makeVersionsDue(now: Int64) async throws {
        var count = UnitOfWork.removedRowsMax
        while count == UnitOfWork.removedRowsMax {
            count = try await writing { connection in
                try connection.query(
                    """
                    UPDATE partitions SET due = $1 WHERE part IN (
                        SELECT part FROM partitions p WHERE (due IS NULL OR due > $1)
                        AND EXISTS (SELECT 1 FROM record_versions v WHERE v.part = p.part) LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1
                    """, [now, UnitOfWork.removedRowsMax]
                ).rows.count
            }
        }
    }
}

/// The outcome of one unit of a sweep.
private struct Swept {
    /// Checksums of files that nothing refers to any more.
    var files: [String] = []
    /// Abandoned uploads.
    var uploads: [String] = []
    /// Whether no table has further rows to remove.
    var isComplete = true
}

extension PostgresUnit {
    /// Removes expired rows of the partition, ``UnitOfWork/removedRowsMax`` of each table.
    ///
    /// - Parameters:
    ///   - unused: Answers, uploads, requests and files from before are removed.
    ///   - deleted: Tombstones from before are removed.
    fileprivate func sweep(now: Int64, unused: Int64, deleted: Int64, term: HistoryTerm?) throws -> Swept {
        var swept = Swept()
        func remove(
            _ table: String, _ key: String, where condition: String, _ limit: Int64, returning columns: String = "1",
            _ changed: PostgresTable
        ) throws -> [PostgresRow] {
            let removed = try written(
                """
                DELETE FROM \(table) WHERE part = $1 AND (\(key)) IN (
                    SELECT \(key) FROM \(table) t WHERE part = $1 AND \(condition) LIMIT $3) RETURNING \(columns)
                """, [part, limit, UnitOfWork.removedRowsMax], changing: changed)
            if removed.count == UnitOfWork.removedRowsMax { swept.isComplete = false }
            return removed
        }
        let answers = try remove(
            "answers", "key", where: "at < $2 AND at >= 0", unused, returning: "octet_length(key) + octet_length(body)", .answers)
        let freed = answers.reduce(0 as Int64) { $0 + ($1[0] as Int64) }
        if freed > 0 { change { $0.answerBytes -= freed } }
        swept.uploads = try remove("uploads", "id", where: "created < $2", unused, returning: "id", .uploads).map { $0[0] }
        _ = try remove("staged_requests", "user_name, device, save, number", where: "at < $2", unused, .staged)
        _ = try remove("change_log", "last", where: "at < $2", deleted, .changeLog)
        _ = try remove("change_log", "last", where: ChangeLogRows.isBeyondLimit, ChangeLogEntry.logBytesMax, .changeLog)
        // Without a term the server keeps none.
        let replaced = term.map { now - $0.milliseconds } ?? .max
        _ = try remove("record_versions", "zone, name, change", where: "replaced < $2 AND replaced >= 0", replaced, .history)
        _ = try remove("kept_assets", "checksum", where: "until < $2", term == nil ? .max : now, .history)
        swept.files = try remove(
            "assets", "checksum",
            where: """
                since < $2 AND NOT EXISTS (SELECT 1 FROM asset_links l WHERE l.part = t.part AND l.checksum = t.checksum)
                AND NOT EXISTS (SELECT 1 FROM kept_assets k WHERE k.part = t.part AND k.checksum = t.checksum)
                """, unused, returning: "checksum", .assets
        ).map { $0[0] }
        // Deletions that are forgotten raise the floors below which tokens expire.
        var floors: [Int64: Int64] = [:]
        for row in try remove("records", "zone, name", where: "deleted AND at < $2", deleted, returning: "zone, change", .records) {
            let (zone, change): (Int64, Int64) = (row[0], row[1])
            floors[zone] = max(floors[zone] ?? 0, change)
        }
        for (zone, floor) in floors {
            try run(
                "UPDATE zones SET floor = greatest(floor, $3) WHERE part = $1 AND zone = $2", [part, zone, floor], changing: .zones)
        }
        // A zone with records is found by its row until it is empty.
        let zones = try remove(
            "zones", "zone",
            where: "deleted AND at < $2 AND NOT EXISTS (SELECT 1 FROM records r WHERE r.part = t.part AND r.zone = t.zone)", deleted,
            returning: "change", .zones)
        if let floor = zones.map({ $0[0] as Int64 }).max() { try raiseFloor(to: floor) }
        if swept.isComplete {
            try countTombstones()
            try setDue(now: now)
        }
        return swept
    }

    /// Makes the partition due again in a day while it has anything that expires.
    private func setDue(now: Int64) throws {
        let isLeft: Bool =
            try rows(
                """
                SELECT EXISTS (SELECT 1 FROM answers WHERE part = $1) OR EXISTS (SELECT 1 FROM uploads WHERE part = $1)
                    OR EXISTS (SELECT 1 FROM staged_requests WHERE part = $1) OR EXISTS (SELECT 1 FROM record_versions WHERE part = $1)
                    OR EXISTS (SELECT 1 FROM change_log WHERE part = $1)
                    OR EXISTS (SELECT 1 FROM records WHERE part = $1 AND deleted) OR EXISTS (SELECT 1 FROM zones WHERE part = $1 AND deleted)
                    OR EXISTS (SELECT 1 FROM assets a WHERE part = $1 AND NOT EXISTS (
                        SELECT 1 FROM asset_links l WHERE l.part = a.part AND l.checksum = a.checksum))
                """, [part], from: .answers
            ).first.map { $0[0] } ?? false
        try run(
            "UPDATE partitions SET due = $2 WHERE part = $1",
            [part, isLeft ? now + PostgresServerStore.unusedMilliseconds : Int64?.none], changing: .partitions)
    }
}
