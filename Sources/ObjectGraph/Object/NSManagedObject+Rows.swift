// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

// Between an object and its row: filling, merging, faulting.

extension NSManagedObject {
    /// Puts a row's values at hand. The object stays a fault until somebody reads.
    final func take(_ row: Row) {
        values = row.values
        version = row.version
        flags.insert(.hasRow)
    }

    /// The values are being read: the object stops being a fault.
    final func fire() {
        flags.remove(.fault)
        awakeFromFetch()
    }

    /// What the store holds changed: unsaved changes stay on top of the new values.
    final func merge(_ row: Row) {
        for index in toMany.indices { toMany[index].fault() }
        guard let committed, !isFault else {
            take(row)
            return
        }
        var merged = row.values
        for slot in values.indices where values[slot] != committed[slot] { merged[slot] = values[slot] }
        self.committed = row.values
        values = merged
        version = row.version
    }

    /// Back to what was last fetched or saved.
    final func revert() {
        if let committed { values = committed }
        committed = nil
        for index in toMany.indices { toMany[index].rollback() }
        flags.subtract([.updated, .deleted, .propagated, .unannounced])
    }

    final func turnIntoFault() {
        guard !isFault else { return }
        willTurnIntoFault()
        committed = nil
        flags.insert(.fault)
        flags.remove(.hasRow)
        for index in toMany.indices { toMany[index].fault() }
        didTurnIntoFault()
    }

    /// The row is missing: the object is deleted, and every property is empty.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsmanagedobjectcontext/shoulddeleteinaccessiblefaults
    final func lose() {
        flags.remove([.fault, .hasRow])
        flags.insert([.deleted, .detached])
        committed = nil
        for slot in values.indices { values[slot] = .null }
        for index in toMany.indices { toMany[index] = ToManyState(stored: []) }
    }

    /// A row that was missing may be there by now: the next read looks.
    final func revive() {
        flags = .fault
        for index in toMany.indices { toMany[index] = ToManyState(stored: nil) }
    }

    /// The save went through: what is here is what the store holds.
    final func didCommit(version: Int64) {
        self.version = version
        for index in toMany.indices { toMany[index].commit() }
        committed = nil
        flags.subtract([.inserted, .updated, .unannounced, .presented])
    }
}

// One side of a relationship is about to lose its changes: the other side, which changed with it, follows.

extension NSManagedObject {
    /// Forgets every unsaved change of this object alone.
    ///
    /// The members of its one-to-many relationships are the members' changes, and stay.
    final func revertAlone() {
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
        for (index, relationship) in layout.entity.toMany.enumerated() where relationship.shape == .manyToMany {
            guard let inverse = relationship.inverse else { continue }
            for key in toMany[index].added.union(toMany[index].removed) {
                contextReference?.registeredObject(for: key)?.retract(self, at: inverse)
            }
            toMany[index].rollback()
        }
        flags.subtract([.updated, .deleted, .propagated, .unannounced])
    }

    private final func retract(_ object: NSManagedObject, at location: PropertyLocation) {
        switch location {
        case .toMany(let index): toMany[index].retract(object.key)
        case .slot(let slot):
            guard let committed else { return }
            if values[slot].reference == object.key || committed[slot].reference == object.key { values[slot] = committed[slot] }
        }
    }

    /// A to-one relationship got another value than was set here: the owners' members are read anew.
    final func reloadOwners(_ slot: Int, _ references: [StoredValue]) {
        guard case .toOne(let relationship) = layout.entity.slots[slot], case .toMany(let index)? = relationship.inverse else { return }
        for key in references.compactMap(\.reference) {
            guard let owner = contextReference?.registeredObject(for: key), !owner.flags.contains(.detached) else { continue }
            owner.toMany[index].retract(self.key)
            owner.toMany[index].fault()
        }
    }
}
