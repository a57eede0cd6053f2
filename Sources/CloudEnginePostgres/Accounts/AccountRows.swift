// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
package import CloudWire
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// The tables of the server as a whole: accounts, credentials and the audit log. They are small and outside of partitions.
enum AccountRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS accounts (
            account bigint NOT NULL PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, created bigint NOT NULL, salt bytea, password bytea,
            rounds bigint, block_size bigint NOT NULL DEFAULT 8, parallelism bigint NOT NULL DEFAULT 1, given_name text COLLATE "C",
            family_name text COLLATE "C", email text COLLATE "C", phone text COLLATE "C", discoverable boolean NOT NULL DEFAULT false,
            operator boolean NOT NULL DEFAULT false, quota bigint)
        """,
        "CREATE UNIQUE INDEX IF NOT EXISTS accounts_email ON accounts (email) WHERE email IS NOT NULL",
        "CREATE UNIQUE INDEX IF NOT EXISTS accounts_phone ON accounts (phone) WHERE phone IS NOT NULL",
        """
        CREATE TABLE IF NOT EXISTS devices (
            token_hash bytea NOT NULL PRIMARY KEY, account bigint NOT NULL, device text COLLATE "C" NOT NULL, label text COLLATE "C" NOT NULL,
            created bigint NOT NULL, expires bigint, last_used bigint, network text COLLATE "C", platform text COLLATE "C")
        """,
        "CREATE INDEX IF NOT EXISTS devices_device ON devices (account, device)",
        """
        CREATE TABLE IF NOT EXISTS user_names (
            container text COLLATE "C" NOT NULL, account bigint NOT NULL, name text COLLATE "C" NOT NULL,
            PRIMARY KEY (container, account), UNIQUE (container, name))
        """,
        """
        CREATE TABLE IF NOT EXISTS api_tokens (
            token bigint NOT NULL PRIMARY KEY, token_hash bytea NOT NULL UNIQUE, container text COLLATE "C" NOT NULL,
            environment text COLLATE "C" NOT NULL, label text COLLATE "C" NOT NULL, callback text COLLATE "C",
            origins text COLLATE "C" NOT NULL, created bigint NOT NULL, expires bigint)
        """,
        """
        CREATE TABLE IF NOT EXISTS web_sessions (
            id_hash bytea NOT NULL PRIMARY KEY, account bigint NOT NULL, container text COLLATE "C" NOT NULL,
            environment text COLLATE "C" NOT NULL, kept boolean NOT NULL, started bigint NOT NULL, device text COLLATE "C",
            last_used bigint, network text COLLATE "C", platform text COLLATE "C")
        """,
        "CREATE INDEX IF NOT EXISTS web_sessions_account ON web_sessions (account, device)",
        """
        CREATE TABLE IF NOT EXISTS server_keys (
            id text COLLATE "C" NOT NULL PRIMARY KEY, container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL,
            name text COLLATE "C" NOT NULL, public_key bytea NOT NULL, label text COLLATE "C" NOT NULL, created bigint NOT NULL, expires bigint)
        """,
        "CREATE TABLE IF NOT EXISTS used_marks (mark bytea NOT NULL PRIMARY KEY, until bigint NOT NULL)",
        """
        CREATE TABLE IF NOT EXISTS second_factors (
            account bigint NOT NULL PRIMARY KEY, secret bytea NOT NULL, began bigint NOT NULL, confirmed bigint,
            last_step bigint NOT NULL DEFAULT 0)
        """,
        """
        CREATE TABLE IF NOT EXISTS recovery_codes (account bigint NOT NULL, code_hash bytea NOT NULL, PRIMARY KEY (account, code_hash))
        """,
        """
        CREATE TABLE IF NOT EXISTS identities (
            issuer text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, account bigint NOT NULL, created bigint NOT NULL,
            PRIMARY KEY (issuer, subject))
        """,
        "CREATE INDEX IF NOT EXISTS identities_account ON identities (account)",
        """
        CREATE TABLE IF NOT EXISTS restrictions (
            container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL, user_name text COLLATE "C" NOT NULL,
            since bigint NOT NULL, PRIMARY KEY (container, environment, user_name))
        """,
        """
        CREATE TABLE IF NOT EXISTS audit (
            number bigint NOT NULL PRIMARY KEY, time bigint NOT NULL, actor text COLLATE "C" NOT NULL, network text COLLATE "C" NOT NULL,
            action text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, outcome text COLLATE "C" NOT NULL)
        """,
    ]

    /// Finds an account that is not being removed.
    static let exists = "SELECT 1 FROM accounts WHERE account = $1 AND NOT EXISTS (SELECT 1 FROM meta WHERE key = $2)"

    static func removalKey(_ account: Int64) -> String { "removal.\(account)" }
}

extension PostgresConnection {
    /// The first column of the first row.
    func value<Value: PostgresStorable>(_ sql: String, _ values: PostgresValues = []) throws -> Value? {
        try query(sql, values).rows.first.map { $0[0] }
    }

    /// The next number of a counter. Its row is locked until the end of the transaction.
    func next(_ counter: String) throws -> Int64 {
        let number: Int64? = try value(
            "INSERT INTO counters (name, value) VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value",
            [counter])
        guard let number else { throw StorageFailure(.corrupt, "a counter has no value") }
        return number
    }

    static let revocations = "revocations"

    /// Called in the transaction of each revocation: other processes find out by the count.
    func countRevocation() throws { _ = try next(Self.revocations) }

    func account(named name: String) throws -> Int64? { try value("SELECT account FROM accounts WHERE name = $1", [name]) }

    /// - Throws: `StorageFailure.unknownUser`.
    func requiredAccount(named name: String) throws -> Int64 {
        guard let account = try account(named: name) else { throw StorageFailure.unknownUser }
        guard try !query(AccountRows.exists, [account, AccountRows.removalKey(account)]).rows.isEmpty else {
            throw StorageFailure(.unknownName, "the user is being removed")
        }
        return account
    }

    func append(_ event: AuditEvent) throws {
        let number = try next("audit")
        try send(
            "INSERT INTO audit (number, time, actor, network, action, subject, outcome) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            [number, event.time, event.actor, event.network, event.action, event.subject, event.outcome.rawValue])
    }

    /// Makes an account with a random number: no sequence gives it, and no number is given twice.
    func makeAccount(named name: String, now: Int64) throws -> Int64 {
        let account = Int64.random(in: 1...(1 << 53))
        try send("INSERT INTO accounts (account, name, created) VALUES ($1, $2, $3)", [account, name, now])
        return account
    }
}

extension PostgresServerStore {

    package func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: Data(bytes))) }
}

extension PostgresServerStore: AccountStorage {
    package func device(forToken token: String, now: Int64) async throws -> DeviceIdentity? {
        let hash = Secrets.hash(token)
        return try await reading { connection in
            try connection.query(
                "SELECT account, device FROM devices WHERE token_hash = $1 AND (expires IS NULL OR expires > $2)", [hash, now]
            ).rows.first.map { DeviceIdentity(account: $0[0], deviceID: $0[1]) }
        }
    }

    private static let userNamesKeptMax = 10_000

    package func userRecordName(
        account: Int64, containerIdentifier: String, proposal: @autoclosure @Sendable () -> String
    ) async throws -> String {
        let key = "\(account) \(containerIdentifier)"
        if let name = userNames.withLock({ $0[key] }) { return name }
        let sql = "SELECT name FROM user_names WHERE container = $1 AND account = $2"
        var name: String? = try await reading { try $0.value(sql, [containerIdentifier, account]) }
        if name == nil {
            let proposal = proposal()
            name = try await writing { connection in
                try connection.send(
                    "INSERT INTO user_names (container, account, name) VALUES ($1, $2, $3) ON CONFLICT (container, account) DO NOTHING",
                    [containerIdentifier, account, proposal])
                return try connection.value(sql, [containerIdentifier, account])
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

    package func containers(ofAccount account: Int64) async throws -> [String] {
        try await reading { try $0.userRecordNames(of: account).keys.sorted() }
    }

    package func revocationCount() async throws -> Int64 {
        let count: Int64 = try await reading {
            try $0.value("SELECT value FROM counters WHERE name = $1", [PostgresConnection.revocations]) ?? 0
        }
        if valuesSeen.withLock({ $0 != count }) {
            try await reloadServerValues()
            // After they were read: a failure is tried again with the next call.
            valuesSeen.withLock { $0 = count }
        }
        return count
    }

    // MARK: Restrictions

    /// How long another process's restriction may be unknown here.
    private static let restrictionsKept = Duration.seconds(1)

    package func isRestricted(
        user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment
    ) async throws -> Bool {
        let restriction = Restriction(containerIdentifier: containerIdentifier, environment: environment, user: userRecordName)
        if let known = restrictions.withLock({ $0 }), let restricted = known.restricted, .now - known.read < Self.restrictionsKept {
            return restricted.contains(restriction)
        }
        let read = ContinuousClock.now
        let stored = try await reading { connection in
            try connection.query("SELECT container, environment, user_name FROM restrictions").rows.compactMap { row in
                CloudEnvironment(rawValue: row[1]).map { Restriction(containerIdentifier: row[0], environment: $0, user: row[2]) }
            }
        }
        restrictions.withLock { known in
            // One that was read later stays.
            if known.map({ $0.read < read }) ?? true { known = RestrictionMemory(restricted: Set(stored), read: read) }
        }
        return stored.contains(restriction)
    }

    package func setRestricted(
        _ isRestricted: Bool, user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment, now: Int64
    ) async throws {
        let key: PostgresValues = [containerIdentifier, environment.rawValue, userRecordName]
        try await writing { connection in
            guard isRestricted else {
                return try connection.send("DELETE FROM restrictions WHERE container = $1 AND environment = $2 AND user_name = $3", key)
            }
            try connection.send(
                "INSERT INTO restrictions (container, environment, user_name, since) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                key + [now])
        }
        // A read in flight began before the commit, and is not stored over this.
        restrictions.withLock { $0 = RestrictionMemory(restricted: nil, read: .now) }
        _ = try await self.isRestricted(user: userRecordName, containerIdentifier: containerIdentifier, environment: environment)
    }

    // MARK: Audit

    package func append(_ event: AuditEvent) async throws {
        try await writing { try $0.append(event) }
    }

    package func auditEvents(before number: Int64?, limit: Int) async throws -> [(number: Int64, event: AuditEvent)] {
        try await reading { connection in
            try connection.query(
                """
                SELECT time, actor, network, action, subject, outcome, number FROM audit WHERE number < $1 ORDER BY number DESC LIMIT $2
                """, [number ?? .max, limit]
            ).rows.map { (number: $0[6], event: Self.auditEvent($0)) }
        }
    }

    /// - Parameter row: Begins with time, actor, network, action, subject and outcome.
    static func auditEvent(_ row: PostgresRow) -> AuditEvent {
        AuditEvent(
            time: row[0], actorText: row[1], network: row[2], action: row[3], subject: row[4],
            outcome: AuditEvent.Outcome(rawValue: row[5]) ?? .done)
    }

    package func removeAuditEvents(before time: Int64) async throws {
        try await remove(from: "audit", key: "number", where: "time", before: time)
    }

    func removeExpiredCredentials(now: Int64) async throws {
        let sessionStart = now - Int64(Limits().webSessionSeconds) * 1000
        try await remove(from: "used_marks", key: "mark", where: "until", before: now)
        try await remove(from: "web_sessions", key: "id_hash", where: "started", before: sessionStart)
    }
}

struct Restriction: Hashable, Sendable {
    var containerIdentifier: String
    var environment: CloudEnvironment
    var user: String
}

/// All restrictions, and when they were read.
struct RestrictionMemory: Sendable {
    /// Nil if they changed at that time.
    var restricted: Set<Restriction>?
    var read: ContinuousClock.Instant
}
