// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Relationships and their inverses. Both sides change together.

extension NSManagedObject {
    final func toOne(_ slot: Int) -> NSManagedObject? {
        willRead()
        guard !flags.contains(.detached), let key = value(at: slot).reference else { return nil }
        return related(key)
    }

    final func setToOne(_ slot: Int, to destination: NSManagedObject?) {
        guard case .toOne(let relationship) = layout.entity.slots[slot] else {
            preconditionFailure("'\(layout.name).\(layout.entity.slots[slot].name)' is an attribute")
        }
        willRead()
        guard flags.isDisjoint(with: [.detached, .deleted]) else { return }
        let previous = values[slot].reference
        let destination = destination.flatMap { living($0, for: relationship) }
        var losesMember = previous != nil
        defer {
            deliverObservedChanges()
            if losesMember { separateUnconnected() }
        }
        guard previous != destination?.key else { return setSlot(slot, to: values[slot]) }
        if let inverse = relationship.inverse, let previous { related(previous).forget(self, at: inverse) }
        setSlot(slot, to: destination.map { .reference($0.key) } ?? .null)
        guard let inverse = relationship.inverse, let destination else { return }
        if case .slot(let inverseSlot) = inverse, let rival = destination.toOne(inverseSlot), rival !== self {
            losesMember = true
            rival.forget(destination, at: .slot(slot))
        }
        destination.remember(self, at: inverse)
    }

    /// The members, in order if the relationship is ordered.
    final func toManyObjects(_ index: Int) -> [NSManagedObject] {
        let members = toManyKeys(index)
        if members.isEmpty { return [] }
        let isOrdered = layout.orderedToMany != 0 && layout.entity.toMany[index].declaration.isOrdered
        return related(isOrdered ? toMany[index].orderedMembers : members.array)
    }

    final func toManyKeys(_ index: Int) -> KeySet { loadedToMany(index)?.members ?? [] }

    /// Returns a relationship with its members loaded; nil if the object is deleted.
    final func loadedToMany(_ index: Int) -> ToManyState? {
        willRead()
        guard !flags.contains(.detached) else { return nil }
        if toMany[index].stored == nil { toMany[index].load(requireContext().loadDestinations(of: self, index)) }
        return toMany[index]
    }

    final func addToMany(_ index: Int, _ destination: NSManagedObject) {
        let relationship = layout.entity.toMany[index]
        willRead()
        guard flags.isDisjoint(with: [.detached, .deleted]), let destination = living(destination, for: relationship) else { return }
        // Moving a child changes its former parent, too.
        if case .slot(let inverseSlot) = relationship.inverse {
            destination.setToOne(inverseSlot, to: self)
        } else {
            remember(destination, at: .toMany(index))
            if let inverse = relationship.inverse { destination.remember(self, at: inverse) }
            deliverObservedChanges()
        }
    }

    final func removeFromMany(_ index: Int, _ destination: NSManagedObject) {
        unlink(index, destination)
        separateUnconnected()
    }

    /// Removes a member. The caller separates objects without a context, once for all members: that visits all connected ones.
    private final func unlink(_ index: Int, _ destination: NSManagedObject) {
        forget(destination, at: .toMany(index))
        if let inverse = layout.entity.toMany[index].inverse { destination.forget(self, at: inverse) }
        deliverObservedChanges()
    }

    private final func unlink(_ index: Int, _ members: [NSManagedObject]) {
        // An ordered relationship finds its last member first.
        let isOrdered = layout.entity.toMany[index].declaration.isOrdered
        let members: [NSManagedObject] = isOrdered ? members.reversed() : members
        refreshingViewsOnce(index) { for member in members { unlink(index, member) } }
    }

    /// Adds members. Observers are notified once.
    final func addMembers(_ index: Int, _ members: [NSManagedObject]) {
        asOneChange(layout.entity.toMany[index].name, .insertion(members)) {
            refreshingViewsOnce(index) { for member in members { addToMany(index, member) } }
        }
    }

    /// Removes members. Observers are notified once.
    final func removeMembers(_ index: Int, _ members: [NSManagedObject]) {
        asOneChange(layout.entity.toMany[index].name, .removal(members)) {
            unlink(index, members)
        }
        if !members.isEmpty { separateUnconnected() }
    }

    /// Sets the members of an ordered relationship. Observers are notified of joined and left members, not of a new
    /// value.
    final func changeMembers(_ index: Int, to objects: [NSManagedObject]) {
        asOneChange(layout.entity.toMany[index].name, mutation(index, to: objects)) { setToMany(index, to: objects) }
    }

    private final func mutation(_ index: Int, to objects: [NSManagedObject]) -> PropertyMutation {
        let formerMembers = toManyObjects(index)
        let (formerKeys, keys) = (Set(formerMembers.map(\.key)), Set(objects.map(\.key)))
        let (inserted, removed) = (objects.filter { !formerKeys.contains($0.key) }, formerMembers.filter { !keys.contains($0.key) })
        if removed.isEmpty, !inserted.isEmpty, formerMembers == objects.filter({ formerKeys.contains($0.key) }) {
            return .insertion(inserted)
        }
        if inserted.isEmpty, !removed.isEmpty, objects == formerMembers.filter({ keys.contains($0.key) }) { return .removal(removed) }
        return .setting
    }

    final func setToMany(_ index: Int, to objects: [NSManagedObject]) {
        let newKeys = Set(objects.map(\.key))
        let removed = toManyObjects(index).filter { !newKeys.contains($0.key) }
        unlink(index, removed)
        if !removed.isEmpty { separateUnconnected() }
        let present = toManyKeys(index)
        refreshingViewsOnce(index) { for object in objects where !present.contains(object.key) { addToMany(index, object) } }
        if layout.entity.toMany[index].declaration.isOrdered { arrange(index, objects.map(\.key)) }
    }

    final func arrange(_ index: Int, _ keys: [RowKey]) {
        let members = toManyKeys(index)
        let orderedKeys = keys.filter(members.contains).uniqued()
        guard toMany[index].orderedMembers != orderedKeys, willWrite() else { return }
        observing(layout.entity.toMany[index].name) { toMany[index].arrange(orderedKeys) }
        refreshViews(index)
    }

    final var hasNewOrder: Bool { layout.orderedToMany != 0 && toMany.contains { $0.order?.hasChanges == true } }

    /// One-to-many relationships that were reordered in this context.
    final var rearranged: [Int] {
        guard layout.orderedToMany != 0 else { return [] }
        return toMany.indices.filter { toMany[$0].order?.arranged != nil && layout.entity.toMany[$0].shape != .manyToMany }
    }

    /// Changes one side of a relationship; the caller changes the other.
    private final func remember(_ object: NSManagedObject, at location: PropertyLocation) {
        switch location {
        case .slot(let slot): setSlot(slot, to: .reference(object.key))
        case .toMany(let index):
            guard willWrite() else { return }
            var hasJoined = false
            observing(layout.entity.toMany[index].name, .insertion([object])) {
                let formerCount = layout.orderedToMany == 0 ? nil : toMany[index].memberCount
                toMany[index].insert(object.key)
                hasJoined = formerCount != nil && toMany[index].memberCount != formerCount
            }
            // A member that joins an ordered relationship is the last one.
            refreshViews(index, appended: hasJoined ? object : nil)
        }
    }

    final func forget(_ object: NSManagedObject, at location: PropertyLocation) {
        guard !flags.contains(.detached) else { return }
        switch location {
        case .slot(let slot):
            willRead()
            if values[slot].reference == object.key { setSlot(slot, to: .null) }
        case .toMany(let index):
            guard willWrite() else { return }
            let mayBeStored = !object.key.isTemporary || (contextReference?.parent != nil && !object.isMarkedInserted)
            observing(layout.entity.toMany[index].name, .removal([object])) { toMany[index].remove(object.key, mayBeStored: mayBeStored) }
            refreshViews(index)
        }
    }

    /// Checks that a relationship may hold an object, and connects the two if they have no context.
    ///
    /// - Returns: nil for a deleted object, also if it was deleted concurrently. Relating to it equals relating to it
    ///   just before the deletion, which would have emptied the relationship.
    private final func living(_ destination: NSManagedObject, for relationship: ResolvedRelationship) -> NSManagedObject? {
        if destination.flags.contains(.detached) { return nil }
        let context = contextReference
        precondition(
            destination.contextReference === context,
            "'\(layout.name).\(relationship.name)' cannot relate objects of different contexts; "
                + "use object(with:) to get the other object in this context, and insert an object without one")
        precondition(
            destination.hasKind(relationship.destination, in: context),
            "'\(layout.name).\(relationship.name)' cannot hold a \(destination.layout.name)")
        if relationship.inverse != nil { destination.willRead() }
        if destination.isMarkedDeleted { return nil }
        if context == nil { connect(with: destination) }
        return destination
    }

    private final func hasKind(_ entity: Int, in context: NSManagedObjectContext?) -> Bool {
        if let coordinator = context?.persistentStoreCoordinator { return coordinator.isKind(layout.index, of: entity) }
        var description: NSEntityDescription? = layout.description
        while let candidate = description, candidate.layout?.index != entity { description = candidate.superentity }
        return description != nil
    }
}

extension NSManagedObject {
    func hasFaultImplementation(forRelationshipNamed key: String) -> Bool {
        switch location(of: key) {
        case .slot(let slot):
            guard let destination = values[slot].reference else { return false }
            guard let context = contextReference else { return relatedWithoutContext(destination) == nil }
            return (context.registeredObject(for: destination)?.isMarkedFault ?? true) && context.prefetchedRow(destination) == nil
        case .toMany(let index): return toMany[index].stored == nil
        }
    }

    func objectIDsImplementation(forRelationshipNamed key: String) -> [NSManagedObjectID] {
        switch location(of: key) {
        case .slot(let slot): toOne(slot).map { [$0.objectID] } ?? []
        case .toMany(let index): toManyObjects(index).map(\.objectID)
        }
    }
}
