// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import SQLiteStore

/// Position keys in ordered relationships. Those of a one-to-many relationship belong to the member's row, independent of the name and
/// zone of its record; those of a many-to-many relationship belong to the link.
enum PositionTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_RANK (entity TEXT NOT NULL, pk INTEGER NOT NULL, relationship TEXT NOT NULL, \
        rank TEXT NOT NULL, PRIMARY KEY (entity, pk, relationship)) WITHOUT ROWID
        """,
        "CREATE TABLE IF NOT EXISTS TARN_LINKRANK (name TEXT PRIMARY KEY NOT NULL, firstRank TEXT, secondRank TEXT) WITHOUT ROWID",
    ]
}

extension SyncMetadataReader {
    func ranks(of key: RowKey) throws -> [String: String] {
        var ranks: [String: String] = [:]
        try reader.query(
            "SELECT relationship, rank FROM TARN_RANK WHERE entity = ? AND pk = ?", [.text(entityName(key)), .int(key.primaryKey)]
        ) { row in if let name = row.text(0) { ranks[name] = row.text(1) } }
        return ranks
    }

    /// Returns the members of a list in the order of their keys, with their position keys. Members without a record, or with one in another
    /// zone, have no name.
    func ranking(of keys: [RowKey], in list: OrderedList) throws -> [Ranking.Member] {
        if let name = mapping.rankedName(list) { return try ranking(of: keys, rankedBy: name) }
        guard let link = mapping.link(entity: list.owner.entityIndex, toMany: list.relationship), let owner = try name(of: list.owner)
        else {
            return keys.map { _ in Ranking.Member(name: "", rank: nil) }
        }
        let links = Dictionary(grouping: try links(touching: owner).filter { $0.pair.kind == link.kind && $0.isLive }, by: \.pair)
        return try keys.map { key in
            guard let name = try name(of: key) else { return Ranking.Member(name: "", rank: nil) }
            let pair = mapping.pair(in: list, owner: owner, member: name)
            let decisive = pair.flatMap { LinkState.decisive(links[$0] ?? [], inListOf: owner) }
            return Ranking.Member(name: name, rank: decisive?.rank(inListOf: owner))
        }
    }

    private func ranking(of keys: [RowKey], rankedBy relationship: String) throws -> [Ranking.Member] {
        var members: [RowKey: Ranking.Member] = [:]
        for (entity, keys) in Dictionary(grouping: keys, by: \.entityIndex) {
            let name = mapping.syncName(ofEntity: entity)
            // The CROSS JOIN reads the list first. Without it SQLite may read all records of the entity for each list.
            try reader.query(
                """
                SELECT r.pk, r.name, k.rank FROM json_each(?1) j CROSS JOIN TARN_RECORD r ON r.entity = ?2 AND r.pk = j.value AND r.isRelocated = 0 \
                LEFT JOIN TARN_RANK k ON k.entity = r.entity AND k.pk = r.pk AND k.relationship = ?3
                """,
                [.text("[\(keys.map { String($0.primaryKey) }.joined(separator: ","))]"), .text(name), .text(relationship)]
            ) { row in
                let key = RowKey(store: store, entity: entity, primaryKey: row.int(0))
                members[key] = Ranking.Member(name: row.text(1) ?? "", rank: row.text(2).flatMap { Rank($0) })
            }
        }
        return keys.map { members[$0] ?? Ranking.Member(name: "", rank: nil) }
    }
}

extension SyncMetadataWriter {
    /// Stores the position keys of a record's object. The source record of a relocated object has them as well: edits of it are forwarded.
    func writePositions(of state: RecordState) throws {
        try PositionTable.remove([state.key], mapping, writer)
        if !state.hasRow { return }
        for (relationship, rank) in state.ranks.sorted(by: { $0.key < $1.key }) { try write(rank: rank, of: state.key, in: relationship) }
    }

    func write(rank: String, of key: RowKey, in relationship: String) throws {
        try writer.execute(
            "INSERT OR REPLACE INTO TARN_RANK (entity, pk, relationship, rank) VALUES (?, ?, ?, ?)",
            [.text(mapping.syncName(ofEntity: key.entityIndex)), .int(key.primaryKey), .text(relationship), .text(rank)])
    }

    func writePositions(of link: LinkState) throws {
        func text(_ rank: String?) -> SQLValue { rank.map { .text($0) } ?? .null }
        try writer.execute(
            "INSERT OR REPLACE INTO TARN_LINKRANK (name, firstRank, secondRank) VALUES (?, ?, ?)",
            [.text(link.recordName), text(link.ranks.first), text(link.ranks.second)])
    }
}

extension PositionTable {
    static func removePositions(ofLinks names: [String], _ writer: StoreWriter) throws {
        for name in names { try writer.execute("DELETE FROM TARN_LINKRANK WHERE name = ?", [.text(name)]) }
    }

    /// Removes the position keys of rows that are deleted.
    static func remove(_ keys: [RowKey], _ mapping: RecordMapping, _ writer: StoreWriter) throws {
        for key in keys where mapping.isRanked(key.entityIndex) {
            try writer.execute(
                "DELETE FROM TARN_RANK WHERE entity = ? AND pk = ?",
                [.text(mapping.syncName(ofEntity: key.entityIndex)), .int(key.primaryKey)])
        }
    }
}
