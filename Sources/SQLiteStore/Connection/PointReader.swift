// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite
import ManagedModel

/// A connection that reads single rows by key: the reads of fired faults.
///
/// The pool's readers bracket each read by a transaction and serialize by queues, which costs several times as much as
/// finding a row. Here a statement is its own transaction, and a lock serializes. Each read returns the last committed
/// row.
final class PointReader: @unchecked Sendable {
    // Unchecked: database and statements are used under the lock only. Contexts do contend for it, and the thread
    // sanitizer understands this lock but not a Mutex.
    private let lock = NSLock()
    private var database: OpaquePointer?
    /// By entity index.
    private var statements: [PreparedStatement?]
    /// The chunk that rows are packed into.
    private var scratch: RowChunk?

    /// - Throws: ``StoreError`` when the file cannot be opened.
    init(path: String, patience: Duration, entityCount: Int) throws(StoreError) {
        var database: OpaquePointer?
        let code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let database else {
            sqlite3_close_v2(database)
            throw StoreError(sqlite: code, message: String(cString: sqlite3_errstr(code)))
        }
        sqlite3_busy_timeout(database, Int32(clamping: patience.components.seconds * 1000))
        sqlite3_exec(database, "PRAGMA query_only = 1", nil, nil, nil)
        self.database = database
        statements = Array(repeating: nil, count: entityCount)
    }

    deinit { close() }

    /// Closes the connection. Later reads throw.
    func close() {
        lock.withLock {
            for case let statement? in statements { sqlite3_finalize(statement.handle) }
            statements = []
            sqlite3_close_v2(database)
            database = nil
        }
    }

    /// - Returns: nil for a missing row.
    func row(_ primaryKey: Int64, _ entity: StoredEntity, _ layout: StoreLayout, store: UInt16) throws(StoreError) -> Row? {
        try read(primaryKey, entity) { entity.shape.decode($0, layout, store: store) }
    }

    /// - Returns: A chunk with the row alone; nil for a missing row.
    func packedRow(_ primaryKey: Int64, _ entity: StoredEntity, _ layout: StoreLayout, store: UInt16) throws(StoreError) -> RowChunk? {
        try read(primaryKey, entity) { statement in
            // The size of a row is known once it is packed.
            let chunk = scratch ?? RowChunk(store: store)
            scratch = chunk
            return entity.shape.pack(statement, layout, into: chunk, store: store) ? chunk.takeRows() : nil
        }
    }

    @inline(__always)
    private func read<T>(_ primaryKey: Int64, _ entity: StoredEntity, _ decode: (PreparedStatement) -> T?) throws(StoreError) -> T? {
        lock.lock()
        defer { lock.unlock() }
        guard let database else { throw StoreError(.other, "the store was closed") }
        let statement: PreparedStatement
        if let cached = statements[entity.index] {
            statement = cached
        } else {
            statement = try PreparedStatement(kept: entity.rowSQL, in: database)
            statements[entity.index] = statement
        }
        defer { statement.reset() }
        statement.bind(primaryKey, 1)
        return try statement.step() ? decode(statement) : nil
    }
}
