// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDB
import GRDBSQLite

/// A request runs some twenty short statements. Going to SQLite directly, with values that are bound and read as what they
/// are, costs less than half of what rows that carry their statement along do.
extension Database {
    /// Runs a statement to its end.
    ///
    /// - Throws: `DatabaseError`.
    func run(_ sql: String, _ arguments: Arguments = []) throws {
        let handle = try bound(sql, arguments)
        defer { sqlite3_reset(handle) }
        while try Self.step(handle) {}
    }

    func rows(_ sql: String, _ arguments: Arguments) throws -> [StoredRow] {
        let handle = try bound(sql, arguments)
        defer { sqlite3_reset(handle) }
        var rows: [StoredRow] = []
        while try Self.step(handle) { rows.append(StoredRow(handle)) }
        return rows
    }

    /// The first row of a statement; later ones are not read.
    func row(_ sql: String, _ arguments: Arguments) throws -> StoredRow? {
        let handle = try bound(sql, arguments)
        defer { sqlite3_reset(handle) }
        return try Self.step(handle) ? StoredRow(handle) : nil
    }

    /// Visits the rows of a statement until `visit` returns false. Nothing may run the same statement concurrently.
    func visit(_ sql: String, _ arguments: Arguments, _ visit: (OpaquePointer) throws -> Bool) throws {
        let handle = try bound(sql, arguments)
        defer { sqlite3_reset(handle) }
        while try Self.step(handle) { guard try visit(handle) else { return } }
    }

    private func bound(_ sql: String, _ arguments: Arguments) throws -> OpaquePointer {
        let handle = try cachedStatement(sql: sql).sqliteStatement
        precondition(sqlite3_bind_parameter_count(handle) == arguments.values.count, "a statement has as many places as arguments")
        for (index, value) in arguments.values.enumerated() {
            let code = value.bind(to: handle, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }
        return handle
    }

    /// - Returns: Whether there is a row.
    private static func step(_ handle: OpaquePointer) throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }
}

/// What stands for the places of a statement, in their order.
struct Arguments: ExpressibleByArrayLiteral {
    fileprivate var values: [any Storable]

    init(arrayLiteral elements: any Storable...) { values = elements }

    init(_ values: some Sequence<String>) { self.values = values.map { $0 } }

    static func + (a: Arguments, b: Arguments) -> Arguments {
        var sum = a
        sum.values += b.values
        return sum
    }

    static func += (a: inout Arguments, b: Arguments) { a.values += b.values }
}

/// One row, read to its end.
struct StoredRow {
    enum Cell {
        case null
        case integer(Int64)
        case text(String)
        case blob([UInt8])
    }

    private let values: [Cell]

    fileprivate init(_ handle: OpaquePointer) {
        values = (0..<sqlite3_column_count(handle)).map { column in
            switch sqlite3_column_type(handle, column) {
            case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
            case SQLITE_NULL: return .null
            case SQLITE_BLOB: return .blob(Array(Self.bytes(handle, column)))
            default:
                guard let text = sqlite3_column_text(handle, column) else { return .null }
                let count = Int(sqlite3_column_bytes(handle, column))
                return .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
            }
        }
    }

    /// A column's bytes; they are there until the statement goes on.
    static func bytes(_ handle: OpaquePointer, _ column: Int32) -> UnsafeRawBufferPointer {
        guard let start = sqlite3_column_blob(handle, column) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    /// - Throws: Nothing: a column of another kind reads as empty, as SQLite has it.
    subscript<Value: Storable>(_ column: Int) -> Value { Value(values[column]) }
}

/// A value of a column.
protocol Storable {
    func bind(to handle: OpaquePointer, at place: Int32) -> Int32
    init(_ value: StoredRow.Cell)
}

extension Int64: Storable {
    func bind(to handle: OpaquePointer, at place: Int32) -> Int32 { sqlite3_bind_int64(handle, place, self) }

    init(_ value: StoredRow.Cell) { if case .integer(let number) = value { self = number } else { self = 0 } }
}

extension Int: Storable {
    func bind(to handle: OpaquePointer, at place: Int32) -> Int32 { sqlite3_bind_int64(handle, place, Int64(self)) }

    init(_ value: StoredRow.Cell) { self.init(truncatingIfNeeded: Int64(value)) }
}

extension Bool: Storable {
    func bind(to handle: OpaquePointer, at place: Int32) -> Int32 { sqlite3_bind_int64(handle, place, self ? 1 : 0) }

    init(_ value: StoredRow.Cell) { self = Int64(value) != 0 }
}

/// SQLite copies the bound bytes.
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension String: Storable {
    func bind(to handle: OpaquePointer, at place: Int32) -> Int32 {
        var text = self
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return sqlite3_bind_text(handle, place, "", 0, transient) }
            return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                sqlite3_bind_text(handle, place, $0, Int32(bytes.count), transient)
            }
        }
    }

    init(_ value: StoredRow.Cell) { if case .text(let text) = value { self = text } else { self = "" } }
}

extension [UInt8]: Storable {
    func bind(to handle: OpaquePointer, at place: Int32) -> Int32 {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(handle, place, 0) }
            return sqlite3_bind_blob(handle, place, start, Int32(bytes.count), transient)
        }
    }

    init(_ value: StoredRow.Cell) { if case .blob(let bytes) = value { self = bytes } else { self = [] } }
}

extension Optional: Storable where Wrapped: Storable {
    func bind(to handle: OpaquePointer, at place: Int32) -> Int32 {
        self?.bind(to: handle, at: place) ?? sqlite3_bind_null(handle, place)
    }

    init(_ value: StoredRow.Cell) { if case .null = value { self = nil } else { self = Wrapped(value) } }
}
