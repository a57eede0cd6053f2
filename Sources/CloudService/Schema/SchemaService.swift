// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// The operator's operations on the schema of one container, for `tarn schema` and the console.
///
/// Source: Apple, *Integrating a Text-Based Schema into Your Workflow*, and `cktool`.
package struct SchemaService: Sendable {
    private let containerIdentifier: String
    private let engine: Engine
    private let storage: any EngineStorage
    private let surroundings: CloudService.Surroundings

    package init(
        containerIdentifier: String, engine: Engine, storage: any EngineStorage, surroundings: CloudService.Surroundings
    ) {
        self.containerIdentifier = containerIdentifier
        self.engine = engine
        self.storage = storage
        self.surroundings = surroundings
    }

    package func export(_ environment: CloudEnvironment) async throws -> ContainerSchema {
        try await storage.read(partition(environment)) { [engine] in try engine.schemas.schema(in: $0) }
    }

    /// The changes that an import would make in development.
    ///
    /// - Throws: `SchemaRefused` if something that is in production would go or change, or if `VALIDATE` references of records that stay keep
    ///   records of a removed type.
    package func validate(_ schema: ContainerSchema) async throws -> [SchemaChange] {
        let development = try await export(.development)
        let changes = try await checkedChanges(from: development, to: schema)
        _ = try await checkReferences(RemovedParts(changes))
        return changes
    }

    private func checkedChanges(from development: ContainerSchema, to schema: ContainerSchema) async throws -> [SchemaChange] {
        try schema.check(against: try await export(.production))
        return development.changes(to: schema)
    }

    /// Counts the records and values that an import would delete from development.
    ///
    /// - Throws: As ``validate(_:)``.
    package func removals(by schema: ContainerSchema) async throws -> SchemaRemovals {
        let parts = RemovedParts(try await validate(schema))
        guard !parts.isEmpty else { return SchemaRemovals() }
        var removals = SchemaRemovals()
        try await visitDevelopment { partition, place in
            let counted = removals
            let (end, counts) = try await storage.read(partition) { [engine] view in
                var sum = counted
                return (try engine.removedValues.count(of: parts, after: place, in: view, &sum), sum)
            }
            removals = counts
            return end
        }
        return removals
    }

    /// Changes one type of development: its fields, indexes and grants.
    ///
    /// The type is read in the transaction that writes it, so a type or field that an app makes at the same time stays.
    ///
    /// - Parameters:
    ///   - creating: Whether a missing type is created, with the grants of a new type.
    ///   - change: Adds and changes only: values of removed fields would stay.
    /// - Returns: `false` if there is no such type.
    /// - Throws: As ``validate(_:)``; then nothing changed.
    package func changeType(
        _ name: String, creating: Bool = false,
        _ change: @Sendable @escaping (inout ContainerSchema.RecordType, _ roles: Set<String>) -> Void
    ) async throws -> Bool {
        let production = try await export(.production)
        return try await storage.write(partition(.development)) { [engine] unit in
            var schema = try engine.schemas.schema(in: unit)
            guard var type = schema.types[name] ?? (creating ? ContainerSchema.RecordType(grants: .standard) : nil) else { return false }
            change(&type, schema.roles)
            schema.types[name] = type
            try schema.check(against: production)
            _ = try engine.schemas.store(schema, in: unit)
            return true
        }
    }

    /// Replaces the schema of development. Removed parts are deleted with their values.
    ///
    /// Values are removed before the schema is stored, so that an interrupted import is continued by the same one, and again afterwards, since
    /// apps may have saved some.
    ///
    /// - Throws: As ``validate(_:)``; then nothing changed. `SchemaRefused` for a record that cannot be removed, or that a record refers to
    ///   which an app saved during the import; then the schema has the types that it had.
    package func importSchema(_ schema: ContainerSchema) async throws -> [SchemaChange] {
        let development = try await export(.development)
        return try await replace(try await checkedChanges(from: development, to: schema)) { _ in schema }
    }

    /// Removes what changes remove, and stores the schema that `new` makes of the one in its transaction.
    private func replace(
        _ expected: [SchemaChange], with new: @Sendable @escaping (ContainerSchema) throws -> ContainerSchema
    ) async throws -> [SchemaChange] {
        let parts = RemovedParts(expected)
        var checked = try await checkReferences(parts)
        try await removeValues(parts, &checked)
        let (old, changes) = try await storage.write(partition(.development)) { [engine] unit in
            let old = try engine.schemas.schema(in: unit)
            return (old, try engine.schemas.store(try new(old), in: unit))
        }
        let stored = RemovedParts(changes)
        do {
            // An app made a type since the check, which the new schema lacks, too.
            if stored != parts { checked = try await checkReferences(stored) }
            try await removeValues(stored, &checked)
        } catch let refused as SchemaRefused {
            // A record that stays has its type.
            try await storage.write(partition(.development)) { [engine] unit in
                var schema = try engine.schemas.schema(in: unit)
                for (name, type) in old.types where schema.types[name] == nil { schema.types[name] = type }
                _ = try engine.schemas.store(schema, in: unit)
            }
            throw refused
        }
        return changes
    }

    /// Removes a field of a type, or the type, from development with its values, as ``importSchema(_:)`` does.
    ///
    /// The schema is read in the transaction that writes it, so a type or field that an app makes at the same time stays.
    ///
    /// - Parameter field: nil for the type.
    /// - Throws: As ``importSchema(_:)``.
    package func remove(_ field: String?, ofType name: String) async throws {
        let (production, development) = (try await export(.production), try await export(.development))
        let changes = try await checkedChanges(from: development, to: Self.remove(field, ofType: name, from: development))
        _ = try await replace(changes) { schema in
            let schema = Self.remove(field, ofType: name, from: schema)
            try schema.check(against: production)
            return schema
        }
    }

    private static func remove(_ field: String?, ofType name: String, from schema: ContainerSchema) -> ContainerSchema {
        var schema = schema
        if let field { schema.types[name]?.schema.fields[field] = nil } else { schema.types[name] = nil }
        return schema
    }

    /// - Returns: The state of each partition whose records were looked at.
    /// - Throws: `SchemaRefused` with the reasons for which types cannot be removed.
    private func checkReferences(_ parts: RemovedParts) async throws -> [Partition: CheckedChanges] {
        guard parts.hasTypes else { return [:] }
        var reasons: Set<String> = []
        var checked: [Partition: CheckedChanges] = [:]
        try await visitDevelopment { partition, place in
            let earlier = reasons
            let (end, all, start) = try await storage.read(partition) { [engine] view in
                var found = earlier
                let start = try CheckedChanges(allOf: view)
                return (try engine.removalObstacles.find(to: parts, after: place, in: view, &found), found, start)
            }
            reasons = all
            // Records that are saved behind the first slice may be in none of the others.
            if place == nil { checked[partition] = start }
            return end
        }
        guard reasons.isEmpty else { throw SchemaRefused(reasons: reasons.sorted()) }
        return checked
    }

    /// - Throws: `SchemaRefused` for a record that cannot be removed, or that a record refers to which was saved since the check.
    private func removeValues(_ parts: RemovedParts, _ checked: inout [Partition: CheckedChanges]) async throws {
        for pass in parts.passes {
            for partition in try await storage.partitions(containerIdentifier: containerIdentifier, environment: .development) {
                let operatorCall = call(partition)
                var place: RecordPlace?
                var isAtEnd = false
                var recordsMax = LaterObstacles.recordsAtFirst
                while !isAtEnd {
                    let (start, before, most) = (place, checked[partition] ?? CheckedChanges(), recordsMax)
                    let (removed, after) = try await storage.write(partition) { [engine] unit -> (Removed, CheckedChanges) in
                        var changes = before
                        if parts.hasTypes {
                            var reasons: Set<String> = []
                            let isCurrent = try engine.laterObstacles.find(to: parts, &changes, atMost: most, in: unit, &reasons)
                            guard reasons.isEmpty else { throw SchemaRefused(reasons: reasons.sorted()) }
                            guard isCurrent else { return (.nothing, changes) }
                        }
                        let end = try engine.removedValues.remove(of: pass, after: start, in: unit, operatorCall)
                        return (.slice(end: end), try CheckedChanges(allOf: unit))
                    }
                    checked[partition] = after
                    switch removed {
                    // An app may save more between two units than one of them looks at, and the removal would wait for its last save.
                    case .nothing: recordsMax = min(2 * recordsMax, LaterObstacles.recordsAtMost)
                    case .slice(let end): (place, isAtEnd) = (end, end == nil)
                    }
                }
            }
        }
    }

    private enum Removed {
        /// More records have to be looked at first.
        case nothing
        case slice(end: RecordPlace?)
    }

    /// Visits the records of all databases of development slice by slice, each in a unit of its own.
    ///
    /// - Parameter visit: Receives where the slice before ended, and returns where this one ends; nil after the last.
    private func visitDevelopment(_ visit: (Partition, RecordPlace?) async throws -> RecordPlace?) async throws {
        for partition in try await storage.partitions(containerIdentifier: containerIdentifier, environment: .development) {
            var place: RecordPlace?
            repeat { place = try await visit(partition, place) } while place != nil
        }
    }

    /// The changes that a deployment would make in production, and the parts that development lacks.
    package func differences() async throws -> [SchemaChange] {
        try await export(.production).changes(to: try await export(.development))
    }

    /// Adds to production what development has. No records are copied.
    ///
    /// - Throws: `SchemaRefused` if development lacks or changed something that is in production.
    package func deploy() async throws -> [SchemaChange] {
        let development = try await export(.development)
        return try await storage.write(partition(.production)) { [engine] unit in
            try engine.schemas.store(try engine.schemas.schema(in: unit).deploying(development), in: unit)
        }
    }

    /// Makes the schema of development equal to that of production, and deletes all records, zones and subscriptions of
    /// development. Change tokens of before expire.
    package func reset() async throws -> [SchemaChange] {
        let production = try await export(.production)
        try await storage.erase(containerIdentifier: containerIdentifier, environment: .development)
        return try await storage.write(partition(.development)) { [engine] in try engine.schemas.store(production, in: $0) }
    }

    /// The schema belongs to no partition; the public database's is as good as any.
    private func partition(_ environment: CloudEnvironment) -> Partition {
        Partition(
            containerIdentifier: containerIdentifier, environment: environment, scope: .public, owner: Partition.publicOwner)
    }

    private func call(_ partition: Partition) -> Call {
        let surroundings = surroundings
        return Call(
            partition: partition, caller: Caller(userRecordName: partition.owner, deviceID: "", kind: .operator),
            now: surroundings.now(), baseURL: "", makeIdentifier: { surroundings.makeIdentifier() })
    }
}
