// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import GRDB

extension SQLiteUnit {
    /// The schema belongs to the container and environment, not to the partition. Adding to it is idempotent, so two
    /// partitions that learn the same field at once agree.
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
        let key: StatementArguments = [partition.containerIdentifier, partition.environment.rawValue, recordType]
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
}
