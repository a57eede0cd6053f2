// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudStorageSupport
import Foundation
import GRDB

/// A data folder as source or destination of a move, with connections of its own: a server may use the folder at the same time.
package final class SQLiteMoveEnd: MoveEnd {
    package enum Role: Hashable, Sendable {
        case source
        /// No server may use the folder.
        case destination
    }

    package static let changesTable = "move_changes"
    /// Rows of one key are read and replaced together, also of the table without a primary key.
    private static let versionsIndex = "move_versions"
    private static let versionsTable = "record_versions"

    private let folder: DataFolder
    private let writer: DatabaseQueue
    private let reader: DatabaseQueue
    private let writeLock: FolderLock
    private let serverLock: FolderLock?
    /// The transaction that runs.
    private var db: Database?

    package var shown: String { folder.path }
    package let address: String
    package var files: AssetFolder { folder.files }
    package var isSQLite: Bool { true }
    package var keepsParts: Bool { true }

    /// The ``address`` of a data folder, which need not exist.
    package static func address(path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

    /// - Throws: `StorageFailure` with `.inUse` for a destination that a server uses, `.notWritable`, `.corrupt`, `.newerFormat`.
    package init(path: String, role: Role) throws {
        folder = try DataFolder(path: path)
        address = Self.address(path: path)
        writeLock = try FolderLock(path: folder.writeLock)
        serverLock = role == .destination ? try FolderLock(path: folder.serverLock) : nil
        if let serverLock, !serverLock.tryLock() { throw StorageFailure(.inUse, "a server uses the data folder") }
        var configuration = Configuration()
        configuration.label = "tarn.move"
        configuration.busyMode = .timeout(10)
        // Rows arrive in the order of their tables.
        configuration.foreignKeysEnabled = false
        do {
            let (path, lock, settings) = (folder.database, writeLock, configuration)
            writer = try lock.withLock {
                let writer = try DatabaseQueue(path: path, configuration: settings)
                try writer.writeWithoutTransaction { db in
                    try db.execute(sql: "PRAGMA journal_mode = WAL")
                    try db.execute(sql: "PRAGMA synchronous = FULL")
                    try DatabaseFormat.prepare(db)
                }
                return writer
            }
            configuration.readonly = true
            reader = try DatabaseQueue(path: path, configuration: configuration)
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }

    package func close() {
        try? reader.close()
        try? writeLock.withLock { try writer.close() }
        serverLock?.unlock()
    }

    /// Waits until no server uses the folder.
    ///
    /// - Returns: `false` if one still does after the time.
    package static func awaitServerEnd(path: String, limit: Duration) throws -> Bool {
        let lock = try FolderLock(path: try DataFolder(path: path).serverLock)
        guard lock.lock(limit: limit) else { return false }
        lock.unlock()
        return true
    }

    // MARK: Transactions

    private static func translating<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }

    package func snapshot<Value>(_ body: (any MoveRows) throws -> Value) throws -> Value {
        try Self.translating {
            try reader.inDatabase { db in
                var value: Value?
                try db.inTransaction(.deferred) {
                    value = try body(SQLiteMoveRows(db))
                    return .commit
                }
                guard let value else { preconditionFailure("a transaction that ends has its value") }
                return value
            }
        }
    }

    package func transaction(_ body: () throws -> Void) throws {
        try Self.translating {
            try writeLock.withLock {
                try writer.writeWithoutTransaction { db in
                    self.db = db
                    defer { self.db = nil }
                    try db.inTransaction(.immediate) {
                        try body()
                        return .commit
                    }
                }
            }
        }
    }

    package func stopping(_ body: (any MoveRows) throws -> Void) throws {
        try transaction { try body(SQLiteMoveRows(try writing())) }
    }

    private func writing() throws -> Database {
        guard let db else { preconditionFailure("a move writes inside of a transaction") }
        return db
    }

    // MARK: State

    package func state() throws -> MoveState? {
        if let db { return try Self.state(db) }
        return try Self.translating { try reader.inDatabase { try Self.state($0) } }
    }

    static func state(_ db: Database) throws -> MoveState? {
        try SQLiteMeta(db).bytes(ServerValue.moveKey).map { try MoveState(stored: $0) }
    }

    package func set(_ state: MoveState?) throws {
        let meta = SQLiteMeta(try writing())
        if let state { try meta.set(ServerValue.moveKey, to: state.stored()) } else { try meta.remove(ServerValue.moveKey) }
    }

    package func shapes() throws -> [TableShape] {
        try Self.translating {
            try reader.inDatabase { db in
                let names = try String.fetchAll(
                    db,
                    sql: """
                        SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> ?
                        ORDER BY name
                        """, arguments: [Self.changesTable])
                return try names.map { name in
                    let columns = try Row.fetchAll(db, sql: "SELECT name, lower(type), pk FROM pragma_table_info(?)", arguments: [name])
                    let key = columns.filter { $0[2] as Int > 0 }.sorted { ($0[2] as Int) < ($1[2] as Int) }
                    return TableShape(name: name, columns: columns.map { .init($0[0], $0[1]) }, key: key.map { $0[0] })
                }
            }
        }
    }

    // MARK: Source

    /// The triggers' names begin with `move_`, as those of the fence.
    package func capture(_ tables: [MovedTable]) throws {
        let db = try writing()
        let keys = (0..<SQLiteMoveRows.keysMax).map { "k\($0)" }.joined(separator: ", ")
        try db.execute(
            sql: "CREATE TABLE IF NOT EXISTS \(Self.changesTable) (number INTEGER PRIMARY KEY AUTOINCREMENT, tbl TEXT NOT NULL, \(keys))")
        try makeVersionsIndex(db)
        for table in tables { try capture(table.name, table.key.map { SQLiteMoveRows.quoted(table.columns[$0].sqlite) }, db) }
        try capture("meta", [], db)
    }

    private func capture(_ name: String, _ key: [String], _ db: Database) throws {
        func note(_ row: String) -> String {
            let columns = ["tbl"] + key.indices.map { "k\($0)" }
            let values = ["'\(name)'"] + key.map { "\(row).\($0)" }
            return "INSERT INTO \(Self.changesTable) (\(columns.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")));"
        }
        for (event, notes) in [("INSERT", note("NEW")), ("DELETE", note("OLD")), ("UPDATE", note("OLD") + " " + note("NEW"))] {
            try db.execute(
                sql: """
                    CREATE TRIGGER IF NOT EXISTS move_capture_\(name)_\(event.lowercased()) AFTER \(event) ON \(name) BEGIN \(notes) END
                    """)
        }
    }

    private func makeVersionsIndex(_ db: Database) throws {
        try db.execute(
            sql: "CREATE INDEX IF NOT EXISTS \(Self.versionsIndex) ON \(Self.versionsTable) (part, zone, name)")
    }

    package func release() throws { try Self.release(try writing()) }

    static func release(_ db: Database) throws {
        let names = try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND substr(name, 1, 5) = 'move_'")
        for name in names { try db.execute(sql: "DROP TRIGGER \(name)") }
        try db.execute(sql: "DROP TABLE IF EXISTS \(changesTable)")
        try db.execute(sql: "DROP INDEX IF EXISTS \(versionsIndex)")
    }

    /// Makes a copy of a source independent of its move.
    static func forget(_ db: Database) throws {
        guard try state(db) != nil else { return }
        try release(db)
        try SQLiteMeta(db).remove(ServerValue.moveKey)
    }

    package func storeObjectParts(areNew: Bool) throws { try ObjectParts.storeAll(areNew: areNew, try writing()) }

    package func forget(_ numbers: [Int64]) throws {
        try transaction {
            let statement = try writing().cachedStatement(sql: "DELETE FROM \(Self.changesTable) WHERE number = ?")
            for number in numbers { try statement.execute(arguments: [number]) }
        }
    }

    package func fence(_ tables: [MovedTable]) throws {
        try release()
        let db = try writing()
        for name in tables.map(\.name) + ["meta"] {
            for event in ["INSERT", "UPDATE", "DELETE"] {
                try db.execute(
                    sql: """
                        CREATE TRIGGER move_fence_\(name)_\(event.lowercased()) BEFORE \(event) ON \(name)
                        BEGIN SELECT RAISE(ABORT, '\(MoveState.fenceMessage)'); END
                        """)
            }
        }
    }

    // MARK: Destination

    package func isInUse() throws -> Bool {
        try Self.translating {
            try reader.inDatabase { db in
                try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM partitions LIMIT 1) OR EXISTS (SELECT 1 FROM accounts LIMIT 1)")
                    ?? false
            }
        }
    }

    package func empty(_ tables: [MovedTable]) throws -> [String] {
        let db = try writing()
        let earlier = try Self.state(db)
        try release()
        var triggers = earlier?.triggers ?? []
        for row in try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'") {
            triggers.append(row[1])
            try db.execute(sql: "DROP TRIGGER \(row[0] as String)")
        }
        for name in tables.map(\.name) + ["meta", "change_log_days"] { try db.execute(sql: "DELETE FROM \(name)") }
        try db.execute(sql: SQLiteUnit.daysTrigger)
        try makeVersionsIndex(db)
        return triggers
    }

    package func parts() throws -> [Int64: Int64] { [:] }

    package func addPart(of partition: Partition, number: Int64) throws -> Int64 { number }

    package func existingPart(of partition: Partition) throws -> Int64? {
        try Self.translating { try reader.inDatabase { try SQLiteUnit.part(of: partition, $0) } }
    }

    package func replace(_ table: MovedTable, keys: [[MovedValue]], with rows: [[MovedValue]]) throws {
        let db = try writing()
        if !keys.isEmpty {
            let condition = table.key.map { "\(SQLiteMoveRows.quoted(table.columns[$0].sqlite)) = ?" }.joined(separator: " AND ")
            let statement = try db.cachedStatement(sql: "DELETE FROM \(table.name) WHERE \(condition)")
            for key in keys { try statement.execute(arguments: StatementArguments(key.map(\.sqlite))) }
        }
        guard !rows.isEmpty else { return }
        let stored = table.columns.indices.filter { table.columns[$0].isInSQLite }
        let names = stored.map { SQLiteMoveRows.quoted(table.columns[$0].sqlite) }.joined(separator: ", ")
        let places = stored.map { _ in "?" }.joined(separator: ", ")
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO \(table.name) (\(names)) VALUES (\(places))")
        for row in rows { try statement.execute(arguments: StatementArguments(stored.map { row[$0].sqlite })) }
    }

    package func set(_ values: [String: MovedValue]) throws {
        let db = try writing()
        try db.execute(sql: "DELETE FROM meta WHERE key <> ?", arguments: [ServerValue.moveKey])
        for (key, value) in values where !ServerValue.derived.contains(key) {
            try db.execute(sql: "INSERT INTO meta (key, value) VALUES (?, ?)", arguments: [key, value.sqlite])
        }
        try db.execute(sql: "DELETE FROM sqlite_sequence WHERE name = 'audit'")
        if let last = values[ServerValue.lastAudit] {
            try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('audit', ?)", arguments: [last.sqlite])
        }
    }

    package func finish(_ triggers: [String]) throws {
        let db = try writing()
        // PostgreSQL's numbers of tombstones are those of its last housekeeping.
        try db.execute(sql: "UPDATE partitions SET tombstones = 0")
        try db.execute(sql: DatabaseFormat.countTombstones)
        // PostgreSQL's housekeeping has not counted the sizes of all records yet.
        if try Row.fetchOne(db, sql: "SELECT 1 FROM meta WHERE key = ?", arguments: [ServerValue.sizesToCount]) != nil {
            try DatabaseFormat.countRecordBytes(db)
            try db.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [ServerValue.sizesToCount])
        }
        for trigger in triggers { try db.execute(sql: trigger) }
        try db.execute(sql: "DROP TRIGGER IF EXISTS move_change_log_days")
        try db.execute(sql: "DROP INDEX IF EXISTS \(Self.versionsIndex)")
    }
}

extension MovedValue {
    var sqlite: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        }
    }
}
