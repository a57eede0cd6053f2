// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite

/// The POST table through SQLite's C API: what every work is measured against.
enum PostTable {
    static let schema = """
        CREATE TABLE zpost(z_pk INTEGER PRIMARY KEY, z_ent INTEGER, z_opt INTEGER, ztitle VARCHAR, zcontent VARCHAR, \
        ztimestamp TIMESTAMP, zuuid BLOB)
        """
    static let insertion = "INSERT INTO zpost VALUES(?, ?, ?, ?, ?, ?, ?)"
    static let columns = "z_pk, z_ent, z_opt, ztitle, zcontent, ztimestamp, zuuid"
    static let update = "UPDATE zpost SET ztitle = ?, z_opt = 2 WHERE z_pk = ? AND z_opt = ?"
    static let deletion = "DELETE FROM zpost WHERE z_pk = ? AND z_opt = ?"

    /// A decoded row.
    struct Value {
        let primaryKey, entity, version: Int64
        let title, content: String
        let timestamp: Double
        let uuid: UUID

        @inline(__always)
        init(_ statement: OpaquePointer) {
            primaryKey = sqlite3_column_int64(statement, 0)
            entity = sqlite3_column_int64(statement, 1)
            version = sqlite3_column_int64(statement, 2)
            title = columnText(statement, 3)
            content = columnText(statement, 4)
            timestamp = sqlite3_column_double(statement, 5)
            uuid = UUID(uuid: sqlite3_column_blob(statement, 6).loadUnaligned(as: uuid_t.self))
        }

        func readEverything() -> Int { title.utf8.count + content.utf8.count + Int(timestamp) + Int(uuid.uuid.0) }
    }

    static func create(in connection: SQLiteConnection) throws { try connection.execute(schema) }

    static func insert(_ rows: some Sequence<PostRow>, into connection: SQLiteConnection) throws {
        try connection.withStatement(insertion) { statement in
            try connection.transaction { for row in rows { try insert(row, statement, connection) } }
        }
    }

    @inline(__always)
    static func insert(_ row: PostRow, _ statement: OpaquePointer, _ connection: SQLiteConnection) throws {
        sqlite3_bind_int64(statement, 1, row.primaryKey)
        sqlite3_bind_int64(statement, 2, 1)
        sqlite3_bind_int64(statement, 3, 1)
        sqlite3_bind_double(statement, 6, row.timestamp)
        try bind(row.title, 4, statement) {
            try bind(row.content, 5, statement) {
                try withUnsafeBytes(of: row.uuid.uuid) { bytes in
                    sqlite3_bind_blob(statement, 7, bytes.baseAddress, 16, nil)
                    try connection.run(statement)
                }
            }
        }
    }

    static func all(_ connection: SQLiteConnection, capacity: Int, where condition: String = "") throws -> [Value] {
        try connection.withStatement("SELECT \(columns) FROM zpost \(condition)") { statement in
            var values: [Value] = []
            values.reserveCapacity(capacity)
            while sqlite3_step(statement) == SQLITE_ROW { values.append(Value(statement)) }
            return values
        }
    }

    static func keys(_ connection: SQLiteConnection, capacity: Int) throws -> [Int64] {
        try connection.withStatement("SELECT z_pk FROM zpost") { statement in
            var keys: [Int64] = []
            keys.reserveCapacity(capacity)
            while sqlite3_step(statement) == SQLITE_ROW { keys.append(sqlite3_column_int64(statement, 0)) }
            return keys
        }
    }

    static func count(_ connection: SQLiteConnection) throws -> Int {
        try connection.withStatement("SELECT count(*) FROM zpost WHERE ztimestamp >= ?") { statement in
            sqlite3_bind_double(statement, 1, filterTimestamp)
            return sqlite3_step(statement) == SQLITE_ROW ? Int(sqlite3_column_int64(statement, 0)) : -1
        }
    }

    /// Looks rows up one by one, inside one read transaction.
    static func lookUp(_ keys: [Int64], _ connection: SQLiteConnection) throws -> Int {
        var sum = 0
        try connection.execute("BEGIN")
        try connection.withStatement("SELECT \(columns) FROM zpost WHERE z_pk = ?") { statement in
            for key in keys {
                sqlite3_bind_int64(statement, 1, key)
                if sqlite3_step(statement) == SQLITE_ROW { sum &+= Value(statement).readEverything() }
                sqlite3_reset(statement)
            }
        }
        try connection.execute("COMMIT")
        return sum
    }

    /// - Returns: How many rows had the expected version.
    static func update(_ changes: [(key: Int64, title: String)], _ connection: SQLiteConnection) throws -> Int {
        var count = 0
        try connection.withStatement(update) { statement in
            try connection.transaction {
                for change in changes {
                    sqlite3_bind_int64(statement, 2, change.key)
                    sqlite3_bind_int64(statement, 3, 1)
                    try bind(change.title, 1, statement) { try connection.run(statement) }
                    count += Int(sqlite3_changes(connection.handle))
                }
            }
        }
        return count
    }

    static func delete(_ keys: [Int64], _ connection: SQLiteConnection) throws -> Int {
        var count = 0
        try connection.withStatement(deletion) { statement in
            try connection.transaction {
                for key in keys {
                    sqlite3_bind_int64(statement, 1, key)
                    sqlite3_bind_int64(statement, 2, 1)
                    try connection.run(statement)
                    count += Int(sqlite3_changes(connection.handle))
                }
            }
        }
        return count
    }
}
