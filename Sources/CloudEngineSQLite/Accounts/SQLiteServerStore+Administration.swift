// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudService
import CloudStorageSupport
import CloudWire
import Crypto
import Foundation
import GRDB
import SystemSupport

/// Accounts, tokens and keys, for the operator's commands and the console.
extension SQLiteServerStore: AdministrationStorage {
    package func containers() async throws -> [String] {
        try await reading { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT container FROM partitions UNION SELECT container FROM api_tokens
                    UNION SELECT container FROM server_keys UNION SELECT container FROM schema_types ORDER BY 1
                    """)
        }
    }

    /// Sets the password of an account and ends its web sessions.
    ///
    /// - Throws: `StorageFailure` with `.unknownName`.
    package func setPassword(_ password: String, ofUser name: String) async throws {
        let hash = try await PasswordHash.make(password, passwordParameters)
        try await writing { db in
            try Self.setPassword(hash, of: try Self.requiredAccount(named: name, db), db)
        }
    }

    static func setPassword(_ hash: PasswordHash, of account: Int64, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE accounts SET salt = ?, password = ?, rounds = ?, block_size = ?, parallelism = ? WHERE account = ?",
            arguments: [
                hash.salt, hash.hash, hash.parameters.rounds, hash.parameters.blockSize, hash.parameters.parallelism, account,
            ])
        try db.execute(sql: "DELETE FROM web_sessions WHERE account = ?", arguments: [account])
        try Self.countRevocation(db)
    }

    /// Changes the profile of a person.
    ///
    /// - Throws: `StorageFailure` with `.unknownName`; with `.nameTaken` for an address that is another account's.
    package func updateProfile(
        ofUser name: String, _ change: @escaping @Sendable (inout AccountProfile) -> Void
    ) async throws {
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            guard
                var profile = try Row.fetchOne(
                    db, sql: Self.profileColumns + " WHERE account = ?", arguments: [account]
                ).map(Self.profile)
            else { throw StorageFailure.unknownUser }
            change(&profile)
            let taken = try Int64.fetchOne(
                db, sql: "SELECT account FROM accounts WHERE account <> ? AND (email = ? OR phone = ?)",
                arguments: [account, profile.emailAddress?.lowercased(), profile.phoneNumber])
            guard taken == nil else { throw StorageFailure(.nameTaken, "the address is that of another user") }
            try db.execute(
                sql: """
                    UPDATE accounts SET given_name = ?, family_name = ?, email = ?, phone = ?, discoverable = ?, operator = ?
                    WHERE account = ?
                    """,
                arguments: [
                    profile.name.givenName, profile.name.familyName, profile.emailAddress?.lowercased(),
                    profile.phoneNumber, profile.isDiscoverable, profile.isOperator, account,
                ])
        }
    }

    /// All accounts by name.
    package func profiles() async throws -> [AccountProfile] {
        try await reading { try Row.fetchAll($0, sql: Self.profileColumns + " ORDER BY name").map(Self.profile) }
    }

    package func account(named name: String) async throws -> Int64? {
        try await reading { try Self.account(named: name, $0) }
    }

    static func requiredAccount(named name: String, _ db: Database) throws -> Int64 {
        guard let account = try account(named: name, db) else {
            throw StorageFailure.unknownUser
        }
        guard try !isBeingRemoved(account, db) else { throw StorageFailure(.unknownName, "the user is being removed") }
        return account
    }
}
