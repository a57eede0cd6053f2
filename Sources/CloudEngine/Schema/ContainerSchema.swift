// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Record types, their fields, indexes and grants, and the roles of a container in one environment.
///
/// Source: Apple, *Integrating a Text-Based Schema into Your Workflow*.
package struct ContainerSchema: Hashable, Sendable {
    package struct RecordType: Hashable, Sendable {
        package var schema: RecordTypeSchema
        package var grants: SecurityGrants

        package init(schema: RecordTypeSchema = RecordTypeSchema(), grants: SecurityGrants = SecurityGrants(byRole: [:])) {
            self.schema = schema
            self.grants = grants
        }
    }

    /// Roles of the app's own.
    package var roles: Set<String>
    package var types: [String: RecordType]

    package init(roles: Set<String> = [], types: [String: RecordType] = [:]) {
        self.roles = roles
        self.types = types
    }

    /// The schema with the built-in type of users.
    package var completed: ContainerSchema {
        var schema = self
        var users = schema.types[UsersType.name] ?? RecordType(grants: .ofUsers)
        users.schema.fields[UsersType.rolesField] = FieldSchema(type: "INT64_LIST", isEncrypted: false, indexes: [])
        schema.types[UsersType.name] = users
        return schema
    }
}

/// Types of fields as the schema language names them.
enum SchemaWords {
    /// Every type with its word, longest words first where one begins with another.
    static let types: [(word: String, type: String)] = [
        ("ASSET", "ASSETID"), ("BYTES", "BYTES"), ("DOUBLE", "DOUBLE"), ("INT64", "INT64"), ("LOCATION", "LOCATION"),
        ("NUMBER", "NUMBER"), ("REFERENCE", "REFERENCE"), ("STRING", "STRING"), ("TIMESTAMP", "TIMESTAMP"),
    ]
    /// Types that support encryption.
    static let encryptable: Set<String> = ["BYTES", "DOUBLE", "INT64", "LOCATION", "STRING", "TIMESTAMP"]

    static let indexes: [(word: String, index: FieldIndexes)] = [
        ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
    ]
    static let permissions: [(word: String, permission: RolePermissions)] = [
        ("READ", .read), ("CREATE", .create), ("WRITE", .write),
    ]
    /// Words that are not names of fields unless they are quoted.
    static let reserved: Set<String> = ["GRANT", "PREFERRED", "QUERYABLE", "SORTABLE", "SEARCHABLE"]

    /// The system fields that the language knows, with their types.
    static let systemFields: [(name: String, type: String, field: QueryKey.SystemField?)] = [
        ("___createTime", "TIMESTAMP", .createdTimestamp), ("___createdBy", "REFERENCE", .createdUserRecordName),
        ("___etag", "STRING", nil), ("___modTime", "TIMESTAMP", .modifiedTimestamp),
        ("___modifiedBy", "REFERENCE", .modifiedUserRecordName), ("___recordID", "REFERENCE", .recordName),
    ]

    static func text(of field: FieldSchema) -> String {
        var type = field.type
        let isList = type.hasSuffix("_LIST")
        if isList { type.removeLast(5) }
        var preferred = ""
        if type.hasPrefix("NUMBER_") {
            preferred = " PREFERRED AS \(type.dropFirst(7))"
            type = "NUMBER"
        }
        let word = types.first { $0.type == type }?.word ?? type
        let encrypted = field.isEncrypted ? "ENCRYPTED \(word)" : word + preferred
        return isList ? "LIST<\(encrypted)>" : encrypted
    }

    static func text(of indexes: FieldIndexes) -> String {
        Self.indexes.filter { indexes.contains($0.index) }.map(\.word).joined(separator: " ")
    }

    static func text(of permissions: RolePermissions) -> String {
        Self.permissions.filter { permissions.contains($0.permission) }.map(\.word).joined(separator: ", ")
    }
}
