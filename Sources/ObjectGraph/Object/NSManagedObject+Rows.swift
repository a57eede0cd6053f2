// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore

// Between an object and its row: reading, merging, faulting.

extension NSManagedObject {
    /// Caches a row's values. The object stays a fault until a property is read.
    final func cacheRow(_ row: Row) {
        replaceValues(row.values)
        version = row.version
        flags.insert(.hasRow)
    }

    /// Caches a packed row.
    final func cacheRow(_ chunk: RowChunk, at offset: Int) {
        pack(chunk, at: offset)
        version = chunk.version(at: offset)
        flags.insert(.hasRow)
    }

    /// The values are read: the object stops being a fault.
    final func fire() {
        flags.remove(.fault)
        awakeFromFetch()
    }

    /// A to-one relationship changed both here and in the store.
    struct KeptReference {
        let object: NSManagedObject
        let slot: Int
        /// The store's destination when the relationship was changed here.
        let base: RowKey?
    }

    /// Merges a newer row: unsaved changes stay, applied to the new values.
    ///
    /// - Returns: Relationships with inverses to update, by ``rebaseReferences(_:)``, once all rows are merged.
    final func merge(_ row: Row) -> [KeptReference] {
        willChangeAll()
        toMany.fault()
        guard let committed, !isMarkedFault else {
            cacheRow(row)
            return []
        }
        var merged = row.values
        var keptReferences: [KeptReference] = []
        for slot in values.indices where values[slot] != committed[slot] {
            merged[slot] = values[slot]
            guard case .toOne = layout.entity.slots[slot], row.values[slot] != committed[slot] else { continue }
            keptReferences.append(KeptReference(object: self, slot: slot, base: committed[slot].reference))
        }
        self.committed = row.values
        values = merged
        version = row.version
        return keptReferences
    }

    /// Rebases changed relationships: the object leaves the owner that it has in the store.
    static func rebaseReferences(_ kept: [KeptReference]) {
        for reference in kept {
            let (object, slot) = (reference.object, reference.slot)
            guard case .toOne(let relationship) = object.layout.entity.slots[slot], let inverse = relationship.inverse,
                let context = object.contextReference, let stored = object.committed?[slot]
            else { continue }
            if case .toMany(let index) = inverse, let base = reference.base {
                let former = context.registeredObject(for: base)
                former?.willChangeAll()
                former?.toMany[index].retract(object.key)
            }
            guard let owner = stored.reference else { continue }
            if stored != object.values[slot] {
                context.object(for: owner).forget(object, at: inverse)
            } else if case .toMany(let index) = inverse, let registeredOwner = context.registeredObject(for: owner) {
                registeredOwner.willChangeAll()
                registeredOwner.toMany[index].retract(object.key)
                registeredOwner.toMany[index].fault()
            }
        }
    }

    /// Restores the values last fetched or saved.
    final func revert() {
        willChangeAll()
        if let committed { values = committed }
        committed = nil
        toMany.rollback()
        flags.subtract([.updated, .deleted, .propagated, .unannounced])
    }

    final func turnIntoFault() {
        guard !isMarkedFault else { return }
        willChangeAll()
        willTurnIntoFault()
        committed = nil
        flags.insert(.fault)
        flags.remove(.hasRow)
        toMany.fault()
        didTurnIntoFault()
    }

    /// The row is missing: the object becomes a deleted one with empty properties.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsmanagedobjectcontext/shoulddeleteinaccessiblefaults
    final func becomeInaccessible() {
        willChangeAll()
        flags.remove([.fault, .hasRow])
        flags.insert([.deleted, .detached])
        committed = nil
        for slot in values.indices { values[slot] = .null }
        toMany = ToManyStates(like: toMany, isNew: true)
    }

    /// A missing row may exist by now: the next read looks.
    final func clearInaccessible() {
        flags = flags.intersection(.anyObserver).union(.fault)
        toMany = ToManyStates(like: toMany, isNew: false)
    }

    /// The save succeeded: current values equal the store's.
    final func didCommit(version: Int64) {
        self.version = version
        toMany.commit()
        committed = nil
        flags.subtract([.inserted, .updated, .unannounced, .presented])
    }
}

// One side of a relationship is about to lose its changes: the other side, which changed with it, follows.

extension NSManagedObject {
    /// Discards the unsaved changes of this object only.
    ///
    /// Members of its one-to-many relationships are changes of the members, and stay.
    final func revertAlone() {
        willChangeAll()
        retractDeletion()
        if let committed {
            for (slot, definition) in layout.entity.slots.enumerated() where values[slot] != committed[slot] {
                guard case .toOne(let relationship) = definition, let inverse = relationship.inverse else { continue }
                for key in [values[slot].reference, committed[slot].reference].compactMap(\.self) {
                    contextReference?.registeredObject(for: key)?.retract(self, at: inverse)
                }
            }
            values = committed
        }
        committed = nil
        for (index, relationship) in layout.entity.toMany.enumerated()
        where relationship.shape == .manyToMany || relationship.inverse == nil {
            guard let inverse = relationship.inverse else {
                toMany[index].rollback()
                continue
            }
            for key in toMany[index].added.array + toMany[index].removed.array {
                contextReference?.registeredObject(for: key)?.retract(self, at: inverse)
            }
            toMany[index].rollback()
        }
        for index in toMany.indices { toMany[index].forgetArrangement() }
        flags.subtract([.updated, .deleted, .propagated, .unannounced])
    }

    /// Restores the relationships that this object's deletion emptied. Objects deleted by its cascade stay deleted.
    final func retractDeletion() {
        guard flags.contains(.propagated), let context = contextReference else { return }
        flags.subtract([.deleted, .propagated])
        for (slot, definition) in layout.entity.slots.enumerated() {
            guard case .toOne(let relationship) = definition, let inverse = relationship.inverse,
                let destination = values[slot].reference
            else { continue }
            context.registeredObject(for: destination)?.restore(self, at: inverse)
        }
        for relationship in layout.entity.toMany {
            guard let inverse = relationship.inverse else { continue }
            for other in context.pendingInOrder
            where context.persistentStoreCoordinator?.isKind(other.layout.index, of: relationship.destination) == true {
                other.restore(self, at: inverse)
            }
        }
    }

    /// After its deletion was reverted: clears references to objects deleted concurrently.
    final func leaveDeleted() {
        guard let context = contextReference, context.pending.contains(where: \.isMarkedDeleted) else { return }
        willRead()
        func isMarkedDeleted(_ key: RowKey) -> Bool { context.registeredObject(for: key)?.isMarkedDeleted ?? false }
        for (slot, definition) in layout.entity.slots.enumerated() {
            guard case .toOne = definition, let key = values[slot].reference, isMarkedDeleted(key) else { continue }
            setSlot(slot, to: .null)
        }
        for index in toMany.indices {
            for key in toMany[index].stored ?? [] where isMarkedDeleted(key) { forget(context.object(for: key), at: .toMany(index)) }
        }
    }

    /// Restores a reference that a deletion cleared.
    private final func restore(_ object: NSManagedObject, at location: PropertyLocation) {
        switch location {
        case .toMany(let index): toMany[index].retract(object.key)
        case .slot(let slot):
            if let committed, committed[slot].reference == object.key, values[slot].isNull { values[slot] = committed[slot] }
        }
    }

    private final func retract(_ object: NSManagedObject, at location: PropertyLocation) {
        switch location {
        case .toMany(let index): toMany[index].retract(object.key)
        case .slot(let slot):
            guard let committed else { return }
            if values[slot].reference == object.key || committed[slot].reference == object.key { values[slot] = committed[slot] }
        }
    }

    /// A merge changed a to-one relationship's unsaved value: the owners' members are reloaded.
    final func reloadOwners(_ slot: Int, _ references: [StoredValue]) {
        guard case .toOne(let relationship) = layout.entity.slots[slot], case .toMany(let index)? = relationship.inverse else { return }
        for key in references.compactMap(\.reference) {
            guard let owner = contextReference?.registeredObject(for: key), !owner.flags.contains(.detached) else { continue }
            owner.toMany[index].retract(self.key)
            owner.toMany[index].fault()
        }
    }
}
