// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import GRDBSQLite
import ObjectGraph
import SQLiteStore

/// Durability, caches and indexes of a connection that writes. If entrants of one workload differ, one of them does less
/// work.
struct WritingConditions: Equatable, CustomStringConvertible {
    /// The tables that a workload writes to; by each entrant's names.
    enum Tables: String {
        case posts = "upper(tbl_name) = 'ZPOST'"
        /// Core Data's join table is `Z_2POSTS`: the number of the entity whose relationship has the first name, and that name.
        case taggedPosts =
            "upper(tbl_name) IN ('ZPOST', 'ZTAGGEDPOST', 'ZTAG', 'ZLINK') OR upper(tbl_name) LIKE 'Z\\_%POSTS' ESCAPE '\\'"
    }

    private static let pragmas = [
        "synchronous", "journal_mode", "page_size", "cache_size", "wal_autocheckpoint", "mmap_size", "temp_store",
    ]

    let pragmaValues: [String]
    let indexCount: String

    var description: String {
        zip(Self.pragmas, pragmaValues).map { "\($0) \($1)" }.joined(separator: ", ") + ", \(indexCount) indexes"
    }

    /// - Throws: ``SQLiteError``.
    init(_ connection: SQLiteConnection, _ tables: Tables = .posts) throws {
        try self.init(tables) { sql in
            try connection.withStatement(sql) { sqlite3_step($0) == SQLITE_ROW ? columnText($0, 0) : "" }
        }
    }

    /// - Throws: The errors of GRDB.
    init(_ pool: DatabasePool) throws {
        self = try pool.writeWithoutTransaction { db in
            try WritingConditions(.posts) { try String.fetchOne(db, sql: $0) ?? "" }
        }
    }

    /// The conditions of the connection that the stack's only store writes with.
    ///
    /// - Throws: The errors of the store.
    init(_ stack: Stack, _ tables: Tables = .posts) throws {
        guard let store = stack.container.persistentStoreCoordinator.persistentStores.first else {
            throw CheckFailure(description: "the stack has no store")
        }
        self = try store.requireSQLite().write { writer in
            try WritingConditions(tables) { sql in
                var value = ""
                try writer.query(sql) { value = $0.text(0) ?? "" }
                return value
            }
        }
    }

    private init(_ tables: Tables, _ read: (String) throws -> String) throws {
        pragmaValues = try Self.pragmas.map { try read("PRAGMA \($0)") }
        indexCount = try read("SELECT count(*) FROM sqlite_master WHERE type = 'index' AND (\(tables.rawValue))")
    }
}
