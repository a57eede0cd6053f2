// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation
import GRDB

/// Retention of record versions, and its start. It is in the database, so that commands while a server
/// keep to it, too.
struct HistoryTerm: Hashable, Sendable {
    var milliseconds: Int64
    var since: Int64

    private static let key = "history"

    init(milliseconds: Int64, since: Int64) {
        self.milliseconds = milliseconds
        self.since = since
    }

    /// - Returns: Nil if nothing is kept.
    init?(_ db: Database) throws {
        guard let row = try db.row("SELECT value FROM meta WHERE key = '\(Self.key)'", []) else { return nil }
        let text: String = row[0]
        let numbers = text.split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 2 else { throw StorageFailure(.corrupt, "the term of history is unreadable") }
        self.init(milliseconds: numbers[0], since: numbers[1])
    }

    static func set(_ term: HistoryTerm?, _ db: Database) throws {
        guard let term else { return try db.execute(sql: "DELETE FROM meta WHERE key = '\(key)'") }
        try db.execute(
            sql: "INSERT OR REPLACE INTO meta (key, value) VALUES ('\(key)', ?)", arguments: ["\(term.milliseconds) \(term.since)"])
    }
}

extension SQLiteUnit {
    func historyStart(now: Int64) throws -> Int64? {
        try historyTerm().map { max($0.since, now - $0.milliseconds) }
    }

    private func historyTerm() throws -> HistoryTerm? { try remembered(.historyTerm) { try HistoryTerm(db) } }

    func records(ofZone key: Int64, at time: Int64) throws -> [String: CloudWire.Record] {
        guard let part else { return [:] }
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT name, body FROM record_versions WHERE part = ? AND zone = ? AND replaced > ? AND at <= ?
                UNION ALL SELECT name, body FROM records WHERE part = ? AND zone = ? AND at <= ? AND deleted = 0
                """, arguments: [part, key, time, time, part, key, time])
        var records: [String: CloudWire.Record] = [:]
        while let row = try rows.next() { records[row[0]] = try Self.decode(CloudWire.Record.self, [UInt8](row[1] as Data)) }
        return records
    }

    /// Keeps what records are before something else takes their place.
    func keep(_ names: [String], in zone: Int64, at now: Int64) throws {
        guard try historyTerm() != nil else { return }
        for name in names {
            try run(
                """
                INSERT INTO record_versions (part, zone, name, at, replaced, body)
                SELECT part, zone, name, at, ?, body FROM records WHERE part = ? AND zone = ? AND name = ? AND deleted = 0
                """, [now, writtenPart, zone, name])
        }
    }

    /// - Parameter last: The greatest name of the records; nil for all of the zone.
    func keepContents(ofZone zone: Int64, upTo last: String?, at now: Int64) throws {
        guard try historyTerm() != nil else { return }
        let sql = """
            INSERT INTO record_versions (part, zone, name, at, replaced, body)
            SELECT part, zone, name, at, ?, body FROM records WHERE part = ? AND zone = ? AND deleted = 0
            """
        if let last { try run(sql + " AND name <= ?", [now, writtenPart, zone, last]) } else { try run(sql, [now, writtenPart, zone]) }
    }

    /// Keeps the files of a zone's first assets, in the order in which their links are removed.
    func keepAssets(ofZone zone: Int64, atMost count: Int, at now: Int64) throws {
        guard let term = try historyTerm() else { return }
        try run(
            """
            INSERT OR REPLACE INTO kept_assets (part, checksum, until)
            SELECT part, checksum, ? FROM asset_links WHERE part = ? AND zone = ? ORDER BY checksum LIMIT ?
            """, [now + term.milliseconds, writtenPart, zone, count])
    }

    /// Keeps the file of an asset that records no longer refer to, for those that they were.
    func keepAsset(_ checksum: String, at now: Int64) throws {
        guard let term = try historyTerm() else { return }
        try run(
            "INSERT OR REPLACE INTO kept_assets (part, checksum, until) VALUES (?, ?, ?)",
            [writtenPart, checksum, now + term.milliseconds])
    }
}

extension SQLiteServerStore {
    /// Sets the retention of record versions. With 0 none are stored, and ``removeExpired(now:)`` removes the stored ones.
    package func keepHistory(milliseconds: Int64, now: Int64) async throws {
        try await writing { db in
            let known = try HistoryTerm(db)
            guard milliseconds > 0 else {
                if known != nil { try HistoryTerm.set(nil, db) }
                return
            }
            guard known?.milliseconds != milliseconds else { return }
            try HistoryTerm.set(HistoryTerm(milliseconds: milliseconds, since: known?.since ?? now), db)
        }
    }
}
