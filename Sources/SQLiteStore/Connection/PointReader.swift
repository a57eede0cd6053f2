// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDBSQLite
import ManagedModel
import Synchronization

/// A connection for single rows by their keys: what firing a fault asks for.
///
/// The pool's readers begin and end a transaction around each read and take turns by queues, which costs several times
/// what finding a row does. Here a statement is its own transaction and a lock is the turn. Each row is read as it was
/// last committed.
final class PointReader: Sendable {
    private struct State: @unchecked Sendable {
        // Unchecked: used under the lock only.
        var database: OpaquePointer?
        /// By entity index.
        var statements: [PreparedStatement?]
    }

    private let state: Mutex<State>

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
        state = Mutex(State(database: database, statements: Array(repeating: nil, count: entityCount)))
    }

    deinit { close() }

    /// Later reads throw.
    func close() {
        state.withLock { state in
            for case let statement? in state.statements { sqlite3_finalize(statement.handle) }
            state.statements = []
            sqlite3_close_v2(state.database)
            state.database = nil
        }
    }

    /// - Returns: nil when there is no such row.
    func row(_ primaryKey: Int64, _ entity: EntityLayout, _ layout: StoreLayout, store: UInt16) throws(StoreError) -> Row? {
        try state.withLock { state throws(StoreError) in
            guard let database = state.database else { throw StoreError(.other, "the store was closed") }
            let statement: PreparedStatement
            if let kept = state.statements[entity.index] {
                statement = kept
            } else {
                statement = try PreparedStatement(kept: entity.rowSQL, in: database)
                state.statements[entity.index] = statement
            }
            defer { statement.reset() }
            statement.bind(primaryKey, 1)
            return try statement.step() ? entity.shape.decode(statement, layout, store: store) : nil
        }
    }
}
