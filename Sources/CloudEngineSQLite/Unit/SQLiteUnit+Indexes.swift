// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import CloudWire
import Foundation
import GRDB
import GRDBSQLite

/// The statements that serve queries. All of them begin with the partition, and go along a primary key.
enum IndexStatements {
    private static let entries = """
        FROM index_entries e JOIN records r ON r.part = e.part AND r.zone = e.zone AND r.name = e.name
        WHERE e.part = ? AND e.zone = ? AND e.number = ?
        """
    static let rising = """
        SELECT e.key, r.change, r.body \(entries) AND (e.key, e.name) > (?, ?) AND e.key < ? ORDER BY e.key, e.name
        """
    static let falling = """
        SELECT e.key, r.change, r.body \(entries) AND (e.key, e.name) < (?, ?) AND e.key >= ?
        ORDER BY e.key DESC, e.name DESC
        """
    static let count = """
        SELECT count(*) FROM (SELECT 1 FROM index_entries
        WHERE part = ? AND zone = ? AND number = ? AND key >= ? AND key < ? LIMIT ?)
        """
    static let walk = """
        SELECT zone, name, body FROM records WHERE part = ? AND (zone, name) > (?, ?) AND deleted = 0
        ORDER BY zone, name LIMIT ?
        """
    static let insert = "INSERT OR IGNORE INTO index_entries (part, zone, number, key, name) VALUES (?, ?, ?, ?, ?)"
    static let remove = "DELETE FROM index_entries WHERE part = ? AND zone = ? AND number = ? AND key = ? AND name = ?"
    static let indexes = """
        SELECT number, field, kind, built, zone, name FROM record_indexes WHERE part = ? AND type = ?
        """
}

extension SQLiteUnit {
    func indexes(ofType recordType: String) throws -> [StoredIndex] {
        guard let part else { return [] }
        return try remembered(.indexes(part: part, recordType: recordType)) {
            try rows(IndexStatements.indexes, [part, recordType]).map { row in
                let zone: Int64? = row[4]
                return try StoredIndex(
                    id: row[0], recordType: recordType, field: row[1], kind: row[2], isBuilt: row[3],
                    builtUpTo: zone.map { RecordPlace(zone: $0, recordName: row[5]) })
            }
        }
    }

    func scan(_ scan: IndexScan, _ visit: (IndexRow) throws -> Bool) throws {
        guard let part else { return }
        let (range, place) = (scan.range, scan.after)
        // Names are not empty, so an empty one is before all entries with its key.
        let bounds: Arguments =
            scan.descending
            ? [place?.key ?? range.upper, place?.recordName ?? "", range.lower]
            : [place?.key ?? range.lower, place?.recordName ?? "", range.upper]
        let arguments: Arguments = [part, scan.zone, scan.index] + bounds
        try self.visit(scan.descending ? IndexStatements.falling : IndexStatements.rising, arguments) { handle in
            let body = Array(StoredRow.bytes(handle, 2))
            let record = StoredRecord(record: try Self.decode(CloudWire.Record.self, body), change: sqlite3_column_int64(handle, 1))
            return try visit(IndexRow(key: Array(StoredRow.bytes(handle, 0)), record: record, bytes: body.count))
        }
    }

    func count(_ scan: IndexScan, atMost limit: Int) throws -> Int {
        guard let part else { return 0 }
        let range = scan.range
        return try row(IndexStatements.count, [part, scan.zone, scan.index, range.lower, range.upper, limit]).map { $0[0] } ?? 0
    }

    func records(after place: RecordPlace?, limit: Int) throws -> [(place: RecordPlace, record: CloudWire.Record)] {
        guard let part else { return [] }
        let start = place ?? RecordPlace(zone: .min, recordName: "")
        var found: [(place: RecordPlace, record: CloudWire.Record)] = []
        var slice = RecordSlice()
        try visit(IndexStatements.walk, [part, start.zone, start.recordName, limit]) { handle in
            let name = String(decoding: StoredRow.bytes(handle, 1), as: UTF8.self)
            let body = Array(StoredRow.bytes(handle, 2))
            slice.add(body.count)
            let place = RecordPlace(zone: sqlite3_column_int64(handle, 0), recordName: name)
            found.append((place, try Self.decode(CloudWire.Record.self, body)))
            return !slice.isFull
        }
        return found
    }

    func makeIndex(_ index: RecordIndex) throws -> StoredIndex {
        if let known = try indexes(ofType: index.recordType).first(where: { $0.index == index }) { return known }
        try run(
            """
            INSERT INTO record_indexes (part, type, field, kind, number)
            VALUES (?, ?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM record_indexes WHERE part = ?))
            """, [writtenPart, index.recordType, index.field, index.kind.rawValue, writtenPart])
        guard let made = try indexes(ofType: index.recordType).first(where: { $0.index == index }) else {
            throw StorageFailure(.corrupt, "an index was made and is not there")
        }
        return made
    }

    func setBuilt(_ index: Int64, upTo place: RecordPlace?) throws {
        try run(
            "UPDATE record_indexes SET built = ?, zone = ?, name = ? WHERE part = ? AND number = ?",
            [place == nil, place?.zone, place?.recordName, writtenPart, index])
    }

    func apply(_ changes: [IndexChange], in zone: Int64) throws {
        try keeping {
            for change in changes {
                for key in change.removed {
                    try run(IndexStatements.remove, [writtenPart, zone, change.index, key, change.recordName])
                }
                for key in change.added {
                    try run(IndexStatements.insert, [writtenPart, zone, change.index, key, change.recordName])
                }
            }
        }
    }
}

extension SQLiteServerStore {
    /// How the database goes about each statement that serves queries: the lines of `EXPLAIN QUERY PLAN`.
    package func explainQueries() async throws -> [String: [String]] {
        try await reading { db in
            let statements = [
                "rising": IndexStatements.rising, "falling": IndexStatements.falling, "count": IndexStatements.count,
                "walk": IndexStatements.walk, "remove": IndexStatements.remove, "indexes": IndexStatements.indexes,
            ]
            return try statements.mapValues { sql in
                try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql.replacing("?", with: "NULL")).map { $0["detail"] }
            }
        }
    }
}
