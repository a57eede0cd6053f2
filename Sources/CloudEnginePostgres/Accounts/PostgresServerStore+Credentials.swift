// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudStorageSupport
package import CloudWire
import Crypto
import Foundation
import SystemSupport

/// Passwords, sessions, keys, second factors and identities.
extension PostgresServerStore {
    package func account(named name: String, password: String) async throws -> Int64? {
        let known = try await passwordHash(ofName: name)
        return try await PasswordHash.isRight(password, for: known?.password, passwordParameters) ? known?.account : nil
    }

    package func renewPasswordHash(ofAccount account: Int64, password: String) async throws {
        let stored = try await reading { connection in
            try connection.query(
                "SELECT password, rounds, block_size, parallelism FROM accounts WHERE account = $1 AND password IS NOT NULL", [account]
            ).rows.first.map { row -> (hash: [UInt8], parameters: PasswordHash.Parameters) in
                (row[0], PasswordHash.Parameters(rounds: row[1], blockSize: row[2], parallelism: row[3]))
            }
        }
        guard let stored, stored.parameters != passwordParameters else { return }
        let hash = try await PasswordHash.make(password, passwordParameters)
        try await writing { connection in
            // A password that was set concurrently stays. Web sessions stay, too: it is the same password.
            try connection.send(
                """
                UPDATE accounts SET salt = $1, password = $2, rounds = $3, block_size = $4, parallelism = $5
                WHERE account = $6 AND password = $7
                """, Self.values(hash) + [account, stored.hash])
        }
    }

    static func values(_ hash: PasswordHash) -> PostgresValues {
        [[UInt8](hash.salt), [UInt8](hash.hash), hash.parameters.rounds, hash.parameters.blockSize, hash.parameters.parallelism]
    }

    package func account(signingInAs name: String) async throws -> Int64? { try await passwordHash(ofName: name)?.account }

    private func passwordHash(ofName name: String) async throws -> (account: Int64, password: PasswordHash)? {
        try await reading { connection in
            try connection.query(
                """
                SELECT account, salt, password, rounds, block_size, parallelism FROM accounts
                WHERE (name = $1 OR email = $2) AND password IS NOT NULL ORDER BY name = $1 DESC LIMIT 1
                """, [name, name.lowercased()]
            ).rows.first.map { row in
                let (salt, hash): ([UInt8], [UInt8]) = (row[1], row[2])
                return (
                    row[0],
                    PasswordHash(
                        salt: Data(salt), hash: Data(hash),
                        parameters: PasswordHash.Parameters(rounds: row[3], blockSize: row[4], parallelism: row[5]))
                )
            }
        }
    }

    static let profileColumns = "SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts"

    static func profile(_ row: PostgresRow) -> AccountProfile {
        AccountProfile(
            accountName: row[0], name: NameComponents(givenName: row[1], familyName: row[2]), emailAddress: row[3],
            phoneNumber: row[4], isDiscoverable: row[5], isOperator: row[6])
    }

    package func profile(ofAccount account: Int64) async throws -> AccountProfile? {
        try await reading { try $0.query(Self.profileColumns + " WHERE account = $1", [account]).rows.first.map(Self.profile) }
    }

    package func account(matching info: LookupInfo, containerIdentifier: String) async throws -> Int64? {
        try await reading { connection in
            switch info {
            case .emailAddress(let address):
                try connection.value("SELECT account FROM accounts WHERE email = $1", [address.lowercased()])
            case .phoneNumber(let number):
                try connection.value("SELECT account FROM accounts WHERE phone = $1", [number])
            case .userRecordName(let name):
                try connection.value("SELECT account FROM user_names WHERE container = $1 AND name = $2", [containerIdentifier, name])
            }
        }
    }

    // MARK: API tokens

    static let apiTokenColumns = "SELECT token, container, environment, label, callback, origins, expires FROM api_tokens"

    static func apiToken(_ row: PostgresRow) -> APIToken {
        let origins: String = row[5]
        return APIToken(
            id: row[0], containerIdentifier: row[1], environment: CloudEnvironment(rawValue: row[2]) ?? .development,
            label: row[3], callbackURL: row[4], allowedOrigins: origins.split(separator: " ").map(String.init), expires: row[6])
    }

    package func apiToken(_ token: String) async throws -> APIToken? {
        let hash = Secrets.hash(token)
        return try await reading { try $0.query(Self.apiTokenColumns + " WHERE token_hash = $1", [hash]).rows.first.map(Self.apiToken) }
    }

    package func apiToken(id: Int64) async throws -> APIToken? {
        try await reading { try $0.query(Self.apiTokenColumns + " WHERE token = $1", [id]).rows.first.map(Self.apiToken) }
    }

    // MARK: Web sessions

    static func deviceID(of credential: CredentialReference?) -> String? {
        guard case .device(_, let device)? = credential else { return nil }
        return device
    }

    package func startSession(_ session: WebSession, id: [UInt8], now: Int64) async throws {
        let hash = sha256(id)
        try await writing { connection in
            try connection.send(
                """
                INSERT INTO web_sessions (id_hash, account, container, environment, kept, started, device) VALUES ($1, $2, $3, $4, $5, $6, $7)
                """,
                [
                    hash, session.account, session.use.text, session.environment.rawValue, session.isKept, session.started,
                    Self.deviceID(of: session.device),
                ])
            let ended = try connection.query(
                """
                DELETE FROM web_sessions WHERE account = $1 AND device IS NOT DISTINCT FROM $2 AND container = $3 AND id_hash NOT IN (
                    SELECT id_hash FROM web_sessions WHERE account = $1 AND device IS NOT DISTINCT FROM $2 AND container = $3
                    ORDER BY started DESC, id_hash LIMIT $4)
                """, [session.account, Self.deviceID(of: session.device), session.use.text, WebSession.countMax]
            ).count
            if ended > 0 { try connection.countRevocation() }
        }
    }

    private static let liveSession = """
        FROM web_sessions s WHERE id_hash = $1 AND (device IS NULL OR EXISTS (
            SELECT 1 FROM devices d WHERE d.account = s.account AND d.device = s.device AND (d.expires IS NULL OR d.expires > $2)))
        """

    package func session(id: [UInt8], now: Int64) async throws -> WebSession? {
        let hash = sha256(id)
        return try await reading { connection in
            try connection.query("SELECT account, container, environment, kept, started, device \(Self.liveSession)", [hash, now]).rows
                .first.map { row in
                    let account: Int64 = row[0]
                    let device: String? = row[5]
                    return WebSession(
                        account: account, use: SessionUse(row[1]), environment: CloudEnvironment(rawValue: row[2]) ?? .development,
                        isKept: row[3], started: row[4], device: device.map { .device(account: account, deviceID: $0) })
                }
        }
    }

    package func endSession(id: [UInt8]) async throws {
        let hash = sha256(id)
        try await writing { connection in
            try connection.send("DELETE FROM web_sessions WHERE id_hash = $1", [hash])
            try connection.countRevocation()
        }
    }

    package func isInForce(_ credential: CredentialReference, now: Int64) async throws -> Bool {
        try await reading { connection in
            let found =
                switch credential {
                case .device(let account, let device):
                    try connection.query(
                        "SELECT 1 FROM devices WHERE account = $1 AND device = $2 AND (expires IS NULL OR expires > $3)",
                        [account, device, now])
                case .session(let idHash): try connection.query("SELECT 1 \(Self.liveSession)", [Array(idHash), now])
                case .serverKey(let id):
                    try connection.query("SELECT 1 FROM server_keys WHERE id = $1 AND (expires IS NULL OR expires > $2)", [id, now])
                }
            return !found.rows.isEmpty
        }
    }

    package func store(_ uses: [CredentialReference: CredentialUse]) async throws {
        try await writing { connection in
            for (credential, use) in uses {
                switch credential {
                case .device(let account, let device):
                    try connection.send(
                        "UPDATE devices SET last_used = $1, network = $2, platform = $3 WHERE account = $4 AND device = $5",
                        [use.time, use.network, use.platform, account, device])
                case .session(let idHash):
                    try connection.send(
                        "UPDATE web_sessions SET last_used = $1, network = $2, platform = $3 WHERE id_hash = $4",
                        [use.time, use.network, use.platform, Array(idHash)])
                case .serverKey: break
                }
            }
        }
    }

    // MARK: Server-to-server keys

    static let serverKeyColumns = "SELECT id, container, environment, name, public_key, expires, label FROM server_keys"

    static func serverKey(_ row: PostgresRow) -> ServerKey {
        ServerKey(
            id: row[0], containerIdentifier: row[1], environment: CloudEnvironment(rawValue: row[2]) ?? .development,
            userRecordName: row[3], publicKey: row[4], expires: row[5])
    }

    package func serverKey(id: String) async throws -> ServerKey? {
        try await reading { try $0.query(Self.serverKeyColumns + " WHERE id = $1", [id]).rows.first.map(Self.serverKey) }
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
        try await writing { connection in
            try connection.query("INSERT INTO used_marks (mark, until) VALUES ($1, $2) ON CONFLICT DO NOTHING", [mark, time]).count > 0
        }
    }

    // MARK: Second factors

    /// Milliseconds in which a secret has to be confirmed: it was shown on a page.
    private static let setupMilliseconds: Int64 = 3_600_000

    package func secondFactor(ofAccount account: Int64) async throws -> SecondFactorState? {
        try await reading { connection in
            let since: Int64? = try connection.value(
                "SELECT confirmed FROM second_factors WHERE account = $1 AND confirmed IS NOT NULL", [account])
            let codes: Int? = try connection.value("SELECT count(*) FROM recovery_codes WHERE account = $1", [account])
            return since.map { SecondFactorState(since: $0, recoveryCodes: codes ?? 0) }
        }
    }

    package func passwordVersion(ofAccount account: Int64) async throws -> [UInt8] {
        try await reading { connection in
            try connection.query("SELECT salt, password FROM accounts WHERE account = $1 AND password IS NOT NULL", [account]).rows.first
                .map { PasswordHash.version(salt: Data($0[0] as [UInt8]), hash: Data($0[1] as [UInt8])) } ?? []
        }
    }

    package func beginSecondFactor(ofAccount account: Int64, now: Int64) async throws -> [UInt8] {
        let secret = Secrets.bytes(TimeCode.secretBytes)
        try await writing { connection in
            let changed = try connection.query(
                """
                INSERT INTO second_factors (account, secret, began) VALUES ($1, $2, $3)
                ON CONFLICT (account) DO UPDATE SET secret = excluded.secret, began = excluded.began WHERE second_factors.confirmed IS NULL
                """, [account, secret, now])
            guard changed.count > 0 else { throw StorageFailure(.nameTaken, "the account has a second factor already") }
        }
        return secret
    }

    package func confirmSecondFactor(ofAccount account: Int64, code: String, now: Int64) async throws -> [String]? {
        let secret: [UInt8]? = try await reading {
            try $0.value(
                "SELECT secret FROM second_factors WHERE account = $1 AND confirmed IS NULL AND began > $2",
                [account, now - Self.setupMilliseconds])
        }
        guard let secret, let step = TimeCode.step(of: SecondFactorText.normalized(code), secret: secret, now: now, after: 0) else {
            return nil
        }
        let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode.make() }
        return try await writing { connection in
            let changed = try connection.query(
                "UPDATE second_factors SET confirmed = $1, last_step = $2 WHERE account = $3 AND confirmed IS NULL AND secret = $4",
                [now, step, account, secret])
            guard changed.count > 0 else { return nil }
            try connection.send("DELETE FROM recovery_codes WHERE account = $1", [account])
            for code in codes {
                let hash = RecoveryCode.hash(code).map { [UInt8]($0) }
                try connection.send("INSERT INTO recovery_codes (account, code_hash) VALUES ($1, $2)", [account, hash])
            }
            return codes
        }
    }

    package func useSecondFactor(_ code: String, ofAccount account: Int64, now: Int64) async throws -> Bool {
        let found = try await reading { connection in
            try connection.query(
                "SELECT secret, last_step FROM second_factors WHERE account = $1 AND confirmed IS NOT NULL", [account]
            ).rows.first.map { row -> (secret: [UInt8], last: Int64) in (row[0], row[1]) }
        }
        guard let found else { return false }
        if let step = TimeCode.step(of: SecondFactorText.normalized(code), secret: found.secret, now: now, after: found.last) {
            // Of two that send one code at the same time, one is accepted.
            return try await writing { connection in
                try connection.query(
                    "UPDATE second_factors SET last_step = $1 WHERE account = $2 AND last_step < $1 AND secret = $3",
                    [step, account, found.secret]
                ).count > 0
            }
        }
        guard let hash = RecoveryCode.hash(code).map({ [UInt8]($0) }) else { return false }
        return try await writing {
            try $0.query("DELETE FROM recovery_codes WHERE account = $1 AND code_hash = $2", [account, hash]).count > 0
        }
    }

    package func removeSecondFactor(ofUser name: String) async throws {
        try await writing { connection in
            let account = try connection.requiredAccount(named: name)
            try connection.send("DELETE FROM recovery_codes WHERE account = $1", [account])
            guard try connection.query("DELETE FROM second_factors WHERE account = $1", [account]).count > 0 else {
                throw StorageFailure(.unknownName, "the user has no second factor")
            }
        }
    }

    // MARK: Identities

    private static let identityAccount = "SELECT account FROM identities WHERE issuer = $1 AND subject = $2"

    package func account(ofIdentity identity: Identity) async throws -> Int64? {
        try await reading { try $0.value(Self.identityAccount, [identity.issuer, identity.subject]) }
    }

    private static func insert(_ identity: Identity, account: Int64, now: Int64, _ connection: PostgresConnection) throws {
        try connection.send(
            "INSERT INTO identities (issuer, subject, account, created) VALUES ($1, $2, $3, $4)",
            [identity.issuer, identity.subject, account, now])
    }

    package func addIdentity(_ identity: Identity, ofUser name: String, now: Int64) async throws {
        try await writing { connection in
            let account = try connection.requiredAccount(named: name)
            guard try connection.query(Self.identityAccount, [identity.issuer, identity.subject]).rows.isEmpty else {
                throw StorageFailure(.nameTaken, "the identity signs in to an account already")
            }
            try Self.insert(identity, account: account, now: now, connection)
        }
    }

    package func removeIdentity(_ identity: Identity, ofUser name: String) async throws {
        try await writing { connection in
            let account = try connection.requiredAccount(named: name)
            let removed = try connection.query(
                "DELETE FROM identities WHERE issuer = $1 AND subject = $2 AND account = $3", [identity.issuer, identity.subject, account])
            guard removed.count > 0 else { throw StorageFailure(.unknownName, "the user has no such identity") }
            try connection.send("DELETE FROM web_sessions WHERE account = $1", [account])
            try connection.countRevocation()
        }
    }

    package func identities(ofUser name: String) async throws -> [Identity] {
        try await reading { connection in
            let account = try connection.requiredAccount(named: name)
            return try connection.identities(of: account)
        }
    }

    package func addAccount(ofIdentity identity: Identity, names: [String], now: Int64) async throws -> Int64 {
        try await writing { connection in
            if let account: Int64 = try connection.value(Self.identityAccount, [identity.issuer, identity.subject]) { return account }
            guard let name = try names.first(where: { try connection.account(named: $0) == nil }) else {
                throw StorageFailure(.nameTaken, "a user of this name is there already")
            }
            let account = try connection.makeAccount(named: name, now: now)
            try Self.insert(identity, account: account, now: now, connection)
            return account
        }
    }
}

extension PostgresConnection {
    func identities(of account: Int64) throws -> [Identity] {
        try query("SELECT issuer, subject FROM identities WHERE account = $1 ORDER BY created, issuer, subject", [account]).rows.map {
            Identity(issuer: $0[0], subject: $0[1])
        }
    }
}
