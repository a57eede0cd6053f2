// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore

extension NSManagedObjectContext {
    /// Returns a prefetched row, unless reads are pinned elsewhere.
    func prefetchedRow(_ key: RowKey) -> Row? {
        guard !prefetched.isEmpty, stalenessInterval < 0 else { return nil }
        return prefetched.row(key)
    }

    /// Prefetches the destinations of the plan's relationships, step by step, with one or two statements each.
    ///
    /// Registered objects with values are not read again. A context with a parent does nothing: its parent prefetches.
    func prefetch(_ plan: PrefetchPlan, for objects: [NSManagedObject]) throws {
        guard !plan.isEmpty, parent == nil, !objects.isEmpty else { return }
        prefetched.makeRoom()
        try inPinnedState { try prefetch(plan, for: objects.map { PrefetchOwner(key: $0.key, object: $0) }) }
    }

    private func prefetch(_ plan: PrefetchPlan, for owners: [PrefetchOwner]) throws {
        for step in plan.steps {
            let destinations = try prefetch(step.name, for: owners)
            if step.following.isEmpty || destinations.isEmpty { continue }
            try prefetch(step.following, for: destinations.map { PrefetchOwner(key: $0, object: registry[$0]) })
        }
    }

    /// - Returns: The distinct keys of the relationship's destinations.
    private func prefetch(_ name: String, for owners: [PrefetchOwner]) throws -> [RowKey] {
        let coordinator = requireCoordinator()
        var toOne: [(PrefetchOwner, Int)] = []
        var toMany: [ToManyGroup: [PrefetchOwner]] = [:]
        var destination: Int?
        for owner in owners {
            let entity = coordinator.layouts[owner.key.entityIndex].entity
            guard let location = entity.location(of: name), let relationship = entity.relationship(at: location) else { continue }
            destination = relationship.destination
            switch location {
            case .slot(let slot): toOne.append((owner, slot))
            case .toMany(let index):
                toMany[ToManyGroup(store: owner.key.store, declaringEntity: relationship.declaringEntity, index: index), default: []]
                    .append(owner)
            }
        }
        guard let destination else { return [] }
        var result = UniqueKeys()
        for (owner, slot) in toOne { if let key = reference(slot, of: owner) { result.insert(key) } }
        for (group, owners) in toMany.sorted(by: { $0.key < $1.key }) { try readMembers(group, of: owners, into: &result) }
        try readRows(result.keys, of: destination)
        return result.keys
    }

    private func reference(_ slot: Int, of owner: PrefetchOwner) -> RowKey? {
        guard let object = owner.object, !object.isMarkedFault || object.flags.contains(.hasRow) else {
            return prefetched.reference(slot, of: owner.key)
        }
        return object.flags.contains(.detached) ? nil : object.packedReference(slot)
    }

    // MARK: Reading

    /// Reads rows that are neither registered nor cached, store by store.
    private func readRows(_ keys: [RowKey], of entity: Int) throws {
        let missing = keys.filter { key in
            guard !key.isTemporary, !prefetched.contains(key) else { return false }
            return registry[key].map { $0.isMarkedFault && !$0.flags.contains(.hasRow) } ?? true
        }
        for (number, keys) in Dictionary(grouping: missing, by: \.store).sorted(by: { $0.key < $1.key }) {
            guard let store = requireCoordinator().store(numbered: number), let file = store.sqlite else { continue }
            let chunks = try store.translated { try file.read { try $0.packedRows(of: entity, keys.lazy.map(\.primaryKey)) } }
            for chunk in chunks { chunk.forEach { prefetched.insert(chunk, at: $0) } }
        }
    }

    /// Reads the members of one to-many relationship for all owners that have not loaded them.
    private func readMembers(_ group: ToManyGroup, of owners: [PrefetchOwner], into result: inout UniqueKeys) throws {
        var unloadedOwners: [PrefetchOwner] = []
        for owner in owners {
            guard let loadedMembers = knownMembers(of: owner, group.index) else {
                if !owner.key.isTemporary { unloadedOwners.append(owner) }
                continue
            }
            for key in loadedMembers { result.insert(key) }
        }
        let coordinator = requireCoordinator()
        guard !unloadedOwners.isEmpty, let store = coordinator.store(numbered: group.store), let file = store.sqlite else { return }
        let keys = unloadedOwners.map(\.key)
        let relationship = coordinator.layouts[keys[0].entityIndex].entity.toMany[group.index]
        let (chunks, joined) = try store.translated {
            try file.read { reader in
                let chunks = try reader.packedMembers(of: keys, toMany: group.index)
                return (chunks, chunks == nil ? try reader.memberLists(of: keys, toMany: group.index) : (lists: [], members: []))
            }
        }
        var lists = joined.lists
        if let chunks, case .slot(let inverse) = relationship.inverse {
            var members: [RowKey: [RowKey]] = [:]
            // References may name the declared entity; owners are keyed by their own entity.
            let ownKeys = Dictionary(keepingFirst: keys.map { ($0.primaryKey, $0) })
            for chunk in chunks {
                chunk.forEach { offset in
                    prefetched.insert(chunk, at: offset)
                    guard let owner = chunk.reference(inverse, at: offset).flatMap({ ownKeys[$0.primaryKey] }) else { return }
                    members[owner, default: []].append(chunk.key(at: offset))
                }
            }
            lists = unloadedOwners.map { members[$0.key] ?? [] }
            for keys in lists { for key in keys { result.insert(key) } }
        } else {
            for key in joined.members { result.insert(key) }
        }
        for (owner, keys) in zip(unloadedOwners, lists) {
            if let object = owner.object {
                object.toMany[group.index].load(keys)
                // Unsaved changes count.
                for key in object.toMany[group.index].added { result.insert(key) }
            } else {
                prefetched.insertMembers(keys, of: owner.key, toMany: group.index)
            }
        }
    }

    private func knownMembers(of owner: PrefetchOwner, _ index: Int) -> [RowKey]? {
        guard let object = owner.object else { return prefetched.members(of: owner.key, toMany: index) }
        if object.flags.contains(.detached) { return [] }
        return object.toMany[index].stored == nil ? nil : object.toMany[index].orderedMembers
    }
}

/// An owner of prefetched relationships: a registered object, or a prefetched row.
private struct PrefetchOwner {
    let key: RowKey
    let object: NSManagedObject?
}

/// Owners with members that one statement finds.
private struct ToManyGroup: Hashable, Comparable {
    let store: UInt16
    let declaringEntity: Int
    let index: Int

    static func < (a: ToManyGroup, b: ToManyGroup) -> Bool {
        (a.store, a.declaringEntity, a.index) < (b.store, b.declaringEntity, b.index)
    }
}

/// Distinct keys in order of first insertion.
private struct UniqueKeys {
    private(set) var keys: [RowKey] = []
    private var distinct: Set<RowKey> = []

    mutating func insert(_ key: RowKey) { if distinct.insert(key).inserted { keys.append(key) } }
}
