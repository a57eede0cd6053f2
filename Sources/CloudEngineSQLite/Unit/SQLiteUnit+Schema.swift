// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire
import GRDB

extension SQLiteUnit {
    /// The schema belongs to the container and environment, not to the partition. Adding to it is idempotent, so two
    /// partitions that learn the same field concurrently agree.
    func learn(_ fields: [String: FieldSchema], ofType recordType: String) throws {
        let (container, environment) = (partition.containerIdentifier, partition.environment.rawValue)
        try run(
            "INSERT OR IGNORE INTO schema_types (container, environment, type) VALUES (?, ?, ?)",
            [container, environment, recordType])
        for (name, field) in fields {
            try run(
                """
                INSERT OR IGNORE INTO schema_fields (container, environment, type, field, holds, encrypted, indexes)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """, [container, environment, recordType, name, field.type, field.isEncrypted, field.indexes.rawValue])
        }
    }

    func save(_ schema: RecordTypeSchema?, ofType recordType: String) throws {
        let key: Arguments = [partition.containerIdentifier, partition.environment.rawValue, recordType]
        try run("DELETE FROM schema_fields WHERE container = ? AND environment = ? AND type = ?", key)
        guard let schema else {
            try run("DELETE FROM schema_types WHERE container = ? AND environment = ? AND type = ?", key)
            return
        }
        var fields = schema.fields
        for (system, indexes) in schema.systemIndexes where !indexes.isEmpty {
            fields[system.internalName] = FieldSchema(type: system.type, isEncrypted: false, indexes: indexes)
        }
        try learn(fields, ofType: recordType)
    }

    func recordTypes() throws -> [String] {
        try rows(
            "SELECT type FROM schema_types WHERE container = ? AND environment = ? ORDER BY type",
            [partition.containerIdentifier, partition.environment.rawValue]
        ).map { $0[0] }
    }

    func forgetGrants(ofType recordType: String) throws {
        try run(
            "DELETE FROM grants WHERE container = ? AND environment = ? AND type = ?",
            [partition.containerIdentifier, partition.environment.rawValue, recordType])
    }
}

extension SQLiteServerStore {
    package func partitions(
        containerIdentifier: String, environment: CloudEnvironment
    ) async throws -> [Partition] {
        try await reading { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT scope, owner FROM partitions WHERE container = ? AND environment = ? ORDER BY part",
                arguments: [containerIdentifier, environment.rawValue])
            return try rows.map { row in
                guard let scope = DatabaseScope(rawValue: row[0]) else {
                    throw StorageFailure(.corrupt, "a partition is of a database that never was")
                }
                return Partition(containerIdentifier: containerIdentifier, environment: environment, scope: scope, owner: row[1])
            }
        }
    }

    /// Files of assets go as soon as they are old enough, since nothing refers to them any more.
    package func erase(containerIdentifier: String, environment: CloudEnvironment) async throws {
        try await writing { db in
            let parts = "part IN (SELECT part FROM partitions WHERE container = ? AND environment = ?)"
            let key: StatementArguments = [containerIdentifier, environment.rawValue]
            for table in [
                "index_entries", "record_indexes", "record_references", "public_subscriptions", "records", "zones", "subscriptions",
                "uploads", "asset_links", "answers", "record_versions", "kept_assets", "client_tokens",
                "change_log", "change_log_days",
            ] {
                try db.execute(sql: "DELETE FROM \(table) WHERE \(parts)", arguments: key)
            }
            try db.execute(
                sql:
                    "UPDATE partitions SET epoch = epoch + 1, floor = 0, record_bytes = 0, asset_bytes = 0 WHERE container = ? AND environment = ?",
                arguments: key)
        }
        staged.removeAll()
    }
}
