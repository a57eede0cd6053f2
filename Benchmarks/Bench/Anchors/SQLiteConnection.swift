// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite

/// A connection through SQLite's C API, and nothing between.
final class SQLiteConnection {
    let handle: OpaquePointer

    /// - Throws: ``SQLiteError``.
    init(_ file: URL, synchronous: String = "NORMAL") throws {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(file.path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else { throw SQLiteError(code: code, sql: "open") }
        self.handle = handle
        try execute("PRAGMA journal_mode = WAL")
        try execute("PRAGMA synchronous = \(synchronous)")
    }

    func close() { sqlite3_close_v2(handle) }

    func execute(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil), sql) }

    /// - Returns: A statement that `body` owns until it returns.
    func withStatement<T>(_ sql: String, _ body: (OpaquePointer) throws -> T) throws -> T {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil), sql)
        guard let statement else { throw SQLiteError(code: SQLITE_MISUSE, sql: sql) }
        defer { sqlite3_finalize(statement) }
        return try body(statement)
    }

    func transaction(_ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE")
        try body()
        try execute("COMMIT")
    }

    /// Runs a statement that gives no rows.
    func run(_ statement: OpaquePointer) throws {
        try check(sqlite3_step(statement), "step")
        sqlite3_reset(statement)
    }

    private func check(_ code: Int32, _ sql: String) throws {
        switch code {
        case SQLITE_OK, SQLITE_DONE, SQLITE_ROW: return
        default: throw SQLiteError(code: code, sql: sql)
        }
    }
}

struct SQLiteError: Error {
    let code: Int32
    let sql: String
}

/// Binds text that outlives the statement's step, so that SQLite does not copy it.
@inline(__always)
func bind(_ text: String, _ index: Int32, _ statement: OpaquePointer, _ body: () throws -> Void) rethrows {
    var text = text
    try text.withUTF8 { bytes in
        _ = bytes.withMemoryRebound(to: CChar.self) { sqlite3_bind_text(statement, index, $0.baseAddress, Int32($0.count), nil) }
        try body()
    }
}

@inline(__always)
func columnText(_ statement: OpaquePointer, _ column: Int32) -> String {
    String(
        decoding: UnsafeBufferPointer(start: sqlite3_column_text(statement, column), count: Int(sqlite3_column_bytes(statement, column))),
        as: UTF8.self)
}
