// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The tables of records and of their earlier versions.
enum RecordRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS records (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, change bigint NOT NULL, deleted boolean NOT NULL,
            at bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (part, zone, name))
        """,
        "CREATE INDEX IF NOT EXISTS records_change ON records (part, zone, change)",
        "CREATE INDEX IF NOT EXISTS records_deleted ON records (part, at) WHERE deleted",
        """
        CREATE TABLE IF NOT EXISTS record_versions (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, at bigint NOT NULL, replaced bigint NOT NULL,
            change bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (part, zone, name, change))
        """,
        "CREATE INDEX IF NOT EXISTS record_versions_replaced ON record_versions (part, zone, replaced)",
        """
        CREATE TABLE IF NOT EXISTS kept_assets (
            part bigint NOT NULL, checksum text COLLATE "C" NOT NULL, until bigint NOT NULL, PRIMARY KEY (part, checksum))
        """,
    ]

    /// Rows of one statement at most. Each size up to it is a statement of its own, so only these are used.
    static let batches = [64, 16, 4, 1]

    static func insert(_ count: Int) -> String {
        let rows = (0..<count).map { row in
            "(" + (["$1", "$2"] + (0..<5).map { "$\(3 + row * 5 + $0)" }).joined(separator: ", ") + ")"
        }
        return """
            INSERT INTO records (part, zone, name, change, deleted, at, body) VALUES \(rows.joined(separator: ", "))
            ON CONFLICT (part, zone, name) DO UPDATE
            SET change = excluded.change, deleted = excluded.deleted, at = excluded.at, body = excluded.body
            """
    }

    /// Rows of the first page of a scan that its visitor ends.
    static let firstPage = 32
    static let pageBytes = 1 << 20
    static let pageMax = 4096
}

extension PostgresUnit {
    func records(named names: [String], in zone: Int64) throws -> [String: StoredRecord] {
        guard !names.isEmpty else { return [:] }
        let found = try rows(
            "SELECT name, change, body FROM records WHERE part = $1 AND zone = $2 AND name = ANY ($3)", [part, zone] + .texts(names),
            from: .records)
        return try Dictionary(
            found.map { ($0[0], StoredRecord(record: try Self.decode(Record.self, $0[2]), change: $0[1])) },
            uniquingKeysWith: { first, _ in first })
    }

    private static func changes(_ slice: ChangeSlice, includingDeleted: Bool) -> String {
        """
        SELECT change, body FROM records WHERE part = $1 AND zone = $2 AND change > $3 AND change < $4
        \(includingDeleted ? "" : " AND NOT deleted") ORDER BY change\(slice.isNewestFirst ? " DESC" : "") LIMIT $5
        """
    }

    /// Visits bodies page by page: how many are wanted is known from them only.
    private func visitChanges(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool, limit: Int, _ visit: ([UInt8], Int64) throws -> Bool
    ) throws {
        var (slice, left) = (slice, limit)
        let sql = Self.changes(slice, includingDeleted: includingDeleted)
        var page = min(RecordRows.firstPage, left)
        while page > 0 {
            let rows = try rows(sql, [part, zone, slice.after, slice.before, page], from: .records)
            var bytes = 0
            for row in rows {
                let body: [UInt8] = row[1]
                bytes += body.count
                guard try visit(body, row[0]) else { return }
            }
            guard let last = rows.last, rows.count == page else { return }
            if slice.isNewestFirst { slice.before = last[0] } else { slice.after = last[0] }
            left -= rows.count
            page = min(max(1, RecordRows.pageBytes * rows.count / max(1, bytes)), 8 * page, RecordRows.pageMax, left)
        }
    }

    func records(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord] {
        var found: [StoredRecord] = []
        var bytes = 0
        guard bytesMax > 0 else { return found }
        try visitChanges(slice, in: zone, includingDeleted: includingDeleted, limit: limit) { body, change in
            bytes += body.count
            found.append(StoredRecord(record: try Self.decode(Record.self, body), change: change))
            return bytes < bytesMax
        }
        return found
    }

    func recordTexts(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool,
        _ visit: (_ text: UnsafeRawBufferPointer, _ change: Int64) throws -> Bool
    ) throws {
        try visitChanges(slice, in: zone, includingDeleted: includingDeleted, limit: .max) { body, change in
            guard !body.isEmpty else { throw StorageFailure(.corrupt, "a stored message could not be read") }
            return try body.withUnsafeBytes { try visit($0, change) }
        }
    }

    func count(_ slice: ChangeSlice, in zone: Int64, shares: [String]?, includingDeleted: Bool, atMost limit: Int) throws -> Int {
        let table = shares == nil ? "records" : "shared_records"
        var condition = includingDeleted ? "" : shares == nil ? " AND NOT deleted" : " AND NOT gone"
        if shares != nil { condition += " AND share = ANY ($6)" }
        let values: PostgresValues = [part, zone, slice.after, slice.before, limit]
        return try rows(
            """
            SELECT count(*) FROM (SELECT 1 FROM \(table)
            WHERE part = $1 AND zone = $2 AND change > $3 AND change < $4\(condition) LIMIT $5) AS counted
            """, shares.map { values + .texts($0) } ?? values, from: .records
        ).first.map { $0[0] } ?? 0
    }

    func records(after place: RecordPlace?, limit: Int) throws -> [(place: RecordPlace, record: Record)] {
        let start = place ?? RecordPlace(zone: .min, recordName: "")
        return try rows(
            """
            SELECT zone, name, body FROM records WHERE part = $1 AND (zone, name) > ($2, $3) AND NOT deleted ORDER BY zone, name LIMIT $4
            """, [part, start.zone, start.recordName, limit], from: .records
        ).map { (RecordPlace(zone: $0[0], recordName: $0[1]), try Self.decode(Record.self, $0[2])) }
    }

    func save(_ records: [StoredRecord], in zone: Int64, at now: Int64) throws {
        // One statement must not change a row twice: of two with one name the last counts.
        var last: [String: Int] = [:]
        for (index, stored) in records.enumerated() { last[stored.record.recordName] = index }
        var rest = records.enumerated().filter { last[$0.element.record.recordName] == $0.offset }.map(\.element)[...]
        try keep(rest.map(\.record.recordName), in: zone, at: now)
        if rest.contains(where: \.record.isDeleted) { expires(after: now) }
        while !rest.isEmpty {
            let size = RecordRows.batches.first { $0 <= rest.count } ?? 1
            let values = rest.prefix(size).flatMap { stored in
                ([stored.record.recordName, stored.change, stored.record.isDeleted, now, stored.record.encoded()] as PostgresValues).values
            }
            try run(RecordRows.insert(size), [part, zone] + PostgresValues(values), changing: .records)
            rest = rest.dropFirst(size)
        }
    }

    // MARK: Earlier versions

    private func historyTerm() throws -> HistoryTerm? {
        try rows("SELECT value FROM meta WHERE key = $1", [HistoryTerm.key], from: .meta, isRepeated: true).first.map {
            try HistoryTerm($0[0])
        }
    }

    func historyStart(now: Int64) throws -> Int64? { try historyTerm().map { max($0.since, now - $0.milliseconds) } }

    func records(ofZone key: Int64, at time: Int64) throws -> [String: Record] {
        let found = try rows(
            """
            SELECT name, body FROM record_versions WHERE part = $1 AND zone = $2 AND replaced > $3 AND at <= $3
            UNION ALL SELECT name, body FROM records WHERE part = $1 AND zone = $2 AND at <= $3 AND NOT deleted
            """, [part, key, time], from: .records, .history)
        return try Dictionary(found.map { ($0[0], try Self.decode(Record.self, $0[1])) }, uniquingKeysWith: { _, last in last })
    }

    private static let version = """
        INSERT INTO record_versions (part, zone, name, at, replaced, change, body)
        SELECT part, zone, name, at, $3, change, body FROM records WHERE part = $1 AND zone = $2 AND NOT deleted
        """

    /// Stores what records are before something else replaces them.
    private func keep(_ names: [String], in zone: Int64, at now: Int64) throws {
        guard try historyTerm() != nil else { return }
        try run(Self.version + " AND name = ANY ($4) ON CONFLICT DO NOTHING", [part, zone, now] + .texts(names), changing: .history)
        expires(after: now)
    }

    func keepContents(ofZone zone: Int64, at now: Int64) throws {
        guard let term = try historyTerm() else { return }
        try run(Self.version + " ON CONFLICT DO NOTHING", [part, zone, now], changing: .history)
        try run(
            """
            INSERT INTO kept_assets (part, checksum, until) SELECT part, checksum, $3 FROM asset_links WHERE part = $1 AND zone = $2
            ON CONFLICT (part, checksum) DO UPDATE SET until = excluded.until
            """, [part, zone, now + term.milliseconds], changing: .history)
    }

    /// Keeps the file of an asset that records no longer refer to, for those that they were.
    func keepAsset(_ checksum: String, at now: Int64) throws {
        guard let term = try historyTerm() else { return }
        try run(
            """
            INSERT INTO kept_assets (part, checksum, until) VALUES ($1, $2, $3)
            ON CONFLICT (part, checksum) DO UPDATE SET until = excluded.until
            """, [part, checksum, now + term.milliseconds], changing: .history)
    }
}

/// Retention of record versions, and its start. It is in the database, so that all processes have the same.
struct HistoryTerm: Hashable, Sendable {
    static let key = "history"

    var milliseconds: Int64
    var since: Int64

    init(milliseconds: Int64, since: Int64) {
        self.milliseconds = milliseconds
        self.since = since
    }

    init(_ value: [UInt8]) throws {
        let numbers = String(decoding: value, as: UTF8.self).split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 2 else { throw StorageFailure(.corrupt, "the term of history is unreadable") }
        self.init(milliseconds: numbers[0], since: numbers[1])
    }

    var value: [UInt8] { Array("\(milliseconds) \(since)".utf8) }
}
