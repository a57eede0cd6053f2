// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Reads and stores the schema of a container.
package struct ContainerSchemas: Sendable {
    /// The schema of the partition's container and environment.
    package func schema(in view: any PartitionReader) throws -> ContainerSchema {
        var schema = ContainerSchema(roles: Set(try view.roles()))
        for recordType in try view.recordTypes() {
            schema.types[recordType] = ContainerSchema.RecordType(
                schema: try view.schema(ofType: recordType) ?? RecordTypeSchema(),
                grants: try view.grants(ofType: recordType) ?? .standard(ofType: recordType))
        }
        return schema.completed
    }

    /// Puts a schema in place of the one there is.
    ///
    /// - Returns: What changed.
    package func store(_ schema: ContainerSchema, in unit: any PartitionWriter) throws -> [SchemaChange] {
        let (old, new) = (try self.schema(in: unit), schema.completed)
        for role in old.roles.subtracting(new.roles) { try unit.removeRole(role) }
        for role in new.roles.subtracting(old.roles).sorted() { try unit.addRole(role) }
        for recordType in old.types.keys where new.types[recordType] == nil {
            try unit.save(nil, ofType: recordType)
            try unit.forgetGrants(ofType: recordType)
        }
        for (recordType, type) in new.types where type != old.types[recordType] {
            try unit.save(type.schema, ofType: recordType)
            try unit.setGrants(type.grants, ofType: recordType)
        }
        return old.changes(to: new)
    }
}
