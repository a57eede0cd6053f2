// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import GRDB

extension SQLiteServerStore: IdentityStorage {
    package func account(ofIdentity identity: Identity) async throws -> Int64? {
        try await reading { try Self.account(of: identity, $0) }
    }

    private static func account(of identity: Identity, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT account FROM identities WHERE issuer = ? AND subject = ?", arguments: [identity.issuer, identity.subject])
    }

    private static func insert(_ identity: Identity, account: Int64, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO identities (issuer, subject, account, created) VALUES (?, ?, ?, ?)",
            arguments: [identity.issuer, identity.subject, account, now])
    }

    package func addIdentity(_ identity: Identity, ofUser name: String, now: Int64) async throws {
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            guard try Self.account(of: identity, db) == nil else {
                throw StorageFailure(.nameTaken, "the identity signs in to an account already")
            }
            try Self.insert(identity, account: account, now: now, db)
        }
    }

    package func removeIdentity(_ identity: Identity, ofUser name: String) async throws {
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            try db.execute(
                sql: "DELETE FROM identities WHERE issuer = ? AND subject = ? AND account = ?",
                arguments: [identity.issuer, identity.subject, account])
            guard db.changesCount > 0 else { throw StorageFailure(.unknownName, "the user has no such identity") }
            try db.execute(sql: "DELETE FROM web_sessions WHERE account = ?", arguments: [account])
            try Self.countRevocation(db)
        }
    }

    package func identities(ofUser name: String) async throws -> [Identity] {
        try await reading { db in try Self.identities(of: try Self.requiredAccount(named: name, db), db) }
    }

    /// Identities of an account, oldest first.
    static func identities(of account: Int64, _ db: Database) throws -> [Identity] {
        try Row.fetchAll(
            db, sql: "SELECT issuer, subject FROM identities WHERE account = ? ORDER BY created, issuer, subject", arguments: [account]
        ).map { Identity(issuer: $0[0], subject: $0[1]) }
    }

    package func addAccount(ofIdentity identity: Identity, names: [String], now: Int64) async throws -> Int64 {
        try await writing { db in
            if let account = try Self.account(of: identity, db) { return account }
            guard let name = try names.first(where: { try Self.account(named: $0, db) == nil }) else {
                throw StorageFailure(.nameTaken, "a user of this name is there already")
            }
            let account = try Self.newAccountNumber(db)
            try db.execute(sql: "INSERT INTO accounts (account, name, created) VALUES (?, ?, ?)", arguments: [account, name, now])
            try Self.insert(identity, account: account, now: now, db)
            return account
        }
    }
}
