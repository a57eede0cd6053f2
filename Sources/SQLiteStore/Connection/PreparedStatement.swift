// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDB
import GRDBSQLite

/// A prepared statement, bound, stepped and read through SQLite's own handle.
///
/// GRDB retains and finalizes the statement. Its boxed values are bypassed, because a bulk read or write spends most of
/// its time in them (measured: 2.2 times faster per row).
struct PreparedStatement {
    /// Retains `handle`; nil if the creator finalizes it.
    private let owner: GRDB.Statement?
    let handle: OpaquePointer
    let columnCount: Int32

    init(_ owner: GRDB.Statement) {
        self.owner = owner
        handle = owner.sqliteStatement
        columnCount = sqlite3_column_count(handle)
    }

    /// A statement that the caller finalizes.
    init(kept sql: String, in database: OpaquePointer) throws(StoreError) {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else {
            throw StoreError(sqlite: code, message: String(cString: sqlite3_errmsg(database)))
        }
        owner = nil
        handle = prepared
        columnCount = sqlite3_column_count(prepared)
    }

    // MARK: Running

    /// - Returns: Whether there is another row.
    func step() throws(StoreError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            // The message belongs to the connection and is lost at the reset.
            let database = sqlite3_db_handle(handle)
            let error = StoreError(
                sqlite: sqlite3_extended_errcode(database), message: String(cString: sqlite3_errmsg(database)))
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs a statement without rows, and resets it for the next binding.
    func run() throws(StoreError) {
        defer { reset() }
        while try step() {}
    }

    /// Releases the statement's rows. Bindings stay.
    func reset() { sqlite3_reset(handle) }

    /// Releases the rows and clears the bindings before their bytes are deallocated.
    func clearBindings() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    var isBusy: Bool { sqlite3_stmt_busy(handle) != 0 }

    /// The number of rows that the last INSERT, UPDATE or DELETE of this connection changed.
    var changes: Int { Int(sqlite3_changes(sqlite3_db_handle(handle))) }

    // MARK: Binding. Indices start at 1.

    func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }
    func bind(_ value: Int64, _ index: Int32) { sqlite3_bind_int64(handle, index, value) }
    func bind(_ value: Double, _ index: Int32) { sqlite3_bind_double(handle, index, value) }

    /// - Throws: ``StoreError`` with `.constraint` for more bytes than SQLite's limit, by default a billion.
    func bind(_ value: String, _ index: Int32) throws(StoreError) {
        var value = value
        let code = value.withUTF8 { bytes in
            // An empty buffer may have a nil address, which would bind null.
            let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            guard let start else { return sqlite3_bind_text(handle, index, "", 0, Self.transient) }
            return sqlite3_bind_text64(
                handle, index, start, UInt64(bytes.count), Self.transient, UInt8(SQLITE_UTF8))
        }
        try check(code)
    }

    /// Binds a text without a copy: its bytes must stay valid until the next binding or ``clearBindings()``.
    ///
    /// - Throws: The errors of the copying form.
    func bind(standing bytes: UnsafeBufferPointer<UInt8>, _ index: Int32) throws(StoreError) {
        // An empty buffer may have a nil address, which would bind null.
        guard let start = bytes.baseAddress else { return try check(sqlite3_bind_text(handle, index, "", 0, Self.transient)) }
        try check(
            sqlite3_bind_text64(
                handle, index, UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self), UInt64(bytes.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// Binds a copy of the bytes. Throws as for text.
    func bind(_ value: Data, _ index: Int32) throws(StoreError) {
        let code = value.withUnsafeBytes { bytes in
            // A nil pointer would bind null, and empty data isn't nil.
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(handle, index, 0) }
            return sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), Self.transient)
        }
        try check(code)
    }

    private func check(_ code: Int32) throws(StoreError) {
        if code == SQLITE_OK { return }
        let message = String(cString: sqlite3_errstr(code))
        guard code == SQLITE_TOOBIG else { throw StoreError(sqlite: code, message: message) }
        throw StoreError(.constraint, "a value has more bytes than a store takes", detail: message)
    }

    func bind(_ value: UUID, _ index: Int32) {
        _ = withUnsafeBytes(of: value.uuid) { bytes in
            sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count), Self.transient)
        }
    }

    func bind(_ value: SQLValue, _ index: Int32) throws(StoreError) {
        switch value {
        case .null: bindNull(index)
        case .int(let value): bind(value, index)
        case .double(let value): bind(value, index)
        case .text(let value): try bind(value, index)
        case .blob(let value): try bind(value, index)
        }
    }

    func bind(_ values: [SQLValue]) throws(StoreError) {
        for (index, value) in values.enumerated() { try bind(value, Int32(index + 1)) }
    }

    /// Makes SQLite copy the bound value; a C macro that Swift does not import.
    static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    // MARK: Reading. Columns start at 0.

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    func text(_ column: Int32) -> String? {
        guard let start = sqlite3_column_text(handle, column) else { return nil }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// SQLite's own bytes of a text, valid until the next step; nil for null.
    @inline(__always)
    func textBytes(_ column: Int32) -> (start: UnsafeRawPointer?, length: Int) {
        guard let start = sqlite3_column_text(handle, column) else { return (nil, 0) }
        return (UnsafeRawPointer(start), Int(sqlite3_column_bytes(handle, column)))
    }

    /// SQLite's own bytes of a blob, valid until the next step; nil for null and for an empty blob.
    @inline(__always)
    func blobBytes(_ column: Int32) -> (start: UnsafeRawPointer?, length: Int) {
        guard let start = sqlite3_column_blob(handle, column) else { return (nil, 0) }
        return (start, Int(sqlite3_column_bytes(handle, column)))
    }

    func bytes(_ column: Int32) -> [UInt8]? {
        if isNull(column) { return nil }
        let (start, length) = blobBytes(column)
        return Array(UnsafeRawBufferPointer(start: start, count: length))
    }

    func blob(_ column: Int32) -> Data? {
        if isNull(column) { return nil }
        guard let start = sqlite3_column_blob(handle, column) else { return Data() }
        return Data(bytes: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    /// - Returns: nil for null and for values other than 16 bytes.
    func uuid(_ column: Int32) -> UUID? {
        guard let start = sqlite3_column_blob(handle, column), sqlite3_column_bytes(handle, column) == 16 else {
            return nil
        }
        return UUID(uuid: start.loadUnaligned(as: uuid_t.self))
    }

    func value(_ column: Int32) -> SQLValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .int(int(column))
        case SQLITE_FLOAT: .double(double(column))
        case SQLITE_TEXT: .text(text(column) ?? "")
        case SQLITE_BLOB: .blob(blob(column) ?? Data())
        default: .null
        }
    }
}
