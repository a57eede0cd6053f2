// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

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
    /// The model owns its layouts, so the way back is weak.
    package private(set) weak var model: NSManagedObjectModel?

    private static let counter = Mutex<UInt32>(0)

    init(_ entity: ResolvedEntity, description: NSEntityDescription, model: NSManagedObjectModel) {
        self.entity = entity
        self.description = description
        self.model = model
        defaults = entity.defaultValues
        referenceSlots = entity.slots.indices.filter { if case .toOne = entity.slots[$0] { true } else { false } }
        number = Self.counter.withLock {
            $0 += 1
            return $0
        }
        managedClass = ManagedClassLookup.managedClass(for: entity.declaration)
        description.layout = self
    }

    package var name: String { entity.name }
    package var index: Int { entity.index }
}
