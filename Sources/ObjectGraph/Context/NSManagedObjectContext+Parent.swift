// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import ManagedModel
import Synchronization

// Saves into the parent context, and notifications from a parent to its children.

/// A parent's reference to one child.
struct WeakChild: @unchecked Sendable {
    // Unchecked: only `inbox`, `queue` and `automaticallyMergesChangesFromParent` are used off the child's queue.
    private let registry: IdentityMap
    var context: NSManagedObjectContext? { registry.context }
    init(context: NSManagedObjectContext) { registry = context.registry }
}

extension NSManagedObjectContext {
    /// The child contexts.
    private var liveChildren: [NSManagedObjectContext] {
        children.withLock { list in
            list.removeAll { $0.context == nil }
            return list.compactMap(\.context)
        }
    }

    var hasChildren: Bool { children.withLock { list in list.contains { $0.context != nil } } }

    func addChild(_ child: NSManagedObjectContext) { children.withLock { $0.append(WeakChild(context: child)) } }

    func removeChild(_ child: NSManagedObjectContext) { children.withLock { $0.removeAll { $0.context == nil || $0.context === child } } }

    // MARK: Permanent keys

    /// Publishes keys that became permanent to the children. Each child adopts them at the end of its event, and before
    /// it reads from this context.
    func publishPermanentKeys(_ permanent: [RowKey: RowKey]) {
        guard !permanent.isEmpty else { return }
        for child in liveChildren {
            child.inbox.withLock { $0.merge(permanent) { _, new in new } }
            child.queue.queue.async { [registry = child.registry] in registry.context?.adoptPermanentKeys() }
        }
    }

    /// Adopts the permanent keys that the ancestors assigned to objects saved by this context.
    func adoptPermanentKeys() {
        let permanent = inbox.withLock { inbox in
            defer { inbox = [:] }
            return inbox
        }
        guard !permanent.isEmpty else { return }
        aliases.merge(permanent) { _, new in new }
        let objects = registry.objects
        for object in objects {
            guard let key = permanent[object.key] else { continue }
            registry.remove(object)
            object.setKey(key)
            registry.insert(object)
        }
        for object in objects { object.translateReferences(permanent, everywhere: true) }
        publishPermanentKeys(permanent)
    }

    // MARK: Saves of this context

    /// Turns this context's pending changes into pending changes of the parent.
    ///
    /// The last writer wins, property by property: a property unchanged in this context keeps its value in the parent.
    func push(to parent: NSManagedObjectContext, _ saved: inout Saved) {
        let objects = pendingInOrder
        var commit = StoreCommit(store: RowKey.temporaryStore)
        for object in objects where object.hasNewOrder && !object.isMarkedDeleted {
            for index in object.toMany.indices where object.toMany[index].order?.hasChanges == true { _ = object.toManyKeys(index) }
        }
        reading(parent) { $0.applyChanges(of: objects, from: self) }
        for object in objects {
            pending.remove(object)
            assignments[ObjectIdentifier(object)] = nil
            if object.isMarkedDeleted {
                if object.isMarkedInserted {
                    forget(object)
                } else {
                    commit.deleted.append(object.key)
                    saved.deleted.append(object)
                }
                continue
            }
            if object.isMarkedInserted {
                commit.inserted.append(object.key)
                saved.inserted.append(object)
            } else {
                commit.updated.append(object.key)
                commit.relationshipOwners.insert(object.key)
                saved.updated.append(object)
            }
            object.didCommit(version: object.version)
        }
        saved.commits = [commit]
    }

    /// Notifies the children that merge automatically.
    func notifyChildren(of commits: [StoreCommit]) {
        for child in liveChildren where child.automaticallyMergesChangesFromParent {
            child.queue.queue.async { child.merge(commits) }
        }
    }

    // MARK: Saves of a child

    /// Applies a child's changes. Runs on this context's queue while the child's queue waits.
    private func applyChanges(of objects: [NSManagedObject], from child: NSManagedObjectContext) {
        let living = objects.filter { !$0.isMarkedDeleted }
        for object in living where object.isMarkedInserted { insertCounterpart(object, from: child) }
        // A counterpart counts only if this context neither deleted nor lost it.
        for object in living {
            let mine = counterpart(of: object)
            guard mine.flags.isDisjoint(with: [.deleted, .detached]) else { continue }
            takeSlots(of: object, into: mine)
            copyMembers(of: object, into: mine)
        }
        // Orders are applied once all members have joined.
        for object in living where object.hasNewOrder {
            let mine = counterpart(of: object)
            guard mine.flags.isDisjoint(with: [.deleted, .detached]) else { continue }
            for (index, state) in object.toMany.enumerated() where state.order?.hasChanges == true {
                mine.arrange(index, state.orderedMembers.compactMap { existing($0)?.key })
            }
        }
        for object in objects where object.isMarkedDeleted && !object.isMarkedInserted {
            let mine = counterpart(of: object)
            guard mine.flags.isDisjoint(with: [.deleted, .detached]) else { continue }
            // `prepareForDeletion` ran in the child.
            markDeleted(mine)
        }
        processPendingChanges()
    }

    /// Inserts the counterpart of a child's new object: same ID, same values, no second `awakeFromInsert`.
    private func insertCounterpart(_ object: NSManagedObject, from child: NSManagedObjectContext) {
        let registered = registry[object.key]
        if let registered, !registered.flags.contains(.detached), !registered.isMarkedFault {
            // The child reverted a deletion that it had saved into this context.
            if registered.isMarkedDeleted { insert(registered) }
            return
        }
        let mine = registered ?? NSManagedObject.make(object.key, layout: object.layout, in: self)
        mine.beginInsertion(with: object)
        if let store = child.assignments[ObjectIdentifier(object)] { assignments[ObjectIdentifier(mine)] = store }
        enterInserted(mine)
    }

    private func counterpart(of object: NSManagedObject) -> NSManagedObject {
        let mine = self.object(for: object.key)
        // The row that the child read is the base of its change, even if the stored row is newer: the save to the store
        // must detect that conflict.
        if mine.isMarkedFault, !mine.flags.contains(.hasRow), object.version > 0 { mine.cacheRow(object.baseRow) }
        mine.willRead()
        return mine
    }

    private func takeSlots(of object: NSManagedObject, into mine: NSManagedObject) {
        for slot in object.changedSlots() {
            switch object.layout.entity.slots[slot] {
            case .attribute: mine.setSlot(slot, to: object.values[slot])
            case .toOne: mine.setToOne(slot, to: object.values[slot].reference.flatMap(existing))
            }
        }
    }

    /// Members of one-to-many relationships follow from the members' own references.
    private func copyMembers(of object: NSManagedObject, into mine: NSManagedObject) {
        for (index, state) in object.toMany.enumerated() where state.hasChanges {
            if case .slot = object.layout.entity.toMany[index].inverse { continue }
            for key in state.removed.sorted(by: { $0.primaryKey < $1.primaryKey }) { existing(key).map { mine.removeFromMany(index, $0) } }
            for key in state.added.sorted(by: { $0.primaryKey < $1.primaryKey }) { existing(key).map { mine.addToMany(index, $0) } }
        }
        // If only members changed, the object still counts as updated, as it does in the child.
        if mine.flags.isDisjoint(with: .pending) { noteChanged(mine) }
    }

    /// Returns nil for an object that was inserted and deleted in the child.
    private func existing(_ key: RowKey) -> NSManagedObject? {
        if let registered = registry[key] { return registered.flags.contains(.detached) ? nil : registered }
        // A new object of an ancestor is found there when its fault fires.
        return key.isTemporary && parent == nil ? nil : object(for: key)
    }
}

extension NSManagedObject {
    /// The row that the object's changes are based on.
    fileprivate final var baseRow: Row { Row(key: key, version: version, values: committed ?? values) }

    /// Starts the insertion of a counterpart with another object's attributes. The caller adds relationships one by one.
    fileprivate final func beginInsertion(with other: NSManagedObject) {
        values = other.values
        for (slot, definition) in layout.entity.slots.enumerated() {
            if case .toOne = definition { values[slot] = .null }
        }
        committed = nil
        version = 0
        toMany = ToManyStates(like: toMany, isNew: true)
        flags = []
    }
}
