// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import SQLiteStore

/// The conflict log: values that lost a merge.
enum ConflictTable {
    /// Rows that are stored; older ones are removed.
    static let rowsMax: Int64 = 10_000

    static let statement = """
        CREATE TABLE IF NOT EXISTS TARN_CONFLICT (id INTEGER PRIMARY KEY, noted REAL NOT NULL, entity TEXT NOT NULL, \
        record TEXT NOT NULL, property TEXT NOT NULL, losing BLOB, winner INTEGER NOT NULL, \
        losingStamp BLOB, winningStamp BLOB)
        """

    struct Row: Sendable {
        var id: Int64
        /// Seconds since 2001.
        var noted: Double
        var entry: ConflictEntry
    }

    /// Returns the log, oldest first; empty for a store that was never synced.
    static func rows(_ reader: StoreReader) throws -> [Row] {
        guard try reader.hasTable("TARN_CONFLICT") else { return [] }
        var rows: [Row] = []
        try reader.query("SELECT id, noted, entity, record, property, losing, winner, losingStamp FROM TARN_CONFLICT ORDER BY id") { row in
            guard let entity = row.text(2), let record = row.text(3), let property = row.text(4),
                let winner = ConflictEntry.Winner(rawValue: Int(row.int(6)))
            else { return }
            let losing = try row.blob(5).flatMap { try Record(json: [UInt8]($0)).fields[property]?.value }
            let stamp = try row.blob(7).map { try RecordStamp(json: [UInt8]($0)) }
            let entry = ConflictEntry(
                entity: entity, recordName: record, property: property, losing: losing, winner: winner, losingStamp: stamp,
                winningStamp: nil)
            rows.append(Row(id: row.int(0), noted: row.optionalDouble(1) ?? 0, entry: entry))
        }
        return rows
    }

    /// - Parameter now: Seconds since 2001.
    static func append(_ entries: [ConflictEntry], now: Double, _ writer: StoreWriter) throws {
        if entries.isEmpty { return }
        for entry in entries { try append(entry, now: now, writer) }
        try writer.execute("DELETE FROM TARN_CONFLICT WHERE id <= (SELECT MAX(id) FROM TARN_CONFLICT) - ?", [.int(rowsMax)])
    }

    private static func append(_ entry: ConflictEntry, now: Double, _ writer: StoreWriter) throws {
        // A single field is stored as a record with one field.
        let losing = entry.losing.map { Data(Record(recordName: "", fields: [entry.property: Field($0)]).encoded()) }
        func stamp(_ stamp: RecordStamp?) -> SQLValue { stamp.map { .blob(Data($0.encoded())) } ?? .null }
        try writer.execute(
            """
            INSERT INTO TARN_CONFLICT (noted, entity, record, property, losing, winner, losingStamp, winningStamp) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .double(now), .text(entry.entity), .text(entry.recordName), .text(entry.property),
                losing.map { .blob($0) } ?? .null, .int(Int64(entry.winner.rawValue)), stamp(entry.losingStamp),
                stamp(entry.winningStamp),
            ])
    }

    static func remove(_ id: Int64, _ writer: StoreWriter) throws {
        try writer.execute("DELETE FROM TARN_CONFLICT WHERE id = ?", [.int(id)])
    }
}
