// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import CloudWire

/// The tables of queries' indexes.
enum IndexRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS record_indexes (
            part bigint NOT NULL, type text COLLATE "C" NOT NULL, field text COLLATE "C" NOT NULL, kind bigint NOT NULL,
            number bigint NOT NULL, built boolean NOT NULL DEFAULT false, zone bigint, name text COLLATE "C",
            PRIMARY KEY (part, type, field, kind))
        """,
        """
        CREATE TABLE IF NOT EXISTS index_entries (
            part bigint NOT NULL, zone bigint NOT NULL, number bigint NOT NULL, key bytea NOT NULL, name text COLLATE "C" NOT NULL,
            PRIMARY KEY (part, zone, number, key, name))
        """,
    ]
    private static let entries = """
        SELECT e.key, e.name, r.change, r.body FROM index_entries e CROSS JOIN \(LookUps.record(of: "e"))
        WHERE e.part = $1 AND e.zone = $2 AND e.number = $3
        """
    static let rising = entries + " AND (e.key, e.name) > ($4, $5) AND e.key < $6 ORDER BY e.key, e.name LIMIT $7"
    static let falling = entries + " AND (e.key, e.name) < ($4, $5) AND e.key >= $6 ORDER BY e.key DESC, e.name DESC LIMIT $7"
}

extension PostgresUnit {
    func indexes(ofType recordType: String) throws -> [StoredIndex] {
        try rows(
            "SELECT number, field, kind, built, zone, name FROM record_indexes WHERE part = $1 AND type = $2", [part, recordType],
            from: .indexes, isRepeated: true
        ).map { row in
            let zone: Int64? = row[4]
            return try StoredIndex(
                id: row[0], recordType: recordType, field: row[1], kind: row[2], isBuilt: row[3],
                builtUpTo: zone.map { RecordPlace(zone: $0, recordName: row[5]) })
        }
    }

    func scan(_ scan: IndexScan, _ visit: (IndexRow) throws -> Bool) throws {
        let range = scan.range
        // Names are not empty, so an empty one is before all entries with its key.
        var place = scan.after ?? IndexPlace(key: scan.descending ? range.upper : range.lower, recordName: "")
        let end = scan.descending ? range.lower : range.upper
        var page = RecordRows.firstPage
        while true {
            let rows = try rows(
                scan.descending ? IndexRows.falling : IndexRows.rising,
                [part, scan.zone, scan.index, place.key, place.recordName, end, page], from: .indexEntries, .records)
            var bytes = 0
            for row in rows {
                let body: [UInt8] = row[3]
                bytes += body.count
                let record = StoredRecord(record: try Self.decode(Record.self, body), change: row[2])
                guard try visit(IndexRow(key: row[0], record: record, bytes: body.count)) else { return }
            }
            guard let last = rows.last, rows.count == page else { return }
            place = IndexPlace(key: last[0], recordName: last[1])
            page = min(max(1, RecordRows.pageBytes * rows.count / max(1, bytes)), 8 * page, RecordRows.pageMax)
        }
    }

    func count(_ scan: IndexScan, atMost limit: Int) throws -> Int {
        try rows(
            """
            SELECT count(*) FROM (SELECT 1 FROM index_entries
            WHERE part = $1 AND zone = $2 AND number = $3 AND key >= $4 AND key < $5 LIMIT $6) AS counted
            """, [part, scan.zone, scan.index, scan.range.lower, scan.range.upper, limit], from: .indexEntries
        ).first.map { $0[0] } ?? 0
    }

    func makeIndex(_ index: RecordIndex) throws -> StoredIndex {
        if let known = try indexes(ofType: index.recordType).first(where: { $0.index == index }) { return known }
        // The partition's row is locked: no other unit gives the number.
        let number: Int64 =
            try rows("SELECT coalesce(max(number), 0) + 1 FROM record_indexes WHERE part = $1", [part], from: .indexes)
            .first.map { $0[0] } ?? 1
        try run(
            "INSERT INTO record_indexes (part, type, field, kind, number) VALUES ($1, $2, $3, $4, $5)",
            [part, index.recordType, index.field, index.kind.rawValue, number], changing: .indexes)
        return StoredIndex(id: number, index: index, isBuilt: false)
    }

    func setBuilt(_ index: Int64, upTo place: RecordPlace?) throws {
        try run(
            "UPDATE record_indexes SET built = $3, zone = $4, name = $5 WHERE part = $1 AND number = $2",
            [part, index, place == nil, place?.zone, place?.recordName], changing: .indexes)
    }

    func apply(_ changes: [IndexChange], in zone: Int64) throws {
        for change in changes {
            for key in change.removed {
                try run(
                    "DELETE FROM index_entries WHERE part = $1 AND zone = $2 AND number = $3 AND key = $4 AND name = $5",
                    [part, zone, change.index, key, change.recordName], changing: .indexEntries)
            }
        }
        let added = changes.flatMap { change in change.added.map { (number: change.index, key: $0, name: change.recordName) } }
        var rest = added[...]
        while !rest.isEmpty {
            let size = RecordRows.batches.first { $0 <= rest.count } ?? 1
            let values = rest.prefix(size).flatMap { ([$0.number, $0.key, $0.name] as PostgresValues).values }
            try run(Self.insertEntries(size), [part, zone] + PostgresValues(values), changing: .indexEntries)
            rest = rest.dropFirst(size)
        }
    }

    private static func insertEntries(_ count: Int) -> String {
        let rows = (0..<count).map { "($1, $2, $\(3 + $0 * 3), $\(4 + $0 * 3), $\(5 + $0 * 3))" }
        return "INSERT INTO index_entries (part, zone, number, key, name) VALUES \(rows.joined(separator: ", ")) ON CONFLICT DO NOTHING"
    }
}
