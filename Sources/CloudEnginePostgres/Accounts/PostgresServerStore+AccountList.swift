// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudStorageSupport
import CloudWire

extension PostgresServerStore {
    package func profiles(named prefix: String, _ cursor: AccountCursor, limit: Int) async throws -> [AccountProfile] {
        let (condition, low, high): (String, String, String) =
            switch cursor.within(prefix) {
            case .start: (" WHERE name >= $1 AND name < $2 ORDER BY name LIMIT $3", prefix, AccountCursor.end(of: prefix))
            case .after(let name): (" WHERE name > $1 AND name < $2 ORDER BY name LIMIT $3", name, AccountCursor.end(of: prefix))
            case .before(let name): (" WHERE name >= $1 AND name < $2 ORDER BY name DESC LIMIT $3", prefix, name)
            }
        let profiles = try await reading { try $0.query(Self.profileColumns + condition, [low, high, limit]).rows.map(Self.profile) }
        return if case .before = cursor.within(prefix) { profiles.reversed() } else { profiles }
    }

    package func users(named names: [String]) async throws -> [Account] {
        try await reading { connection in
            let rows = try connection.query(
                """
                SELECT a.name, d.label FROM accounts a LEFT JOIN devices d ON d.account = a.account WHERE a.name = ANY ($1)
                ORDER BY a.name, d.created, d.label
                """, PostgresValues.texts(names)
            ).rows
            var users: [Account] = []
            for row in rows { users.add(name: row[0], deviceLabel: row[1]) }
            return users
        }
    }

    package func usage(ofUsers names: [String]) async throws -> [DatabaseUsage] {
        try await reading { connection in
            // No index has the record names of an account in all containers.
            var containers: [String] = []
            while let next: String = try connection.value(
                "SELECT min(container) FROM user_names WHERE container > $1", [containers.last ?? ""]), !next.isEmpty
            {
                containers.append(next)
            }
            return try connection.query(
                """
                SELECT a.name, p.container, p.environment, p.record_bytes, p.asset_bytes, a.quota FROM accounts a
                JOIN user_names n ON n.account = a.account
                JOIN partitions p ON p.container = n.container AND p.scope = 'private' AND p.owner = n.name
                WHERE a.name = ANY ($1) AND n.container = ANY ($2) AND p.environment = ANY ($3) AND p.record_bytes + p.asset_bytes > 0
                ORDER BY a.name, p.container, p.environment
                """,
                PostgresValues([.texts(names), .texts(containers), .texts(CloudEnvironment.allCases.map(\.rawValue))])
            ).rows.compactMap { row in
                CloudEnvironment(rawValue: row[2]).map {
                    DatabaseUsage(
                        userName: row[0], containerIdentifier: row[1], environment: $0,
                        usage: StoredBytes(records: row[3], assets: row[4]), quota: row[5])
                }
            }
        }
    }
}
