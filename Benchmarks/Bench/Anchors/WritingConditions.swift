// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import GRDBSQLite

/// Durability and indexes of a connection that writes. If entrants of one workload differ, one of them does less work.
struct WritingConditions: Equatable, CustomStringConvertible {
    /// 1 is NORMAL, 2 is FULL.
    var synchronous: Int
    var journal: String
    var pageBytes: Int
    var indexCount: Int

    var description: String { "synchronous \(synchronous), journal \(journal), pages of \(pageBytes) bytes, \(indexCount) indexes" }

    private static let sql = """
        SELECT (SELECT synchronous FROM pragma_synchronous), (SELECT journal_mode FROM pragma_journal_mode),
            (SELECT page_size FROM pragma_page_size), (SELECT count(*) FROM sqlite_master WHERE type = 'index')
        """

    /// - Throws: ``SQLiteError``.
    init(_ connection: SQLiteConnection) throws {
        self = try connection.withStatement(Self.sql) { statement in
            guard sqlite3_step(statement) == SQLITE_ROW else { throw SQLiteError(code: sqlite3_errcode(connection.handle), sql: Self.sql) }
            return WritingConditions(
                synchronous: Int(sqlite3_column_int64(statement, 0)), journal: columnText(statement, 1),
                pageBytes: Int(sqlite3_column_int64(statement, 2)), indexCount: Int(sqlite3_column_int64(statement, 3)))
        }
    }

    /// - Throws: The errors of GRDB.
    init(_ pool: DatabasePool) throws {
        self = try pool.writeWithoutTransaction { db in
            guard let row = try Row.fetchOne(db, sql: Self.sql) else { throw DatabaseError(message: "no row") }
            return WritingConditions(synchronous: row[0], journal: row[1], pageBytes: row[2], indexCount: row[3])
        }
    }

    private init(synchronous: Int, journal: String, pageBytes: Int, indexCount: Int) {
        self.synchronous = synchronous
        self.journal = journal
        self.pageBytes = pageBytes
        self.indexCount = indexCount
    }
}
