// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService

/// The tables of wrong passwords and codes, and of networks from which owners signed in. They have hashes of names and networks.
enum AttemptRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS password_attempts (
            key bigint NOT NULL PRIMARY KEY, failed bigint NOT NULL, until bigint NOT NULL, last bigint NOT NULL)
        """,
        "CREATE INDEX IF NOT EXISTS password_attempts_last ON password_attempts (last)",
        "CREATE TABLE IF NOT EXISTS password_networks (key bigint NOT NULL PRIMARY KEY, at bigint NOT NULL)",
        "CREATE INDEX IF NOT EXISTS password_networks_at ON password_networks (at)",
    ]

    /// Rows in the order of their keys, so that two processes do not wait for each other. A missing row is made, since only rows can be locked.
    fileprivate static let make = """
        INSERT INTO password_attempts (key, failed, until, last)
        SELECT k::bigint, 0, 0, $2 FROM unnest($1::text[]) AS t (k) ORDER BY 1 ON CONFLICT (key) DO NOTHING
        """
    fileprivate static let read = """
        SELECT key, failed, until, last FROM password_attempts WHERE key = ANY ($1::text[]::bigint[])
        """
    fileprivate static let lock = """
        SELECT key, failed, until, last FROM password_attempts WHERE key = ANY ($1::text[]::bigint[]) ORDER BY key FOR UPDATE
        """
    fileprivate static let store = """
        INSERT INTO password_attempts (key, failed, until, last) VALUES ($1, $2, $3, $4)
        ON CONFLICT (key) DO UPDATE SET failed = excluded.failed, until = excluded.until, last = excluded.last
        """
    fileprivate static let isKnown = "SELECT 1 FROM password_networks WHERE key = $1 AND at >= $2"
    fileprivate static let storeNetwork = """
        INSERT INTO password_networks (key, at) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET at = excluded.at
        """
    /// How long an owner's network is remembered, in milliseconds: 30 days.
    fileprivate static let networkMilliseconds: Int64 = 30 * 24 * 60 * 60 * 1000
}

extension PostgresServerStore: AttemptStorage {
    package func changeAttempts<Value: Sendable>(
        _ keys: [String], networkKey: String, now: Int64,
        _ body: @escaping @Sendable (inout [String: AttemptCount], _ isKnown: Bool) throws -> Value
    ) async throws -> Value {
        let texts = Dictionary(keys.map { (PartitionKey.number(of: $0), $0) }, uniquingKeysWith: { first, _ in first })
        let numbers = PostgresValues.texts(texts.keys.sorted().map(String.init))
        let network = PartitionKey.number(of: networkKey)
        return try await writing { connection in
            let results = try connection.queries([
                (AttemptRows.read, numbers), (AttemptRows.isKnown, [network, now - AttemptRows.networkMilliseconds]),
            ])
            let isKnown = !results[1].rows.isEmpty
            // An attempt that has to wait locks and writes nothing.
            var present = Self.counts(results[0].rows, texts)
            _ = try body(&present, isKnown)
            try connection.send(AttemptRows.make, numbers + [now])
            let rows = try connection.query(AttemptRows.lock, numbers).rows
            var counts = Self.counts(rows, texts)
            let value = try body(&counts, isKnown)
            // Rows are removed when they are old, and not with their last count: a concurrent attempt waits for the row's lock.
            for (number, text) in texts.sorted(by: { $0.key < $1.key }) {
                let count = counts[text] ?? AttemptCount(last: now)
                try connection.send(AttemptRows.store, [number, count.failed, count.until, count.last])
            }
            return value
        }
    }

    private static func counts(_ rows: [PostgresRow], _ texts: [Int64: String]) -> [String: AttemptCount] {
        var counts: [String: AttemptCount] = [:]
        for row in rows where row[1] as Int > 0 {
            if let text = texts[row[0]] { counts[text] = AttemptCount(failed: row[1], until: row[2], last: row[3]) }
        }
        return counts
    }

    package func storeNetwork(_ networkKey: String, now: Int64) async throws {
        let network = PartitionKey.number(of: networkKey)
        try await writing { try $0.send(AttemptRows.storeNetwork, [network, now]) }
    }

    /// Removes counts that delay no attempt any more, and networks that owners left.
    func removeOldAttempts(now: Int64) async throws {
        try await remove(from: "password_attempts", key: "key", where: "last", before: now - AttemptCount.memory)
        try await remove(from: "password_networks", key: "key", where: "at", before: now - AttemptRows.networkMilliseconds)
    }
}
