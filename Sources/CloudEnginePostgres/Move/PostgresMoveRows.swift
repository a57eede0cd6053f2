// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import Foundation
import SystemSupport

/// Rows of a database in the transaction of a connection.
struct PostgresMoveRows: MoveRows {
    /// Rows of a page: fewer where a row may have a megabyte.
    private static let pageRows = 512
    private static let largePageRows = 32

    /// Server values in the table of counters.
    static let counters: [(key: String, counter: String)] = [
        (ServerValue.revocations, PostgresConnection.revocations), (ServerValue.lastAudit, "audit"),
        (ServerValue.lastToken, "api tokens"),
    ]

    private let connection: PostgresConnection

    init(_ connection: PostgresConnection) { self.connection = connection }

    func page(of table: MovedTable, after cursor: [MovedValue]?) throws -> (rows: [[MovedValue]], next: [MovedValue]?) {
        let list = table.order.map { table.columns[$0].name }.joined(separator: ", ")
        let limit = table.columns.contains { $0.kind == .bytes && $0.name == "body" } ? Self.largePageRows : Self.pageRows
        let start = cursor == nil ? "" : "WHERE (\(list)) > (\(table.order.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))"
        let values = zip(table.order, cursor ?? []).map { $1.postgres(table.columns[$0].kind) }
        let rows = try connection.query(
            "SELECT \(Self.columns(table)) FROM \(table.name) \(start) ORDER BY \(list) LIMIT \(limit)", PostgresValues(values)
        ).rows.map { Self.values($0, of: table) }
        return (rows, rows.count < limit ? nil : rows.last.map { last in table.order.map { last[$0] } })
    }

    func rows(of table: MovedTable, keys: [[MovedValue]]) throws -> [[MovedValue]] {
        guard !keys.isEmpty else { return [] }
        let condition = table.key.enumerated().map { "\(table.columns[$1].name) = $\($0 + 1)" }.joined(separator: " AND ")
        let sql = "SELECT \(Self.columns(table)) FROM \(table.name) WHERE \(condition)"
        return try connection.queries(
            keys.map { key in (sql, PostgresValues(zip(table.key, key).map { $1.postgres(table.columns[$0].kind) })) }
        ).flatMap { $0.rows.map { Self.values($0, of: table) } }
    }

    func changes(after number: Int64, limit: Int, _ tables: [String: MovedTable]) throws -> [MoveChange] {
        try connection.query(
            "SELECT number, tbl, to_json(key)::text FROM \(PostgresMoveEnd.changesTable) WHERE number > $1 ORDER BY number LIMIT $2",
            [number, limit]
        ).rows.map { row in
            MoveChange(number: row[0], table: row[1], key: try Self.key(row[2], of: tables[row[1]]))
        }
    }

    private static func key(_ json: String, of table: MovedTable?) throws -> [MovedValue] {
        guard let table else { return [] }
        let texts = (try? JSONDecoder().decode([String].self, from: Data(json.utf8))) ?? []
        guard texts.count == table.key.count else { throw StorageFailure(.corrupt, "a change of a move is unreadable") }
        return try zip(table.key, texts).map { index, text in
            switch table.columns[index].kind {
            case .text: return .text(text)
            case .integer, .boolean:
                guard let number = Int64(text) else { throw StorageFailure(.corrupt, "a change of a move is unreadable") }
                return .integer(number)
            case .bytes:
                guard let bytes = Hex.bytes(text) else { throw StorageFailure(.corrupt, "a change of a move is unreadable") }
                return .bytes(bytes)
            }
        }
    }

    func values() throws -> [String: MovedValue] {
        var values: [String: MovedValue] = [:]
        for row in try connection.query("SELECT key, value FROM meta WHERE key <> ALL ($1)", .texts(ServerValue.local)).rows {
            let (key, bytes) = (row[0] as String, row[1] as [UInt8])
            switch try ServerValue.form(of: key) {
            case .bytes: values[key] = .bytes(bytes)
            case .text: values[key] = .text(String(decoding: bytes, as: UTF8.self))
            case .number:
                guard let number = Int64(String(decoding: bytes, as: UTF8.self)) else {
                    throw StorageFailure(.corrupt, "a number of the server is unreadable")
                }
                values[key] = .integer(number)
            }
        }
        for row in try connection.query("SELECT name, value FROM counters").rows {
            guard let key = Self.counters.first(where: { $0.counter == row[0] })?.key else { continue }
            values[key] = .integer(row[1])
        }
        return values
    }

    private static func columns(_ table: MovedTable) -> String { table.columns.map(\.name).joined(separator: ", ") }

    private static func values(_ row: PostgresRow, of table: MovedTable) -> [MovedValue] {
        table.columns.indices.map { index in
            guard let cell = row.cells[index] else { return .null }
            return switch table.columns[index].kind {
            case .integer, .boolean: .integer(Int64(postgres: cell))
            case .text: .text(String(postgres: cell))
            case .bytes: .bytes(cell)
            }
        }
    }
}
