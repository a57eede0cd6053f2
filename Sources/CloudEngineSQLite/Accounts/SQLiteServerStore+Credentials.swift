// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudStorageSupport
package import CloudWire
import Crypto
import Foundation
import GRDB

extension SQLiteServerStore {
    package func account(named name: String, password: String) async throws -> Int64? {
        let known = try await passwordHash(ofName: name)
        return try await PasswordHash.isRight(password, for: known?.password, passwordParameters) ? known?.account : nil
    }

    package func renewPasswordHash(ofAccount account: Int64, password: String) async throws {
        let stored = try await reading { db in
            try Row.fetchOne(
                db, sql: "SELECT password, rounds, block_size, parallelism FROM accounts WHERE account = ? AND password IS NOT NULL",
                arguments: [account]
            ).map { row -> (hash: Data, parameters: PasswordHash.Parameters) in
                (row[0], PasswordHash.Parameters(rounds: row[1], blockSize: row[2], parallelism: row[3]))
            }
        }
        guard let stored, stored.parameters != passwordParameters else { return }
        let hash = try await PasswordHash.make(password, passwordParameters)
        try await writing { db in
            // A password that was set concurrently stays. Web sessions stay, too: it is the same password.
            try db.execute(
                sql:
                    "UPDATE accounts SET salt = ?, password = ?, rounds = ?, block_size = ?, parallelism = ? WHERE account = ? AND password = ?",
                arguments: [
                    hash.salt, hash.hash, hash.parameters.rounds, hash.parameters.blockSize, hash.parameters.parallelism, account,
                    stored.hash,
                ])
        }
    }

    package func account(signingInAs name: String) async throws -> Int64? { try await passwordHash(ofName: name)?.account }

    private func passwordHash(ofName name: String) async throws -> (account: Int64, password: PasswordHash)? {
        try await reading { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT account, salt, password, rounds, block_size, parallelism FROM accounts
                    WHERE (name = ? OR email = ?) AND password IS NOT NULL ORDER BY name = ? DESC
                    """, arguments: [name, name.lowercased(), name]
            ).map { row in
                (
                    row[0],
                    PasswordHash(
                        salt: row[1], hash: row[2],
                        parameters: PasswordHash.Parameters(rounds: row[3], blockSize: row[4], parallelism: row[5]))
                )
            }
        }
    }

    package func profile(ofAccount account: Int64) async throws -> AccountProfile? {
        try await reading { db in
            try Row.fetchOne(db, sql: Self.profileColumns + " WHERE account = ?", arguments: [account]).map(Self.profile)
        }
    }

    package func account(matching info: LookupInfo, containerIdentifier: String) async throws -> Int64? {
        try await reading { db in
            switch info {
            case .emailAddress(let address):
                try Int64.fetchOne(
                    db, sql: "SELECT account FROM accounts WHERE email = ?", arguments: [address.lowercased()])
            case .phoneNumber(let number):
                try Int64.fetchOne(db, sql: "SELECT account FROM accounts WHERE phone = ?", arguments: [number])
            case .userRecordName(let name):
                try Int64.fetchOne(
                    db, sql: "SELECT account FROM user_names WHERE container = ? AND name = ?",
                    arguments: [containerIdentifier, name])
            }
        }
    }

    static let profileColumns =
        "SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts"

    static func profile(_ row: Row) -> AccountProfile {
        AccountProfile(
            accountName: row[0], name: NameComponents(givenName: row[1], familyName: row[2]), emailAddress: row[3],
            phoneNumber: row[4], isDiscoverable: row[5], isOperator: row[6])
    }

    // MARK: API tokens

    static let apiTokenColumns =
        "SELECT token, container, environment, label, callback, origins, expires FROM api_tokens"

    static func apiToken(_ row: Row) -> APIToken {
        let origins: String = row[5]
        return APIToken(
            id: row[0], containerIdentifier: row[1], environment: CloudEnvironment(rawValue: row[2]) ?? .development,
            label: row[3], callbackURL: row[4], allowedOrigins: origins.split(separator: " ").map(String.init), expires: row[6])
    }

    package func apiToken(_ token: String) async throws -> APIToken? {
        let hash = Self.hash(token)
        return try await reading { db in
            let statement = try db.cachedStatement(sql: Self.apiTokenColumns + " WHERE token_hash = ?")
            return try Row.fetchOne(statement, arguments: [hash]).map(Self.apiToken)
        }
    }

    package func apiToken(id: Int64) async throws -> APIToken? {
        try await reading { db in
            try Row.fetchOne(db, sql: Self.apiTokenColumns + " WHERE token = ?", arguments: [id]).map(Self.apiToken)
        }
    }

    // MARK: Web sessions

    package func startSession(_ session: WebSession, id: [UInt8], now: Int64) async throws {
        let hash = Data(sha256(id))
        try await writing { db in
            try db.execute(
                sql: """
                    INSERT INTO web_sessions (id_hash, account, container, environment, kept, started, device)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    hash, session.account, session.use.text, session.environment.rawValue, session.isKept,
                    session.started, Self.deviceID(of: session.device),
                ])
            try db.execute(
                sql: """
                    DELETE FROM web_sessions WHERE account = ?1 AND device IS ?2 AND container = ?3 AND id_hash NOT IN (
                        SELECT id_hash FROM web_sessions WHERE account = ?1 AND device IS ?2 AND container = ?3
                        ORDER BY started DESC, id_hash LIMIT ?4)
                    """, arguments: [session.account, Self.deviceID(of: session.device), session.use.text, WebSession.countMax])
            if db.changesCount > 0 { try Self.countRevocation(db) }
        }
    }

    package func session(id: [UInt8], now: Int64) async throws -> WebSession? {
        let hash = Data(sha256(id))
        return try await reading { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT account, container, environment, kept, started, device FROM web_sessions s WHERE id_hash = ? AND (device IS NULL OR EXISTS (
                        SELECT 1 FROM devices d WHERE d.account = s.account AND d.device = s.device AND (d.expires IS NULL OR d.expires > ?)))
                    """)
            return try Row.fetchOne(statement, arguments: [hash, now]).map { row in
                let account: Int64 = row[0]
                let device: String? = row[5]
                return WebSession(
                    account: account, use: SessionUse(row[1]), environment: CloudEnvironment(rawValue: row[2]) ?? .development,
                    isKept: row[3], started: row[4], device: device.map { .device(account: account, deviceID: $0) })
            }
        }
    }

    package func endSession(id: [UInt8]) async throws {
        let hash = Data(sha256(id))
        try await writing { db in
            try db.execute(sql: "DELETE FROM web_sessions WHERE id_hash = ?", arguments: [hash])
            try Self.countRevocation(db)
        }
    }

    // MARK: Server-to-server keys

    static let serverKeyColumns = "SELECT id, container, environment, name, public_key, expires, label FROM server_keys"

    static func serverKey(_ row: Row) -> ServerKey {
        let bytes: Data = row[4]
        return ServerKey(
            id: row[0], containerIdentifier: row[1], environment: CloudEnvironment(rawValue: row[2]) ?? .development,
            userRecordName: row[3], publicKey: [UInt8](bytes), expires: row[5])
    }

    package func serverKey(id: String) async throws -> ServerKey? {
        try await reading { db in
            try Row.fetchOne(
                db, sql: Self.serverKeyColumns + " WHERE id = ?", arguments: [id]
            ).map(Self.serverKey)
        }
    }

    package func verify(signature: [UInt8], of message: [UInt8], by key: ServerKey) -> [UInt8]? {
        guard let publicKey = try? P256.Signing.PublicKey(x963Representation: key.publicKey),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature),
            publicKey.isValidSignature(signature, for: message)
        else { return nil }
        // From (r, s) an attacker can make the equally valid (r, -s): both share r.
        return Array(signature.rawRepresentation.prefix(32))
    }

    package func isFirstUse(of mark: [UInt8], until time: Int64) async throws -> Bool {
        try await writing { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO used_marks (mark, until) VALUES (?, ?)", arguments: [Data(mark), time])
            return db.changesCount > 0
        }
    }

    package func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
