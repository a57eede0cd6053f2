// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import SQLiteStore

/// Names of records whose objects were merged into others, with the names of the records that those have.
enum MergedTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_MERGED (zone INTEGER NOT NULL, name TEXT NOT NULL, successor TEXT NOT NULL, \
        PRIMARY KEY (zone, name)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS TARN_MERGED_SUCCESSOR ON TARN_MERGED (zone, successor)",
    ]

    /// Condition on a deletion in `TARN_RECORD` that has to wait: the server learns what an object was merged into before it learns that
    /// the object is gone.
    static let waits = """
        stage = \(MirrorStage.needsDelete.rawValue) AND EXISTS (SELECT 1 FROM TARN_MERGED g JOIN TARN_RECORD s \
        ON s.zone = g.zone AND s.name = g.successor WHERE g.zone = TARN_RECORD.zone AND g.name = TARN_RECORD.name \
        AND s.stage IN (\(MirrorStage.needsUpload.rawValue), \(MirrorStage.missing.rawValue)) AND s.failure IS NULL)
        """

    /// Follows a record to another zone, or to another name.
    static func move(_ name: String, from zone: Int64, to other: Int64, as new: String, _ writer: StoreWriter) throws {
        try writer.execute(
            "UPDATE OR REPLACE TARN_MERGED SET zone = ?, successor = ? WHERE zone = ? AND successor = ?",
            [.int(other), .text(new), .int(zone), .text(name)])
    }
}

extension BookkeepingReader {
    /// Whether anything was merged in the zone.
    func hasMerged() throws -> Bool { try mapping.hasUniqueness && exists("TARN_MERGED") }

    /// The record that took over the object of another one.
    func successor(of name: String) throws -> String? {
        var successor: String?
        try reader.query("SELECT successor FROM TARN_MERGED WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) { successor = $0.text(0) }
        return successor
    }

    func merged(into name: String) throws -> MergedNames {
        MergedNames(try names("SELECT name FROM TARN_MERGED WHERE zone = ? AND successor = ?", [.int(zone), .text(name)]))
    }

    /// Names of records that were merged and of which others still say something.
    func mergedNamesInUse() throws -> [String] {
        try names(
            """
            SELECT name FROM TARN_MERGED g WHERE zone = ?1 AND (EXISTS (SELECT 1 FROM TARN_PARKED WHERE zone = ?1 AND destination = g.name) \
            OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = ?1 AND first = g.name) \
            OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = ?1 AND second = g.name)) ORDER BY name
            """, [.int(zone)])
    }

    /// Of those that objects cannot be without.
    func mergedNamesLacked() throws -> [String] {
        try names(
            "SELECT name FROM TARN_MERGED g WHERE zone = ?1 AND EXISTS (SELECT 1 FROM TARN_LACKING WHERE zone = ?1 AND target = g.name) ORDER BY name",
            [.int(zone)])
    }
}

extension BookkeepingWriter {
    func writeMerged(into state: RecordState) throws {
        try forgetMerged(into: state.recordName)
        for name in state.merged.names.sorted() {
            try writer.execute(
                "INSERT OR REPLACE INTO TARN_MERGED (zone, name, successor) VALUES (?, ?, ?)", [.int(zone), .text(name), .text(state.recordName)])
        }
    }

    func forgetMerged(into name: String) throws {
        try writer.execute("DELETE FROM TARN_MERGED WHERE zone = ? AND successor = ?", [.int(zone), .text(name)])
    }
}
