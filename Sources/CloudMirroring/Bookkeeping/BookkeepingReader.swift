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

    // MARK: Records

    private static let recordColumns = "name, entity, pk, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator"

    func record(named name: String) throws -> RecordState? {
        try records("name = ?", [.text(name)]).first
    }

    func record(of key: RowKey) throws -> RecordState? {
        try records("entity = ? AND pk = ?", [.text(entityName(key)), .int(key.primaryKey)]).first
    }

    func name(of key: RowKey) throws -> String? {
        var name: String?
        try reader.query(
            "SELECT name FROM TARN_RECORD WHERE entity = ? AND pk = ?", [.text(entityName(key)), .int(key.primaryKey)]
        ) { name = $0.text(0) }
        return name
    }

    func pendingRecords(limit: Int) throws -> [RecordState] {
        try records("stage IN (1, 2) AND stage <> 0 AND failure IS NULL ORDER BY mark, name LIMIT ?", [.int(Int64(limit))])
    }

    /// Records of entities that this model no longer has are passed over.
    private func records(_ condition: String, _ arguments: [SQLValue]) throws -> [RecordState] {
        var states: [RecordState] = []
        try reader.query("SELECT \(Self.recordColumns) FROM TARN_RECORD WHERE \(condition)", arguments) { row in
            guard let name = row.text(0), let entity = row.text(1).flatMap({ mapping.model.entity(named: $0) }),
                let stage = MirrorStage(rawValue: Int(row.int(7)))
            else { return }
            var state = RecordState(
                recordName: name, key: RowKey(store: store, entity: entity.index, primaryKey: row.int(2)), stage: stage,
                mark: row.int(8))
            state.changeTag = row.text(3)
            let ancestor = try row.blob(4).map { try Record(json: [UInt8]($0)) }
            state.ancestor.fields = ancestor?.fields ?? [:]
            state.modified = ancestor?.modified
            state.ancestor.unapplied = try row.blob(5).map { try Record(json: [UInt8]($0)).fields } ?? [:]
            state.ancestor.digests = Digests.decode(row.text(6))
            state.failure = row.text(9)
            state.generation = row.int(10)
            state.creator = row.text(11)
            states.append(state)
        }
        return states
    }

    func entityName(_ key: RowKey) -> String { mapping.model.entities[key.entityIndex].name }

    // MARK: Links

    private static let linkColumns = "name, entities, relationships, first, second, tag, stage, mark, failure, generation"

    func link(named name: String) throws -> LinkState? { try links("name = ?", [.text(name)]).first }

    func links(touching name: String) throws -> [LinkState] {
        try links("first = ?1 OR second = ?1 ORDER BY name", [.text(name)])
    }

    func links(of pair: LinkPair) throws -> [LinkState] {
        try links(
            "first = ? AND second = ? AND entities = ? AND relationships = ? ORDER BY name",
            [.text(pair.first), .text(pair.second), .text(pair.kind.entityNames), .text(pair.kind.relationships)])
    }

    func pendingLinks(limit: Int) throws -> [LinkState] {
        try links("stage IN (1, 2) AND stage <> 0 AND failure IS NULL ORDER BY mark, name LIMIT ?", [.int(Int64(limit))])
    }

    private func links(_ condition: String, _ arguments: [SQLValue]) throws -> [LinkState] {
        var states: [LinkState] = []
        try reader.query("SELECT \(Self.linkColumns) FROM TARN_LINK WHERE \(condition)", arguments) { row in
            guard let name = row.text(0), let stage = MirrorStage(rawValue: Int(row.int(6))) else { return }
            let kind = LinkKind(entityNames: row.text(1) ?? "", relationships: row.text(2) ?? "")
            var state = LinkState(
                recordName: name, pair: LinkPair(kind: kind, first: row.text(3) ?? "", second: row.text(4) ?? ""),
                stage: stage, mark: row.int(7))
            state.changeTag = row.text(5)
            state.failure = row.text(8)
            state.generation = row.int(9)
            states.append(state)
        }
        return states
    }

    // MARK: The rest

    func parked(source name: String) throws -> [ParkedRelationship] { try parked("source = ?", name) }
    func parked(destination name: String) throws -> [ParkedRelationship] { try parked("destination = ?", name) }

    private func parked(_ condition: String, _ name: String) throws -> [ParkedRelationship] {
        var found: [ParkedRelationship] = []
        try reader.query(
            "SELECT source, relationship, destination FROM TARN_PARKED WHERE \(condition) ORDER BY source, relationship",
            [.text(name)]
        ) { row in
            found.append(
                ParkedRelationship(source: row.text(0) ?? "", relationship: row.text(1) ?? "", destination: row.text(2) ?? ""))
        }
        return found
    }

    /// Records and links that wait to be sent; those refused for good are not among them.
    func pendingCount() throws -> Int {
        var count = 0
        for table in ["TARN_RECORD", "TARN_LINK"] {
            try reader.query("SELECT COUNT(*) FROM \(table) WHERE stage IN (1, 2) AND stage <> 0 AND failure IS NULL") {
                count += Int($0.int(0))
            }
        }
        return count
    }

    /// Why something was refused for good, and how much was; nil when nothing was.
    func refusal() throws -> String? {
        var count = 0
        var reason: String?
        for table in ["TARN_LINK", "TARN_RECORD"] {
            try reader.query("SELECT COUNT(*), MIN(failure) FROM \(table) WHERE stage <> 0 AND failure IS NOT NULL") { row in
                count += Int(row.int(0))
                reason = row.text(1) ?? reason
            }
        }
        return reason.map { "the server refused \(count == 1 ? "an object" : "\(count) objects"): \($0)" }
    }

    func missingNames() throws -> [String] {
        try names("SELECT name FROM TARN_RECORD WHERE stage <> 0 AND stage = 3 ORDER BY name", [])
    }

    /// What the server has, or had, and what a full fetch has not shown.
    func unseenNames(before generation: Int64) throws -> [String] {
        let condition = "(tag IS NOT NULL OR stage = 0) AND generation < ?1"
        return try names(
            "SELECT name FROM TARN_RECORD WHERE \(condition) UNION ALL SELECT name FROM TARN_LINK WHERE \(condition)",
            [.int(generation)]
        ).sorted()
    }

    private func names(_ sql: String, _ arguments: [SQLValue]) throws -> [String] {
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
    /// Keys of all rows that the mirror knows and has not marked as deleted.
    func allKeys() throws -> [RowKey] { try keys("stage <> \(MirrorStage.needsDelete.rawValue)") }

    /// Keys of rows whose records the server has, or had.
    func keysOnServer() throws -> [RowKey] {
        try keys("tag IS NOT NULL AND stage <> \(MirrorStage.needsDelete.rawValue)")
    }

    private func keys(_ condition: String) throws -> [RowKey] {
        var keys: [RowKey] = []
        try reader.query("SELECT entity, pk FROM TARN_RECORD WHERE \(condition) ORDER BY entity, pk") { row in
            guard let entity = row.text(0).flatMap({ mapping.model.entity(named: $0) }) else { return }
            keys.append(RowKey(store: store, entity: entity.index, primaryKey: row.int(1)))
        }
        return keys
    }
}
