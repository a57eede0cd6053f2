// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The table of the histories of records: one row for each request that changed records, in order of the partition's change numbers.
///
/// `total` has the bytes of all rows up to it, so that the bytes of the stored rows are a difference.
enum ChangeLogRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS change_log (
            part bigint NOT NULL, last bigint NOT NULL, at bigint NOT NULL, author text COLLATE "C" NOT NULL, device text COLLATE "C" NOT NULL,
            request text COLLATE "C" NOT NULL, total bigint NOT NULL, changes bytea NOT NULL, PRIMARY KEY (part, last))
        """,
        "CREATE INDEX IF NOT EXISTS change_log_at ON change_log (part, at)",
        "CREATE INDEX IF NOT EXISTS change_log_total ON change_log (part, total)",
    ]

    /// Replaces the name of a removed user, and removes the names of the user's devices.
    static let replaceAuthor = "UPDATE change_log t SET author = $2, device = '' WHERE t.author = $1"

    /// The condition of rows beyond a limit of bytes, `$2`, in the partition `$1`.
    static let isBeyondLimit = "total < (SELECT total FROM change_log WHERE part = $1 ORDER BY last DESC LIMIT 1) - $2::bigint"

    /// Changes after which rows beyond the limit are deleted; each save had paid for that. A client avoids it if a zone gets each such
    /// number: housekeeping deletes them, too.
    private static let changesPerTrim: Int64 = 32

    /// - Parameters:
    ///   - last: The number of an entry's last change.
    ///   - count: Numbers of its changes.
    fileprivate static func isTrimmed(last: Int64, count: Int) -> Bool {
        last / changesPerTrim != (last - Int64(count)) / changesPerTrim
    }

    /// Bytes of a row besides its texts.
    fileprivate static let rowBytes: Int64 = 64
}

extension PostgresUnit {
    func changeLog(at number: Int64) throws -> ChangeLogEntry? {
        try rows(
            "SELECT at, author, device, request, changes FROM change_log WHERE part = $1 AND last >= $2 ORDER BY last LIMIT 1",
            [part, number], from: .changeLog
        ).first.map { row in
            ChangeLogEntry(
                time: row[0], author: row[1], deviceID: row[2], requestUUID: row[3],
                changes: try Self.decode(StoredChanges.self, row[4]).changes)
        }
    }

    func append(_ entry: ChangeLogEntry, bytesMax: Int64) throws {
        guard let last = entry.changes.last?.number else { return }
        let changes = StoredChanges(entry.changes).encoded()
        let texts = [entry.author, entry.deviceID, entry.requestUUID].reduce(0) { $0 + $1.utf8.count }
        // The statements are not waited for. The partition's row is locked, so no other unit appends in between.
        try run(
            """
            INSERT INTO change_log (part, last, at, author, device, request, changes, total) VALUES ($1, $2, $3, $4, $5, $6, $7,
                $8 + coalesce((SELECT total FROM change_log WHERE part = $1 AND last < $2 ORDER BY last DESC LIMIT 1), 0))
            ON CONFLICT (part, last) DO UPDATE SET at = excluded.at, author = excluded.author, device = excluded.device,
                request = excluded.request, changes = excluded.changes, total = excluded.total
            """,
            [
                part, last, entry.time, entry.author, entry.deviceID, entry.requestUUID, changes,
                Int64(texts + changes.count) + ChangeLogRows.rowBytes,
            ], changing: .changeLog)
        expires(after: entry.time)
        guard ChangeLogRows.isTrimmed(last: last, count: entry.changes.count) else { return }
        try run("DELETE FROM change_log WHERE part = $1 AND \(ChangeLogRows.isBeyondLimit)", [part, bytesMax], changing: .changeLog)
    }
}
