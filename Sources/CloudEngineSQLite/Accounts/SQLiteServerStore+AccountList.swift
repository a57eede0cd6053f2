// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudWire
import GRDB

extension SQLiteServerStore {
    package func profiles(named prefix: String, _ cursor: AccountCursor, limit: Int) async throws -> [AccountProfile] {
        let (sql, low, high): (String, String, String) =
            switch cursor.within(prefix) {
            case .start:
                (
                    """
                    SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts
                    WHERE name >= ? AND name < ? ORDER BY name LIMIT ?
                    """, prefix, AccountCursor.end(of: prefix)
                )
            case .after(let name):
                (
                    """
                    SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts
                    WHERE name > ? AND name < ? ORDER BY name LIMIT ?
                    """, name, AccountCursor.end(of: prefix)
                )
            case .before(let name):
                (
                    """
                    SELECT name, given_name, family_name, email, phone, discoverable, operator FROM accounts
                    WHERE name >= ? AND name < ? ORDER BY name DESC LIMIT ?
                    """, prefix, name
                )
            }
        let profiles = try await reading { try Row.fetchAll($0, sql: sql, arguments: [low, high, limit]).map(Self.profile) }
        return if case .before = cursor.within(prefix) { profiles.reversed() } else { profiles }
    }

    package func users(named names: [String]) async throws -> [Account] {
        try await reading { db in
            var users: [Account] = []
            for name in names.sorted() {
                guard let account = try Self.account(named: name, db) else { continue }
                let labels = try String.fetchAll(
                    db, sql: "SELECT label FROM devices WHERE account = ? ORDER BY created, label", arguments: [account])
                users.append(Account(name: name, devices: labels))
            }
            return users
        }
    }

    package func usage(ofUsers names: [String]) async throws -> [DatabaseUsage] {
        try await reading { db in
            // No index has the record names of an account in all containers.
            var containers: [String] = []
            while let next = try String.fetchOne(
                db, sql: "SELECT min(container) FROM user_names WHERE container > ?", arguments: [containers.last ?? ""])
            {
                containers.append(next)
            }
            var lines: [DatabaseUsage] = []
            for name in names.sorted() {
                guard let row = try Row.fetchOne(db, sql: "SELECT account, quota FROM accounts WHERE name = ?", arguments: [name]) else {
                    continue
                }
                let (account, quota): (Int64, Int64?) = (row[0], row[1])
                for container in containers {
                    let owner = try String.fetchOne(
                        db, sql: "SELECT name FROM user_names WHERE container = ? AND account = ?", arguments: [container, account])
                    guard let owner else { continue }
                    for environment in CloudEnvironment.allCases {
                        guard let usage = try Self.usage(container, environment, owner: owner, db), usage.total > 0 else { continue }
                        lines.append(
                            DatabaseUsage(
                                userName: name, containerIdentifier: container, environment: environment, usage: usage, quota: quota))
                    }
                }
            }
            return lines
        }
    }

    private static func usage(
        _ container: String, _ environment: CloudEnvironment, owner: String, _ db: Database
    ) throws -> StoredBytes? {
        try Row.fetchOne(
            db,
            sql: "SELECT record_bytes, asset_bytes FROM partitions WHERE container = ? AND environment = ? AND scope = ? AND owner = ?",
            arguments: [container, environment.rawValue, DatabaseScope.private.rawValue, owner]
        ).map { StoredBytes(records: $0[0], assets: $0[1]) }
    }
}
