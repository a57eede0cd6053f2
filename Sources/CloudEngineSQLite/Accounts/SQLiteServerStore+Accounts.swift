// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
import Crypto
import Foundation
import GRDB
import Synchronization
import SystemSupport

struct UserNameKey: Hashable, Sendable {
    var account: Int64
    var containerIdentifier: String
}

extension SQLiteServerStore: AccountStorage {
    package func device(forToken token: String, now: Int64) async throws -> DeviceIdentity? {
        let hash = Secrets.hash(token)
        return try lookingUp { db in
            try db.row("SELECT account, device FROM devices WHERE token_hash = ? AND (expires IS NULL OR expires > ?)", [hash, now]).map {
                DeviceIdentity(account: $0[0], deviceID: $0[1])
            }
        }
    }

    package func userRecordName(
        account: Int64, containerIdentifier: String, proposal: @autoclosure @Sendable () -> String
    ) async throws -> String {
        let key = UserNameKey(account: account, containerIdentifier: containerIdentifier)
        if let name = userNames.withLock({ $0[key] }) { return name }
        let sql = "SELECT name FROM user_names WHERE container = ? AND account = ?"
        var name = try await reading { try String.fetchOne($0, sql: sql, arguments: [containerIdentifier, account]) }
        if name == nil {
            let proposal = proposal()
            name = try await writing { db in
                try db.execute(
                    sql: "INSERT OR IGNORE INTO user_names (container, account, name) VALUES (?, ?, ?)",
                    arguments: [containerIdentifier, account, proposal])
                return try String.fetchOne(db, sql: sql, arguments: [containerIdentifier, account])
            }
        }
        guard let name else { throw StorageFailure(.corrupt, "a user has no record name") }
        userNames.withLock { names in
            // A cache, so it may be emptied at any time.
            if names.count >= Self.userNamesKeptMax { names.removeAll() }
            names[key] = name
        }
        return name
    }

    private static let userNamesKeptMax = 10_000

    package func containers(ofAccount account: Int64) async throws -> [String] {
        try await reading { db in
            try Row.fetchAll(db, sql: "SELECT container, name FROM user_names WHERE account = ?", arguments: [account])
                .map { $0[0] as String }.sorted()
        }
    }
}

extension SQLiteServerStore {
    /// Makes an account and its first device token. The token is shown once: only its hash is stored.
    ///
    /// - Throws: `StorageFailure` with `.nameTaken`.
    package func addUser(name: String, deviceLabel: String, now: Int64) async throws -> String {
        let token = Secrets.deviceToken()
        let device = Secrets.deviceID()
        try await writing { db in
            guard try Self.account(named: name, db) == nil else {
                throw StorageFailure(.nameTaken, "a user of this name is there already")
            }
            let account = try Self.newAccountNumber(db)
            try db.execute(sql: "INSERT INTO accounts (account, name, created) VALUES (?, ?, ?)", arguments: [account, name, now])
            try Self.insert(token, device, deviceLabel, account: account, now: now, expires: nil, db)
        }
        return token
    }

    /// Makes another device token of an account.
    ///
    /// - Parameter expires: Milliseconds since 1970 UTC after which the token is refused; nil for never.
    /// - Throws: `StorageFailure` with `.unknownName`.
    package func addToken(userName: String, deviceLabel: String, now: Int64, expires: Int64?) async throws -> String {
        let token = Secrets.deviceToken()
        let device = Secrets.deviceID()
        try await writing { db in
            let account = try Self.requiredAccount(named: userName, db)
            try Self.insert(token, device, deviceLabel, account: account, now: now, expires: expires, db)
        }
        return token
    }

    /// All accounts by name.
    package func users() async throws -> [Account] {
        try await reading { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT a.name, d.label FROM accounts a LEFT JOIN devices d ON d.account = a.account
                    ORDER BY a.name, d.created, d.label
                    """)
            var users: [Account] = []
            for row in rows { users.add(name: row[0], deviceLabel: row[1]) }
            return users
        }
    }

    static func account(named name: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT account FROM accounts WHERE name = ?", arguments: [name])
    }

    /// A number that no account had: SQLite would give that of a removed one again, which caches and requests in flight may still know.
    static func newAccountNumber(_ db: Database) throws -> Int64 {
        let greatest = try Int64.fetchOne(db, sql: "SELECT max(account) FROM accounts") ?? 0
        return max(greatest, try greatestRemoved(.account, db)) + 1
    }

    private static func insert(
        _ token: String, _ device: String, _ label: String, account: Int64, now: Int64, expires: Int64?, _ db: Database
    ) throws {
        try db.execute(
            sql: "INSERT INTO devices (token_hash, account, device, label, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [hash(token), account, device, label, now, expires])
    }

    static func hash(_ token: String) -> Data { Data(Secrets.hash(token)) }

    /// Reads outside partitions.
    func reading<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await readers.read(.maintenance) { db, _ in try body(db) }
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }

    /// Reads a row by its key, on the caller's thread. Event loops that look up concurrently take a free connection each: on one connection,
    /// a loop would wait for another, and all of its clients with it.
    func lookingUp<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try briefReaders.lookUp(body) ?? lookups.unsafeRead(body)
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }

    /// Writes outside partitions.
    func writing<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await PendingAudit.store { event in
                try await writer.submit(.maintenance) { db, _, _ in
                    let value = try body(db)
                    if let event { try Self.insert(event, db) }
                    return value
                }
            }
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }
}
