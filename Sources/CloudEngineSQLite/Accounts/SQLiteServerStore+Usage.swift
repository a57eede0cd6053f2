// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudWire
import GRDB

extension SQLiteServerStore {
    package func setQuota(_ bytes: Int64?, ofUser name: String) async throws {
        try await writing { db in
            let account = try Self.requiredAccount(named: name, db)
            try db.execute(sql: "UPDATE accounts SET quota = ? WHERE account = ?", arguments: [bytes, account])
        }
    }

    package func quota(ofUser name: String) async throws -> Int64? {
        try await reading { try Int64.fetchOne($0, sql: "SELECT quota FROM accounts WHERE name = ?", arguments: [name]) }
    }

    package func usage() async throws -> [DatabaseUsage] {
        try await reading { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT a.name, p.container, p.environment, p.record_bytes, p.asset_bytes, a.quota FROM partitions p
                    LEFT JOIN user_names n ON n.container = p.container AND n.name = p.owner
                    LEFT JOIN accounts a ON a.account = n.account
                    WHERE p.record_bytes + p.asset_bytes > 0 ORDER BY a.name, p.container, p.environment
                    """)
            return rows.compactMap { row in
                CloudEnvironment(rawValue: row[2]).map {
                    DatabaseUsage(
                        userName: row[0], containerIdentifier: row[1], environment: $0,
                        usage: StoredBytes(records: row[3], assets: row[4]), quota: row[5])
                }
            }
        }
    }

    /// What all databases take together.
    package func totalUsage() async throws -> StoredBytes {
        try await reading { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT coalesce(sum(record_bytes), 0), coalesce(sum(asset_bytes), 0) FROM partitions")
            return row.map { StoredBytes(records: $0[0], assets: $0[1]) } ?? StoredBytes()
        }
    }
}
