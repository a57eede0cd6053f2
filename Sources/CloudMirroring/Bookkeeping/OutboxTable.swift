// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore

/// Requests whose answers are not known, in the order in which they are sent: each one's key, its bodies, its bodies before they
/// were sealed, what they do not say, and how often its outcome was uncertain.
///
/// The second is sent once the first was answered, and before that answer is written down.
enum OutboxTable {
    static let statement = """
        CREATE TABLE IF NOT EXISTS TARN_OUTBOX (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL, \
        opened BLOB, notes TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0)
        """

    struct Row {
        let key: String
        /// JSON has no line ends outside of texts, which escape them: in the file each body is a line.
        let bodies: [[UInt8]]
        let opened: [[UInt8]]?
        let notes: String
    }

    static func append(_ row: Row, _ writer: StoreWriter) throws {
        try writer.execute(
            "INSERT INTO TARN_OUTBOX (key, body, opened, notes) VALUES (?, ?, ?, ?)",
            [.text(row.key), .blob(Data(joined(row.bodies))), row.opened.map { .blob(Data(joined($0))) } ?? .null, .text(row.notes)])
    }

    static func rows(_ reader: StoreReader) throws -> [Row] {
        var rows: [Row] = []
        try reader.query("SELECT key, body, opened, notes FROM TARN_OUTBOX ORDER BY number") { row in
            guard let key = row.text(0), let body = row.blob(1), let notes = row.text(3) else { return }
            rows.append(Row(key: key, bodies: lines(body), opened: row.blob(2).map(lines), notes: notes))
        }
        return rows
    }

    private static func joined(_ bodies: [[UInt8]]) -> [UInt8] { Array(bodies.joined(separator: [UInt8(ascii: "\n")])) }

    private static func lines(_ data: Data) -> [[UInt8]] { data.split(separator: UInt8(ascii: "\n")).map { [UInt8]($0) } }

    /// How often the outcome of a request was uncertain; nil if it is not there.
    ///
    /// - Parameter key: nil is for the first one.
    static func attempts(of key: String? = nil, _ reader: StoreReader) throws -> Int64? {
        var attempts: Int64?
        let condition = key == nil ? "" : "WHERE key = ?"
        try reader.query("SELECT attempts FROM TARN_OUTBOX \(condition) ORDER BY number LIMIT 1", key.map { [.text($0)] } ?? []) { attempts = $0.int(0) }
        return attempts
    }

    static func setAttempts(_ attempts: Int64, of key: String, _ writer: StoreWriter) throws {
        try writer.execute("UPDATE TARN_OUTBOX SET attempts = ? WHERE key = ?", [.int(attempts), .text(key)])
    }

    static func remove(_ key: String, _ writer: StoreWriter) throws { try writer.execute("DELETE FROM TARN_OUTBOX WHERE key = ?", [.text(key)]) }

    static func removeAll(_ writer: StoreWriter) throws { try writer.execute("DELETE FROM TARN_OUTBOX") }

    /// Removes what this life of the app did not send.
    ///
    /// - Parameter key: Of the request that was sent.
    static func removeUnsent(but key: String, _ writer: StoreWriter) throws {
        try writer.execute("DELETE FROM TARN_OUTBOX WHERE attempts = 0 AND key <> ?", [.text(key)])
    }

    /// What was under way when an earlier life of the app ended may have arrived.
    static func doubtAll(_ writer: StoreWriter) throws { try writer.execute("UPDATE TARN_OUTBOX SET attempts = 1 WHERE attempts = 0") }

    /// Takes over the one request that stood among the single values before there was this table.
    static func adopt(_ writer: StoreWriter) throws {
        func value(_ name: String) -> String { "(SELECT value FROM TARN_STATE WHERE key = 'outbox\(name)')" }
        try writer.execute(
            """
            INSERT INTO TARN_OUTBOX (key, body, opened, notes, attempts) SELECT \(value("Key")), \(value("Body")), \(value("Opened")), \
            \(value("Notes")), \(value("Attempts")) WHERE \(value("Key")) IS NOT NULL
            """)
        try writer.execute("DELETE FROM TARN_STATE WHERE key LIKE 'outbox%'")
    }
}
