// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import SQLiteStore

/// Withheld records: they lack a required object, or have unique values of another object.
enum WithheldTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_INCOMPLETE (zone INTEGER NOT NULL, name TEXT NOT NULL, record BLOB NOT NULL, \
        generation INTEGER NOT NULL, PRIMARY KEY (zone, name)) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS TARN_LACKING (zone INTEGER NOT NULL, target TEXT NOT NULL, name TEXT NOT NULL, \
        PRIMARY KEY (zone, target, name)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS TARN_LACKING_NAME ON TARN_LACKING (zone, name)",
    ]

    static let tables = ["TARN_INCOMPLETE", "TARN_LACKING"]
}

extension SyncMetadataReader {
    /// Returns the withheld records that lack one of these names, directly or through other withheld records. Of the names that each lacks,
    /// the result has the one that it was found by.
    func incomplete(lacking names: [String]) throws -> [IncompleteRecord] {
        var records: [IncompleteRecord] = []
        var visited: Set<String> = []
        var pending = names
        while let target = pending.popLast() {
            try reader.query(
                """
                SELECT i.record, i.generation FROM TARN_LACKING l JOIN TARN_INCOMPLETE i ON i.zone = l.zone AND i.name = l.name \
                WHERE l.zone = ? AND l.target = ? ORDER BY l.name
                """, [.int(zone), .text(target)]
            ) { row in
                guard let record = try row.blob(0).map({ try Record(json: [UInt8]($0)) }), visited.insert(record.recordName).inserted else {
                    return
                }
                records.append(IncompleteRecord(record: record, lacking: [target], generation: row.int(1)))
                pending.append(record.recordName)
            }
        }
        return records
    }

    /// Returns the withheld records of the zone that have a field, in the order of their names. Others are not decoded, except for those with
    /// its name in a value.
    func incomplete(with field: String) throws -> [IncompleteRecord] {
        var records: [IncompleteRecord] = []
        try reader.query(
            """
            SELECT i.name, i.record, i.generation, l.target FROM TARN_INCOMPLETE i \
            LEFT JOIN TARN_LACKING l ON l.zone = i.zone AND l.name = i.name \
            WHERE i.zone = ? AND instr(i.record, CAST(? AS BLOB)) > 0 ORDER BY i.name, l.target
            """, [.int(zone), .text(field)]
        ) { row in
            if records.last?.record.recordName != row.text(0) {
                guard let record = try row.blob(1).map({ try Record(json: [UInt8]($0)) }) else { return }
                records.append(IncompleteRecord(record: record, lacking: [], generation: row.int(2)))
            }
            if let target = row.text(3) { records[records.count - 1].lacking.append(target) }
        }
        return records
    }

    /// Returns the records that are withheld until unique values are free.
    func heldBack() throws -> [IncompleteRecord] {
        var records: [IncompleteRecord] = []
        try reader.query(
            """
            SELECT i.record, i.generation FROM TARN_LACKING l JOIN TARN_INCOMPLETE i ON i.zone = l.zone AND i.name = l.name \
            WHERE l.zone = ? AND l.target = ? ORDER BY l.name
            """, [.int(zone), .text(IncompleteRecord.freeValues)]
        ) { row in
            guard let record = try row.blob(0).map({ try Record(json: [UInt8]($0)) }) else { return }
            records.append(IncompleteRecord(record: record, lacking: [IncompleteRecord.freeValues], generation: row.int(1)))
        }
        return records
    }

    func isWithheld(_ name: String) throws -> Bool {
        guard mapping.keepsIncomplete else { return false }
        var isWithheld = false
        try reader.query("SELECT 1 FROM TARN_INCOMPLETE WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) { _ in isWithheld = true }
        return isWithheld
    }

    func withheldRecord(named name: String) throws -> Record? {
        guard mapping.keepsIncomplete else { return nil }
        var record: Record?
        try reader.query("SELECT record FROM TARN_INCOMPLETE WHERE zone = ? AND name = ?", [.int(zone), .text(name)]) { row in
            record = try row.blob(0).map { try Record(json: [UInt8]($0)) }
        }
        return record
    }

    /// Returns `true` if another zone has a record of the name, shown or withheld.
    func isElsewhere(_ name: String) throws -> Bool {
        var exists = false
        try reader.query(
            """
            SELECT 1 FROM TARN_RECORD WHERE name = ?1 AND zone IN (SELECT number FROM TARN_ZONE WHERE number <> ?2) UNION ALL \
            SELECT 1 FROM TARN_INCOMPLETE WHERE name = ?1 AND zone IN (SELECT number FROM TARN_ZONE WHERE number <> ?2) LIMIT 1
            """, [.text(name), .int(zone)]
        ) { _ in exists = true }
        return exists
    }

    func hasIncomplete() throws -> Bool {
        var hasAny = false
        try reader.query("SELECT 1 FROM TARN_INCOMPLETE WHERE zone = ? LIMIT 1", [.int(zone)]) { _ in hasAny = true }
        return hasAny
    }

    /// Returns the number of withheld records of all zones.
    func incompleteCount() throws -> Int {
        var count = 0
        try reader.query("SELECT COUNT(*) FROM TARN_INCOMPLETE") { count = Int($0.int(0)) }
        return count
    }
}

extension SyncMetadataWriter {
    func write(_ record: IncompleteRecord) throws {
        try writer.execute(
            "INSERT OR REPLACE INTO TARN_INCOMPLETE (zone, name, record, generation) VALUES (?, ?, ?, ?)",
            [.int(zone), .text(record.record.recordName), .blob(Data(record.record.encoded())), .int(record.generation)])
        try noteReferences(to: record.lacking.sorted())
        for target in record.lacking {
            try writer.execute(
                "INSERT OR REPLACE INTO TARN_LACKING (zone, target, name) VALUES (?, ?, ?)",
                [.int(zone), .text(target), .text(record.record.recordName)])
        }
    }

    /// Removes all withheld records of the zone, which will be fetched again.
    func removeAllWithheld() throws {
        for table in WithheldTable.tables { try writer.execute("DELETE FROM \(table) WHERE zone = ?", [.int(zone)]) }
    }

    /// Removes withheld records that arrived or were deleted.
    func removeWithheld(_ names: [String]) throws {
        for name in names {
            guard try reader.isWithheld(name) else { continue }
            try writer.execute("DELETE FROM TARN_INCOMPLETE WHERE zone = ? AND name = ?", [.int(zone), .text(name)])
            try writer.execute("DELETE FROM TARN_LACKING WHERE zone = ? AND name = ?", [.int(zone), .text(name)])
        }
    }
}
