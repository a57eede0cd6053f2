// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// Writes the mirror's tables, inside one transaction of the store.
struct BookkeepingWriter {
    let writer: StoreWriter
    let mapping: RecordMapping
    /// In which names count.
    let zone: Int64

    /// - Parameter now: When conflicts are noted, in seconds since 2001.
    func write(_ changes: BookkeepingChanges, now: Double) throws {
        for name in changes.removedRecords { try writer.execute("DELETE FROM TARN_RECORD WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) }
        for name in changes.removedLinks { try writer.execute("DELETE FROM TARN_LINK WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) }
        for state in changes.records { try write(state) }
        for link in changes.links { try write(link) }
        for key in changes.unparked {
            try writer.execute(
                "DELETE FROM TARN_PARKED WHERE zone = ? AND source = ? AND relationship = ?", [.int(zone), .text(key.source), .text(key.relationship)])
        }
        for parked in changes.parked {
            try writer.execute(
                "INSERT OR REPLACE INTO TARN_PARKED (zone, source, relationship, destination) VALUES (?, ?, ?, ?)",
                [.int(zone), .text(parked.key.source), .text(parked.key.relationship), .text(parked.destination)])
        }
        for conflict in changes.conflicts { try write(conflict, now: now) }
        if !changes.conflicts.isEmpty {
            try writer.execute(
                "DELETE FROM TARN_CONFLICT WHERE id <= (SELECT MAX(id) FROM TARN_CONFLICT) - ?",
                [.int(Int64(BookkeepingTables.conflictsMax))])
        }
    }

    private func write(_ state: RecordState) throws {
        var ancestor: SQLValue = .null
        if !state.ancestor.fields.isEmpty || state.modified != nil {
            var record = Record(recordName: "", fields: state.ancestor.fields)
            record.modified = state.modified
            ancestor = .blob(Data(record.encoded()))
        }
        let unapplied: SQLValue =
            state.ancestor.unapplied.isEmpty ? .null : .blob(Data(Record(recordName: "", fields: state.ancestor.unapplied).encoded()))
        try store(
            in: "TARN_RECORD", named: state.recordName,
            [
                ("entity", .text(mapping.model.entities[state.key.entityIndex].name)),
                ("pk", .int(state.isMovedOut ? -abs(state.key.primaryKey) : state.key.primaryKey)),
                ("tag", .optional(state.changeTag)), ("ancestor", ancestor), ("unapplied", unapplied),
                ("digests", .optional(Digests.encode(state.ancestor.digests))), ("stage", .int(Int64(state.stage.rawValue))),
                ("mark", .int(state.mark)), ("failure", .optional(state.failure)), ("generation", .int(state.generation)),
                ("creator", .optional(state.creator)),
            ])
    }

    private func write(_ link: LinkState) throws {
        try store(
            in: "TARN_LINK", named: link.recordName,
            [
                ("entities", .text(link.pair.kind.entityNames)), ("relationships", .text(link.pair.kind.relationships)),
                ("first", .text(link.pair.first)), ("second", .text(link.pair.second)), ("tag", .optional(link.changeTag)),
                ("stage", .int(Int64(link.stage.rawValue))), ("mark", .int(link.mark)), ("failure", .optional(link.failure)),
                ("generation", .int(link.generation)),
            ])
    }

    /// Changes the row of a name, or makes it. What is there is changed in its place: a row put in its stead would touch
    /// every index, and names lie all over theirs.
    private func store(in table: String, named name: String, _ values: [(column: String, value: SQLValue)]) throws {
        let assignments = values.map { "\($0.column) = ?" }.joined(separator: ", ")
        let key: [SQLValue] = [.int(zone), .text(name)]
        try writer.execute("UPDATE OR REPLACE \(table) SET \(assignments) WHERE zone = ? AND name = ?", values.map(\.value) + key)
        var isThere = false
        try writer.query("SELECT changes() > 0") { isThere = $0.int(0) == 1 }
        if isThere { return }
        try writer.execute(
            """
            INSERT OR REPLACE INTO \(table) (\(values.map(\.column).joined(separator: ", ")), zone, name) \
            VALUES (\(values.map { _ in "?" }.joined(separator: ", ")), ?, ?)
            """, values.map(\.value) + key)
    }

    private func write(_ conflict: ConflictEntry, now: Double) throws {
        // A field that stands alone travels as a record with one field.
        let losing = conflict.losing.map { Data(Record(recordName: "", fields: [conflict.property: Field($0)]).encoded()) }
        func stamp(_ stamp: RecordStamp?) -> SQLValue { stamp.map { .blob(Data($0.encoded())) } ?? .null }
        try writer.execute(
            """
            INSERT INTO TARN_CONFLICT (noted, entity, record, property, losing, winner, losingStamp, winningStamp) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .double(now), .text(conflict.entity), .text(conflict.recordName), .text(conflict.property),
                losing.map { .blob($0) } ?? .null, .int(Int64(conflict.winner.rawValue)), stamp(conflict.losingStamp),
                stamp(conflict.winningStamp),
            ])
    }
}

extension SQLValue {
    fileprivate static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
}
