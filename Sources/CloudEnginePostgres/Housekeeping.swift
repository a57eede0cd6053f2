// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import Foundation

/// Housekeeping, one short transaction for each partition that is due. Several processes may do it at the same time.
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
    }

    private func sweep(_ partition: Partition, _ part: Int64, term: HistoryTerm?, now: Int64) async throws {
        let swept = try await write(partition, .maintenance) { writer -> Swept in
            guard let unit = writer as? PostgresUnit else { return Swept() }
            return try unit.sweep(now: now, unused: now - Self.unusedMilliseconds, deleted: now - Self.deletedMilliseconds, term: term)
        }
        for upload in swept.uploads { assetFolder.removePartial(upload: upload) }
        try await removeFiles(swept.files, in: partition)
    }

    /// Removes files that have no row. The unit locks the partition, so that an upload of the same file comes before or after it; the rows
    /// were deleted in an earlier unit, because a file cannot come back if that one fails.
    func removeFiles(_ checksums: [String], in partition: Partition) async throws {
        guard !checksums.isEmpty else { return }
        let folder = assetFolder
        try await write(partition, .maintenance) { writer in
            guard let unit = writer as? PostgresUnit else { return }
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
            guard milliseconds > 0 else {
                try connection.send("DELETE FROM record_versions")
                try connection.send("DELETE FROM kept_assets")
                return try connection.send("DELETE FROM meta WHERE key = $1", [HistoryTerm.key])
            }
            try connection.send(
                "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [HistoryTerm.key, HistoryTerm(milliseconds: milliseconds, since: known?.since ?? now).value])
        }
    }
}

/// What a sweep of a partition left without a row.
private struct Swept {
    /// Checksums of files that nothing refers to any more.
    var files: [String] = []
    /// Abandoned uploads.
    var uploads: [String] = []
}

extension PostgresUnit {
    /// Removes expired rows of the partition.
    ///
    /// - Parameters:
    ///   - unused: Answers, uploads, requests and files from before are removed.
    ///   - deleted: Tombstones from before are removed.
    fileprivate func sweep(now: Int64, unused: Int64, deleted: Int64, term: HistoryTerm?) throws -> Swept {
        let answers = try written(
            "DELETE FROM answers WHERE part = $1 AND at < $2 RETURNING octet_length(key) + octet_length(body)", [part, unused],
            changing: .answers)
        let freed = answers.reduce(0 as Int64) { $0 + ($1[0] as Int64) }
        if freed > 0 { change { $0.answerBytes -= freed } }
        let uploads = try written(
            "DELETE FROM uploads WHERE part = $1 AND created < $2 RETURNING id", [part, unused], changing: .uploads)
        try run("DELETE FROM staged_requests WHERE part = $1 AND at < $2", [part, unused], changing: .staged)
        try run("DELETE FROM change_log WHERE part = $1 AND at < $2", [part, deleted], changing: .changeLog)
        if let term {
            try run("DELETE FROM record_versions WHERE part = $1 AND replaced < $2", [part, now - term.milliseconds], changing: .history)
            try run("DELETE FROM kept_assets WHERE part = $1 AND until < $2", [part, now], changing: .history)
        }
        let files = try written(
            """
            DELETE FROM assets a WHERE part = $1 AND since < $2
            AND NOT EXISTS (SELECT 1 FROM asset_links l WHERE l.part = a.part AND l.checksum = a.checksum)
            AND NOT EXISTS (SELECT 1 FROM kept_assets k WHERE k.part = a.part AND k.checksum = a.checksum) RETURNING checksum
            """, [part, unused], changing: .assets)
        try forgetDeletions(before: deleted)
        // Due again in a day while anything is left that expires.
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
        return Swept(files: files.map { $0[0] }, uploads: uploads.map { $0[0] })
    }

    /// Removes old deletions and raises the floors below which tokens expire.
    private func forgetDeletions(before time: Int64) throws {
        try run(
            """
            UPDATE zones SET floor = greatest(zones.floor, gone.change) FROM (
                SELECT zone, max(change) AS change FROM records WHERE part = $1 AND deleted AND at < $2 GROUP BY zone
            ) AS gone WHERE zones.part = $1 AND zones.zone = gone.zone
            """, [part, time], changing: .zones)
        try run("DELETE FROM records WHERE part = $1 AND deleted AND at < $2", [part, time], changing: .records)
        try run(
            """
            UPDATE partitions SET floor = greatest(floor, coalesce(
                (SELECT max(change) FROM zones WHERE part = $1 AND deleted AND at < $2), 0)) WHERE part = $1
            """, [part, time], changing: .partitions)
        try run("DELETE FROM zones WHERE part = $1 AND deleted AND at < $2", [part, time], changing: .zones)
    }
}
