// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB
import GRDBSQLite

extension SQLiteUnit {
    func state() throws -> PartitionState {
        guard let part,
            let row = try rows(
                "SELECT epoch, counter, floor, record_bytes, asset_bytes FROM partitions WHERE part = ?", [part]
            ).first
        else { return PartitionState() }
        var state = PartitionState(epoch: row[0], counter: row[1], floor: row[2])
        state.usage = StoredBytes(records: row[3], assets: row[4])
        return state
    }

    private static let zoneColumns = "SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones"

    private static func zone(_ row: Row) -> StoredZone {
        var zone = StoredZone(key: row[0], name: row[1], change: row[2], isDeleted: row[3], floor: row[4])
        zone.deletionReason = ZoneDeletionReason(rawValue: row[5]) ?? .deleted
        zone.usage = StoredBytes(records: row[6], assets: row[7])
        return zone
    }

    func zone(named name: String) throws -> StoredZone? {
        guard let part else { return nil }
        return try rows(Self.zoneColumns + " WHERE part = ? AND name = ?", [part, name]).first.map(Self.zone)
    }

    func zones() throws -> [StoredZone] {
        guard let part else { return [] }
        return try rows(Self.zoneColumns + " WHERE part = ? AND deleted = 0 ORDER BY name", [part]).map(Self.zone)
    }

    func zones(changedAfter change: Int64, limit: Int) throws -> [StoredZone] {
        guard let part else { return [] }
        return try rows(
            Self.zoneColumns + " WHERE part = ? AND change > ? AND zone <> ? ORDER BY change LIMIT ?",
            [part, change, StoredZone.defaultKey, limit]
        ).map(Self.zone)
    }

    func records(named names: [String], in zone: Int64) throws -> [String: StoredRecord] {
        guard let part else { return [:] }
        let statement = try db.cachedStatement(
            sql: "SELECT change, body FROM records WHERE part = ? AND zone = ? AND name = ?")
        var found: [String: StoredRecord] = [:]
        for name in names {
            guard let row = try Row.fetchOne(statement, arguments: [part, zone, name]) else { continue }
            found[name] = StoredRecord(record: try Self.decode(Record.self, row[1]), change: row[0])
        }
        return found
    }

    func records(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord] {
        guard let part else { return [] }
        let statement = try db.cachedStatement(sql: Self.changes(slice, includingDeleted: includingDeleted) + " LIMIT ?")
        let rows = try Row.fetchCursor(statement, arguments: [part, zone, slice.after, slice.before, limit])
        var found: [StoredRecord] = []
        var bytes = 0
        while bytes < bytesMax, let row = try rows.next() {
            let body: Data = row[1]
            bytes += body.count
            found.append(StoredRecord(record: try Self.decode(Record.self, body), change: row[0]))
        }
        return found
    }

    private static func changes(_ slice: ChangeSlice, includingDeleted: Bool) -> String {
        """
        SELECT change, body FROM records WHERE part = ? AND zone = ? AND change > ? AND change < ?
        \(includingDeleted ? "" : " AND deleted = 0") ORDER BY change\(slice.isNewestFirst ? " DESC" : "")
        """
    }

    func recordTexts(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool,
        _ visit: (_ text: UnsafeRawBufferPointer, _ change: Int64) throws -> Bool
    ) throws {
        guard let part else { return }
        let statement = try db.cachedStatement(sql: Self.changes(slice, includingDeleted: includingDeleted))
        try statement.setArguments([part, zone, slice.after, slice.before])
        // A page is hundreds of rows of which nothing is made: boxed rows cost as much as reading them.
        let handle = statement.sqliteStatement
        defer { sqlite3_reset(handle) }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW:
                guard let body = sqlite3_column_blob(handle, 1) else { throw StorageFailure(.corrupt, "a stored message could not be read") }
                let text = UnsafeRawBufferPointer(start: body, count: Int(sqlite3_column_bytes(handle, 1)))
                guard try visit(text, sqlite3_column_int64(handle, 0)) else { return }
            case SQLITE_DONE: return
            case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
            }
        }
    }

    func count(_ slice: ChangeSlice, in zone: Int64, shares: [String]?, includingDeleted: Bool, atMost limit: Int) throws -> Int {
        guard let part else { return 0 }
        var arguments: StatementArguments = [part, zone, slice.after, slice.before]
        var condition = includingDeleted ? "" : shares == nil ? " AND deleted = 0" : " AND gone = 0"
        if let shares {
            condition += " AND share IN (\(databaseQuestionMarks(count: shares.count)))"
            arguments += StatementArguments(shares)
        }
        let sql = """
            SELECT count(*) FROM (SELECT 1 FROM \(shares == nil ? "records" : "shared_records")
            WHERE part = ? AND zone = ? AND change > ? AND change < ?\(condition) LIMIT ?)
            """
        return try Int.fetchOne(try db.cachedStatement(sql: sql), arguments: arguments + [limit]) ?? 0
    }

    func schema(ofType recordType: String) throws -> RecordTypeSchema? {
        let key: StatementArguments = [partition.containerIdentifier, partition.environment.rawValue, recordType]
        let isKnown = try rows(
            "SELECT 1 FROM schema_types WHERE container = ? AND environment = ? AND type = ?", key)
        guard !isKnown.isEmpty else { return nil }
        let fields = try rows(
            "SELECT field, holds, encrypted, indexes FROM schema_fields WHERE container = ? AND environment = ? AND type = ?",
            key)
        var schema = RecordTypeSchema()
        for row in fields {
            let indexes = FieldIndexes(rawValue: row[3])
            if let system = QueryKey.SystemField(internalName: row[0]) {
                schema.systemIndexes[system] = indexes
            } else {
                schema.fields[row[0]] = FieldSchema(type: row[1], isEncrypted: row[2], indexes: indexes)
            }
        }
        return schema
    }

    func subscriptions() throws -> [Subscription] {
        guard let part else { return [] }
        return try rows("SELECT body FROM subscriptions WHERE part = ? ORDER BY id", [part]).map {
            try Self.decode(Subscription.self, $0[0])
        }
    }

    func subscription(id: String) throws -> Subscription? {
        guard let part else { return nil }
        return try rows("SELECT body FROM subscriptions WHERE part = ? AND id = ?", [part, id]).first.map {
            try Self.decode(Subscription.self, $0[0])
        }
    }

    func upload(id: String) throws -> StoredUpload? {
        guard let part,
            let row = try rows(
                "SELECT record, field, created, checksum, size FROM uploads WHERE part = ? AND id = ?", [part, id]
            ).first
        else { return nil }
        let checksum: String? = row[3]
        return StoredUpload(
            id: id, recordName: row[0], fieldName: row[1],
            asset: checksum.map { StoredAsset(checksum: $0, size: row[4]) }, created: row[2])
    }

    func asset(checksum: String) throws -> StoredAsset? {
        guard let part else { return nil }
        return try rows("SELECT size FROM assets WHERE part = ? AND checksum = ?", [part, checksum]).first.map {
            StoredAsset(checksum: checksum, size: $0[0])
        }
    }

    func unusedUploadBytes() throws -> Int64 {
        guard let part else { return 0 }
        // One file for all uploads of it; parts of files have no checksum yet.
        return try rows(
            """
            SELECT coalesce(sum(size), 0) FROM (
                SELECT max(coalesce(size, 0)) AS size FROM uploads u WHERE part = ? AND NOT EXISTS (
                    SELECT 1 FROM asset_links l WHERE l.part = u.part AND l.checksum = u.checksum)
                GROUP BY coalesce(checksum, id))
            """, [part]
        ).first.map { $0[0] } ?? 0
    }

    func links(toAssets checksums: [String], in zone: Int64) throws -> [String: Int] {
        guard let part else { return [:] }
        var links: [String: Int] = [:]
        for checksum in checksums {
            links[checksum] = try rows(
                "SELECT fields FROM asset_links WHERE part = ? AND zone = ? AND checksum = ?", [part, zone, checksum]
            ).first.map { $0[0] }
        }
        return links
    }

    func answer(toKey key: String) throws -> StoredAnswer? {
        guard let part else { return nil }
        return try rows("SELECT fingerprint, body FROM answers WHERE part = ? AND key = ?", [part, key]).first.map {
            let body: Data = $0[1]
            return StoredAnswer(fingerprint: UInt64(bitPattern: $0[0]), body: [UInt8](body))
        }
    }
}
