// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine

/// A table of the server, as the database has it.
struct PersonalTable: Hashable, Sendable {
    struct Column: Hashable, Sendable {
        var name: String
        /// As `regtype` prints it.
        var type: String
    }

    let name: String
    /// Columns of the primary key, in its order.
    let key: [Column]
    private let columns: Set<Column>

    /// A row belongs to an account.
    var hasAccount: Bool { columns.contains(Column(name: "account", type: "bigint")) }
    /// A row belongs to a database.
    var hasPart: Bool { columns.contains(Column(name: "part", type: "bigint")) }
    /// A row belongs to a user record name: a member, a device's token, an item for a user.
    var hasUser: Bool { columns.contains(Column(name: "user_name", type: "text")) }
    /// The rows of an account let somebody in. Record names stay until the removal ends: it is resumed by them.
    var isCredential: Bool { !["accounts", "user_names"].contains(name) }

    /// The server's tables, by name. Tables of others in the schema are left out.
    static func all(_ connection: PostgresConnection) throws -> [PersonalTable] {
        let rows = try connection.query(
            """
            SELECT c.relname::text, a.attname::text, a.atttypid::regtype::text, array_position(i.indkey::int2[], a.attnum)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
            WHERE c.relnamespace = current_schema()::text::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1, 4, a.attnum
            """
        ).rows
        let columns = Dictionary(grouping: rows) { $0[0] as String }
        return columns.filter { PostgresFormat.names.contains($0.key) }.sorted { $0.key < $1.key }.map { name, rows in
            let isKey = rows.map { $0[3] as Int? != nil }
            let all = rows.map { Column(name: $0[1], type: $0[2]) }
            return PersonalTable(name: name, key: zip(all, isKey).filter(\.1).map(\.0), columns: Set(all))
        }
    }

    /// - Throws: `StorageFailure` with `.corrupt` for a table that does not exist.
    static func named(_ name: String, _ connection: PostgresConnection) throws -> PersonalTable {
        guard let table = try all(connection).first(where: { $0.name == name }) else {
            throw StorageFailure(.corrupt, "a table is missing")
        }
        return table
    }

    /// Columns of the key, separated by commas.
    func keyText(_ prefix: String = "") -> String { key.map { prefix + $0.name }.joined(separator: ", ") }

    // MARK: Ranges

    /// Finds the end of the next rows in the order of the primary key.
    ///
    /// - Returns: The key of the last of `count` rows after `start`; nil if there are fewer.
    func end(of count: Int, after start: [PostgresValue]?, _ connection: PostgresConnection) throws -> [PostgresValue]? {
        let condition = PostgresRange(table: self, start: start, end: nil).condition(first: 2)
        return try connection.query(
            "SELECT \(keyText()) FROM \(name) WHERE \(condition.sql) ORDER BY \(keyText()) OFFSET $1 LIMIT 1",
            [count - 1] + condition.values
        ).rows.first.map { row in key.indices.map { value(row, $0) } }
    }

    private func value(_ row: PostgresRow, _ column: Int) -> PostgresValue {
        switch key[column].type {
        case "bytea": .bytes(row[column])
        case "boolean": .boolean(row[column])
        case "text": .text(row[column])
        default: .integer(row[column])
        }
    }
}

/// Rows of a table between two primary keys.
struct PostgresRange: Sendable {
    var table: PersonalTable
    /// Exclusive; nil for the first row.
    var start: [PostgresValue]?
    /// Inclusive; nil for the last row.
    var end: [PostgresValue]?

    /// - Parameters:
    ///   - first: The number of the condition's first parameter.
    ///   - alias: The table's name in the statement, with a dot.
    func condition(first: Int, alias: String = "") -> (sql: String, values: PostgresValues) {
        var conditions = ["true"]
        var values: [PostgresValue] = []
        for (bound, comparison) in [(start, ">"), (end, "<=")] {
            guard let bound else { continue }
            let places = bound.indices.map { "$\(first + values.count + $0)" }.joined(separator: ", ")
            conditions.append("(\(table.keyText(alias))) \(comparison) (\(places))")
            values += bound
        }
        return (conditions.joined(separator: " AND "), PostgresValues(values))
    }
}
