// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension Engine {
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

    /// Records of one removal. `Limits.recordsTakenAlong` is a limit of all their deletions together, and a refused one leaves its record.
    private static let recordsPerRemoval = 25

    /// Removes from one slice of a partition's records the values of removed fields, and records of removed types.
    ///
    /// - Parameters:
    ///   - place: Where the slice before ended.
    /// - Returns: Where this one ends; nil after the last.
    package func removeValues(
        of changes: [SchemaChange], after place: RecordPlace?, in unit: any PartitionWriter, _ call: Call
    ) throws -> RecordPlace? {
        let records = try unit.records(after: place, limit: Self.recordsPerRemoval)
        var byZone: [Int64: [RecordOperation]] = [:]
        for (place, record) in records {
            if let operation = Self.removal(of: changes, from: record) { byZone[place.zone, default: []].append(operation) }
        }
        for zone in try unit.zones() {
            guard let operations = byZone[zone.key] else { continue }
            var batch = try RecordBatch(operations, zone: zone, self, unit, call, isWhole: true)
            try batch.decideAll()
            _ = try batch.write()
        }
        return records.last?.place
    }

    /// Counts in one slice of a partition's records what ``removeValues(of:after:in:_:)`` would remove.
    ///
    /// - Returns: Where this slice ends; nil after the last.
    package func countRemovals(
        of changes: [SchemaChange], after place: RecordPlace?, in view: any PartitionReader, _ counts: inout SchemaRemovals
    ) throws -> RecordPlace? {
        let records = try view.records(after: place, limit: limits.operationsPerRequest)
        for (_, record) in records {
            guard let operation = Self.removal(of: changes, from: record) else { continue }
            if operation.kind == .forceDelete {
                counts.records[record.recordType, default: 0] += 1
            } else {
                for field in operation.record.fields.keys { counts.values["\(record.recordType).\(field)", default: 0] += 1 }
            }
        }
        return records.last?.place
    }

    private static func removal(of changes: [SchemaChange], from record: Record) -> RecordOperation? {
        // A schema lists the fields of shares and does not make them: shares outlive their type.
        guard record.recordType != ShareDetails.recordType else { return nil }
        var cleared = Record(recordName: record.recordName, recordType: record.recordType)
        for change in changes {
            switch change {
            case .removedType(record.recordType): return RecordOperation(.forceDelete, cleared)
            case .removedField(record.recordType, let field, _), .changedField(record.recordType, let field, _, _):
                if record.fields[field] != nil { cleared.fields[field] = Field(nil) }
            default: break
            }
        }
        return cleared.fields.isEmpty ? nil : RecordOperation(.forceUpdate, cleared)
    }
}
