// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel
import Synchronization

/// The memory layout of an entity's objects: computed once, when the model is first used.
package final class EntityLayout: @unchecked Sendable {
    // Unchecked: immutable after init; descriptions of a frozen model are constant.
    package let entity: ResolvedEntity
    /// Unique in the process; a property key caches a slot for one layout and detects another.
    package let number: UInt32
    package let description: NSEntityDescription
    package let managedClass: NSManagedObject.Type
    /// The values of a new object: shared until the object is written to.
    let defaults: ContiguousArray<StoredValue>
    /// Slots of to-one relationships.
    let referenceSlots: [Int]
    let hasRelationships: Bool
    let toManyCount: Int
    /// Indices of many-to-many relationships, and of those with join records saved from this side.
    let manyToMany: [Int]
    let linking: [Int]
    /// Slots and to-many relationships with rules in the model.
    let checkedSlots: [Int]
    let checkedToMany: [Int]
    /// Weak, because the model owns its layouts.
    package private(set) weak var model: NSManagedObjectModel?

    private static let counter = Mutex<UInt32>(0)

    /// Slots with values encoded for the store.
    let transformableSlots: [Int]
    /// Slots of transient properties, which are never saved.
    let transientSlots: [Int]
    /// Slots of derived attributes, which the store alone writes.
    let derivedSlots: [Int]
    /// Properties with validation predicates.
    let predicateChecks: [(name: String, checks: [(predicate: NSPredicate, warning: Any?)])]
    let fetchedProperties: [String: NSFetchedPropertyDescription]
    /// The class's properties for key-value coding, in addition to or instead of the entity's.
    let keyedProperties: [String: KeyedProperties.Property]
    /// Bit n means that to-many relationship n is ordered; the last bit covers all later relationships, too.
    let orderedToMany: UInt16
    static let orderedBits = UInt16.bitWidth

    init(_ entity: ResolvedEntity, description: NSEntityDescription, model: NSManagedObjectModel) {
        self.entity = entity
        self.description = description
        func slots(_ isWanted: (Slot) -> Bool) -> [Int] { entity.slots.indices.filter { isWanted(entity.slots[$0]) } }
        transformableSlots = slots {
            if case .attribute(let attribute) = $0 { attribute.type == .transformable && !attribute.isTransient } else { false }
        }
        transientSlots = slots {
            switch $0 {
            case .attribute(let attribute): attribute.isTransient
            case .toOne(let relationship): relationship.declaration.isTransient
            }
        }
        derivedSlots = slots { if case .attribute(let attribute) = $0 { attribute.derivationExpression != nil } else { false } }
        predicateChecks = description.properties.filter { !$0.validationPredicates.isEmpty }.map { property in
            let warnings = property.validationWarnings
            let checks = property.validationPredicates.enumerated().map { index, predicate -> (predicate: NSPredicate, warning: Any?) in
                (predicate, index < warnings.count ? Optional(warnings[index]) : nil)
            }
            return (property.name, checks)
        }
        fetchedProperties = description.propertiesByName.compactMapValues { $0 as? NSFetchedPropertyDescription }
        orderedToMany = entity.toMany.indices.reduce(0) { mask, index in
            entity.toMany[index].declaration.isOrdered ? mask | 1 << UInt16(min(index, Self.orderedBits - 1)) : mask
        }
        self.model = model
        defaults = entity.defaultValues
        referenceSlots = entity.slots.indices.filter { if case .toOne = entity.slots[$0] { true } else { false } }
        toManyCount = entity.toMany.count
        hasRelationships = !referenceSlots.isEmpty || !entity.toMany.isEmpty
        manyToMany = entity.toMany.indices.filter { entity.toMany[$0].isLinked }
        linking = manyToMany.filter { index in
            let relationship = entity.toMany[index]
            if relationship.inverse == nil { return true }
            return (relationship.declaringEntity, relationship.name)
                <= (relationship.inverseDeclaringEntity ?? 0, relationship.inverseName ?? "")
        }
        checkedSlots = entity.slots.indices.filter { Self.isChecked(entity.slots[$0]) }
        checkedToMany = entity.toMany.indices.filter { index in
            let declaration = entity.toMany[index].declaration
            return declaration.minimumCount > 0 || declaration.maximumCount > 1
        }
        number = Self.counter.withLock {
            $0 += 1
            return $0
        }
        managedClass = ManagedClassLookup.managedClass(for: entity.declaration)
        keyedProperties = KeyedProperties.properties(of: managedClass)
        description.layout = self
    }

    private static func isChecked(_ slot: Slot) -> Bool {
        switch slot {
        case .toOne(let relationship): !relationship.declaration.isOptional
        case .attribute(let attribute):
            !attribute.isOptional || attribute.minimum != nil || attribute.maximum != nil || attribute.regularExpression != nil
        }
    }

    package var name: String { entity.name }
    package var index: Int { entity.index }
}
