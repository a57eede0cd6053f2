// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// The records of objects: one row for each record, with its merge base and its stage.
///
/// Each row of the store has one current record. The record that a relocated object had in its source zone is marked by `isRelocated` and
/// stays until the server has deleted it.
enum RecordTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_RECORD (zone INTEGER NOT NULL, name TEXT NOT NULL, entity TEXT NOT NULL, \
        pk INTEGER NOT NULL, isRelocated INTEGER NOT NULL DEFAULT 0, tag TEXT, ancestor BLOB, unapplied BLOB, digests TEXT, stage INTEGER NOT NULL, \
        mark INTEGER NOT NULL, failure TEXT, generation INTEGER NOT NULL, creator TEXT, created INTEGER, parent TEXT, \
        share TEXT, encrypted TEXT, isUnreadable INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (zone, name))
        """,
        "CREATE UNIQUE INDEX IF NOT EXISTS TARN_RECORD_CURRENT ON TARN_RECORD (entity, pk) WHERE isRelocated = 0",
        // Not unique: for a moment of an undone relocation, both records of a row are relocated ones.
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_RELOCATED ON TARN_RECORD (entity, pk) WHERE isRelocated = 1",
        // Records of one save have one transaction number and are sent in the order of their rows in the file, so that reads are local.
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_QUEUE ON TARN_RECORD (zone, mark) WHERE \(MirrorStage.isPendingSQL)",
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_DELETION ON TARN_RECORD (zone, mark) WHERE stage = \(MirrorStage.needsDelete.rawValue)",
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_MISSING ON TARN_RECORD (zone, name) WHERE stage = \(MirrorStage.missing.rawValue)",
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_REFUSED ON TARN_RECORD (failure) WHERE failure IS NOT NULL",
        "CREATE INDEX IF NOT EXISTS TARN_RECORD_UNREADABLE ON TARN_RECORD (isUnreadable) WHERE isUnreadable = 1",
    ]

    static let columns =
        "name, entity, pk, isRelocated, tag, ancestor, unapplied, digests, stage, mark, failure, generation, creator, created, parent, share, encrypted"

    fileprivate static let rowStatements = NamedRowStatements(
        "TARN_RECORD", subject: ["entity", "pk", "isRelocated"],
        [
            "tag", "ancestor", "unapplied", "digests", "stage", "mark", "failure", "generation", "creator", "created", "parent", "share",
            "encrypted",
            "isUnreadable",
        ])

    /// Adds the columns of ``SyncMetadataFormat/systemFields``.
    static func addSystemFields(_ writer: StoreWriter) throws {
        for column in ["created INTEGER", "parent TEXT", "share TEXT"] {
            try writer.execute("ALTER TABLE TARN_RECORD ADD COLUMN \(column)")
        }
    }

    /// Replaces the negative keys of relocated records by ``SyncMetadataFormat/relocatedRecords``.
    static func addRelocated(_ writer: StoreWriter) throws {
        // The unique index over all keys would reject the second record of a row.
        try writer.execute("DROP INDEX IF EXISTS TARN_RECORD_ROW")
        try writer.execute("ALTER TABLE TARN_RECORD ADD COLUMN isRelocated INTEGER NOT NULL DEFAULT 0")
        try writer.execute("UPDATE TARN_RECORD SET isRelocated = 1, pk = -pk WHERE pk < 0")
    }

    /// Adds the columns of ``SyncMetadataFormat/encryptedFields``.
    static func addEncrypted(_ writer: StoreWriter) throws {
        for column in ["encrypted TEXT", "isUnreadable INTEGER NOT NULL DEFAULT 0"] {
            try writer.execute("ALTER TABLE TARN_RECORD ADD COLUMN \(column)")
        }
    }

    /// Clears all rejections. Rejected records are retried once in each launch: the server's schema or rules may have changed.
    static func clearRejections(_ writer: StoreWriter) throws {
        try writer.execute("UPDATE TARN_RECORD SET failure = NULL WHERE failure IS NOT NULL")
    }
}

extension MirrorStage {
    /// The condition of the queue's partial indexes.
    static let isPendingSQL = "stage IN (\(needsUpload.rawValue), \(needsDelete.rawValue)) AND failure IS NULL"
}

// MARK: - Reading

extension SyncMetadataReader {
    func record(named name: String) throws -> RecordState? {
        try records("zone = ? AND name = ?", [.int(zone), .text(name)]).first
    }

    /// Returns `true` if the zone has a record of a name, current or relocated.
    func hasRecord(named name: String) throws -> Bool {
        var exists = false
        try reader.query("SELECT 1 FROM TARN_RECORD WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) { _ in exists = true }
        return exists
    }

    /// Returns the current record of a name in any zone.
    func recordAnywhere(named name: String) throws -> RecordState? {
        try records("zone IN (SELECT number FROM TARN_ZONE) AND name = ? AND isRelocated = 0 LIMIT 1", [.text(name)]).first
    }

    /// Returns the current record of a row, in any zone.
    func record(of key: RowKey) throws -> RecordState? {
        try records("entity = ? AND pk = ? AND isRelocated = 0", [.text(entityName(key)), .int(key.primaryKey)]).first
    }

    /// Returns the current records of rows, in any zone. Rows of one save have neighbouring keys and are read by one range.
    func records(of keys: [RowKey]) throws -> [RecordState] {
        var states: [RecordState] = []
        for (entity, group) in Dictionary(grouping: keys, by: \.entityIndex) {
            guard let low = group.lazy.map(\.primaryKey).min(), let high = group.lazy.map(\.primaryKey).max(),
                high - low < 2 * Int64(group.count)
            else {
                for key in group { if let state = try record(of: key) { states.append(state) } }
                continue
            }
            let range = try records(
                "entity = ? AND pk BETWEEN ? AND ? AND isRelocated = 0",
                [.text(mapping.syncName(ofEntity: entity)), .int(low), .int(high)])
            if range.isEmpty { continue }
            let requested = Set(group)
            states += range.filter { requested.contains($0.key) }
        }
        return states
    }

    /// Returns the zone of a row's current record; nil for a row without one.
    func zone(of key: RowKey) throws -> Int64? {
        var zone: Int64?
        try reader.query(
            "SELECT zone FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 0", [.text(entityName(key)), .int(key.primaryKey)]
        ) { zone = $0.int(0) }
        return zone
    }

    /// Returns the name of a row's record in this zone, current or relocated. A record never names records of other zones.
    func name(of key: RowKey) throws -> String? {
        var name: String?
        try reader.query(
            """
            SELECT name FROM TARN_RECORD WHERE entity = ?1 AND pk = ?2 AND isRelocated = 0 AND zone = ?3 UNION ALL \
            SELECT name FROM TARN_RECORD WHERE entity = ?1 AND pk = ?2 AND isRelocated = 1 AND zone = ?3
            """,
            [.text(entityName(key)), .int(key.primaryKey), .int(zone)]
        ) { name = $0.text(0) }
        return name
    }

    /// Returns the records to be sent next. A relocated record is deleted once its destination record has arrived on the server, and an object
    /// that was deleted since keeps its destination record until then: a device that fetched the source record alone would show it again.
    ///
    /// - Parameter names: Names of records that are in flight; they are skipped.
    func pendingRecords(limit: Int, passingOver names: Set<String> = []) throws -> [RecordState] {
        try pendingRecords(MirrorStage.isPendingSQL, limit: limit, passingOver: names)
    }

    func pendingDeletions(limit: Int) throws -> [RecordState] {
        try pendingRecords("stage = \(MirrorStage.needsDelete.rawValue) AND failure IS NULL", limit: limit, passingOver: [])
    }

    /// - Parameter queue: The condition of a partial index.
    private func pendingRecords(_ queue: String, limit: Int, passingOver names: Set<String>) throws -> [RecordState] {
        let isDelayed = mapping.hasUniqueness ? "AND NOT (\(RedirectTable.delaysDeletion))" : ""
        return try records(
            """
            zone = ? AND \(queue) \(isDelayed) AND (isRelocated = 0 OR NOT EXISTS (SELECT 1 FROM TARN_RECORD m \
            WHERE m.entity = TARN_RECORD.entity AND m.pk = TARN_RECORD.pk AND m.isRelocated = 0 AND m.tag IS NULL)) \
            AND (isRelocated = 1 OR stage <> \(MirrorStage.needsDelete.rawValue) OR tag IS NULL OR NOT EXISTS (SELECT 1 FROM TARN_RECORD o \
            WHERE o.entity = TARN_RECORD.entity AND o.pk = TARN_RECORD.pk AND o.isRelocated = 1 AND o.tag IS NOT NULL \
            AND +o.stage = \(MirrorStage.needsDelete.rawValue) AND +o.failure IS NULL)) ORDER BY mark, rowid LIMIT ?
            """, [.int(zone), .int(Int64(limit + names.count))], passingOver: names)
    }

    /// Records of entities unknown to this model are skipped.
    func records(_ condition: String, _ arguments: [SQLValue], passingOver names: Set<String> = []) throws -> [RecordState] {
        var states: [RecordState] = []
        try reader.query("SELECT \(RecordTable.columns) FROM TARN_RECORD WHERE \(condition)", arguments) { row in
            guard let name = row.text(0), !names.contains(name), let entity = row.text(1).flatMap({ mapping.entity(syncName: $0) }),
                let stage = MirrorStage(rawValue: Int(row.int(8)))
            else { return }
            var state = RecordState(
                recordName: name, key: RowKey(store: store, entity: entity.index, primaryKey: row.int(2)), stage: stage,
                mark: row.int(9))
            state.isNew = false
            state.changeTag = row.text(4)
            if let kept = row.bytes(5) { (state.ancestor.fields, state.modified) = try KeptAncestor.read(kept) }
            state.ancestor.unapplied = try row.blob(6).map { try Record(json: [UInt8]($0)).fields } ?? [:]
            state.ancestor.digests = Digests.decode(row.text(7))
            state.failure = row.text(10)
            state.generation = row.int(11)
            state.system = RecordSystemFields(
                creator: row.text(12), created: row.optionalInt(13), parent: row.text(14), share: row.text(15))
            state.fieldStates = FieldStates(text: row.text(16))
            if row.int(3) == 1 { state.role = .source(isObjectDeleted: try !self.isLive(state.key)) }
            if mapping.isRanked(entity.index) { state.ranks = try ranks(of: state.key) }
            if mapping.isUnique(entity.index), !state.isRelocated { state.merged = try merged(into: name) }
            states.append(state)
        }
        return states
    }

    private func isLive(_ key: RowKey) throws -> Bool {
        var isLive = false
        try reader.query(
            "SELECT 1 FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 0 AND stage <> \(MirrorStage.needsDelete.rawValue)",
            [.text(entityName(key)), .int(key.primaryKey)]
        ) { _ in isLive = true }
        return isLive
    }

    /// The levels of a hierarchy that are followed at most.
    private static let hierarchyDepthMax = 100

    /// Returns the name of the share that a record belongs to: that of the record at the top of its hierarchy. The server doesn't send the
    /// records below again when the record at the top is shared.
    func share(of state: RecordState) throws -> String? {
        var top = state
        for _ in 0..<Self.hierarchyDepthMax {
            guard let parent = try top.system.parent.flatMap({ try record(named: $0) }) else { break }
            top = parent
        }
        return top.system.share
    }

    /// Returns the greatest name of a record in the zone, by its UTF-8 text; nil for an empty zone.
    func lastName() throws -> String? {
        var name: String?
        try reader.query("SELECT MAX(name) FROM TARN_RECORD WHERE zone = ?", [.int(zone)]) { name = $0.text(0) }
        return name
    }

    /// Returns the records with quarantined values, in no particular order.
    func unreadable() throws -> [RecordState] {
        // The index over them, not the whole zone.
        try records("+zone = ? AND isUnreadable = 1", [.int(zone)])
    }

    /// Returns the number of records with quarantined values, in all zones.
    func unreadableCount() throws -> Int {
        var count = 0
        try reader.query("SELECT COUNT(*) FROM TARN_RECORD WHERE isUnreadable = 1") { count = Int($0.int(0)) }
        return count
    }

    func recordCount() throws -> Int {
        var count = 0
        try reader.query("SELECT COUNT(*) FROM TARN_RECORD WHERE zone = ?", [.int(zone)]) { count = Int($0.int(0)) }
        return count
    }

    /// Returns the names of records that the server does not have any more.
    func missingNames() throws -> [String] {
        try names("SELECT name FROM TARN_RECORD WHERE zone = ? AND stage = \(MirrorStage.missing.rawValue) ORDER BY name", [.int(zone)])
    }

    /// Returns `true` if any zone has a record of the name, current or relocated.
    func hasRecordAnywhere(named name: String) throws -> Bool {
        var exists = false
        try reader.query(
            "SELECT 1 FROM TARN_RECORD WHERE name = ? AND zone IN (SELECT number FROM TARN_ZONE) LIMIT 1", [.text(name)]
        ) { _ in exists = true }
        return exists
    }

    /// Returns a part of the model that records of the store have under its name in the model, although it has another one on the server;
    /// nil without one. Reads all records.
    func lossOfNames() throws -> ServerNames.Loss? {
        var loss: ServerNames.Loss?
        try reader.query("SELECT entity, ancestor, unapplied FROM TARN_RECORD") { row in
            guard loss == nil, let entity = row.text(0) else { return }
            var base = Ancestor()
            if let kept = row.bytes(1) { base.fields = try KeptAncestor.read(kept).fields }
            base.unapplied = try row.blob(2).map { try Record(json: [UInt8]($0)).fields } ?? [:]
            loss = mapping.loss(in: base, of: entity)
        }
        return loss
    }

    // MARK: Keys

    /// Returns the keys of all rows with records that are not marked as deleted, in all zones.
    func allKeys() throws -> [RowKey] { try keys("isRelocated = 0 AND stage <> \(MirrorStage.needsDelete.rawValue)", []) }

    /// Returns the keys of the rows in this zone.
    func keys() throws -> [RowKey] {
        try keys("zone = ? AND isRelocated = 0 AND stage <> \(MirrorStage.needsDelete.rawValue)", [.int(zone)])
    }

    /// Returns the keys of rows in this zone with records that the server has, or had.
    func keysOnServer() throws -> [RowKey] {
        try keys("zone = ? AND isRelocated = 0 AND tag IS NOT NULL AND stage <> \(MirrorStage.needsDelete.rawValue)", [.int(zone)])
    }

    /// Returns the keys of rows with record names that another zone has as well.
    func keys(alsoNamedIn other: Int64) throws -> [RowKey] {
        try keys("zone = ? AND isRelocated = 0 AND name IN (SELECT name FROM TARN_RECORD WHERE zone = ?)", [.int(zone), .int(other)])
    }

    private func keys(_ condition: String, _ arguments: [SQLValue]) throws -> [RowKey] {
        var keys: [RowKey] = []
        try reader.query("SELECT entity, pk FROM TARN_RECORD WHERE \(condition) ORDER BY entity, pk", arguments) { row in
            guard let key = key(row.text(0), row.int(1)) else { return }
            keys.append(key)
        }
        return keys
    }

    /// - Returns: nil for an entity unknown to this model.
    func key(_ entity: String?, _ primaryKey: Int64) -> RowKey? {
        guard let entity = entity.flatMap({ mapping.entity(syncName: $0) }) else { return nil }
        return RowKey(store: store, entity: entity.index, primaryKey: primaryKey)
    }
}

// MARK: - Writing

extension SyncMetadataWriter {
    func write(_ state: RecordState) throws {
        let ancestor = state.keptAncestor.map { SQLValue.blob(Data($0.bytes)) } ?? .null
        let unapplied: SQLValue =
            state.ancestor.unapplied.isEmpty ? .null : .blob(Data(Record(recordName: "", fields: state.ancestor.unapplied).encoded()))
        try RecordTable.rowStatements.write(
            zone, state.recordName, isNew: state.isNew,
            [
                .text(mapping.syncName(ofEntity: state.key.entityIndex)),
                .int(state.key.primaryKey), .int(state.isRelocated ? 1 : 0),
            ],
            [
                .optional(state.changeTag), ancestor, unapplied, .optional(Digests.encode(state.ancestor.digests)),
                .int(Int64(state.stage.rawValue)), .int(state.mark), .optional(state.failure), .int(state.generation),
                .optional(state.system.creator),
                state.system.created.map { .int($0) } ?? .null, .optional(state.system.parent), .optional(state.system.share),
                .optional(state.fieldStates.text), .int(state.fieldStates.hasQuarantined ? 1 : 0),
            ], writer)
    }

    func removeRecord(named name: String) throws {
        try writer.execute("DELETE FROM TARN_RECORD WHERE zone = ? AND name = ?", [.int(zone), .text(name)])
    }

    /// Removes the current record of a row, in any zone.
    func removeRecord(of key: RowKey) throws {
        try writer.execute(
            "DELETE FROM TARN_RECORD WHERE entity = ? AND pk = ? AND isRelocated = 0", [.text(entityName(key)), .int(key.primaryKey)])
    }

    /// Marks the current record of a row to be sent, and clears its rejection.
    func markForUpload(_ key: RowKey, mark: Int64) throws {
        try writer.execute(
            "UPDATE TARN_RECORD SET stage = ?, mark = ?, failure = NULL WHERE entity = ? AND pk = ? AND isRelocated = 0",
            [.int(Int64(MirrorStage.needsUpload.rawValue)), .int(mark), .text(entityName(key)), .int(key.primaryKey)])
    }

    /// Marks the current record of a row to be sent if nothing of it is pending.
    func markForUploadIfUploaded(_ key: RowKey) throws {
        try writer.execute(
            "UPDATE TARN_RECORD SET stage = ? WHERE entity = ? AND pk = ? AND isRelocated = 0 AND stage = ?",
            [
                .int(Int64(MirrorStage.needsUpload.rawValue)), .text(entityName(key)), .int(key.primaryKey),
                .int(Int64(MirrorStage.uploaded.rawValue)),
            ])
    }

    /// Gives a record that was never sent another name.
    func renameRecord(_ name: String, to new: String) throws {
        try writer.execute(
            "UPDATE TARN_RECORD SET name = ?3, failure = NULL WHERE zone = ?1 AND name = ?2", [.int(zone), .text(name), .text(new)])
        try moveDeferredReferences(from: name, to: self, as: new)
        try moveRedirects(to: name, self, as: new)
    }
}
