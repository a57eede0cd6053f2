// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudStorageSupport
package import CloudWire
import Crypto
import Foundation
import SystemSupport

/// Accounts, tokens and keys, for the operator's commands and the console.
extension PostgresServerStore: AdministrationStorage {
    package func containers() async throws -> [String] {
        try await reading { connection in
            try connection.query(
                """
                SELECT container FROM partitions UNION SELECT container FROM api_tokens
                UNION SELECT container FROM server_keys UNION SELECT container FROM schema_types ORDER BY 1
                """
            ).rows.map { $0[0] }
        }
    }

    package func profiles() async throws -> [AccountProfile] {
        try await reading { try $0.query(Self.profileColumns + " ORDER BY name").rows.map(Self.profile) }
    }

    package func hasOperator() async throws -> Bool { try await reading { try Self.hasOperator($0) } }

    private static func hasOperator(_ connection: PostgresConnection) throws -> Bool {
        try !connection.query("SELECT 1 FROM accounts WHERE operator LIMIT 1").rows.isEmpty
    }

    package func account(named name: String) async throws -> Int64? { try await reading { try $0.account(named: name) } }

    package func users() async throws -> [Account] {
        try await reading { connection in
            let rows = try connection.query(
                "SELECT a.name, d.label FROM accounts a LEFT JOIN devices d ON d.account = a.account ORDER BY a.name, d.created, d.label"
            ).rows
            var users: [Account] = []
            for row in rows { users.add(name: row[0], deviceLabel: row[1]) }
            return users
        }
    }

    // MARK: Accounts and devices

    private static func insert(
        _ token: String, _ label: String, account: Int64, now: Int64, expires: Int64?, _ connection: PostgresConnection
    ) throws {
        try connection.send(
            "INSERT INTO devices (token_hash, account, device, label, created, expires) VALUES ($1, $2, $3, $4, $5, $6)",
            [Secrets.hash(token), account, Secrets.deviceID(), label, now, expires])
    }

    /// Runs a transaction that inserts names. A name that another process inserts concurrently is taken.
    private func naming<Value: Sendable>(
        _ taken: String, _ body: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        try await writing { connection in
            do {
                let value = try body(connection)
                // The server reports a name that is taken with the next wait.
                _ = try connection.query("SELECT 1")
                return value
            } catch let error as PostgresError where error.failureClass == .duplicate {
                throw StorageFailure(.nameTaken, taken)
            }
        }
    }

    package func addUser(name: String, deviceLabel: String, now: Int64) async throws -> String {
        let token = Secrets.deviceToken()
        try await naming("a user of this name is there already") { connection in
            guard try connection.account(named: name) == nil else {
                throw StorageFailure(.nameTaken, "a user of this name is there already")
            }
            let account = try connection.makeAccount(named: name, now: now)
            try Self.insert(token, deviceLabel, account: account, now: now, expires: nil, connection)
        }
        return token
    }

    package func addToken(userName: String, deviceLabel: String, now: Int64, expires: Int64?) async throws -> String {
        let token = Secrets.deviceToken()
        try await writing { connection in
            let account = try connection.requiredAccount(named: userName)
            try Self.insert(token, deviceLabel, account: account, now: now, expires: expires, connection)
        }
        return token
    }

    package func addFirstOperator(
        named name: String, password: String, isClaiming: Bool, now: Int64
    ) async throws -> FirstOperatorOutcome {
        let hash = try await PasswordHash.make(password, passwordParameters)
        return try await naming("a user of this name is there already") { connection in
            // Two processes wait for each other here: of two first operators one is made.
            _ = try connection.next("first operator")
            guard try !Self.hasOperator(connection) else { return .operatorExists }
            var account = try connection.account(named: name)
            if let account {
                let signsIn =
                    try !connection.query("SELECT account FROM accounts WHERE account = $1 AND password IS NOT NULL", [account]).rows
                    .isEmpty
                    || !connection.query("SELECT account FROM identities WHERE account = $1 LIMIT 1", [account]).rows.isEmpty
                let isClaimable =
                    try !signsIn && !connection.query(AccountRows.exists, [account, AccountRows.removalKey(account)]).rows.isEmpty
                guard isClaiming, isClaimable else { return .nameTaken(isClaimable: isClaimable) }
            } else {
                account = try connection.makeAccount(named: name, now: now)
            }
            try connection.send(
                """
                UPDATE accounts SET salt = $1, password = $2, rounds = $3, block_size = $4, parallelism = $5, operator = true
                WHERE account = $6
                """, Self.values(hash) + [account])
            try connection.send("DELETE FROM web_sessions WHERE account = $1", [account])
            try connection.countRevocation()
            return .added
        }
    }

    package func setPassword(_ password: String, ofUser name: String) async throws {
        let hash = try await PasswordHash.make(password, passwordParameters)
        try await writing { connection in
            let account = try connection.requiredAccount(named: name)
            try connection.send(
                "UPDATE accounts SET salt = $1, password = $2, rounds = $3, block_size = $4, parallelism = $5 WHERE account = $6",
                Self.values(hash) + [account])
            try connection.send("DELETE FROM web_sessions WHERE account = $1", [account])
            try connection.countRevocation()
        }
    }

    package func updateProfile(
        ofUser name: String, _ change: @escaping @Sendable (inout AccountProfile) -> Void
    ) async throws {
        try await naming("the address is that of another user") { connection in
            let account = try connection.requiredAccount(named: name)
            let row = try connection.query(Self.profileColumns + " WHERE account = $1 FOR UPDATE", [account]).rows.first
            guard var profile = row.map(Self.profile) else { throw StorageFailure.unknownUser }
            change(&profile)
            try connection.send(
                """
                UPDATE accounts SET given_name = $1, family_name = $2, email = $3, phone = $4, discoverable = $5, operator = $6
                WHERE account = $7
                """,
                [
                    profile.name.givenName, profile.name.familyName, profile.emailAddress?.lowercased(), profile.phoneNumber,
                    profile.isDiscoverable, profile.isOperator, account,
                ])
        }
    }

    package func accesses(ofUser name: String) async throws -> [AccountAccess] {
        try await reading { connection in
            let account = try connection.requiredAccount(named: name)
            let devices = try connection.query(
                """
                SELECT device, label, created, expires, last_used, network, platform FROM devices WHERE account = $1 ORDER BY created, device
                """, [account]
            ).rows
            let sessions = try connection.query(
                """
                SELECT id_hash, container, started, device, last_used, network, platform FROM web_sessions
                WHERE account = $1 ORDER BY started, id_hash
                """, [account]
            ).rows
            return devices.map { row in
                AccountAccess(kind: .device(label: row[1], expires: row[3]), id: row[0], began: row[2], lastUse: Self.use(row, from: 4))
            }
                + sessions.map { row in
                    let hash: [UInt8] = row[0]
                    return AccountAccess(
                        kind: .session(SessionUse(row[1]), deviceID: row[3]), id: Hex.text(hash.prefix(AccountAccess.sessionIDBytes)),
                        began: row[2], lastUse: Self.use(row, from: 4))
                }
        }
    }

    private static func use(_ row: PostgresRow, from column: Int) -> CredentialUse? {
        let time: Int64? = row[column]
        return time.map { CredentialUse(time: $0, network: row[column + 1], platform: row[column + 2]) }
    }

    package func removeDevice(labelled label: String, ofUser name: String) async throws {
        try await removeDevices(ofUser: name, column: "label", named: "label", label)
    }

    package func removeDevice(id: String, ofUser name: String) async throws {
        try await removeDevices(ofUser: name, column: "device", named: "identifier", id)
    }

    /// Deletes the tokens of devices and the web sessions that were made with them.
    private func removeDevices(ofUser name: String, column: String, named what: String, _ text: String) async throws {
        try await writing { connection in
            let account = try connection.requiredAccount(named: name)
            let devices = try connection.query(
                "DELETE FROM devices WHERE account = $1 AND \(column) = $2 RETURNING device", [account, text]
            ).rows.map { $0[0] as String }
            guard !devices.isEmpty else { throw StorageFailure(.unknownName, "the user has no device of this \(what)") }
            try connection.send("DELETE FROM web_sessions WHERE account = $1 AND device = ANY ($2)", [account] + .texts(devices))
            try connection.countRevocation()
        }
    }

    package func endSessions(ofUser name: String, id: String?) async throws {
        let unknown = StorageFailure(.unknownName, "the user has no session of this identifier")
        let prefix = try id.map { text in
            guard let bytes = Hex.bytes(text), bytes.count == AccountAccess.sessionIDBytes else { throw unknown }
            return Array(bytes)
        }
        try await writing { connection in
            let account = try connection.requiredAccount(named: name)
            let ended = try connection.query(
                "DELETE FROM web_sessions WHERE account = $1 AND ($2::bytea IS NULL OR substring(id_hash FROM 1 FOR $3::int) = $2)",
                [account, prefix, AccountAccess.sessionIDBytes]
            ).count
            guard id == nil || ended > 0 else { throw unknown }
            if ended > 0 { try connection.countRevocation() }
        }
    }

    // MARK: Usage

    package func setQuota(_ bytes: Int64?, ofUser name: String) async throws {
        try await writing { connection in
            try connection.send("UPDATE accounts SET quota = $1 WHERE account = $2", [bytes, try connection.requiredAccount(named: name)])
        }
    }

    package func quota(ofUser name: String) async throws -> Int64? {
        try await reading { connection -> Int64? in
            guard let row = try connection.query("SELECT quota FROM accounts WHERE name = $1", [name]).rows.first else { return nil }
            return row[0]
        }
    }

    package func usage() async throws -> [DatabaseUsage] {
        try await reading { connection in
            try connection.query(
                """
                SELECT a.name, p.container, p.environment, p.record_bytes, p.asset_bytes, a.quota FROM partitions p
                LEFT JOIN user_names n ON n.container = p.container AND n.name = p.owner
                LEFT JOIN accounts a ON a.account = n.account
                WHERE p.record_bytes + p.asset_bytes > 0 ORDER BY a.name NULLS FIRST, p.container, p.environment
                """
            ).rows.compactMap { row in
                CloudEnvironment(rawValue: row[2]).map {
                    DatabaseUsage(
                        userName: row[0], containerIdentifier: row[1], environment: $0,
                        usage: StoredBytes(records: row[3], assets: row[4]), quota: row[5])
                }
            }
        }
    }

    package func containerUsage() async throws -> [ContainerUsage] {
        try await reading { connection in
            try connection.query(
                """
                SELECT container, environment, count(*), coalesce(sum(record_bytes), 0)::bigint, coalesce(sum(asset_bytes), 0)::bigint
                FROM partitions GROUP BY container, environment ORDER BY container, environment
                """
            ).rows.compactMap { row in
                CloudEnvironment(rawValue: row[1]).map {
                    ContainerUsage(
                        containerIdentifier: row[0], environment: $0, databases: row[2], usage: StoredBytes(records: row[3], assets: row[4])
                    )
                }
            }
        }
    }

    package func totalUsage() async throws -> StoredBytes {
        try await reading { connection in
            try connection.query(
                "SELECT coalesce(sum(record_bytes), 0)::bigint, coalesce(sum(asset_bytes), 0)::bigint FROM partitions"
            ).rows.first.map { StoredBytes(records: $0[0], assets: $0[1]) } ?? StoredBytes()
        }
    }

    // MARK: API tokens

    package func apiTokens() async throws -> [APIToken] {
        try await reading { try $0.query(Self.apiTokenColumns + " ORDER BY token").rows.map(Self.apiToken) }
    }

    package func addAPIToken(_ token: APIToken, now: Int64) async throws -> String {
        let text = Secrets.text(bytes: 32)
        try await writing { try Self.insert(token, text, now: now, $0) }
        return text
    }

    private static func insert(_ token: APIToken, _ text: String, now: Int64, _ connection: PostgresConnection) throws {
        let number = try connection.next("api tokens")
        try connection.send(
            """
            INSERT INTO api_tokens (token, token_hash, container, environment, label, callback, origins, created, expires)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            [
                number, Secrets.hash(text), token.containerIdentifier, token.environment.rawValue, token.label, token.callbackURL,
                token.allowedOrigins.joined(separator: " "), now, token.expires,
            ])
    }

    package func removeAPIToken(id: Int64) async throws {
        try await writing { connection in
            guard try connection.query("DELETE FROM api_tokens WHERE token = $1", [id]).count > 0 else {
                throw StorageFailure(.unknownName, "the token does not exist")
            }
        }
    }

    package func rotateAPIToken(id: Int64, now: Int64, _ rotation: CredentialRotation) async throws -> String {
        let text = Secrets.text(bytes: 32)
        let end = now + max(rotation.overlap, 0)
        try await writing { connection in
            let old = try connection.query(Self.apiTokenColumns + " WHERE token = $1", [id]).rows.first.map(Self.apiToken)
            guard var token = old, token.expires.map({ $0 > now }) ?? true else {
                throw StorageFailure(.unknownName, "the token does not exist, or has expired")
            }
            token.expires = rotation.expires
            try Self.insert(token, text, now: now, connection)
            try connection.send("UPDATE api_tokens SET expires = least(expires, $1) WHERE token = $2", [end, id])
        }
        return text
    }

    // MARK: Server-to-server keys

    private static func insert(_ key: ServerKey, _ label: String, now: Int64, _ connection: PostgresConnection) throws {
        try connection.send(
            """
            INSERT INTO server_keys (id, container, environment, name, public_key, label, created, expires)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            [
                key.id, key.containerIdentifier, key.environment.rawValue, key.userRecordName, key.publicKey, label, now, key.expires,
            ])
    }

    package func addServerKey(
        pem: String, containerIdentifier: String, environment: CloudEnvironment, label: String, now: Int64, expires: Int64?
    ) async throws -> String {
        let key = ServerKey(
            id: Secrets.text(bytes: 32), containerIdentifier: containerIdentifier, environment: environment,
            userRecordName: "_" + Secrets.text(bytes: 16), publicKey: try ServerKey.publicKey(pem: pem), expires: expires)
        try await writing { try Self.insert(key, label, now: now, $0) }
        return key.id
    }

    package func serverKeys() async throws -> [(key: ServerKey, label: String)] {
        try await reading { try $0.query(Self.serverKeyColumns + " ORDER BY created, id").rows.map { (Self.serverKey($0), $0[6]) } }
    }

    package func removeServerKey(id: String) async throws {
        try await writing { connection in
            guard try connection.query("DELETE FROM server_keys WHERE id = $1", [id]).count > 0 else {
                throw StorageFailure(.unknownName, "the key does not exist")
            }
            try connection.countRevocation()
        }
    }

    package func rotateServerKey(id: String, pem: String, now: Int64, _ rotation: CredentialRotation) async throws -> String {
        let publicKey = try ServerKey.publicKey(pem: pem)
        let newID = Secrets.text(bytes: 32)
        let end = now + max(rotation.overlap, 0)
        try await writing { connection in
            let old = try connection.query(Self.serverKeyColumns + " WHERE id = $1", [id]).rows.first
            guard let old, case let present = Self.serverKey(old), present.expires.map({ $0 > now }) ?? true else {
                throw StorageFailure(.unknownName, "the key does not exist, or has expired")
            }
            // Records of the old key stay the program's own: the new one acts as the same user.
            let key = ServerKey(
                id: newID, containerIdentifier: present.containerIdentifier, environment: present.environment,
                userRecordName: present.userRecordName, publicKey: publicKey, expires: rotation.expires)
            try Self.insert(key, old[6], now: now, connection)
            try connection.send("UPDATE server_keys SET expires = least(expires, $1) WHERE id = $2", [end, id])
        }
        return newID
    }
}
