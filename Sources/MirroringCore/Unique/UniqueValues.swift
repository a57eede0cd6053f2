// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation
package import ManagedModel
import SystemSupport

/// The values of a uniqueness constraint, none of which is nil. Objects that have the same are the same thing.
package struct UniqueValues: Hashable, Sendable {
    package let constraint: UniquenessConstraint
    /// In the order of the constraint's properties, as every device reads them from a record.
    package let values: [StoredValue]
}

/// A uniqueness constraint with the types of its attributes.
struct UniqueKey: Sendable {
    let constraint: UniquenessConstraint
    /// In the order of the constraint's slots.
    private let types: [AttributeType]

    /// The constraints of an entity, without those of a relationship.
    static func all(of entity: ResolvedEntity) -> [UniqueKey] {
        let constraints = entity.uniqueness.enumerated().sorted { ($0.element.entity, $0.offset) < ($1.element.entity, $1.offset) }.map(
            \.element)
        return constraints.compactMap { UniqueKey($0, of: entity) }
    }

    private init?(_ constraint: UniquenessConstraint, of entity: ResolvedEntity) {
        var types: [AttributeType] = []
        for slot in constraint.slots {
            guard case .attribute(let attribute) = entity.slots[slot] else { return nil }
            types.append(attribute.type)
        }
        self.constraint = constraint
        self.types = types
    }

    /// nil if one of the values is nil.
    func values(of row: Row) -> UniqueValues? {
        var values: [StoredValue] = []
        values.reserveCapacity(types.count)
        for (slot, type) in zip(constraint.slots, types) {
            guard let encoded = FieldCodec.encode(row.values[slot], as: type), let value = FieldCodec.decode(encoded, as: type),
                !value.isNull
            else { return nil }
            values.append(value)
        }
        return UniqueValues(constraint: constraint, values: values)
    }

    /// Whether a row has values, as ``values(of:)`` reads them.
    func matches(_ unique: UniqueValues, _ row: Row) -> Bool {
        guard constraint == unique.constraint else { return false }
        for (index, slot) in constraint.slots.enumerated() {
            guard let encoded = FieldCodec.encode(row.values[slot], as: types[index]),
                FieldCodec.decode(encoded, as: types[index]) == unique.values[index]
            else { return false }
        }
        return true
    }
}

extension RecordMapping {
    /// Whether objects of some entity are the same thing if they have the same values.
    package var hasUniqueness: Bool { extensions.contains(.uniquenessConstraints) }

    package func isUnique(_ entity: Int) -> Bool { hasUniqueness && entities[entity]?.entity.uniqueness.isEmpty == false }

    /// Returns the unique values of a row: one for each complete constraint of its entity, those of the root entity first.
    package func uniqueValues(of row: Row) -> [UniqueValues] {
        guard hasUniqueness, let entity = entities[row.key.entityIndex] else { return [] }
        return entity.uniqueKeys.compactMap { $0.values(of: row) }
    }

    /// Whether the unique values of a row are these.
    package func has(_ unique: UniqueValues, in row: Row) -> Bool {
        guard hasUniqueness, let entity = entities[row.key.entityIndex] else { return false }
        return entity.uniqueKeys.contains { $0.matches(unique, row) }
    }

    /// Returns the unique values of a record, from its inline fields; empty for a record of another entity.
    package func uniqueValues(of record: Record) -> [UniqueValues] {
        guard hasUniqueness, let mapped = entity(of: record), isUnique(mapped.entity.index) else { return [] }
        let key = RowKey(store: RowKey.temporaryStore, entity: mapped.entity.index, primaryKey: 0)
        var row = Row(key: key, version: 1, values: mapped.entity.defaultValues)
        for property in mapped.properties {
            guard case .attribute = property.form else { continue }
            switch property.content(in: record.fields) {
            case .inline(let value): row.values[property.slot] = property.stored(value)
            case .absent, .asset: row.values[property.slot] = property.absentValue
            }
        }
        return uniqueValues(of: row)
    }

    /// A record name for an object with these values: the same on every device that makes one.
    ///
    /// - Parameter attempt: From 0 on. The names of earlier attempts belong to objects with other values by now.
    package func recordName(for unique: UniqueValues, attempt: Int = 0) -> String {
        var bytes: [UInt8] = []
        func add(_ part: some Collection<UInt8>) {
            bytes += withUnsafeBytes(of: UInt64(part.count).bigEndian) { [UInt8]($0) }
            bytes += part
        }
        add("tarn.unique.\(attempt)".utf8)
        let entity = model.entities[unique.constraint.entity]
        add(entity.syncName.utf8)
        for (slot, value) in zip(unique.constraint.slots, unique.values) {
            add(entity.slots[slot].syncName.utf8)
            add(value.bytesForNames)
        }
        return Self.name(from: bytes)
    }

    /// A text in the form of a UUID, of version 8.
    static func name(from bytes: [UInt8]) -> String {
        UUIDText.text(SHA256.hash(bytes), version: 8)
    }
}

extension StoredValue {
    fileprivate var bytesForNames: [UInt8] {
        func number(_ kind: UInt8, _ bits: UInt64) -> [UInt8] { [kind] + withUnsafeBytes(of: bits.bigEndian) { [UInt8]($0) } }
        return switch self {
        case .null, .reference, .object: []
        case .int(let value): number(1, UInt64(bitPattern: value))
        // Zero has two forms and is one value.
        case .double(let value): number(2, (value == 0 ? 0 : value).bitPattern)
        case .date(let value): number(3, (value == 0 ? 0 : value).bitPattern)
        case .string(let value): [4] + value.utf8
        case .url(let value): [5] + value.utf8
        case .uuid(let value): [6] + withUnsafeBytes(of: value.uuid) { [UInt8]($0) }
        case .data(let value): [7] + value
        case .decimal(let value): [8] + "\(value)".utf8
        }
    }
}
