// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import Foundation
import GRDB

/// Rows of a data folder's database in one transaction.
struct SQLiteMoveRows: MoveRows {
    /// Columns of the longest key.
    static let keysMax = 6
    private static let pageRows = 1000
    private static let pageBytes = 4 << 20

    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Some names are words of SQL.
    static func quoted(_ name: String) -> String { "\"\(name)\"" }

    private static func expression(_ column: MovedColumn) -> String { column.isInSQLite ? quoted(column.sqlite) : column.sqlite }

    /// The order of an index of each table. The table without a primary key is read in the order of its own index.
    private static func order(_ table: MovedTable) -> [String] {
        guard table.key == table.order else { return ["part", "zone", "replaced", "rowid"] }
        return table.order.map { quoted(table.columns[$0].sqlite) }
    }

    func page(of table: MovedTable, after cursor: [MovedValue]?) throws -> (rows: [[MovedValue]], next: [MovedValue]?) {
        let order = Self.order(table)
        let list = order.joined(separator: ", ")
        let columns = (table.columns.map(Self.expression) + order).joined(separator: ", ")
        let start = cursor.map { "WHERE (\(list)) > (\($0.map { _ in "?" }.joined(separator: ", ")))" } ?? ""
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM \(table.name) \(start) ORDER BY \(list) LIMIT \(Self.pageRows)")
        let found = try Row.fetchCursor(statement, arguments: StatementArguments((cursor ?? []).map(\.sqlite)))
        var (rows, bytes, last) = ([[MovedValue]](), 0, [MovedValue]?.none)
        while bytes < Self.pageBytes, let row = try found.next() {
            rows.append(try Self.values(row, of: table))
            bytes += rows[rows.count - 1].reduce(0) { $0 + $1.byteCount }
            last = try order.indices.map { try Self.value(row[table.columns.count + $0], .none) }
        }
        let isLast = rows.isEmpty || bytes < Self.pageBytes && rows.count < Self.pageRows
        return (rows, isLast ? nil : last)
    }

    func rows(of table: MovedTable, keys: [[MovedValue]]) throws -> [[MovedValue]] {
        let columns = table.columns.map(Self.expression).joined(separator: ", ")
        let condition = table.key.map { "\(Self.quoted(table.columns[$0].sqlite)) = ?" }.joined(separator: " AND ")
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM \(table.name) WHERE \(condition)")
        return try keys.flatMap { key in
            try Row.fetchAll(statement, arguments: StatementArguments(key.map(\.sqlite))).map { try Self.values($0, of: table) }
        }
    }

    func changes(after number: Int64, limit: Int, _ tables: [String: MovedTable]) throws -> [MoveChange] {
        let keys = (0..<Self.keysMax).map { "k\($0)" }.joined(separator: ", ")
        return try Row.fetchAll(
            db, sql: "SELECT number, tbl, \(keys) FROM \(SQLiteMoveEnd.changesTable) WHERE number > ? ORDER BY number LIMIT ?",
            arguments: [number, limit]
        ).map { row in
            let count = tables[row[1]]?.key.count ?? 0
            return MoveChange(number: row[0], table: row[1], key: try (0..<count).map { try Self.value(row[2 + $0], .none) })
        }
    }

    func values() throws -> [String: MovedValue] {
        var values: [String: MovedValue] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT key, value FROM meta WHERE key <> ?", arguments: [ServerValue.moveKey]) {
            let (key, value) = (row[0] as String, try Self.value(row[1], .none))
            switch (try ServerValue.form(of: key), value) {
            case (.number, .integer), (.text, .text), (.bytes, .bytes): values[key] = value
            default: throw StorageFailure(.corrupt, "a value of the server has another form")
            }
        }
        for (key, sql) in [
            (ServerValue.lastAudit, "SELECT seq FROM sqlite_sequence WHERE name = 'audit'"),
            (ServerValue.lastToken, "SELECT max(token) FROM api_tokens"),
        ] {
            if let number = try Int64.fetchOne(db, sql: sql) { values[key] = .integer(number) }
        }
        return values
    }

    private static func values(_ row: Row, of table: MovedTable) throws -> [MovedValue] {
        try table.columns.indices.map { try value(row[$0], table.columns[$0].kind) }
    }

    /// - Parameter kind: Nil for a value of any kind.
    private static func value(_ value: DatabaseValue, _ kind: MovedColumn.Kind?) throws -> MovedValue {
        switch (value.storage, kind) {
        case (.null, _): return .null
        case (.int64(let number), .integer), (.int64(let number), .boolean), (.int64(let number), nil): return .integer(number)
        case (.string(let text), .text), (.string(let text), nil): return .text(text)
        case (.blob(let data), .bytes), (.blob(let data), nil): return .bytes([UInt8](data))
        // SQLite stores a text in a column of bytes as it is.
        case (.string(let text), .bytes): return .bytes(Array(text.utf8))
        default: throw StorageFailure(.corrupt, "a column has a value of another kind")
        }
    }
}
