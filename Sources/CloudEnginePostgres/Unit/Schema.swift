// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import CloudWire

/// The tables of record types and their fields. They belong to a container and environment and are small, so that distributed
/// databases keep a copy on each node.
enum SchemaRows {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS schema_types (
            container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
            PRIMARY KEY (container, environment, type))
        """,
        """
        CREATE TABLE IF NOT EXISTS schema_fields (
            container text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL,
            field text COLLATE "C" NOT NULL, holds text COLLATE "C" NOT NULL, encrypted boolean NOT NULL, indexes bigint NOT NULL,
            PRIMARY KEY (container, environment, type, field))
        """,
    ]
}

extension PostgresUnit {
    var place: PostgresValues { [partition.containerIdentifier, partition.environment.rawValue] }

    func schema(ofType recordType: String) throws -> RecordTypeSchema? {
        // No type has such a name, and the engine rejects the request's item alone.
        guard !recordType.utf8.contains(0) else { return nil }
        // A type without fields is one row without a field.
        let rows = try rows(
            """
            SELECT f.field, f.holds, f.encrypted, f.indexes FROM schema_types t
            LEFT JOIN schema_fields f ON f.container = t.container AND f.environment = t.environment AND f.type = t.type
            WHERE t.container = $1 AND t.environment = $2 AND t.type = $3
            """, place + [recordType], from: .schema, isRepeated: true)
        guard !rows.isEmpty else { return nil }
        var schema = RecordTypeSchema()
        for row in rows {
            guard let name: String = row[0] else { continue }
            let indexes = FieldIndexes(rawValue: row[3])
            schema.add(name, indexes: indexes, FieldSchema(type: row[1], isEncrypted: row[2], indexes: indexes))
        }
        return schema
    }

    func recordTypes() throws -> [String] {
        try rows("SELECT type FROM schema_types WHERE container = $1 AND environment = $2 ORDER BY type", place, from: .schema).map {
            $0[0]
        }
    }

    /// Adding is idempotent, so two partitions that learn the same field concurrently converge. Rows are locked in the order of their
    /// names, by the last unit of a transaction, so of two units that learn several, one waits for the other, and never both.
    func learn(_ fields: [String: FieldSchema], ofType recordType: String) throws {
        try run(
            "INSERT INTO schema_types (container, environment, type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", place + [recordType],
            changing: .schema)
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            try run(
                """
                INSERT INTO schema_fields (container, environment, type, field, holds, encrypted, indexes)
                VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
                """, place + [recordType, name, field.type, field.isEncrypted, field.indexes.rawValue], changing: .schema)
        }
    }

    func save(_ schema: RecordTypeSchema?, ofType recordType: String) throws {
        try run(
            "DELETE FROM schema_fields WHERE container = $1 AND environment = $2 AND type = $3", place + [recordType], changing: .schema)
        guard let schema else {
            return try run(
                "DELETE FROM schema_types WHERE container = $1 AND environment = $2 AND type = $3", place + [recordType], changing: .schema)
        }
        var fields = schema.fields
        for (system, indexes) in schema.systemIndexes where !indexes.isEmpty {
            fields[system.internalName] = FieldSchema(type: system.type, isEncrypted: false, indexes: indexes)
        }
        try learn(fields, ofType: recordType)
    }
}
