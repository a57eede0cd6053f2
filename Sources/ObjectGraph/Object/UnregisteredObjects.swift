// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

// Relationships hold keys, which a context resolves. Without a context, related objects share a map that resolves them.

/// Objects without a context that relationships connect, directly or through others.
///
/// They retain each other until they are inserted, or until no relationship connects them.
final class UnregisteredObjects {
    fileprivate var objects: [RowKey: NSManagedObject] = [:]

    /// The objects by connection. More than one group after a relationship was emptied.
    fileprivate var groups: [[NSManagedObject]] {
        // A relationship without an inverse connects both objects, too.
        var neighbours: [RowKey: [RowKey]] = [:]
        for (key, object) in objects {
            for related in object.relatedKeys where objects[related] != nil {
                neighbours[key, default: []].append(related)
                neighbours[related, default: []].append(key)
            }
        }
        var groups: [[NSManagedObject]] = []
        var unvisited = objects
        for start in objects.keys {
            guard let first = unvisited.removeValue(forKey: start) else { continue }
            var group = [first]
            var keys = [start]
            while let key = keys.popLast() {
                for neighbour in neighbours[key] ?? [] {
                    guard let object = unvisited.removeValue(forKey: neighbour) else { continue }
                    group.append(object)
                    keys.append(neighbour)
                }
            }
            groups.append(group)
        }
        return groups
    }
}

extension NSManagedObject {
    /// Whether the object has no context, and relationships to others without one.
    final var isRelatedWithoutContext: Bool { map?.unregistered != nil }

    /// The object and those that relationships connect it with, in order of creation, if it has no context.
    final var connectedObjects: [NSManagedObject] {
        guard let objects = map?.unregistered?.objects.values else { return [self] }
        return objects.sorted { $0.sequence < $1.sequence }
    }

    /// Returns the object of a key in one of this object's relationships.
    ///
    /// - Precondition: The context is alive and this is its queue, unless neither object has one.
    final func related(_ key: RowKey) -> NSManagedObject {
        if let object = relatedWithoutContext(key) { return object }
        return requireContext().object(for: key)
    }

    /// Returns the objects of keys, in their order.
    final func related(_ keys: [RowKey]) -> [NSManagedObject] {
        guard map?.unregistered != nil else { return keys.isEmpty ? [] : requireContext().objects(for: keys) }
        return keys.map { related($0) }
    }

    final func relatedWithoutContext(_ key: RowKey) -> NSManagedObject? { map?.unregistered?.objects[key] }

    /// Called before a relationship of an object without a context refers to another one.
    @inline(never)
    final func connect(with other: NSManagedObject) {
        // Stored objects of a context that was deallocated have keys of its stores: they stay on their own, and reading ends the process.
        guard key.isTemporary, other.key.isTemporary else { return }
        if let unregistered = map?.unregistered, unregistered === other.map?.unregistered { return }
        let (count, otherCount) = (map?.unregistered?.objects.count ?? 1, other.map?.unregistered?.objects.count ?? 1)
        let (host, guest) = count < otherCount ? (other, self) : (self, other)
        if host.map?.unregistered == nil { host.move(to: IdentityMap(unregistered: UnregisteredObjects())) }
        for object in guest.connectedObjects { object.move(to: host.map) }
    }

    /// Called after a relationship lost a member: releases objects that nothing connects any more.
    @inline(__always)
    final func separateUnconnected() {
        if map?.unregistered != nil { separateGroups() }
    }

    @inline(never)
    private final func separateGroups() {
        guard let groups = map?.unregistered?.groups.sorted(by: { $0.count > $1.count }) else { return }
        for (index, group) in groups.enumerated() {
            // A relationship may connect an object with itself.
            if group.count == 1, !group[0].relatedKeys.contains(group[0].key) {
                group[0].move(to: nil)
            } else if index > 0 {
                let map = IdentityMap(unregistered: UnregisteredObjects())
                for object in group { object.move(to: map) }
            }
        }
    }

    private final func move(to newMap: IdentityMap?) {
        map?.unregistered?.objects[key] = nil
        map?.remove(self)
        map = newMap
        newMap?.unregistered?.objects[key] = self
    }

    fileprivate final var relatedKeys: [RowKey] {
        values.compactMap(\.reference) + toMany.flatMap { $0.currentMembers.array }
    }
}
