// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudWire
import GRDB

extension SQLiteServerStore {
    /// Databases and bytes of each container and environment. Reads one row for each database.
    package func containerUsage() async throws -> [ContainerUsage] {
        try await reading { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT container, environment, count(*), coalesce(sum(record_bytes), 0), coalesce(sum(asset_bytes), 0)
                    FROM partitions GROUP BY container, environment
                    """)
            return rows.compactMap { row in
                CloudEnvironment(rawValue: row[1]).map {
                    ContainerUsage(
                        containerIdentifier: row[0], environment: $0, databases: row[2], usage: StoredBytes(records: row[3], assets: row[4])
                    )
                }
            }
        }
    }
}
