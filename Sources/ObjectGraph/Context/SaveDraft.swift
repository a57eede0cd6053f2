// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
import SQLiteStore

/// One committed save of one store, for contexts that show its objects.
package struct StoreCommit: Sendable {
    package var store: UInt16
    package var inserted: [RowKey] = []
    package var updated: [RowKey] = []
    package var deleted: [RowKey] = []
    /// Owners of to-many relationships that changed because rows referencing them did.
    package var relationshipOwners: Set<RowKey> = []

    package init(store: UInt16) { self.store = store }

    package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && relationshipOwners.isEmpty }
}

/// The rows that pending objects mean for the stores: a value, computed for each attempt to save.
///
/// All its keys are permanent.
struct SaveDraft {
    private(set) var changes: [UInt16: StoreChanges] = [:]
    private(set) var commits: [StoreCommit] = []
    /// Updated objects with unchanged rows, and so unchanged versions.
    private(set) var unwritten: Set<RowKey> = []

    private struct Part {
        var changes = StoreChanges()
        var commit: StoreCommit
    }

    init(_ objects: [NSManagedObject], author: String?, contextName: String?) {
        var parts: [UInt16: Part] = [:]
        // Cache of the last object's store: most saves have one store.
        var store = RowKey.temporaryStore
        var part = Part(commit: StoreCommit(store: store))
        objects.borrowEach { object in
            guard !(object.isMarkedInserted && object.isMarkedDeleted) else { return }
            if object.key.store != store {
                if store != RowKey.temporaryStore { parts[store] = part }
                store = object.key.store
                part = parts.removeValue(forKey: store) ?? Part(commit: StoreCommit(store: store))
                part.changes.author = author
                part.changes.contextName = contextName
            }
            add(object, of: objects.count, &part)
        }
        if store != RowKey.temporaryStore { parts[store] = part }
        changes = parts.mapValues(\.changes)
        commits = parts.values.map(\.commit).sorted { $0.store < $1.store }
    }

    private mutating func add(_ object: NSManagedObject, of count: Int, _ part: inout Part) {
        let key = object.key
        if object.isMarkedDeleted {
            // An object deleted unread has no version to check against.
            let isRead = !object.isMarkedFault || object.flags.contains(.hasRow)
            part.changes.deletes.append(RowDelete(key: key, expectedVersion: isRead ? object.version : nil))
            part.commit.deleted.append(key)
        } else if object.isMarkedInserted {
            if part.changes.inserts.isEmpty {
                part.changes.inserts.reserveCapacity(count)
                part.commit.inserted.reserveCapacity(count)
            }
            part.changes.inserts.append(Row(key: key, version: 1, values: object.values))
            part.commit.inserted.append(key)
        } else {
            var slots = object.changedSlots()
            // The store increments counts, so a value from an object would stay wrong.
            if !object.layout.derivedSlots.isEmpty { slots.removeAll(where: object.layout.derivedSlots.contains) }
            let linked =
                object.toMany.isUntouched
                ? [] : object.layout.manyToMany.filter { object.toMany[$0].hasChanges } + object.rearranged
            if slots.isEmpty, linked.isEmpty {
                unwritten.insert(key)
                if !object.toMany.isUntouched, object.toMany.contains(where: { !$0.added.isEmpty }) {
                    part.changes.owners.append(RowOwner(key: key, expectedVersion: object.version))
                }
            } else {
                part.changes.updates.append(
                    RowUpdate(
                        key: key, expectedVersion: object.version, values: object.values, changedSlots: slots, changedToMany: linked))
            }
            part.commit.updated.append(key)
        }
        if !object.isMarkedDeleted, !object.toMany.isUntouched {
            Self.addLinks(of: object, &part.changes.links)
            if object.hasNewOrder { part.changes.orders += Self.orders(of: object) }
        }
        Self.noteOwners(of: object, &part.commit)
    }

    /// Join records of many-to-many relationships, taken from the side with the relationship that sorts first.
    private static func addLinks(of object: NSManagedObject, _ links: inout [LinkChange]) {
        for index in object.layout.linking {
            let state = object.toMany[index]
            for (keys, isAddition) in [(state.added, true), (state.removed, false)] where !keys.isEmpty {
                for key in keys.array.sorted(by: { $0.primaryKey < $1.primaryKey }) {
                    links.append(LinkChange(owner: object.key, relationship: index, destination: key, isAddition: isAddition))
                }
            }
        }
    }

    /// Positions of members of ordered relationships.
    private static func orders(of object: NSManagedObject) -> [OrderChange] {
        object.toMany.indices.compactMap { index in
            guard let order = object.toMany[index].order, order.hasChanges, object.layout.entity.toMany[index].declaration.isOrdered else {
                return nil
            }
            // Appends to a long or unread list do not load the other members.
            let isAppended = order.arranged == nil && object.toMany[index].stored?.isEmpty != true
            if !isAppended { _ = object.toManyKeys(index) }
            return OrderChange(
                owner: object.key, relationship: index,
                destinations: isAppended ? order.newcomers : object.toMany[index].orderedMembers, isAppended: isAppended)
        }
    }

    /// Records the owners of this row's to-one relationships, before and after the change.
    private static func noteOwners(of object: NSManagedObject, _ commit: inout StoreCommit) {
        for slot in object.layout.referenceSlots {
            let committedReference = object.committed?[slot].reference
            let after = object.values[slot].reference
            if committedReference != after || object.isMarkedInserted || object.isMarkedDeleted {
                for case let owner? in [committedReference, after] { commit.relationshipOwners.insert(owner) }
            }
        }
        guard !object.toMany.isUntouched else { return }
        for index in object.layout.manyToMany {
            let state = object.toMany[index]
            for key in state.added { commit.relationshipOwners.insert(key) }
            for key in state.removed { commit.relationshipOwners.insert(key) }
        }
        if !object.isMarkedInserted, object.hasNewOrder {
            commit.relationshipOwners.insert(object.key)
        }
    }
}
