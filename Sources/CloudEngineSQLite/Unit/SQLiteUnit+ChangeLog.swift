// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import GRDB

/// One row for each request that changed records, in order of the partition's change numbers: rows are appended at the end and removed from
/// the beginning.
///
/// The table has row IDs, and its key is an index of small entries: SQLite appends to the last page of such a table, while it distributes
/// the rows of a table without row IDs over three pages for each page that is full.
///
/// Each save of a record pays for each index. So the log has none of times: `change_log_days` lists the partitions with rows of a day. A
/// listed day may have no row any more.
extension SQLiteUnit {
    static let changeLogTable = """
        CREATE TABLE change_log (
            part INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER NOT NULL, author TEXT NOT NULL, device TEXT NOT NULL,
            request TEXT NOT NULL, total INTEGER NOT NULL, changes BLOB NOT NULL, PRIMARY KEY (part, last)) WITHOUT ROWID;
        CREATE INDEX change_log_at ON change_log (at);
        CREATE INDEX change_log_author ON change_log (author);
        """

    /// See ``ChangeLogEntry/author``: rows without an author are the owner's.
    static let changeLogDays = """
        DROP INDEX change_log_at;
        DROP INDEX change_log_author;
        UPDATE change_log SET author = '' WHERE author IN (
            SELECT owner FROM partitions p WHERE p.part = change_log.part AND p.scope = 'private');
        CREATE INDEX change_log_author ON change_log (author) WHERE author <> '';
        CREATE TABLE change_log_days (part INTEGER NOT NULL, day INTEGER NOT NULL, PRIMARY KEY (part, day)) WITHOUT ROWID;
        CREATE INDEX change_log_days_day ON change_log_days (day);
        INSERT INTO change_log_days (part, day) SELECT DISTINCT part, at / \(dayMilliseconds) FROM change_log;
        """

    /// The table with row IDs.
    static let appendedChangeLog = """
        DROP INDEX change_log_author;
        ALTER TABLE change_log RENAME TO former_change_log;
        CREATE TABLE change_log (
            part INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER NOT NULL, author TEXT NOT NULL, device TEXT NOT NULL,
            request TEXT NOT NULL, total INTEGER NOT NULL, changes BLOB NOT NULL, PRIMARY KEY (part, last));
        INSERT INTO change_log (part, last, at, author, device, request, total, changes)
            SELECT part, last, at, author, device, request, total, changes FROM former_change_log;
        DROP TABLE former_change_log;
        CREATE INDEX change_log_author ON change_log (author) WHERE author <> '';
        """

    /// Lists the days of rows that a move stores.
    static let daysTrigger = """
        CREATE TRIGGER move_change_log_days AFTER INSERT ON change_log BEGIN
            INSERT OR IGNORE INTO change_log_days (part, day) VALUES (NEW.part, NEW.at / \(dayMilliseconds));
        END
        """

    fileprivate static let dayMilliseconds: Int64 = 24 * 60 * 60 * 1000

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
                time: row[0], author: row[1], deviceID: row[2], requestUUID: row[3],
                changes: try Self.decode(StoredChanges.self, row[4]).changes)
        }
    }

    /// The last row of a partition.
    private struct LogEnd {
        /// Bytes of all rows up to it, also of those that were removed.
        var total: Int64
        var time: Int64
    }

    private func logEnd() throws -> LogEnd? {
        try remembered(.changeLogEnd(part: writtenPart)) {
            try row("SELECT total, at FROM change_log WHERE part = ? ORDER BY last DESC LIMIT 1", [writtenPart]).map {
                LogEnd(total: $0[0], time: $0[1])
            }
        }
    }

    /// A row has the bytes of all rows up to it, so that the bytes of those that are stored are a difference, and the cost of an entry is
    /// that of two rows at the ends.
    func append(_ entry: ChangeLogEntry, bytesMax: Int64) throws {
        guard let last = entry.changes.last?.number else { return }
        let changes = StoredChanges(entry.changes).encoded()
        let texts = [entry.author, entry.deviceID, entry.requestUUID].reduce(0) { $0 + $1.utf8.count }
        let before = try logEnd()
        let totalBefore = before?.total ?? 0
        let total = totalBefore + Int64(texts + changes.count) + Self.rowBytes
        try keeping {
            try run(
                """
                INSERT OR REPLACE INTO change_log (part, last, at, author, device, request, total, changes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [writtenPart, last, entry.time, entry.author, entry.deviceID, entry.requestUUID, total, changes])
            let day = entry.time / Self.dayMilliseconds
            if before.map({ $0.time / Self.dayMilliseconds }) != day {
                try run("INSERT OR IGNORE INTO change_log_days (part, day) VALUES (?, ?)", [writtenPart, day])
            }
        }
        remember(LogEnd?.some(LogEnd(total: total, time: entry.time)), as: .changeLogEnd(part: writtenPart))
        // Each 256th of the limit: most entries look at no row at the other end, and the log has at most that much more.
        let step = max(1, bytesMax / 256)
        guard totalBefore / step != total / step else { return }
        while let first = try row("SELECT last, total FROM change_log WHERE part = ? ORDER BY last LIMIT 1", [writtenPart]),
            total - first[1] > bytesMax
        {
            let number: Int64 = first[0]
            try keeping { try run("DELETE FROM change_log WHERE part = ? AND last = ?", [writtenPart, number]) }
        }
    }
}

extension SQLiteServerStore {
    /// Removes the rows before a time, in the partitions that may have one.
    func removeExpiredChangeLog(before time: Int64) async throws {
        var next: (day: Int64, part: Int64)? = (day: Int64.min, part: Int64.min)
        while let place = next { next = try await writing { try Self.removeExpiredChangeLog(before: time, from: place, $0) } }
    }

    /// Removes as many rows as one unit of work may.
    ///
    /// - Returns: The day and the partition at which the next unit continues, nil if it has none.
    private static func removeExpiredChangeLog(
        before time: Int64, from first: (day: Int64, part: Int64), _ db: Database
    ) throws -> (day: Int64, part: Int64)? {
        let days = try db.rows(
            "SELECT day, part FROM change_log_days WHERE (day, part) >= (?, ?) AND day <= ? ORDER BY day, part LIMIT ?",
            [first.day, first.part, time / SQLiteUnit.dayMilliseconds, UnitOfWork.removedRowsMax])
        var count = 0
        for row in days {
            let (day, part): (Int64, Int64) = (row[0], row[1])
            // The rows of a partition are in the order of their times, unless the clock was set.
            while let first = try db.row("SELECT last, at FROM change_log WHERE part = ? ORDER BY last LIMIT 1", [part]), first[1] < time {
                guard count < UnitOfWork.removedRowsMax else { return (day, part) }
                try db.run("DELETE FROM change_log WHERE part = ? AND last = ?", [part, first[0] as Int64])
                count += 1
            }
            guard (day + 1) * SQLiteUnit.dayMilliseconds <= time else { continue }
            try db.run("DELETE FROM change_log_days WHERE part = ? AND day = ?", [part, day])
        }
        guard days.count == UnitOfWork.removedRowsMax, let last = days.last else { return nil }
        let (day, part): (Int64, Int64) = (last[0], last[1])
        return (day, part + 1)
    }

    /// Replaces a user record name in the log of other databases, and removes the names of the devices.
    func forgetChangeLog(of name: String, _ willRun: @Sendable () async throws -> Void) async throws {
        while true {
            try await willRun()
            let count = try await removalUnit { db in
                // With the condition of the index, which SQLite can't derive from a parameter.
                try db.execute(
                    sql: """
                        UPDATE change_log SET author = ?, device = '' WHERE (part, last) IN (
                            SELECT part, last FROM change_log WHERE author = ? AND author <> '' LIMIT ?)
                        """, arguments: [AccountRemoval.placeholder, name, Self.removalRowsMax])
                return db.changesCount
            }
            if count < Self.removalRowsMax { return }
        }
    }
}
