// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import GRDB
import GRDBSQLite

/// The writer's cache of tables that rarely change: schemas, shares, quotas, subscriptions. Nearly every request
/// asks for the same few rows.
///
/// It is valid until a write: any change that was not made through ``keeping(_:_:)`` empties it, as does a commit of
/// another process, and a unit that is undone. So a new statement cannot make it stale.
///
/// Only the transaction that the writer is in uses it, which is what makes it safe to be sent along with one.
final class WriterMemory: @unchecked Sendable {
    enum Key: Hashable {
        case historyTerm
        case account(Int64)
        case schema(containerIdentifier: String, environment: CloudEnvironment, recordType: String)
        case quota(containerIdentifier: String, userRecordName: String)
        case hasShares(part: Int64, zone: Int64)
        case indexes(part: Int64, recordType: String)
        case changeSubscriptions(part: Int64)
        case queriedTypes(part: Int64)
        case changeLogEnd(part: Int64)
        case counter(part: Int64)
        case zone(part: Int64, name: String)
    }

    /// Distinguishes a cached nil from a missing value.
    private struct Read<Value> {
        let value: Value
    }

    private static let keptMax = 4000

    private var known: [Key: Any] = [:]
    /// Rows changed by this connection when the memory was last true.
    private var changes: Int32 = 0
    /// SQLite's number for what other connections committed.
    private var version: Int64?

    /// To be called first in every transaction.
    ///
    /// Source: SQLite's documentation, "PRAGMA data_version".
    func begin(_ db: Database) throws {
        let now: Int64? = try db.row("PRAGMA data_version", []).map { $0[0] }
        if now != version { forget() }
        version = now
    }

    /// Must be called when changes are undone: values that were read after them are wrong.
    func forget() { known.removeAll() }

    func value<Value>(_ key: Key, _ db: Database, _ read: () throws -> Value) rethrows -> Value {
        let now = Self.changes(of: db)
        if changes != now {
            forget()
            changes = now
        }
        if let read = known[key] as? Read<Value> { return read.value }
        let value = try read()
        if known.count >= Self.keptMax { forget() }
        known[key] = Read(value: value)
        return value
    }

    /// Stores the value of a key after a write in ``keeping(_:_:)``.
    func set<Value>(_ key: Key, _ value: Value, _ db: Database) {
        guard changes == Self.changes(of: db) else { return }
        if known.count >= Self.keptMax { forget() }
        known[key] = Read(value: value)
    }

    /// Makes changes that leave the values here valid. A caller that changes one stores it again.
    func keeping<Value>(_ db: Database, _ write: () throws -> Value) rethrows -> Value {
        let isTrue = changes == Self.changes(of: db)
        defer { if isTrue { changes = Self.changes(of: db) } }
        return try write()
    }

    /// Rows changed by the connection since it was opened.
    private static func changes(of db: Database) -> Int32 { sqlite3_total_changes(db.sqliteConnection) }
}
