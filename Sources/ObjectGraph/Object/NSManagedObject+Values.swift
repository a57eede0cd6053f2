// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Access to slots, and key-value coding on top of it.

extension NSManagedObject {
    /// Loads the object's values. Call before every read.
    @inline(__always)
    final func willRead() {
        if !flags.isDisjoint(with: [.fault, .detached]) { realise() }
    }

    /// - Precondition: The context is alive and this is its queue.
    final func requireContext() -> NSManagedObjectContext {
        guard let context = contextReference else {
            preconditionFailure("\(layout.name) \(objectID) has no context: it was deleted, or its context is gone")
        }
        context.preconditionIsCurrent()
        return context
    }

    private final func realise() {
        guard flags.isDisjoint(with: [.detached, .probe]) else { return }
        requireContext().fulfill(self)
    }

    final func setSlot(_ slot: Int, to value: StoredValue) {
        guard willWrite() else { return }
        // Without a closure: every write takes this path.
        guard !flags.isDisjoint(with: .anyObserver) else { return values[slot] = value }
        observing(layout.entity.slots[slot].name) { values[slot] = value }
    }

    /// Takes the snapshot that changes are based on, and notifies the context.
    ///
    /// - Returns: false for a deleted object. Writing to it has no effect: another context, process or device may delete
    ///   an object that is being edited at any time, and that must not end the process.
    final func willWrite() -> Bool {
        // Written to since the last notification: the context and the undo manager know.
        let relevantFlags = flags.intersection([.fault, .detached, .updated, .unannounced])
        if relevantFlags == [.updated, .unannounced], committed != nil { return true }
        return beginWriting()
    }

    private final func beginWriting() -> Bool {
        willRead()
        guard flags.isDisjoint(with: [.fault, .detached]) else { return false }
        if committed == nil { committed = values }
        contextReference?.noteChanged(self)
        return true
    }

    // MARK: Key-value coding

    final func readProperty(_ key: String) -> Any? {
        if flags.contains(.probe) {
            KeyPathProbe.recordRead(key, of: self)
            if layout.entity.location(of: key) == nil { return nil }
        }
        if flags.contains(.observed) { noteRead(key) }
        guard let location = layout.entity.location(of: key) else { return unmodelled(key) }
        switch location {
        case .slot(let index):
            willRead()
            switch layout.entity.slots[index] {
            case .attribute(let attribute):
                if attribute.type == .transformable { return transformed(index) }
                return AttributeCoding.value(value(at: index), of: attribute)
            case .toOne: return toOne(index)
            }
        case .toMany(let index): return collection(toManyObjects(index), index)
        }
    }

    final func writeProperty(_ key: String, _ value: Any?) {
        guard let location = layout.entity.location(of: key) else { return writeUnmodelled(key, value) }
        switch location {
        case .slot(let index):
            switch layout.entity.slots[index] {
            case .attribute(let attribute): setSlot(index, to: stored(value, for: attribute))
            case .toOne: setToOne(index, to: managedObject(value, key: key))
            }
        case .toMany(let index): asOneChange(key, .setting) { setToMany(index, to: managedObjects(value, key: key)) }
        }
    }

    final func writePrimitive(_ key: String, _ value: Any?) {
        // An accessor of a relationship relies on the inverse being changed between its notifications.
        guard case .slot(let index) = location(of: key), case .attribute(let attribute) = layout.entity.slots[index] else {
            return writeProperty(key, value)
        }
        willRead()
        guard flags.isDisjoint(with: [.fault, .detached]) else { return }
        // The object does not count as changed, but a save for another reason writes the value.
        if committed == nil { committed = values }
        values[index] = stored(value, for: attribute)
    }

    func changedValuesImplementation() -> [String: Any] {
        var result: [String: Any] = [:]
        for index in changedSlots() {
            let (name, value) = property(of: index, values)
            result[name] = value
        }
        for (index, state) in toMany.enumerated() where state.hasChanges {
            result[layout.entity.toMany[index].name] = collection(toManyObjects(index), index)
        }
        return result
    }

    func committedValuesImplementation(forKeys keys: [String]?) -> [String: Any] {
        willRead()
        let source = committed ?? values
        var result: [String: Any] = [:]
        for index in layout.entity.slots.indices where !layout.transientSlots.contains(index) {
            let (name, value) = property(of: index, source)
            if keys?.contains(name) ?? true { result[name] = value }
        }
        for (index, relationship) in layout.entity.toMany.enumerated()
        where !flags.contains(.detached) && !relationship.declaration.isTransient {
            guard keys?.contains(relationship.name) ?? (toMany[index].stored != nil) else { continue }
            _ = toManyKeys(index)
            let stored = related(toMany[index].storedMembers)
            result[relationship.name] = collection(stored, index)
        }
        return result
    }

    /// The KVC value of a to-many relationship.
    final func collection(_ objects: [NSManagedObject], _ index: Int) -> Any {
        layout.entity.toMany[index].declaration.isOrdered ? NSOrderedSet(array: objects) : NSSet(members: objects)
    }

    final func changedSlots() -> [Int] {
        guard let committed else { return isMarkedInserted ? Array(values.indices) : [] }
        let changed = values.indices.filter { values[$0] != committed[$0] }
        return layout.transientSlots.isEmpty ? changed : changed.filter { !layout.transientSlots.contains($0) }
    }

    final func location(of key: String) -> PropertyLocation {
        guard let location = layout.entity.location(of: key) else {
            preconditionFailure("entity '\(layout.name)' has no property '\(key)'")
        }
        return location
    }

    final func apiValue(_ value: StoredValue, slot: Int) -> Any? {
        switch layout.entity.slots[slot] {
        case .attribute(let attribute): AttributeCoding.value(value, of: attribute)
        case .toOne: value.reference.flatMap { relatedWithoutContext($0) ?? contextReference?.object(for: $0) }
        }
    }

    private final func stored(_ value: Any?, for attribute: Attribute) -> StoredValue {
        guard let stored = AttributeCoding.stored(value, as: attribute.type) else {
            preconditionFailure(
                "unacceptable type of value for attribute: property = \(layout.name).\(attribute.name); "
                    + "desired type = \(attribute.type); given type = \(value.map { "\(type(of: $0))" } ?? "nil")")
        }
        return stored
    }

    private final func managedObject(_ value: Any?, key: String) -> NSManagedObject? {
        guard let value, !(value is NSNull) else { return nil }
        guard let object = value as? NSManagedObject else {
            preconditionFailure("'\(layout.name).\(key)' is a relationship and cannot hold a \(type(of: value))")
        }
        return object
    }

    final func managedObjects(_ value: Any?, key: String) -> [NSManagedObject] {
        let elements: [Any] =
            switch value {
            case nil, is NSNull: []
            case let set as NSSet: set.allObjects
            case let set as NSOrderedSet: set.array
            case let array as [Any]: array
            case let set as Set<NSManagedObject>: Array(set)
            default: preconditionFailure("'\(layout.name).\(key)' is a to-many relationship and needs a set of objects")
            }
        return elements.compactMap { managedObject($0, key: key) }
    }
}
