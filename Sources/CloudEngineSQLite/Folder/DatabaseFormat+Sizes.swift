// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB

extension DatabaseFormat {
    /// Counts the usage of records anew, for rows that have none, or that lack some of it.
    static func countRecordBytes(_ db: Database) throws {
        let counts = try counts(db, bodyBytesMin: 0) { RecordSize.bytes(of: $0) }
        try db.execute(sql: "UPDATE zones SET record_bytes = 0 WHERE record_bytes <> 0")
        for count in counts {
            try db.execute(
                sql: "UPDATE zones SET record_bytes = ? WHERE part = ? AND zone = ?", arguments: [count.bytes, count.part, count.zone])
        }
        try db.execute(
            sql: """
                UPDATE partitions SET record_bytes = (SELECT coalesce(sum(record_bytes), 0) FROM zones z WHERE z.part = partitions.part)
                """)
    }

    /// Adds the uncounted bytes of stored records to the usage. The deletion of a record subtracts its whole size.
    ///
    /// Records with bodies of fewer than 1,500 bytes have none: an empty text takes three bytes of a body and counts eight more now, beyond
    /// the first 4,096 bytes of a record.
    static func addUncountedBytes(_ db: Database) throws {
        for count in try counts(db, bodyBytesMin: 1500, { RecordSize.uncountedBytes(of: $0) }) where count.bytes > 0 {
            try db.execute(
                sql: "UPDATE zones SET record_bytes = record_bytes + ? WHERE part = ? AND zone = ?",
                arguments: [count.bytes, count.part, count.zone])
            try db.execute(
                sql: "UPDATE partitions SET record_bytes = record_bytes + ? WHERE part = ?", arguments: [count.bytes, count.part])
        }
    }

    /// The bytes of the records of each zone that is not deleted.
    private static func counts(
        _ db: Database, bodyBytesMin: Int, _ bytes: (CloudWire.Record) -> Int
    ) throws -> [(part: Int64, zone: Int64, bytes: Int)] {
        var sums: [Int64: [Int64: Int]] = [:]
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT r.part, r.zone, r.body FROM records r JOIN zones z ON z.part = r.part AND z.zone = r.zone
                WHERE r.deleted = 0 AND z.deleted = 0 AND length(r.body) >= ?
                """, arguments: [bodyBytesMin])
        while let row = try rows.next() {
            let record = try SQLiteUnit.decode(CloudWire.Record.self, [UInt8](row[2] as Data))
            sums[row[0], default: [:]][row[1], default: 0] += bytes(record)
        }
        return sums.flatMap { part, zones in zones.map { (part, $0.key, $0.value) } }
    }
}
