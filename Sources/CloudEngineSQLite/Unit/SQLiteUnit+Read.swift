// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import CloudWire
import GRDB
import GRDBSQLite

extension SQLiteUnit {
    func state() throws -> PartitionState {
        guard let part,
            let row = try row(
                "SELECT epoch, counter, floor, record_bytes, asset_bytes, tombstones, answer_bytes FROM partitions WHERE part = ?", [part])
        else { return PartitionState(epoch: try SQLiteServerStore.firstEpoch(db)) }
        var state = PartitionState(epoch: row[0], counter: row[1], floor: row[2])
        state.usage = StoredBytes(records: row[3], assets: row[4])
        state.tombstones = row[5]
        state.answerBytes = row[6]
        return state
    }

    func restorePoint() throws -> RestorePoint? {
        guard let part, let row = try row("SELECT epoch, counter, next_epoch FROM restores WHERE part = ?", [part]) else { return nil }
        return RestorePoint(epoch: row[0], counter: row[1], nextEpoch: row[2])
    }

    private static let zoneColumns = "SELECT zone, name, change, deleted, floor, reason, record_bytes, asset_bytes FROM zones"

    private static func zone(_ row: StoredRow) -> StoredZone {
        var zone = StoredZone(key: row[0], name: row[1], change: row[2], isDeleted: row[3], floor: row[4])
        zone.deletionReason = ZoneDeletionReason(rawValue: row[5]) ?? .deleted
        zone.usage = StoredBytes(records: row[6], assets: row[7])
        return zone
    }

    func zone(named name: String) throws -> StoredZone? {
        guard let part else { return nil }
        return try remembered(.zone(part: part, name: name)) {
            try row(Self.zoneColumns + " WHERE part = ? AND name = ?", [part, name]).map(Self.zone)
        }
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
        try leadingRecords(named: names[...], in: zone, RecordSlice(bytesMax: .max)).records
    }

    func leadingRecords(named names: ArraySlice<String>, in zone: Int64) throws -> (records: [String: StoredRecord], count: Int) {
        try leadingRecords(named: names, in: zone, RecordSlice())
    }

    private func leadingRecords(
        named names: ArraySlice<String>, in zone: Int64, _ empty: RecordSlice
    ) throws -> (records: [String: StoredRecord], count: Int) {
        guard let part else { return ([:], names.count) }
        var (found, slice, count) = ([String: StoredRecord](), empty, 0)
        for name in names {
            if slice.isFull { break }
            count += 1
            let row = try row("SELECT change, body FROM records WHERE part = ? AND zone = ? AND name = ?", [part, zone, name])
            guard let row else { continue }
            let body: [UInt8] = row[1]
            slice.add(body.count)
            found[name] = StoredRecord(record: try decodeRecord(body), change: row[0])
        }
        return (found, count)
    }

    func records(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord] {
        guard let part else { return [] }
        var found: [StoredRecord] = []
        var bytes = 0
        guard bytesMax > 0 else { return found }
        try self.visit(
            Self.changes(slice, includingDeleted: includingDeleted) + " LIMIT ?", [part, zone, slice.after, slice.before, limit]
        ) { handle in
            let body = Array(StoredRow.bytes(handle, 1))
            bytes += body.count
            found.append(StoredRecord(record: try decodeRecord(body), change: sqlite3_column_int64(handle, 0)))
            return bytes < bytesMax
        }
        return found
    }

    /// Reading a record takes several times as long as handing its text on.
    private func decodeRecord(_ body: [UInt8]) throws -> CloudWire.Record {
        try allowance?.take(4 * body.count)
        return try Self.decode(CloudWire.Record.self, body)
    }

    func hasAssets(inZone zone: Int64) throws -> Bool {
        guard let part else { return false }
        return try row("SELECT 1 FROM asset_links WHERE part = ? AND zone = ? LIMIT 1", [part, zone]) != nil
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
        try self.visit(
            Self.changes(slice, includingDeleted: includingDeleted), [part, zone, slice.after, slice.before]
        ) { handle in
            let text = StoredRow.bytes(handle, 1)
            guard !text.isEmpty else { throw StorageFailure(.corrupt, "a stored message could not be read") }
            try allowance?.take(text.count)
            return try visit(text, sqlite3_column_int64(handle, 0))
        }
    }

    func count(_ slice: ChangeSlice, in zone: Int64, shares: [String]?, includingDeleted: Bool, atMost limit: Int) throws -> Int {
        guard let part else { return 0 }
        try allowance?.take(limit)
        var arguments: Arguments = [part, zone, slice.after, slice.before]
        var condition = includingDeleted ? "" : shares == nil ? " AND deleted = 0" : " AND gone = 0"
        if let shares {
            condition += " AND share IN (\(databaseQuestionMarks(count: shares.count)))"
            arguments += Arguments(shares)
        }
        let sql = """
            SELECT count(*) FROM (SELECT 1 FROM \(shares == nil ? "records" : "shared_records")
            WHERE part = ? AND zone = ? AND change > ? AND change < ?\(condition) LIMIT ?)
            """
        return try row(sql, arguments + [limit]).map { $0[0] } ?? 0
    }

    func schema(ofType recordType: String) throws -> RecordTypeSchema? {
        let key = WriterMemory.Key.schema(
            containerIdentifier: partition.containerIdentifier, environment: partition.environment, recordType: recordType)
        return try remembered(key) { try readSchema(ofType: recordType) }
    }

    private func readSchema(ofType recordType: String) throws -> RecordTypeSchema? {
        // A type without fields is one row without a field.
        let rows = try rows(
            """
            SELECT f.field, f.holds, f.encrypted, f.indexes FROM schema_types t
            LEFT JOIN schema_fields f ON f.container = t.container AND f.environment = t.environment AND f.type = t.type
            WHERE t.container = ? AND t.environment = ? AND t.type = ?
            """, [partition.containerIdentifier, partition.environment.rawValue, recordType])
        guard !rows.isEmpty else { return nil }
        var schema = RecordTypeSchema()
        for row in rows {
            guard let name: String = row[0] else { continue }
            let indexes = FieldIndexes(rawValue: row[3])
            schema.add(name, indexes: indexes, FieldSchema(type: row[1], isEncrypted: row[2], indexes: indexes))
        }
        return schema
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

    func hasRecords(inZone zone: Int64) throws -> Bool {
        guard let part else { return false }
        return try row("SELECT 1 FROM records WHERE part = ? AND zone = ? LIMIT 1", [part, zone]) != nil
    }

    func openUploadCount(since time: Int64) throws -> Int {
        guard let part else { return 0 }
        return try rows(
            "SELECT count(*) FROM uploads WHERE part = ? AND created > ? AND checksum IS NULL", [part, time]
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
            StoredAnswer(fingerprint: UInt64(bitPattern: $0[0]), body: $0[1])
        }
    }
}
