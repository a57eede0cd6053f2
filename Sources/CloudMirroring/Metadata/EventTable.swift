// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import SQLiteStore

/// Sync events, stored so that they outlive the process.
///
/// Source: the columns that are needed are observed in stores of Apple's (a table of events with type, start, end,
/// success and error).
enum EventTable {
    /// Rows that are stored; older ones are removed.
    static let rowsMax: Int64 = 1_000

    static let statement = """
        CREATE TABLE IF NOT EXISTS TARN_EVENT (id INTEGER PRIMARY KEY, identifier TEXT NOT NULL UNIQUE, type INTEGER NOT NULL, \
        started REAL NOT NULL, ended REAL, code INTEGER, reason TEXT)
        """

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
            "DELETE FROM TARN_EVENT WHERE id <= (SELECT MAX(id) FROM TARN_EVENT) - ?", [.int(rowsMax)])
    }

    /// Stores the end of an event, also if its beginning was not written.
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

    /// Ends the events of an earlier process that died before they ended.
    static func endAll(at now: Double, _ writer: StoreWriter) throws {
        try writer.execute(
            "UPDATE TARN_EVENT SET ended = ?, code = ?, reason = ? WHERE ended IS NULL",
            [.double(now), .int(Int64(AppErrorCode.operationCancelled.rawValue)), .text("the app ended before this step did")])
    }

    /// - Parameter instant: Events that began later; nil for all. None for a store that was never mirrored.
    static func rows(after instant: Double?, _ reader: StoreReader) throws -> [Row] {
        guard try reader.hasTable("TARN_EVENT") else { return [] }
        var rows: [Row] = []
        try reader.query(
            "SELECT identifier, type, started, ended, code, reason FROM TARN_EVENT WHERE started > ? ORDER BY id",
            [.double(instant ?? -.greatestFiniteMagnitude)]
        ) { row in
            guard let identifier = row.text(0).flatMap({ UUID(uuidString: $0) }), let started = row.optionalDouble(2) else { return }
            let code = row.optionalInt(4).flatMap { AppErrorCode(rawValue: Int($0)) }
            rows.append(
                Row(
                    identifier: identifier, type: Int(row.int(1)), started: started, ended: row.optionalDouble(3),
                    failure: code.map { CloudFailure($0, row.text(5) ?? "") }))
        }
        return rows
    }
}
