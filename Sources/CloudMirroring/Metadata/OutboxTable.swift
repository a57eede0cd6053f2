// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore

/// Unacknowledged requests, in the order in which they are sent: key, bodies, bodies before encryption, item details that the bodies lack,
/// and the number of attempts without a response.
///
/// The second request is sent after the response to the first one has arrived, and before that response is stored.
enum OutboxTable {
    static let statement = """
        CREATE TABLE IF NOT EXISTS TARN_OUTBOX (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL, \
        opened BLOB, notes TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0)
        """

    struct Row {
        let key: String
        /// One line each in the file: JSON has no line ends outside of strings, and escapes them there.
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

    /// Returns the number of attempts of a request without a response; nil for an unknown key.
    ///
    /// - Parameter key: nil for the first request.
    static func attempts(of key: String? = nil, _ reader: StoreReader) throws -> Int64? {
        var attempts: Int64?
        let condition = key == nil ? "" : "WHERE key = ?"
        try reader.query("SELECT attempts FROM TARN_OUTBOX \(condition) ORDER BY number LIMIT 1", key.map { [.text($0)] } ?? []) {
            attempts = $0.int(0)
        }
        return attempts
    }

    static func setAttempts(_ attempts: Int64, of key: String, _ writer: StoreWriter) throws {
        try writer.execute("UPDATE TARN_OUTBOX SET attempts = ? WHERE key = ?", [.int(attempts), .text(key)])
    }

    static func remove(_ key: String, _ writer: StoreWriter) throws {
        try writer.execute("DELETE FROM TARN_OUTBOX WHERE key = ?", [.text(key)])
    }

    static func removeAll(_ writer: StoreWriter) throws { try writer.execute("DELETE FROM TARN_OUTBOX") }

    /// Removes requests that this process has not sent.
    ///
    /// - Parameter key: The key of the request that was sent.
    static func removeUnsent(but key: String, _ writer: StoreWriter) throws {
        try writer.execute("DELETE FROM TARN_OUTBOX WHERE attempts = 0 AND key <> ?", [.text(key)])
    }

    /// Marks requests that were in flight when an earlier process ended as in doubt: they may have arrived.
    static func doubtAll(_ writer: StoreWriter) throws { try writer.execute("UPDATE TARN_OUTBOX SET attempts = 1 WHERE attempts = 0") }

    /// Moves the request of formats before ``SyncMetadataFormat/outbox`` to this table. They had one, among the single values.
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
