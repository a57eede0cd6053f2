// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import GRDBSQLite

/// One SQLite connection, valid only inside the closure that GRDB passes it to.
struct Connection {
    private let database: Database

    init(_ database: Database) { self.database = database }

    /// - Returns: The connection's cached statement for this text, ready to be bound; a new one while a caller up the
    ///   stack is still reading rows of the cached one.
    func statement(_ sql: String) throws(StoreError) -> PreparedStatement {
        do {
            let cached = PreparedStatement(try database.cachedStatement(sql: sql))
            if !cached.isBusy { return cached }
            return PreparedStatement(try database.makeStatement(sql: sql))
        } catch {
            throw StoreError(error)
        }
    }

    /// An uncached statement: for texts that are unlikely to recur.
    func passingStatement(_ sql: String) throws(StoreError) -> PreparedStatement {
        do { return PreparedStatement(try database.makeStatement(sql: sql)) } catch { throw StoreError(error) }
    }

    enum Transaction: String {
        case reading = "BEGIN DEFERRED TRANSACTION"
        case writing = "BEGIN IMMEDIATE TRANSACTION"
    }

    /// Runs `body` in one transaction, and rolls back when `body` throws. GRDB's transaction methods compile their
    /// statements each time, which takes longer than a small transaction does.
    ///
    /// - Parameter path: Named by errors of the transaction itself.
    func transaction<T>(_ kind: Transaction, about path: String? = nil, _ body: () throws -> T) throws -> T {
        do { try execute(kind.rawValue) } catch { throw path.map(error.about) ?? error }
        do {
            let result = try body()
            do { try execute("COMMIT TRANSACTION") } catch { throw path.map(error.about) ?? error }
            return result
        } catch {
            // After some errors SQLite has rolled back by itself.
            if database.isInsideTransaction { try? execute("ROLLBACK TRANSACTION") }
            throw error
        }
    }

    func execute(_ sql: String, _ arguments: [SQLValue] = []) throws(StoreError) { _ = try change(sql, arguments) }

    /// - Returns: The number of rows that an INSERT, UPDATE or DELETE changed.
    func change(_ sql: String, _ arguments: [SQLValue]) throws(StoreError) -> Int {
        let statement = try statement(sql)
        try statement.bind(arguments)
        try statement.run()
        return statement.changes
    }

    /// Passes each row to `each`.
    func query(_ sql: String, _ arguments: [SQLValue] = [], _ each: (SQLRow) throws -> Void) throws {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        while try statement.step() { try each(SQLRow(statement: statement)) }
    }

    /// - Returns: The result of `read` for the first row, or nil without rows.
    func first<Value>(
        _ sql: String, _ arguments: [SQLValue] = [], _ read: (SQLRow) -> Value?
    ) throws(StoreError) -> Value? {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        return try statement.step() ? read(SQLRow(statement: statement)) : nil
    }
}
