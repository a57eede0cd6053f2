// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudWire
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
        let hash = try await PasswordHash.make(password, rounds: passwordRounds)
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            try db.execute(
                sql: "UPDATE accounts SET salt = ?, password = ?, rounds = ? WHERE account = ?",
                arguments: [hash.salt, hash.hash, hash.rounds, account])
            try db.execute(sql: "DELETE FROM web_sessions WHERE account = ?", arguments: [account])
            try Self.countRevocation(db)
        }
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
            else { throw StorageFailure(.unknownName, "there is no user of this name") }
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

    // MARK: API tokens

    /// Makes an API token: 64 hexadecimal digits, shown once.
    package func addAPIToken(_ token: APIToken, now: Int64) async throws -> String {
        let text = SymmetricKey(size: .bits256).withUnsafeBytes { Hex.text($0) }
        let hash = Self.hash(text)
        try await writing { db in
            try db.execute(
                sql: """
                    INSERT INTO api_tokens (token_hash, container, environment, label, callback, origins, created)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    hash, token.containerIdentifier, token.environment.rawValue, token.label, token.callbackURL,
                    token.allowedOrigins.joined(separator: " "), now,
                ])
        }
        return text
    }

    package func apiTokens() async throws -> [APIToken] {
        try await reading { try Row.fetchAll($0, sql: Self.apiTokenColumns + " ORDER BY token").map(Self.apiToken) }
    }

    /// - Throws: `StorageFailure` with `.unknownName`.
    package func removeAPIToken(id: Int64) async throws {
        try await writing { db in
            try db.execute(sql: "DELETE FROM api_tokens WHERE token = ?", arguments: [id])
            guard db.changesCount > 0 else { throw StorageFailure(.unknownName, "the token does not exist") }
        }
    }

    // MARK: Server-to-server keys

    /// Registers the public half of a key.
    ///
    /// - Parameter pem: SubjectPublicKeyInfo of a P-256 key.
    /// - Returns: The key's identifier.
    /// - Throws: `StorageFailure` with `.unknownName` for an invalid key.
    package func addServerKey(
        pem: String, containerIdentifier: String, environment: CloudEnvironment, label: String, now: Int64
    ) async throws -> String {
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else {
            throw StorageFailure(.unknownName, "the file holds no public key on the curve P-256 in PEM")
        }
        let id = Hex.text(Self.randomBytes(32))
        let name = "_" + Hex.text(Self.randomBytes(16))
        let bytes = key.x963Representation
        try await writing { db in
            try db.execute(
                sql: """
                    INSERT INTO server_keys (id, container, environment, name, public_key, label, created)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """, arguments: [id, containerIdentifier, environment.rawValue, name, bytes, label, now])
        }
        return id
    }

    /// All keys with their labels.
    package func serverKeys() async throws -> [(key: ServerKey, label: String)] {
        try await reading { db in
            try Row.fetchAll(
                db, sql: "SELECT id, container, environment, name, public_key, label FROM server_keys ORDER BY created, id"
            ).map {
                let bytes: Data = $0[4]
                return (
                    ServerKey(
                        id: $0[0], containerIdentifier: $0[1],
                        environment: CloudEnvironment(rawValue: $0[2]) ?? .development, userRecordName: $0[3],
                        publicKey: [UInt8](bytes)), $0[5]
                )
            }
        }
    }

    /// - Throws: `StorageFailure` with `.unknownName`.
    package func removeServerKey(id: String) async throws {
        try await writing { db in
            try db.execute(sql: "DELETE FROM server_keys WHERE id = ?", arguments: [id])
            try Self.countRevocation(db)
            guard db.changesCount > 0 else { throw StorageFailure(.unknownName, "there is no such key") }
        }
    }

    static func removeExpiredCredentials(_ db: Database, now: Int64, sessionSeconds: Int) throws {
        try db.execute(sql: "DELETE FROM used_marks WHERE until < ?", arguments: [now])
        try db.execute(
            sql: "DELETE FROM web_sessions WHERE started < ?", arguments: [now - Int64(sessionSeconds) * 1000])
    }

    static func requiredAccount(named name: String, _ db: Database) throws -> Int64 {
        guard let account = try account(named: name, db) else {
            throw StorageFailure(.unknownName, "there is no user of this name")
        }
        guard try !isBeingRemoved(account, db) else { throw StorageFailure(.unknownName, "the user is being removed") }
        return account
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Array($0) }
    }
}
