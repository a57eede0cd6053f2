// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel
import Synchronization

/// How objects of one entity keep their values: made once, when the model comes into use.
package final class EntityLayout: @unchecked Sendable {
    // Unchecked: nothing is written after init; descriptions of a frozen model are constant.
    package let entity: ResolvedEntity
    /// Unique in the process; lets a property key remember a slot and notice another layout.
    package let number: UInt32
    package let description: NSEntityDescription
    package let managedClass: NSManagedObject.Type
    /// What a new object holds: shared until the object is written to.
    let defaults: ContiguousArray<StoredValue>
    /// Slots of to-one relationships.
    let referenceSlots: [Int]
    let hasRelationships: Bool
    let toManyCount: Int
    /// Many-to-many relationships by index, and those of them whose pairs are saved from this side.
    let manyToMany: [Int]
    let linking: [Int]
    /// Slots and to-many relationships that the model puts conditions on.
    let checkedSlots: [Int]
    let checkedToMany: [Int]
    /// The model owns its layouts, so the way back is weak.
    package private(set) weak var model: NSManagedObjectModel?

    private static let counter = Mutex<UInt32>(0)

    /// Slots whose values are encoded for the store.
    let transformableSlots: [Int]
    /// Slots that live in memory only.
    let transientSlots: [Int]
    /// Properties whose descriptions have predicates of their own.
    let predicateChecks: [(name: String, checks: [(predicate: NSPredicate, warning: Any?)])]
    let fetchedProperties: [String: NSFetchedPropertyDescription]
    /// What the class has for key-value coding beside, or in front of, the entity's properties.
    let keyedProperties: [String: KeyedProperties.Property]
    /// Bit n says that to-many relationship n is ordered; the last bit stands for all that come after it, too.
    let orderedToMany: UInt64

    init(_ entity: ResolvedEntity, description: NSEntityDescription, model: NSManagedObjectModel) {
        self.entity = entity
        self.description = description
        func slots(_ isWanted: (Slot) -> Bool) -> [Int] { entity.slots.indices.filter { isWanted(entity.slots[$0]) } }
        transformableSlots = slots { if case .attribute(let attribute) = $0 { attribute.type == .transformable && !attribute.isTransient } else { false } }
        transientSlots = slots {
            switch $0 {
            case .attribute(let attribute): attribute.isTransient
            case .toOne(let relationship): relationship.declaration.isTransient
            }
        }
        predicateChecks = description.properties.filter { !$0.validationPredicates.isEmpty }.map { property in
            let warnings = property.validationWarnings
            let checks = property.validationPredicates.enumerated().map { index, predicate -> (predicate: NSPredicate, warning: Any?) in
                (predicate, index < warnings.count ? Optional(warnings[index]) : nil)
            }
            return (property.name, checks)
        }
        fetchedProperties = description.propertiesByName.compactMapValues { $0 as? NSFetchedPropertyDescription }
        orderedToMany = entity.toMany.indices.reduce(0) { mask, index in
            entity.toMany[index].declaration.isOrdered ? mask | 1 << UInt64(min(index, 63)) : mask
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
