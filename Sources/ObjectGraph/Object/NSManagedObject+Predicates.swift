// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel
package import PredicateKit
import SQLiteStore

extension NSManagedObject: PredicateSubject {
    package func predicateValue(forKey key: String) -> PredicateValue {
        if let property = layout.keyedProperties[key] { return PredicateValue(property.get(self)) }
        guard let location = layout.entity.location(of: key) else {
            if layout.entity.composites[key] != nil { return .object(PredicateObject(CompositeSubject(self, key))) }
            switch key {
            case "objectID": return .object(PredicateObject(objectID))
            case "entity": return .object(PredicateObject(entity))
            default: return .null
            }
        }
        switch location {
        case .slot(let index):
            willRead()
            if case .toOne = layout.entity.slots[index] { return toOne(index).map { .object(PredicateObject($0)) } ?? .null }
            return predicateValue(values[index], at: index)
        case .toMany(let index): return .list(toManyObjects(index).map { .object(PredicateObject($0)) })
        }
    }

    private func predicateValue(_ value: StoredValue, at slot: Int) -> PredicateValue {
        switch value {
        case .null, .reference: .null
        case .int(let value):
            if case .attribute(let attribute) = layout.entity.slots[slot], attribute.type == .boolean {
                .bool(value != 0)
            } else {
                .int(value)
            }
        case .double(let value): .double(value)
        case .decimal(let value): .decimal(value)
        case .string(let value): .string(value)
        case .date(let value): .date(value)
        case .data(let value): layout.entity.slots[slot].isTransformable ? PredicateValue(transformed(slot)) : .data(value)
        case .uuid(let value): .uuid(value)
        case .url(let value): .url(value)
        case .object(let box): PredicateValue(box.value)
        }
    }
}

// An object and its ID have the same key, so that a predicate may compare them.
extension NSManagedObject: RowIdentified {
    package var rowKey: RowKey? { key }
}

extension NSManagedObjectID: RowIdentified {
    package var rowKey: RowKey? { key }
}

extension NSEntityDescription: EntityIdentified, PredicateSubject {
    package var identifiedEntityName: String? { name }

    package func predicateValue(forKey key: String) -> PredicateValue {
        switch key {
        case "name": PredicateValue(name)
        case "managedObjectClassName": PredicateValue(managedObjectClassName)
        default: .null
        }
    }
}
