// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB

extension DatabaseFormat {
    /// Counts the usage of records anew, for a copy of rows that lack some of it.
    static func countRecordBytes(_ db: Database) throws {
        var bytes: [Int64: [Int64: Int]] = [:]
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT r.part, r.zone, r.body FROM records r JOIN zones z ON z.part = r.part AND z.zone = r.zone
                WHERE r.deleted = 0 AND z.deleted = 0
                """)
        while let row = try rows.next() {
            let record = try SQLiteUnit.decode(CloudWire.Record.self, [UInt8](row[2] as Data))
            bytes[row[0], default: [:]][row[1], default: 0] += RecordSize.bytes(of: record)
        }
        try db.execute(sql: "UPDATE zones SET record_bytes = 0 WHERE record_bytes <> 0")
        for (part, zones) in bytes {
            for (zone, bytes) in zones {
                try db.execute(
                    sql: "UPDATE zones SET record_bytes = ? WHERE part = ? AND zone = ?", arguments: [bytes, part, zone])
            }
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
        var bytes: [Int64: [Int64: Int]] = [:]
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT r.part, r.zone, r.body FROM records r JOIN zones z ON z.part = r.part AND z.zone = r.zone
                WHERE r.deleted = 0 AND z.deleted = 0 AND length(r.body) >= 1500
                """)
        while let row = try rows.next() {
            let record = try SQLiteUnit.decode(CloudWire.Record.self, [UInt8](row[2] as Data))
            let uncounted = RecordSize.uncountedBytes(of: record)
            if uncounted > 0 { bytes[row[0], default: [:]][row[1], default: 0] += uncounted }
        }
        for (part, zones) in bytes {
            for (zone, bytes) in zones {
                try db.execute(
                    sql: "UPDATE zones SET record_bytes = record_bytes + ? WHERE part = ? AND zone = ?", arguments: [bytes, part, zone])
                try db.execute(sql: "UPDATE partitions SET record_bytes = record_bytes + ? WHERE part = ?", arguments: [bytes, part])
            }
        }
    }
}
