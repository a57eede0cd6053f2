// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import SQLiteStore

/// Redirects: names of records that were merged into others, with the names of the records that supersede them.
///
/// A redirect is referenced while a deferred reference, a link or a withheld record names it. An import looks up referenced redirects, so
/// they are flagged. Invariant: a redirect that is named is flagged. A flag may outlive the last name; the end of an import clears it.
enum RedirectTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_MERGED (zone INTEGER NOT NULL, name TEXT NOT NULL, successor TEXT NOT NULL, \
        isReferenced INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (zone, name)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS TARN_MERGED_SUCCESSOR ON TARN_MERGED (zone, successor)",
        "CREATE INDEX IF NOT EXISTS TARN_MERGED_REFERENCED ON TARN_MERGED (zone, isReferenced) WHERE isReferenced = 1",
    ]

    /// The condition on a deletion in `TARN_RECORD` that has to wait: the server gets the record that supersedes another one before it
    /// gets the deletion of that one.
    static let delaysDeletion = """
        stage = \(MirrorStage.needsDelete.rawValue) AND EXISTS (SELECT 1 FROM TARN_MERGED g JOIN TARN_RECORD s \
        ON s.zone = g.zone AND s.name = g.successor WHERE g.zone = TARN_RECORD.zone AND g.name = TARN_RECORD.name \
        AND s.stage IN (\(MirrorStage.needsUpload.rawValue), \(MirrorStage.missing.rawValue)) AND s.failure IS NULL)
        """

    /// The condition on a redirect that a row of another table names. The row is called `g`.
    fileprivate static let isNamed = """
        (\(isNamedByRelationship) OR EXISTS (SELECT 1 FROM TARN_LACKING WHERE zone = g.zone AND target = g.name))
        """

    fileprivate static let isNamedByRelationship = """
        (EXISTS (SELECT 1 FROM TARN_PARKED WHERE zone = g.zone AND destination = g.name) \
        OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND first = g.name) \
        OR EXISTS (SELECT 1 FROM TARN_LINK WHERE zone = g.zone AND second = g.name))
        """

    // MARK: Flags

    /// Adds the flag of ``SyncMetadataFormat/relocatedRecords``.
    static func addReferenced(_ writer: StoreWriter) throws {
        try writer.execute("ALTER TABLE TARN_MERGED ADD COLUMN isReferenced INTEGER NOT NULL DEFAULT 0")
    }

    /// Flags all redirects of a zone that are named.
    static func findReferences(in zone: Int64, _ writer: StoreWriter) throws {
        try writer.execute("UPDATE TARN_MERGED AS g SET isReferenced = 1 WHERE zone = ? AND isReferenced = 0 AND \(isNamed)", [.int(zone)])
    }
}

extension SyncMetadataReader {
    /// Returns `true` if the zone has redirects.
    func hasMerged() throws -> Bool { try mapping.hasUniqueness && exists("TARN_MERGED") }

    /// Returns the name of the record that supersedes another one.
    func successor(of name: String) throws -> String? {
        var successor: String?
        try reader.query("SELECT successor FROM TARN_MERGED WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) {
            successor = $0.text(0)
        }
        return successor
    }

    func merged(into name: String) throws -> MergedNames {
        MergedNames(try names("SELECT name FROM TARN_MERGED WHERE zone = ? AND successor = ?", [.int(zone), .text(name)]))
    }

    /// Returns the names of superseded records that deferred references and links name.
    func mergedNamesInUse() throws -> [String] {
        try names(
            "SELECT name FROM TARN_MERGED AS g WHERE zone = ? AND isReferenced = 1 AND \(RedirectTable.isNamedByRelationship) ORDER BY name",
            [.int(zone)])
    }

    /// Returns the names of superseded records that withheld records require.
    func mergedNamesLacked() throws -> [String] {
        try names(
            """
            SELECT name FROM TARN_MERGED AS g WHERE zone = ? AND isReferenced = 1 \
            AND EXISTS (SELECT 1 FROM TARN_LACKING WHERE zone = g.zone AND target = g.name) ORDER BY name
            """, [.int(zone)])
    }
}

extension SyncMetadataWriter {
    /// Stores the names that a record supersedes, as far as they changed.
    func writeRedirects(to state: RecordState) throws {
        let stored = try reader.merged(into: state.recordName).names
        for name in stored.subtracting(state.merged.names).sorted() {
            try writer.execute("DELETE FROM TARN_MERGED WHERE zone = ? AND name = ?", [.int(zone), .text(name)])
        }
        for name in state.merged.names.subtracting(stored).sorted() {
            try writer.execute(
                """
                INSERT OR REPLACE INTO TARN_MERGED (zone, name, successor, isReferenced) \
                SELECT g.zone, g.name, ?3, \(RedirectTable.isNamed) FROM (SELECT ?1 AS zone, ?2 AS name) AS g
                """, [.int(zone), .text(name), .text(state.recordName)])
        }
    }

    func removeRedirects(to name: String) throws {
        try writer.execute("DELETE FROM TARN_MERGED WHERE zone = ? AND successor = ?", [.int(zone), .text(name)])
    }

    /// Moves the redirects to a record to another zone, or to another name.
    func moveRedirects(to name: String, _ destination: SyncMetadataWriter, as new: String) throws {
        if !mapping.hasUniqueness { return }
        try writer.execute(
            "UPDATE OR REPLACE TARN_MERGED SET zone = ?, successor = ? WHERE zone = ? AND successor = ?",
            [.int(destination.zone), .text(new), .int(zone), .text(name)])
        if destination.zone == zone { return }
        try writer.execute(
            "UPDATE TARN_MERGED AS g SET isReferenced = 1 WHERE zone = ? AND successor = ? AND \(RedirectTable.isNamed)",
            [.int(destination.zone), .text(new)])
    }

    /// Flags redirects that a row of another table names from now on.
    func noteReferences(to names: [String]) throws {
        if !mapping.hasUniqueness { return }
        for name in names {
            try writer.execute(
                "UPDATE TARN_MERGED SET isReferenced = 1 WHERE zone = ? AND name = ? AND isReferenced = 0", [.int(zone), .text(name)])
        }
    }

    /// Clears the flags of redirects that nothing names any more, so that the next import does not look them up.
    func clearStaleReferences() throws {
        if !mapping.hasUniqueness { return }
        try writer.execute(
            "UPDATE TARN_MERGED AS g SET isReferenced = 0 WHERE zone = ? AND isReferenced = 1 AND NOT \(RedirectTable.isNamed)",
            [.int(zone)])
    }
}
