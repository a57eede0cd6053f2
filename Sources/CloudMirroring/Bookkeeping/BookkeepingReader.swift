// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// Reads the mirror's tables, inside one transaction of the store.
struct BookkeepingReader {
    let reader: StoreReader
    let mapping: RecordMapping
    /// What row keys of the store carry.
    let store: UInt16
    /// In which names count.
    let zone: Int64

    // MARK: Records

    private static let recordColumns = "name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share"

    func record(named name: String) throws -> RecordState? {
        try records("zone = ? AND name = ?", [.int(zone), .text(name)]).first
    }

    /// In any zone.
    func recordAnywhere(named name: String) throws -> RecordState? {
        try records("zone IN (SELECT number FROM TARN_ZONE) AND name = ? AND pk > 0 LIMIT 1", [.text(name)]).first
    }

    /// In any zone.
    func record(of key: RowKey) throws -> RecordState? {
        try records("entity = ? AND pk = ?", [.text(entityName(key)), .int(key.primaryKey)]).first
    }

    /// In any zone. What was made together is looked for together.
    func records(of keys: [RowKey]) throws -> [RecordState] {
        var found: [RecordState] = []
        for (entity, group) in Dictionary(grouping: keys, by: \.entityIndex) {
            guard let low = group.lazy.map(\.primaryKey).min(), let high = group.lazy.map(\.primaryKey).max(), high - low < 2 * Int64(group.count)
            else {
                for key in group { if let state = try record(of: key) { found.append(state) } }
                continue
            }
            let between = try records(
                "entity = ? AND pk BETWEEN ? AND ?", [.text(mapping.model.entities[entity].name), .int(low), .int(high)])
            if between.isEmpty { continue }
            let wanted = Set(group)
            found += between.filter { wanted.contains($0.key) }
        }
        return found
    }

    /// In which zone the record of a row is; nil for a row that has none.
    func zone(of key: RowKey) throws -> Int64? {
        var zone: Int64?
        try reader.query(
            "SELECT zone FROM TARN_RECORD WHERE entity = ? AND pk = ?", [.text(entityName(key)), .int(key.primaryKey)]
        ) { zone = $0.int(0) }
        return zone
    }

    /// The name of a row's record in this zone, or of the record that it had here. Records of other zones are never named.
    func name(of key: RowKey) throws -> String? {
        var name: String?
        try reader.query(
            "SELECT name FROM TARN_RECORD WHERE entity = ?1 AND pk IN (?2, -?2) AND zone = ?3",
            [.text(entityName(key)), .int(key.primaryKey), .int(zone)]
        ) { name = $0.text(0) }
        return name
    }

    /// What moved to another zone is deleted once it has arrived there.
    ///
    /// - Parameter names: Of records that are passed over.
    func pendingRecords(limit: Int, passingOver names: Set<String> = []) throws -> [RecordState] {
        try pendingRecords("IN (1, 2)", limit: limit, passingOver: names)
    }

    func pendingDeletions(limit: Int) throws -> [RecordState] { try pendingRecords("= 2", limit: limit, passingOver: []) }

    /// - Parameter stages: As the condition of an index has it.
    private func pendingRecords(_ stages: String, limit: Int, passingOver names: Set<String>) throws -> [RecordState] {
        let waits = mapping.hasUniqueness ? "AND NOT (\(MergedTable.waits))" : ""
        return try records(
            """
            zone = ? AND stage \(stages) AND failure IS NULL \(waits) AND (pk > 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m \
            WHERE m.entity = TARN_RECORD.entity AND m.pk = -TARN_RECORD.pk AND m.tag IS NULL)) ORDER BY mark, rowid LIMIT ?
            """, [.int(zone), .int(Int64(limit + names.count))], passingOver: names)
    }

    /// Records of entities that this model no longer has are passed over.
    private func records(_ condition: String, _ arguments: [SQLValue], passingOver names: Set<String> = []) throws -> [RecordState] {
        var states: [RecordState] = []
        try reader.query("SELECT \(Self.recordColumns) FROM TARN_RECORD WHERE \(condition)", arguments) { row in
            guard let name = row.text(0), !names.contains(name), let entity = row.text(1).flatMap({ mapping.model.entity(named: $0) }),
                let stage = MirrorStage(rawValue: Int(row.int(7)))
            else { return }
            var state = RecordState(
                recordName: name, key: RowKey(store: store, entity: entity.index, primaryKey: row.int(2)), stage: stage,
                mark: row.int(8))
            state.isNew = false
            state.changeTag = row.text(3)
            if let kept = row.bytes(4) { (state.ancestor.fields, state.modified) = try KeptAncestor.read(kept) }
            state.ancestor.unapplied = try row.blob(5).map { try Record(json: [UInt8]($0)).fields } ?? [:]
            state.ancestor.digests = Digests.decode(row.text(6))
            state.failure = row.text(9)
            state.generation = row.int(10)
            state.system = RecordSystemFields(creator: row.text(11), created: row.optionalInt(12), parent: row.text(13), share: row.text(14))
            if state.key.primaryKey < 0 {
                state.isMovedOut = true
                let key = RowKey(store: store, entity: entity.index, primaryKey: -state.key.primaryKey)
                // An object that was deleted where it is now has no row.
                if try self.isLive(key) { state.key = key }
            }
            if mapping.isRanked(entity.index) { state.ranks = try ranks(of: state.key) }
            if mapping.isUnique(entity.index), !state.isMovedOut { state.merged = try merged(into: name) }
            states.append(state)
        }
        return states
    }

    /// Levels of a hierarchy that are followed at most.
    private static let hierarchyDepthMax = 100

    /// The name of the share that a record belongs to: that of the record at the top of its hierarchy. The server doesn't send the
    /// records below again when somebody shares it.
    func share(of state: RecordState) throws -> String? {
        var top = state
        for _ in 0..<Self.hierarchyDepthMax {
            guard let parent = try top.system.parent.flatMap({ try record(named: $0) }) else { break }
            top = parent
        }
        return top.system.share
    }

    private func isLive(_ key: RowKey) throws -> Bool {
        var isLive = false
        try reader.query(
            "SELECT 1 FROM TARN_RECORD WHERE entity = ? AND pk = ? AND stage <> \(MirrorStage.needsDelete.rawValue)",
            [.text(entityName(key)), .int(key.primaryKey)]
        ) { _ in isLive = true }
        return isLive
    }

    func entityName(_ key: RowKey) -> String { mapping.model.entities[key.entityIndex].name }

    // MARK: Links

    private static let linkColumns = "name, entities, relationships, first, second, tag, stage, mark, failure, generation"

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
        try links(
            "zone = ? AND stage IN (1, 2) AND failure IS NULL ORDER BY mark, TARN_LINK.rowid LIMIT ?",
            [.int(zone), .int(Int64(limit))])
    }

    private func links(_ condition: String, _ arguments: [SQLValue]) throws -> [LinkState] {
        var states: [LinkState] = []
        let isOrdered = mapping.hasOrderedLinks
        let columns = isOrdered ? Self.linkColumns + ", firstRank, secondRank" : Self.linkColumns
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

    // MARK: The rest

    /// The greatest name of a record in the zone, by its UTF-8 text; nil where there is none.
    func lastName() throws -> String? {
        var name: String?
        try reader.query("SELECT MAX(name) FROM TARN_RECORD WHERE zone = ?", [.int(zone)]) { name = $0.text(0) }
        return name
    }

    /// Whether there are links in the zone at all. Most models need none, and then none is looked for by name.
    func hasLinks() throws -> Bool { try exists("TARN_LINK") }
    func hasParked() throws -> Bool { try exists("TARN_PARKED") }

    func exists(_ table: String) throws -> Bool {
        var isThere = false
        try reader.query("SELECT 1 FROM \(table) WHERE zone = ? LIMIT 1", [.int(zone)]) { _ in isThere = true }
        return isThere
    }

    func parked(source name: String) throws -> [ParkedRelationship] { try parked("zone = ? AND source = ?", name) }
    func parked(destination name: String) throws -> [ParkedRelationship] { try parked("zone = ? AND destination = ?", name) }

    private func parked(_ condition: String, _ name: String) throws -> [ParkedRelationship] {
        var found: [ParkedRelationship] = []
        try reader.query(
            "SELECT source, relationship, destination FROM TARN_PARKED WHERE \(condition) ORDER BY source, relationship",
            [.int(zone), .text(name)]
        ) { row in
            found.append(
                ParkedRelationship(source: row.text(0) ?? "", relationship: row.text(1) ?? "", destination: row.text(2) ?? ""))
        }
        return found
    }

    /// Records and links of all zones that wait to be sent; those refused for good are not among them.
    ///
    /// - Parameter from: The first zone that counts.
    func pendingCount(from first: Int64) throws -> Int {
        var count = 0
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try reader.query(
                "SELECT COUNT(*) FROM \(table) WHERE stage IN (1, 2) AND failure IS NULL AND zone >= ?", [.int(first)]
            ) { count += Int($0.int(0)) }
        }
        return count
    }

    /// Whether any is to be counted, which is known sooner than how many.
    func hasPending(from first: Int64) throws -> Bool {
        let condition = "stage IN (1, 2) AND failure IS NULL AND zone >= ?1"
        var isThere = false
        try reader.query(
            "SELECT 1 FROM TARN_RECORD WHERE \(condition) UNION ALL SELECT 1 FROM TARN_LINK WHERE \(condition) LIMIT 1", [.int(first)]
        ) { _ in isThere = true }
        return isThere
    }

    /// How many records stand in this zone.
    func recordCount() throws -> Int {
        var count = 0
        try reader.query("SELECT COUNT(*) FROM TARN_RECORD WHERE zone = ?", [.int(zone)]) { count = Int($0.int(0)) }
        return count
    }

    /// Why something was refused for good, and how much was; nil when nothing was.
    func refusal() throws -> String? {
        var count = 0
        var reason: String?
        for table in ["TARN_LINK", "TARN_RECORD"] {
            try reader.query("SELECT COUNT(*), MIN(failure) FROM \(table) WHERE failure IS NOT NULL") { row in
                count += Int(row.int(0))
                reason = row.text(1) ?? reason
            }
        }
        return reason.map { "the server refused \(count == 1 ? "an object" : "\(count) objects"): \($0)" }
    }

    /// Records of the zone with changes that the server rejected permanently, and join records.
    func rejected() throws -> (records: [RecordState], links: [LinkState]) {
        // The index over failures, not the whole zone.
        let condition = "+zone = ? AND failure IS NOT NULL ORDER BY failure"
        return (try records(condition, [.int(zone)]), try links(condition, [.int(zone)]))
    }

    func missingNames() throws -> [String] {
        try names("SELECT name FROM TARN_RECORD WHERE zone = ? AND stage = 3 ORDER BY name", [.int(zone)])
    }

    /// What the server has, or had, and what a full fetch has not shown.
    func unseenNames(before generation: Int64) throws -> [String] {
        let condition = "zone = ?2 AND (tag IS NOT NULL OR stage = 0) AND generation < ?1"
        let incomplete = mapping.keepsIncomplete ? " UNION ALL SELECT name FROM TARN_INCOMPLETE WHERE zone = ?2 AND generation < ?1" : ""
        return try names(
            "SELECT name FROM TARN_RECORD WHERE \(condition) UNION ALL SELECT name FROM TARN_LINK WHERE \(condition)\(incomplete)",
            [.int(generation), .int(zone)]
        ).sorted()
    }

    func names(_ sql: String, _ arguments: [SQLValue]) throws -> [String] {
        var names: [String] = []
        try reader.query(sql, arguments) { if let name = $0.text(0) { names.append(name) } }
        return names
    }
}

/// Digests of assets as one text: a line for each, field and digest.
enum Digests {
    static func encode(_ digests: [String: ContentDigest]) -> String? {
        if digests.isEmpty { return nil }
        return digests.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.text)" }.joined(separator: "\n")
    }

    static func decode(_ text: String?) -> [String: ContentDigest] {
        var digests: [String: ContentDigest] = [:]
        for line in text?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: " ")
            if parts.count == 2 { digests[String(parts[0])] = ContentDigest(text: String(parts[1])) }
        }
        return digests
    }
}

extension BookkeepingReader {
    /// Keys of all rows that the mirror knows and has not marked as deleted, in all zones.
    func allKeys() throws -> [RowKey] { try keys("pk > 0 AND stage <> \(MirrorStage.needsDelete.rawValue)", []) }

    /// Keys of the rows in this zone.
    func keys() throws -> [RowKey] { try keys("zone = ? AND pk > 0 AND stage <> \(MirrorStage.needsDelete.rawValue)", [.int(zone)]) }

    /// Keys of rows in this zone whose records the server has, or had.
    func keysOnServer() throws -> [RowKey] {
        try keys("zone = ? AND pk > 0 AND tag IS NOT NULL AND stage <> \(MirrorStage.needsDelete.rawValue)", [.int(zone)])
    }

    /// Of rows whose records have the names of records in another zone.
    func keys(alsoNamedIn other: Int64) throws -> [RowKey] {
        try keys("zone = ? AND pk > 0 AND name IN (SELECT name FROM TARN_RECORD WHERE zone = ?)", [.int(zone), .int(other)])
    }

    private func keys(_ condition: String, _ arguments: [SQLValue]) throws -> [RowKey] {
        var keys: [RowKey] = []
        try reader.query("SELECT entity, pk FROM TARN_RECORD WHERE \(condition) ORDER BY entity, pk", arguments) { row in
            guard let entity = row.text(0).flatMap({ mapping.model.entity(named: $0) }) else { return }
            keys.append(RowKey(store: store, entity: entity.index, primaryKey: row.int(1)))
        }
        return keys
    }
}
