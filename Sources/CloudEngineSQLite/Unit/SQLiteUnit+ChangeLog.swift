// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import GRDB

/// One row for each request that changed records, in order of the partition's change numbers: rows are appended at the end and removed from
/// the beginning.
extension SQLiteUnit {
    static let changeLogTable = """
        CREATE TABLE change_log (
            part INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER NOT NULL, author TEXT NOT NULL, device TEXT NOT NULL,
            request TEXT NOT NULL, total INTEGER NOT NULL, changes BLOB NOT NULL, PRIMARY KEY (part, last)) WITHOUT ROWID;
        CREATE INDEX change_log_at ON change_log (at);
        CREATE INDEX change_log_author ON change_log (author);
        """

    /// Bytes of a row besides its texts.
    private static let rowBytes: Int64 = 64

    func changeLog(at number: Int64) throws -> ChangeLogEntry? {
        guard let part else { return nil }
        return try row(
            """
            SELECT at, author, device, request, changes FROM change_log WHERE part = ? AND last >= ? ORDER BY last LIMIT 1
            """, [part, number]
        ).map { row in
            ChangeLogEntry(
                time: row[0], userRecordName: row[1], deviceID: row[2], requestUUID: row[3],
                changes: try Self.decode(StoredChanges.self, row[4]).changes)
        }
    }

    /// A row has the bytes of all rows up to it, so that the bytes of those that are stored are a difference, and the cost of an entry is
    /// that of two rows at the ends.
    func append(_ entry: ChangeLogEntry, bytesMax: Int64) throws {
        guard let last = entry.changes.last?.number else { return }
        let changes = StoredChanges(entry.changes).encoded()
        let texts = [entry.userRecordName, entry.deviceID, entry.requestUUID].reduce(0) { $0 + $1.utf8.count }
        let before: Int64? = try row("SELECT total FROM change_log WHERE part = ? ORDER BY last DESC LIMIT 1", [writtenPart]).map { $0[0] }
        let total = (before ?? 0) + Int64(texts + changes.count) + Self.rowBytes
        try keeping {
            try run(
                """
                INSERT OR REPLACE INTO change_log (part, last, at, author, device, request, total, changes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [writtenPart, last, entry.time, entry.userRecordName, entry.deviceID, entry.requestUUID, total, changes])
        }
        // Each 256th of the limit: most entries look at no row at the other end, and the log has at most that much more.
        let step = max(1, bytesMax / 256)
        guard (before ?? 0) / step != total / step else { return }
        while let first = try row("SELECT last, total FROM change_log WHERE part = ? ORDER BY last LIMIT 1", [writtenPart]),
            total - first[1] > bytesMax
        {
            let number: Int64 = first[0]
            try keeping { try run("DELETE FROM change_log WHERE part = ? AND last = ?", [writtenPart, number]) }
        }
    }
}

extension SQLiteServerStore {
    static func removeExpiredChangeLog(_ db: Database, before time: Int64) throws {
        try db.execute(sql: "DELETE FROM change_log WHERE at < ?", arguments: [time])
    }

    /// Replaces a user record name in the log of other databases, and removes the names of the devices.
    func forgetChangeLog(of name: String, _ willRun: @Sendable () async throws -> Void) async throws {
        while true {
            try await willRun()
            let count = try await removalUnit { db in
                try db.execute(
                    sql: """
                        UPDATE change_log SET author = ?, device = '' WHERE (part, last) IN (
                            SELECT part, last FROM change_log WHERE author = ? LIMIT ?)
                        """, arguments: [AccountRemoval.placeholder, name, Self.removalRowsMax])
                return db.changesCount
            }
            if count < Self.removalRowsMax { return }
        }
    }
}
