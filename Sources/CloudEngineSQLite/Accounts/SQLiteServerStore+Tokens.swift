// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
package import CloudWire
import Crypto
import Foundation
import GRDB
import SystemSupport

/// API tokens and server-to-server keys, for operators.
extension SQLiteServerStore {
    /// Makes an API token: 64 hexadecimal digits, shown once.
    package func addAPIToken(_ token: APIToken, now: Int64) async throws -> String {
        let text = Secrets.text(bytes: 32)
        try await writing { db in try Self.insert(token, text, now: now, db) }
        return text
    }

    private static func insert(_ token: APIToken, _ text: String, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO api_tokens (token_hash, container, environment, label, callback, origins, created, expires)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                hash(text), token.containerIdentifier, token.environment.rawValue, token.label, token.callbackURL,
                token.allowedOrigins.joined(separator: " "), now, token.expires,
            ])
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

    package func rotateAPIToken(id: Int64, now: Int64, _ rotation: CredentialRotation) async throws -> String {
        let text = Secrets.text(bytes: 32)
        let end = now + max(rotation.overlap, 0)
        try await writing { db in
            let old = try Row.fetchOne(db, sql: Self.apiTokenColumns + " WHERE token = ?", arguments: [id]).map(Self.apiToken)
            guard var token = old, token.expires.map({ $0 > now }) ?? true else {
                throw StorageFailure(.unknownName, "the token does not exist, or has expired")
            }
            token.expires = rotation.expires
            try Self.insert(token, text, now: now, db)
            try db.execute(
                sql: "UPDATE api_tokens SET expires = min(coalesce(expires, ?), ?) WHERE token = ?", arguments: [end, end, id])
        }
        return text
    }

    // MARK: Server-to-server keys

    /// Registers the public half of a key.
    ///
    /// - Throws: `StorageFailure` with `.unknownName` for an invalid key.
    package func addServerKey(
        pem: String, containerIdentifier: String, environment: CloudEnvironment, label: String, now: Int64, expires: Int64?
    ) async throws -> String {
        let key = ServerKey(
            id: Secrets.text(bytes: 32), containerIdentifier: containerIdentifier, environment: environment,
            userRecordName: "_" + Secrets.text(bytes: 16), publicKey: try ServerKey.publicKey(pem: pem), expires: expires)
        try await writing { db in try Self.insert(key, label, now: now, db) }
        return key.id
    }

    private static func insert(_ key: ServerKey, _ label: String, now: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO server_keys (id, container, environment, name, public_key, label, created, expires)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                key.id, key.containerIdentifier, key.environment.rawValue, key.userRecordName, Data(key.publicKey), label, now, key.expires,
            ])
    }

    /// All keys with their labels.
    package func serverKeys() async throws -> [(key: ServerKey, label: String)] {
        try await reading { db in
            try Row.fetchAll(db, sql: Self.serverKeyColumns + " ORDER BY created, id").map { (Self.serverKey($0), $0[6]) }
        }
    }

    /// - Throws: `StorageFailure` with `.unknownName`.
    package func removeServerKey(id: String) async throws {
        try await writing { db in
            try db.execute(sql: "DELETE FROM server_keys WHERE id = ?", arguments: [id])
            guard db.changesCount > 0 else { throw StorageFailure(.unknownName, "the key does not exist") }
            try Self.countRevocation(db)
        }
    }

    package func rotateServerKey(id: String, pem: String, now: Int64, _ rotation: CredentialRotation) async throws -> String {
        let publicKey = try ServerKey.publicKey(pem: pem)
        let newID = Secrets.text(bytes: 32)
        let end = now + max(rotation.overlap, 0)
        try await writing { db in
            let old = try Row.fetchOne(db, sql: Self.serverKeyColumns + " WHERE id = ?", arguments: [id])
            guard let old, case let present = Self.serverKey(old), present.expires.map({ $0 > now }) ?? true else {
                throw StorageFailure(.unknownName, "the key does not exist, or has expired")
            }
            // Records of the old key stay the program's own: the new one acts as the same user.
            let key = ServerKey(
                id: newID, containerIdentifier: present.containerIdentifier, environment: present.environment,
                userRecordName: present.userRecordName, publicKey: publicKey, expires: rotation.expires)
            try Self.insert(key, old[6], now: now, db)
            try db.execute(sql: "UPDATE server_keys SET expires = min(coalesce(expires, ?), ?) WHERE id = ?", arguments: [end, end, id])
        }
        return newID
    }
}
