// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The tables of records and of their earlier versions.
enum RecordRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS records (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, change bigint NOT NULL, deleted boolean NOT NULL,
            at bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (part, zone, name))
        """,
        "CREATE INDEX IF NOT EXISTS records_by_change ON records (part, zone, change) WHERE change >= 0",
        "CREATE INDEX IF NOT EXISTS records_deleted ON records (part, at) WHERE deleted",
        """
        CREATE TABLE IF NOT EXISTS record_versions (
            part bigint NOT NULL, zone bigint NOT NULL, name text COLLATE "C" NOT NULL, at bigint NOT NULL, replaced bigint NOT NULL,
            change bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (part, zone, name, change))
        """,
        "CREATE INDEX IF NOT EXISTS record_versions_by_end ON record_versions (part, zone, replaced) WHERE replaced >= 0",
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

    // MARK: Removal of an account

    /// Bytes of bodies that one page of records has, besides the last.
    private static let mentionBytesMax = 4_000_000

    /// Records of a range that contain a text, with their partition and the name of their zone.
    ///
    /// - Parameters:
    ///   - inShares: `false`: `$1` is a record name and `$2` the quoted name. `true`: `$1` is in the body of shares, and `$2` is sought in any
    ///     case. `$3` has the partitions to leave out.
    ///   - range: The condition of the range, for the alias `t`.
    static func mentions(inShares: Bool, range: String, limit: Int) -> String {
        let isFound =
            inShares
            ? "position(convert_to($1, 'UTF8') IN t.body) > 0 AND position($2 IN lower(convert_from(t.body, 'UTF8'))) > 0"
            : "(t.name = $1 OR position(convert_to($2, 'UTF8') IN t.body) > 0)"
        return """
            SELECT p.container, p.environment, p.scope, p.owner, m.part, m.zone, z.name, m.body FROM (
                SELECT t.part, t.zone, t.name, t.body,
                    sum(octet_length(t.body)) OVER (ORDER BY t.part, t.zone, t.name) - octet_length(t.body) AS bytes
                FROM records t WHERE NOT t.part = ANY ($3::text[]::bigint[]) AND \(isFound) AND \(range)
            ) AS m JOIN partitions p ON p.part = m.part LEFT JOIN zones z ON z.part = m.part AND z.zone = m.zone AND NOT z.deleted
            WHERE m.bytes < \(mentionBytesMax) ORDER BY m.part, m.zone, m.name LIMIT \(limit)
            """
    }

    static func mention(_ row: PostgresRow) throws -> RecordMention {
        RecordMention(
            number: 0, partition: try PartitionRows.partition(row), part: row[4], zone: row[5], zoneName: row[6],
            record: try PostgresUnit.decode(Record.self, row[7]))
    }

    /// Public records of `$2` among the next `$5` records of a partition; a row without a body is another record.
    static let created = """
        SELECT zone, name, CASE WHEN position(convert_to($2, 'UTF8') IN body) > 0 THEN body END FROM records
        WHERE part = $1 AND (zone, name) > ($3, $4) AND NOT deleted ORDER BY zone, name LIMIT $5
        """

    static let named =
        "SELECT found.* "
        + LookUps.each(of: 3, "SELECT name, change, body FROM records WHERE part = $1 AND zone = $2 AND name = \(LookUps.value)")

    /// The same in the order of the names, up to the record that passes ``pageBytes``, each with the number of its name from 1 on.
    static let leading = """
        SELECT number, name, change, body FROM (
            SELECT wanted.number, found.*, sum(octet_length(found.body)) OVER (ORDER BY wanted.number) - octet_length(found.body) AS bytes_before
            \(LookUps.each(of: 3, isNumbered: true, "SELECT name, change, body FROM records WHERE part = $1 AND zone = $2 AND name = \(LookUps.value)"))
        ) AS sized WHERE bytes_before < \(pageBytes) ORDER BY number
        """

    /// The next records by zone and name, up to the one that passes ``pageBytes``.
    static let walk = """
        SELECT zone, name, body FROM (
            SELECT zone, name, body, sum(octet_length(body)) OVER (ORDER BY zone, name) - octet_length(body) AS bytes_before FROM (
                SELECT zone, name, body FROM records WHERE part = $1 AND (zone, name) > ($2, $3) AND NOT deleted
                ORDER BY zone, name LIMIT $4) AS listed) AS sized
        WHERE bytes_before < \(pageBytes) ORDER BY zone, name
        """

    static let delete = "DELETE FROM records WHERE part = $1 AND zone = $2 AND name = $3"

    private static func replacing(_ old: String, _ new: String) -> String {
        "convert_to(replace(convert_from(body, 'UTF8'), \(old), \(new)), 'UTF8')"
    }

    static let replaceText = "UPDATE records SET body = \(replacing("$4", "$5")) WHERE part = $1 AND zone = $2 AND name = $3"

    static let replaceTextOfVersions = """
        UPDATE record_versions t SET body = \(replacing("$1", "$2")) WHERE position(convert_to($1, 'UTF8') IN t.body) > 0
        """

    /// Versions of shares, of the record `$1`, and, with `$4`, of public records that `$1` created. `$2` is the quoted name.
    ///
    /// PostgreSQL's JSON functions reject the character U+0000.
    static let deleteVersions = """
        DELETE FROM record_versions t WHERE (t.name = $1 OR position(convert_to($2, 'UTF8') IN t.body) > 0)
        AND (t.name = $1 OR position(convert_to($3, 'UTF8') IN t.body) > 0
            OR $4 AND replace(convert_from(t.body, 'UTF8'), '\\u0000', '\\u0020')::json #>> '{created,userRecordName}' = $1
            AND EXISTS (SELECT 1 FROM partitions p WHERE p.part = t.part AND p.scope = 'public'))
        """

    static let deleteShareVersions = """
        DELETE FROM record_versions t WHERE position(convert_to($1, 'UTF8') IN t.body) > 0
        AND position($2 IN lower(convert_from(t.body, 'UTF8'))) > 0
        """

    /// Rows of the first page of a scan that its visitor ends.
    static let firstPage = 32
    /// Rows of the first page of changes: a page of a device's changes, which is one round trip. ``pageBytes`` limits it, too.
    static let firstChanges = 256
    static let pageBytes = RecordSize.storedBytesAtOnce
    static let pageMax = 4096
}

extension PostgresUnit {
    func records(named names: [String], in zone: Int64) throws -> [String: StoredRecord] {
        // No record has such a name, and the engine rejects the request's item alone.
        let names = names.filter { !$0.utf8.contains(0) }
        guard !names.isEmpty else { return [:] }
        let found = try rows(RecordRows.named, [part, zone] + .texts(names), from: .records)
        return try Dictionary(
            found.map { ($0[0], StoredRecord(record: try Self.decode(Record.self, $0[2]), change: $0[1])) },
            uniquingKeysWith: { first, _ in first })
    }

    func leadingRecords(named names: ArraySlice<String>, in zone: Int64) throws -> (records: [String: StoredRecord], count: Int) {
        if names.count == 1 { return (try records(named: Array(names), in: zone), 1) }
        // No record has an empty name, as no record has one with a zero byte.
        let wanted = names.map { $0.utf8.contains(0) ? "" : $0 }
        var records: [String: StoredRecord] = [:]
        var (slice, last) = (RecordSlice(), 0)
        for row in try rows(RecordRows.leading, [part, zone] + .texts(wanted), from: .records) {
            let body: [UInt8] = row[3], number: Int64 = row[0]
            slice.add(body.count)
            last = Int(number)
            records[row[1]] = StoredRecord(record: try Self.decode(Record.self, body), change: row[2])
        }
        return (records, slice.isFull ? last : names.count)
    }

    /// The next changes, up to the one that passes the limit of bytes.
    private static func changes(_ slice: ChangeSlice, includingDeleted: Bool) -> String {
        let order = slice.isNewestFirst ? "change DESC" : "change"
        return """
            SELECT change, body FROM (
                SELECT change, body, sum(octet_length(body)) OVER (ORDER BY \(order)) - octet_length(body) AS bytes_before FROM (
                    SELECT change, body FROM records WHERE part = $1 AND zone = $2 AND change > $3 AND change < $4 AND change >= 0
                    \(includingDeleted ? "" : " AND NOT deleted") ORDER BY \(order) LIMIT $5) AS listed) AS sized
            WHERE bytes_before < \(RecordRows.pageBytes) ORDER BY \(order)
            """
    }

    /// Visits bodies page by page: how many are wanted is known from them only.
    private func visitChanges(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool, limit: Int, _ visit: ([UInt8], Int64) throws -> Bool
    ) throws {
        var (slice, left) = (slice, limit)
        let sql = Self.changes(slice, includingDeleted: includingDeleted)
        var page = min(RecordRows.firstChanges, left)
        while page > 0 {
            let rows = try rows(sql, [part, zone, slice.after, slice.before, page], from: .records)
            var pageSlice = RecordSlice()
            for row in rows {
                let body: [UInt8] = row[1]
                pageSlice.add(body.count)
                guard try visit(body, row[0]) else { return }
            }
            guard let last = rows.last, rows.count == page || pageSlice.isFull else { return }
            if slice.isNewestFirst { slice.before = last[0] } else { slice.after = last[0] }
            left -= rows.count
            // The database reads as many records as a page may have, also if its bytes end it.
            page = min(pageSlice.isFull ? 2 * rows.count : 8 * page, RecordRows.pageMax, left)
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
        let range = "WHERE part = $1 AND zone = $2 AND change > $3 AND change < $4 AND change >= 0"
        let values: PostgresValues = [part, zone, slice.after, slice.before, limit]
        guard let shares else {
            return try rows(
                """
                SELECT count(*) FROM (
                    SELECT 1 FROM records \(range)\(includingDeleted ? "" : " AND NOT deleted") ORDER BY change LIMIT $5) AS counted
                """, values, from: .records
            ).first.map { $0[0] } ?? 0
        }
        let found = LookUps.each(
            of: 6,
            """
            SELECT 1 FROM shared_records \(range) AND share = \(LookUps.value)\(includingDeleted ? "" : " AND NOT gone")
            ORDER BY change LIMIT $5
            """)
        return try rows(
            "SELECT count(*) FROM (SELECT 1 \(found) LIMIT $5) AS counted", values + .texts(shares), from: .records
        ).first.map { $0[0] } ?? 0
    }

    func records(after place: RecordPlace?, limit: Int) throws -> [(place: RecordPlace, record: Record)] {
        let start = place ?? RecordPlace(zone: .min, recordName: "")
        // The database reads as many records as the statement may return, also if their bytes end the slice.
        let most = min(limit, RecordRows.firstChanges)
        return try rows(RecordRows.walk, [part, start.zone, start.recordName, most], from: .records).map {
            (RecordPlace(zone: $0[0], recordName: $0[1]), try Self.decode(Record.self, $0[2]))
        }
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
            SELECT name, body FROM record_versions WHERE part = $1 AND zone = $2 AND replaced > $3 AND replaced >= 0 AND at <= $3
            UNION ALL SELECT name, body FROM records WHERE part = $1 AND zone = $2 AND at <= $3 AND NOT deleted
            """, [part, key, time], from: .records, .history)
        return try Dictionary(found.map { ($0[0], try Self.decode(Record.self, $0[1])) }, uniquingKeysWith: { _, last in last })
    }

    private static let version = "INSERT INTO record_versions (part, zone, name, at, replaced, change, body) "
    private static let replaced = """
        SELECT part, zone, name, at, $3::bigint, change, body FROM records WHERE part = $1 AND zone = $2 AND NOT deleted
        """

    /// Stores what records are before something else replaces them.
    private func keep(_ names: [String], in zone: Int64, at now: Int64) throws {
        guard try historyTerm() != nil else { return }
        let found = LookUps.each(of: 4, "\(Self.replaced) AND name = \(LookUps.value)")
        try run("\(Self.version) SELECT found.* \(found) ON CONFLICT DO NOTHING", [part, zone, now] + .texts(names), changing: .history)
        expires(after: now)
    }

    /// - Parameter last: The greatest name of the records; nil for all of the zone.
    func keepContents(ofZone zone: Int64, upTo last: String?, at now: Int64) throws {
        guard try historyTerm() != nil else { return }
        if let last {
            try run(
                Self.version + Self.replaced + " AND name <= $4 ON CONFLICT DO NOTHING", [part, zone, now, last], changing: .history)
        } else {
            try run(Self.version + Self.replaced + " ON CONFLICT DO NOTHING", [part, zone, now], changing: .history)
        }
    }

    /// Keeps the files of a zone's first assets, in the order in which their links are removed.
    func keepAssets(ofZone zone: Int64, atMost count: Int, at now: Int64) throws {
        guard let term = try historyTerm() else { return }
        try run(
            """
            INSERT INTO kept_assets (part, checksum, until)
            SELECT part, checksum, $3 FROM asset_links WHERE part = $1 AND zone = $2 ORDER BY checksum LIMIT $4
            ON CONFLICT (part, checksum) DO UPDATE SET until = excluded.until
            """, [part, zone, now + term.milliseconds, count], changing: .history)
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
