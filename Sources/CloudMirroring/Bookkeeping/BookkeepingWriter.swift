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
        if mapping.hasUniqueness { for name in changes.removedRecords { try forgetMerged(into: name) } }
        if mapping.hasOrderedLinks {
            for name in changes.removedLinks { try writer.execute("DELETE FROM TARN_LINKRANK WHERE name = ?", [.text(name)]) }
        }
        for name in changes.removedLinks { try writer.execute("DELETE FROM TARN_LINK WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) }
        for state in changes.records {
            try write(state)
            if mapping.isRanked(state.key.entityIndex) { try writeRanks(of: state) }
            if mapping.isUnique(state.key.entityIndex), !state.isMovedOut { try writeMerged(into: state) }
        }
        for link in changes.links {
            try write(link)
            if mapping.hasOrderedLinks { try writeRanks(of: link) }
        }
        for key in changes.unparked {
            try writer.execute(
                "DELETE FROM TARN_PARKED WHERE zone = ? AND source = ? AND relationship = ?", [.int(zone), .text(key.source), .text(key.relationship)])
        }
        for parked in changes.parked {
            try writer.execute(
                "INSERT OR REPLACE INTO TARN_PARKED (zone, source, relationship, destination) VALUES (?, ?, ?, ?)",
                [.int(zone), .text(parked.key.source), .text(parked.key.relationship), .text(parked.destination)])
        }
        if mapping.keepsIncomplete {
            try forgetIncomplete(changes.arrived)
            for record in changes.incomplete { try write(record) }
        }
        for conflict in changes.conflicts { try write(conflict, now: now) }
        if !changes.conflicts.isEmpty {
            try writer.execute(
                "DELETE FROM TARN_CONFLICT WHERE id <= (SELECT MAX(id) FROM TARN_CONFLICT) - ?",
                [.int(Int64(BookkeepingTables.conflictsMax))])
        }
    }

    private func write(_ state: RecordState) throws {
        let ancestor = state.keptAncestor.map { SQLValue.blob(Data($0.bytes)) } ?? .null
        let unapplied: SQLValue =
            state.ancestor.unapplied.isEmpty ? .null : .blob(Data(Record(recordName: "", fields: state.ancestor.unapplied).encoded()))
        try store(
            Self.record, named: state.recordName, isNew: state.isNew,
            [
                .text(mapping.model.entities[state.key.entityIndex].name),
                .int(state.isMovedOut ? -abs(state.key.primaryKey) : state.key.primaryKey),
            ],
            [
                .optional(state.changeTag), ancestor, unapplied, .optional(Digests.encode(state.ancestor.digests)),
                .int(Int64(state.stage.rawValue)), .int(state.mark), .optional(state.failure), .int(state.generation), .optional(state.system.creator),
                state.system.created.map { .int($0) } ?? .null, .optional(state.system.parent), .optional(state.system.share),
            ])
    }

    private func write(_ link: LinkState) throws {
        try store(
            Self.link, named: link.recordName, isNew: false,
            [.text(link.pair.kind.entityNames), .text(link.pair.kind.relationships), .text(link.pair.first), .text(link.pair.second)],
            [
                .optional(link.changeTag), .int(Int64(link.stage.rawValue)), .int(link.mark), .optional(link.failure),
                .int(link.generation),
            ])
    }

    /// The statements for a table. Their values come in the order of the columns: those of the subject, the others, zone and name.
    private struct Statements {
        /// For a name whose subject is the same as before. Indexes over the subject are not touched by it.
        let update: String
        let replacement: String
        let insertion: String

        /// - Parameter subject: Columns that say what a name stands for, which hardly ever changes.
        init(_ table: String, subject: [String], _ others: [String]) {
            let columns = subject + others
            func assignments(_ columns: [String], from first: Int = 1) -> String {
                columns.enumerated().map { "\($1) = ?\($0 + first)" }.joined(separator: ", ")
            }
            let place = "zone = ?\(columns.count + 1) AND name = ?\(columns.count + 2)"
            let same = subject.enumerated().map { " AND \($1) = ?\($0 + 1)" }.joined()
            update = "UPDATE \(table) SET \(assignments(others, from: subject.count + 1)) WHERE \(place)\(same)"
            replacement = "UPDATE OR REPLACE \(table) SET \(assignments(columns)) WHERE \(place)"
            let places = columns.map { _ in "?" }.joined(separator: ", ")
            insertion = "INSERT OR REPLACE INTO \(table) (\(columns.joined(separator: ", ")), zone, name) VALUES (\(places), ?, ?)"
        }
    }

    private static let record = Statements(
        "TARN_RECORD", subject: ["entity", "pk"],
        ["tag", "ancestor", "unapplied", "digests", "stage", "mark", "failure", "generation", "creator", "created", "parent", "share"])
    private static let link = Statements(
        "TARN_LINK", subject: ["entities", "relationships", "first", "second"], ["tag", "stage", "mark", "failure", "generation"])

    /// Changes the row of a name, or makes it. What is there is changed in its place: a row put in its stead would touch
    /// every index.
    private func store(_ statements: Statements, named name: String, isNew: Bool, _ subject: [SQLValue], _ others: [SQLValue]) throws {
        let arguments = subject + others + [.int(zone), .text(name)]
        if isNew { return try writer.execute(statements.insertion, arguments) }
        if try writer.change(statements.update, arguments) > 0 { return }
        if try writer.change(statements.replacement, arguments) > 0 { return }
        try writer.execute(statements.insertion, arguments)
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
