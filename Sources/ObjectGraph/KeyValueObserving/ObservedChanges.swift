// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import Synchronization

/// Changes of a context's objects that are not delivered to key-value observers yet.
///
/// Both sides of a relationship change one after the other, and a merge replaces the values of many objects. Delivery
/// waits until all of it is done, so that no observer sees only one side.
struct ObservedChanges {
    fileprivate var open: [PropertyObservers.OpenChange] = []
    fileprivate var replacements: [ReplacedValues] = []

    var isEmpty: Bool { open.isEmpty && replacements.isEmpty }

    mutating func append(_ change: PropertyObservers.OpenChange) { open.append(change) }

    /// Of several replacements only the first counts: it has the values that observers have seen.
    mutating func append(_ replaced: ReplacedValues) {
        if !replacements.contains(where: { $0.object === replaced.object }) { replacements.append(replaced) }
    }
}

/// An object before all its values were replaced.
struct ReplacedValues {
    let object: NSManagedObject
    private let values: ContiguousArray<StoredValue>
    private let toMany: ToManyStates
    private let open: [PropertyObservers.OpenChange]

    init(_ object: NSManagedObject, _ observers: PropertyObservers) {
        self.object = object
        values = object.values
        toMany = object.toMany
        open = observers.observedNames.compactMap { observers.begin(PropertyChange(object: object, name: $0), sendsPrior: false) }
    }

    /// A fault's values are unknown: each observer is notified, as Apple documents.
    ///
    /// Source: Core Data Programming Guide, "Faulting and Uniquing", "Faults and KVO Notifications"
    fileprivate var changed: [PropertyObservers.OpenChange] {
        if object.flags.contains(.detached) { return [] }
        return object.isMarkedFault ? open : open.filter { hasChanged($0.change.name) }
    }

    private func hasChanged(_ name: String) -> Bool {
        switch object.layout.entity.location(of: name) {
        case .slot(let slot): values[slot] != object.values[slot]
        case .toMany(let index):
            toMany[index].stored == nil || object.toMany[index].stored == nil
                || toMany[index].orderedMembers != object.toMany[index].orderedMembers
        case nil: values != object.values
        }
    }
}

extension NSManagedObject {
    /// Called when both sides of a relationship have changed.
    @inline(__always)
    final func deliverObservedChanges() {
        if KeyValueObservers.count.load(ordering: .relaxed) != 0 { contextReference?.deliverObservedChanges() }
    }
}

extension NSManagedObjectContext {
    @inline(__always)
    func deliverObservedChanges() {
        if KeyValueObservers.count.load(ordering: .relaxed) != 0 { deliverObservedChangesNow() }
    }

    /// Handlers may change objects, and the observers of those are notified within that change: the pending changes are
    /// removed first.
    private func deliverObservedChangesNow() {
        while !observedChanges.isEmpty {
            let changes = observedChanges
            observedChanges = ObservedChanges()
            for change in changes.open where !change.change.object.flags.contains(.detached) { change.finish() }
            for replaced in changes.replacements {
                for change in replaced.changed { change.finish() }
            }
        }
    }
}
