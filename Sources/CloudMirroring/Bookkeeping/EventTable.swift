// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import SQLiteStore

/// The mirror's events in the store's file, where they outlive the app.
///
/// Source: the columns that are needed are observed in stores of Apple's (a table of events with type, start, end,
/// success and error).
enum EventTable {
    struct Row: Sendable {
        var identifier: UUID
        var type: Int
        /// Seconds since 2001, like ``ended``.
        var started: Double
        /// nil while the step runs.
        var ended: Double?
        var failure: CloudFailure?
    }

    static func insert(_ row: Row, _ writer: StoreWriter) throws {
        try writer.execute(
            "INSERT INTO TARN_EVENT (identifier, type, started, ended, code, reason) VALUES (?, ?, ?, ?, ?, ?)",
            [.text(row.identifier.uuidString), .int(Int64(row.type)), .double(row.started)] + result(row))
        try writer.execute(
            "DELETE FROM TARN_EVENT WHERE id <= (SELECT MAX(id) FROM TARN_EVENT) - ?", [.int(Int64(BookkeepingTables.eventsMax))])
    }

    /// Also of an event whose beginning was not written.
    static func end(_ row: Row, _ writer: StoreWriter) throws {
        let count = try writer.change(
            "UPDATE TARN_EVENT SET ended = ?, code = ?, reason = ? WHERE identifier = ?", result(row) + [.text(row.identifier.uuidString)])
        if count == 0 { try insert(row, writer) }
    }

    private static func result(_ row: Row) -> [SQLValue] {
        [
            row.ended.map { .double($0) } ?? .null, row.failure.map { .int(Int64($0.code.rawValue)) } ?? .null,
            row.failure.map { .text($0.reason) } ?? .null,
        ]
    }

    /// Ends the events of a life of the app that was cut off.
    static func endAll(at now: Double, _ writer: StoreWriter) throws {
        try writer.execute(
            "UPDATE TARN_EVENT SET ended = ?, code = ?, reason = ? WHERE ended IS NULL",
            [.double(now), .int(Int64(CloudFailure.Code.operationCancelled.rawValue)), .text("the app ended before this step did")])
    }

    /// - Parameter instant: Events that began later; nil for all. None for a store that was never mirrored.
    static func rows(after instant: Double?, _ reader: StoreReader) throws -> [Row] {
        var isThere = false
        try reader.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'TARN_EVENT'") { _ in isThere = true }
        guard isThere else { return [] }
        var rows: [Row] = []
        try reader.query(
            "SELECT identifier, type, started, ended, code, reason FROM TARN_EVENT WHERE started > ? ORDER BY id",
            [.double(instant ?? -.greatestFiniteMagnitude)]
        ) { row in
            guard let identifier = row.text(0).flatMap({ UUID(uuidString: $0) }), let started = row.optionalDouble(2) else { return }
            let code = row.optionalInt(4).flatMap { CloudFailure.Code(rawValue: Int($0)) }
            rows.append(
                Row(
                    identifier: identifier, type: Int(row.int(1)), started: started, ended: row.optionalDouble(3),
                    failure: code.map { CloudFailure($0, row.text(5) ?? "") }))
        }
        return rows
    }
}

extension MirrorFile {
    func begin(_ event: EventTable.Row) throws { try store.write { try EventTable.insert(event, $0) } }

    func end(_ event: EventTable.Row) throws { try store.write { try EventTable.end(event, $0) } }

    /// Called once in each life of the app.
    func begin() throws {
        try store.write { writer in
            try BookkeepingTables.open(writer, home: homeZone)
            try EventTable.endAll(at: now, writer)
            try forgiveRefusals(writer)
            try OutboxTable.doubtAll(writer)
        }
    }
}
