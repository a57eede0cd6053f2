// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import SQLiteStore

/// The join records of many-to-many relationships (`CDMR`).
enum LinkTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_LINK (zone INTEGER NOT NULL, name TEXT NOT NULL, entities TEXT NOT NULL, \
        relationships TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, tag TEXT, stage INTEGER NOT NULL, \
        mark INTEGER NOT NULL, failure TEXT, generation INTEGER NOT NULL, PRIMARY KEY (zone, name))
        """,
        "CREATE INDEX IF NOT EXISTS TARN_LINK_FIRST ON TARN_LINK (zone, first, second)",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_SECOND ON TARN_LINK (zone, second)",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_QUEUE ON TARN_LINK (zone, mark) WHERE \(MirrorStage.isPendingSQL)",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_DELETION ON TARN_LINK (zone, mark) WHERE stage = \(MirrorStage.needsDelete.rawValue)",
        "CREATE INDEX IF NOT EXISTS TARN_LINK_REFUSED ON TARN_LINK (failure) WHERE failure IS NOT NULL",
    ]

    fileprivate static let columns = "name, entities, relationships, first, second, tag, stage, mark, failure, generation"

    fileprivate static let rowStatements = NamedRowStatements(
        "TARN_LINK", subject: ["entities", "relationships", "first", "second"], ["tag", "stage", "mark", "failure", "generation"])

    /// Clears all rejections, as ``RecordTable/clearRejections(_:)`` does.
    static func clearRejections(_ writer: StoreWriter) throws {
        try writer.execute("UPDATE TARN_LINK SET failure = NULL WHERE failure IS NOT NULL")
    }
}

extension SyncMetadataReader {
    func link(named name: String) throws -> LinkState? { try links("zone = ? AND name = ?", [.int(zone), .text(name)]).first }

    /// Returns the links with a record at either end, in the order of their names.
    ///
    /// Two queries: SQLite plans an `OR` over both ends, or an `ORDER BY name`, as a scan of all links of the zone.
    func links(touching name: String) throws -> [LinkState] {
        let arguments: [SQLValue] = [.int(zone), .text(name)]
        let atSecond = try links("zone = ? AND second = ?", arguments).filter { $0.pair.first != name }
        return (try links("zone = ? AND first = ?", arguments) + atSecond).sorted { $0.recordName < $1.recordName }
    }

    /// Returns the links of a pair, in the order of their names.
    func links(of pair: LinkPair) throws -> [LinkState] {
        try links(
            "zone = ? AND first = ? AND second = ? AND entities = ? AND relationships = ?",
            [.int(zone), .text(pair.first), .text(pair.second), .text(pair.kind.entityNames), .text(pair.kind.relationships)]
        ).sorted { $0.recordName < $1.recordName }
    }

    func pendingLinks(limit: Int) throws -> [LinkState] {
        try links("zone = ? AND \(MirrorStage.isPendingSQL) ORDER BY mark, TARN_LINK.rowid LIMIT ?", [.int(zone), .int(Int64(limit))])
    }

    func links(_ condition: String, _ arguments: [SQLValue]) throws -> [LinkState] {
        var states: [LinkState] = []
        let isOrdered = mapping.hasOrderedLinks
        let columns = isOrdered ? LinkTable.columns + ", firstRank, secondRank" : LinkTable.columns
        let source = isOrdered ? "TARN_LINK LEFT JOIN TARN_LINKRANK USING (name)" : "TARN_LINK"
        try reader.query("SELECT \(columns) FROM \(source) WHERE \(condition)", arguments) { row in
            guard let name = row.text(0), let stage = MirrorStage(rawValue: Int(row.int(6))) else { return }
            let kind = LinkKind(entityNames: row.text(1) ?? "", relationships: row.text(2) ?? "")
            var state = LinkState(
                recordName: name, pair: LinkPair(kind: kind, first: row.text(3) ?? "", second: row.text(4) ?? ""),
                stage: stage, mark: row.int(7))
            state.changeTag = row.text(5)
            state.failure = row.text(8)
            state.generation = row.int(9)
            if isOrdered { state.ranks = LinkRanks(first: row.text(10), second: row.text(11)) }
            states.append(state)
        }
        return states
    }

    /// Returns `true` if the zone has links at all. Most models need none, and then none is looked up by name.
    func hasLinks() throws -> Bool { try exists("TARN_LINK") }

    /// Returns `true` if any zone has a link of the name.
    func hasLinkAnywhere(named name: String) throws -> Bool {
        var exists = false
        try reader.query(
            "SELECT 1 FROM TARN_LINK WHERE name = ? AND zone IN (SELECT number FROM TARN_ZONE) LIMIT 1", [.text(name)]
        ) { _ in exists = true }
        return exists
    }

    /// Returns `true` if the zone of a share has a link of the name.
    func hasSharedLink(named name: String) throws -> Bool {
        var exists = false
        try reader.query(
            "SELECT 1 FROM TARN_LINK WHERE zone IN (SELECT number FROM TARN_ZONE WHERE number > \(MirrorZone.home)) AND name = ? LIMIT 1",
            [.text(name)]
        ) { _ in exists = true }
        return exists
    }
}

extension SyncMetadataWriter {
    func write(_ link: LinkState) throws {
        try LinkTable.rowStatements.write(
            zone, link.recordName, isNew: false,
            [.text(link.pair.kind.entityNames), .text(link.pair.kind.relationships), .text(link.pair.first), .text(link.pair.second)],
            [
                .optional(link.changeTag), .int(Int64(link.stage.rawValue)), .int(link.mark), .optional(link.failure),
                .int(link.generation),
            ], writer)
        try noteReferences(to: [link.pair.first, link.pair.second])
    }

    func removeLink(named name: String) throws {
        try writer.execute("DELETE FROM TARN_LINK WHERE zone = ? AND name = ?", [.int(zone), .text(name)])
    }

    /// Removes links of the zone without a record at one of their ends.
    func removeLinksWithoutEnds() throws {
        try writer.execute(
            """
            DELETE FROM TARN_LINK WHERE zone = ?1 AND (first NOT IN (SELECT name FROM TARN_RECORD WHERE zone = ?1) \
            OR second NOT IN (SELECT name FROM TARN_RECORD WHERE zone = ?1))
            """, [.int(zone)])
    }

    /// Deletes the links of a record: those that were never sent are removed, the others are deleted on the server.
    func deleteLinks(of name: String) throws {
        for end in ["first", "second"] {
            try writer.execute("DELETE FROM TARN_LINK WHERE zone = ?1 AND +tag IS NULL AND \(end) = ?2", [.int(zone), .text(name)])
            try writer.execute(
                "UPDATE TARN_LINK SET stage = \(MirrorStage.needsDelete.rawValue) WHERE zone = ?1 AND \(end) = ?2",
                [.int(zone), .text(name)])
        }
    }
}
