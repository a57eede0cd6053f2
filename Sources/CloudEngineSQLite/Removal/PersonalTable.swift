// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import GRDB

/// A table with rows of persons, as the schema has it.
struct PersonalTable: Hashable, Sendable {
    let name: String
    /// Columns of the primary key; `rowid` for a table without one.
    let key: [String]
    private let columns: Set<String>

    /// A row belongs to an account.
    var hasAccount: Bool { columns.contains("account") }
    /// A row belongs to a database.
    var hasPart: Bool { columns.contains("part") }
    /// A row belongs to a user record name: a member, a device's token, an item for a user.
    var hasUser: Bool { columns.contains("user") }
    /// The rows of an account let somebody in. Record names stay until the removal ends: it is resumed by them.
    var isCredential: Bool { !["accounts", "user_names"].contains(name) }

    /// Tables of the database that have rows of persons, by name.
    static func all(_ db: Database) throws -> [PersonalTable] {
        let names = try String.fetchAll(
            db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
        return try names.map { name in
            let rows = try Row.fetchAll(db, sql: "SELECT name, pk FROM pragma_table_info(?)", arguments: [name])
            let key = rows.filter { ($0[1] as Int) > 0 }.sorted { ($0[1] as Int) < ($1[1] as Int) }.map { row -> String in row[0] }
            return PersonalTable(name: name, key: key.isEmpty ? ["rowid"] : key, columns: Set(rows.map { $0[0] }))
        }.filter { $0.hasAccount || $0.hasPart || $0.hasUser }
    }
}
