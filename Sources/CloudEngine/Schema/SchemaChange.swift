// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// One difference between two schemas.
package enum SchemaChange: Hashable, Sendable {
    case addedRole(String)
    case removedRole(String)
    case addedType(String)
    case removedType(String)
    case addedField(type: String, field: String, FieldSchema)
    case removedField(type: String, field: String, FieldSchema)
    case changedField(type: String, field: String, from: FieldSchema, to: FieldSchema)
    case addedIndexes(type: String, field: String, FieldIndexes)
    case removedIndexes(type: String, field: String, FieldIndexes)
    case changedGrants(type: String, role: String, from: RolePermissions, to: RolePermissions)

    /// Why production does not allow it; nil if it does.
    ///
    /// Source: Apple, *Integrating a Text-Based Schema into Your Workflow*: production only grows, and a number's
    /// preferred type is chosen once. That indexes may go again is unverified.
    package var refusalInProduction: String? {
        switch self {
        case .removedType(let type): return "record type '\(type)' is in production and cannot be removed"
        case .removedField(let type, let field, _):
            return "field '\(field)' of type '\(type)' is in production and cannot be removed"
        case .changedField(let type, let field, let from, let to):
            if from.type == "NUMBER", to.type.hasPrefix("NUMBER_"), !to.type.hasSuffix("_LIST") { return nil }
            return "field '\(field)' of type '\(type)' is \(SchemaWords.text(of: from)) in production and cannot become "
                + SchemaWords.text(of: to)
        case .addedRole, .removedRole, .addedType, .addedField, .addedIndexes, .removedIndexes, .changedGrants: return nil
        }
    }

    /// Whether records or values of fields are deleted with it.
    package var removesValues: Bool {
        switch self {
        case .removedType, .removedField, .changedField: true
        case .addedRole, .removedRole, .addedType, .addedField, .addedIndexes, .removedIndexes, .changedGrants: false
        }
    }

    /// One line: `+` for an addition, `-` for a removal, `~` for a change.
    package var line: String {
        switch self {
        case .addedRole(let role): return "+ role \(role)"
        case .removedRole(let role): return "- role \(role)"
        case .addedType(let type): return "+ type \(type)"
        case .removedType(let type): return "- type \(type)"
        case .addedField(let type, let field, let schema):
            let indexes = schema.indexes.isEmpty ? "" : " " + SchemaWords.text(of: schema.indexes)
            return "+ field \(type).\(field) \(SchemaWords.text(of: schema))\(indexes)"
        case .removedField(let type, let field, let schema): return "- field \(type).\(field) \(SchemaWords.text(of: schema))"
        case .changedField(let type, let field, let from, let to):
            return "~ field \(type).\(field) \(SchemaWords.text(of: from)) -> \(SchemaWords.text(of: to))"
        case .addedIndexes(let type, let field, let indexes): return "+ index \(type).\(field) \(SchemaWords.text(of: indexes))"
        case .removedIndexes(let type, let field, let indexes): return "- index \(type).\(field) \(SchemaWords.text(of: indexes))"
        case .changedGrants(let type, let role, let from, let to):
            let (old, new) = (SchemaWords.text(of: from), SchemaWords.text(of: to))
            return "~ grant \(type) to \(role): \(old.isEmpty ? "nothing" : old) -> \(new.isEmpty ? "nothing" : new)"
        }
    }
}

/// Records and fields that an import of a schema deletes from the databases of development.
package struct SchemaRemovals: Hashable, Sendable {
    /// Numbers of records by type.
    package var records: [String: Int] = [:]
    /// Numbers of values by type and field, as `Note.title`.
    package var values: [String: Int] = [:]

    package init() {}

    package var isEmpty: Bool { records.isEmpty && values.isEmpty }

    /// One line for each type and field.
    package var lines: [String] {
        records.sorted { $0.key < $1.key }.map { "\(CountText.text($0.value, "record")) of type \($0.key)" }
            + values.sorted { $0.key < $1.key }.map { "\(CountText.text($0.value, "value")) of field \($0.key)" }
    }
}

extension ContainerSchema {
    /// What makes another schema of this one, by name. The type of users is in both.
    package func changes(to other: ContainerSchema) -> [SchemaChange] {
        let (old, new) = (completed, other.completed)
        var changes: [SchemaChange] = new.roles.subtracting(old.roles).sorted().map { .addedRole($0) }
        changes += old.roles.subtracting(new.roles).sorted().map { .removedRole($0) }
        for name in Set(old.types.keys).union(new.types.keys).sorted() {
            guard let type = new.types[name] else {
                changes.append(.removedType(name))
                continue
            }
            if old.types[name] == nil { changes.append(.addedType(name)) }
            Self.compare(old.types[name] ?? RecordType(), type, name, &changes)
        }
        return changes
    }

    private static func compare(_ old: RecordType, _ new: RecordType, _ type: String, _ changes: inout [SchemaChange]) {
        func compare(_ field: String, _ from: FieldIndexes, _ to: FieldIndexes) {
            let (added, removed) = (to.subtracting(from), from.subtracting(to))
            if !added.isEmpty { changes.append(.addedIndexes(type: type, field: field, added)) }
            if !removed.isEmpty { changes.append(.removedIndexes(type: type, field: field, removed)) }
        }
        for system in SchemaWords.systemFields {
            guard let key = system.field else { continue }
            compare(system.name, old.schema.systemIndexes[key] ?? [], new.schema.systemIndexes[key] ?? [])
        }
        for name in Set(old.schema.fields.keys).union(new.schema.fields.keys).sorted() {
            switch (old.schema.fields[name], new.schema.fields[name]) {
            case (nil, let field?): changes.append(.addedField(type: type, field: name, field))
            case (let field?, nil): changes.append(.removedField(type: type, field: name, field))
            case (let from?, let to?):
                if from.type != to.type || from.isEncrypted != to.isEncrypted {
                    changes.append(.changedField(type: type, field: name, from: from, to: to))
                }
                compare(name, from.indexes, to.indexes)
            case (nil, nil): break
            }
        }
        for role in Set(old.grants.byRole.keys).union(new.grants.byRole.keys).sorted() {
            let (from, to) = (old.grants.byRole[role] ?? [], new.grants.byRole[role] ?? [])
            if from != to { changes.append(.changedGrants(type: type, role: role, from: from, to: to)) }
        }
    }

    /// - Throws: `SchemaRefused` with a reason for each change that production does not allow.
    package func check(against production: ContainerSchema) throws(SchemaRefused) {
        let reasons = production.changes(to: self).compactMap(\.refusalInProduction)
        guard reasons.isEmpty else { throw SchemaRefused(reasons: reasons) }
    }

    /// Production after a deployment: everything it had, everything the other schema has, and the other's grants.
    ///
    /// Indexes and roles that the other schema lacks stay.
    package func deploying(_ development: ContainerSchema) throws(SchemaRefused) -> ContainerSchema {
        try development.check(against: self)
        var result = completed
        result.roles.formUnion(development.roles)
        for (name, type) in development.completed.types {
            let old = result.types[name]
            var new = type
            for (field, schema) in old?.schema.fields ?? [:] { new.schema.fields[field]?.indexes.formUnion(schema.indexes) }
            for (field, indexes) in old?.schema.systemIndexes ?? [:] {
                new.schema.systemIndexes[field, default: []].formUnion(indexes)
            }
            result.types[name] = new
        }
        return result
    }
}
