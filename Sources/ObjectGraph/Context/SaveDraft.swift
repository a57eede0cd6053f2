// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
import SQLiteStore

/// One committed save of one store, for everyone who shows its objects.
package struct StoreCommit: Sendable {
    package var store: UInt16
    package var inserted: [RowKey] = []
    package var updated: [RowKey] = []
    package var deleted: [RowKey] = []
    /// Rows whose to-many relationships changed because rows that point at them did.
    package var relationshipOwners: Set<RowKey> = []

    package init(store: UInt16) { self.store = store }

    package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && relationshipOwners.isEmpty }
}

/// What pending objects mean for the stores: a value, made anew for each attempt to save.
///
/// Every key in it is permanent.
struct SaveDraft {
    private(set) var changes: [UInt16: StoreChanges] = [:]
    private(set) var commits: [StoreCommit] = []
    /// Rows whose version rises with the save.
    private(set) var written: Set<RowKey> = []
    private let author: String?
    private let contextName: String?

    init(_ objects: [NSManagedObject], author: String?, contextName: String?) {
        self.author = author
        self.contextName = contextName
        var commits: [UInt16: StoreCommit] = [:]
        for object in objects where !(object.isInserted && object.isDeleted) {
            add(object, &commits[object.key.store, default: StoreCommit(store: object.key.store)])
        }
        self.commits = commits.values.sorted { $0.store < $1.store }
    }

    private mutating func add(_ object: NSManagedObject, _ commit: inout StoreCommit) {
        let key = object.key
        // Taken out and put back: a copy for each object would make large saves slow.
        var store = changes.removeValue(forKey: key.store) ?? StoreChanges()
        store.author = author
        store.contextName = contextName
        if object.isDeleted {
            // Whoever never read the row does not care which version goes.
            let isRead = !object.isFault || object.flags.contains(.hasRow)
            store.deletes.append(RowDelete(key: key, expectedVersion: isRead ? object.version : nil))
            commit.deleted.append(key)
        } else if object.isInserted {
            store.inserts.append(Row(key: key, version: 1, values: object.values))
            commit.inserted.append(key)
            written.insert(key)
        } else {
            let slots = object.changedSlots()
            let linked = object.toMany.indices.filter {
                object.toMany[$0].hasChanges && object.layout.entity.toMany[$0].shape == .manyToMany
            }
            if !slots.isEmpty || !linked.isEmpty {
                store.updates.append(
                    RowUpdate(
                        key: key, expectedVersion: object.version, values: object.values, changedSlots: slots, changedToMany: linked))
                written.insert(key)
            }
            commit.updated.append(key)
        }
        if !object.isDeleted { store.links += Self.links(of: object) }
        Self.noteOwners(of: object, &commit)
        changes[key.store] = store
    }

    /// Pairs of many-to-many relationships, taken from the side whose relationship comes first.
    private static func links(of object: NSManagedObject) -> [LinkChange] {
        var links: [LinkChange] = []
        for (index, relationship) in object.layout.entity.toMany.enumerated() where relationship.shape == .manyToMany {
            let mine = (relationship.declaringEntity, relationship.name)
            let other = (relationship.inverseDeclaringEntity ?? 0, relationship.inverseName ?? "")
            guard mine <= other else { continue }
            let state = object.toMany[index]
            for (keys, isAddition) in [(state.added, true), (state.removed, false)] {
                links += keys.sorted { $0.primaryKey < $1.primaryKey }.map {
                    LinkChange(owner: object.key, relationship: index, destination: $0, isAddition: isAddition)
                }
            }
        }
        return links
    }

    /// Objects on the to-many side of this row's to-one relationships, before and after the change.
    private static func noteOwners(of object: NSManagedObject, _ commit: inout StoreCommit) {
        for (slot, definition) in object.layout.entity.slots.enumerated() {
            guard case .toOne = definition else { continue }
            let before = object.committed?[slot].reference
            let after = object.values[slot].reference
            if before != after || object.isInserted || object.isDeleted {
                for case let owner? in [before, after] { commit.relationshipOwners.insert(owner) }
            }
        }
        for (index, state) in object.toMany.enumerated() where object.layout.entity.toMany[index].shape == .manyToMany {
            commit.relationshipOwners.formUnion(state.added.union(state.removed))
        }
    }
}
