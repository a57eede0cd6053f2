// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

// Detection of violated uniqueness constraints.

extension NSManagedObjectContext {
    /// The number of rounds in which a policy may leave, or make, duplicate values before the save fails.
    private static let duplicateRoundsMax = 100

    private struct Values: Hashable {
        let constraint: UniquenessConstraint
        let values: [StoredValue]
    }

    /// Lets the merge policy resolve duplicates among unsaved objects.
    func resolvePendingDuplicates() throws {
        guard pending.layouts.contains(where: { !$0.entity.uniqueness.isEmpty }) else { return }
        for _ in 0..<Self.duplicateRoundsMax {
            let conflicts = pendingDuplicates()
            if conflicts.isEmpty { return }
            try resolveByPolicy(conflicts)
        }
        throw CocoaError.unsettled(pendingDuplicates())
    }

    /// Lets the merge policy resolve collisions of unsaved objects with rows of the store.
    func resolve(_ collisions: [UniquenessCollision]) throws {
        var groups: [Values: (persisted: Row, objects: [NSManagedObject])] = [:]
        var order: [Values] = []
        for collision in collisions {
            guard let object = registry[collision.key] else { continue }
            let values = Values(constraint: collision.constraint, values: collision.constraint.slots.map { object.values[$0] })
            if groups[values] == nil { order.append(values) }
            groups[values, default: (collision.persisted, [])].objects.append(object)
        }
        try resolveByPolicy(
            order.compactMap { values in
                groups[values].map { group in
                    let existing = register(group.persisted)
                    existing.willRead()
                    return NSConstraintConflict(
                        constraint: values.constraint.properties, database: existing,
                        databaseSnapshot: existing.fullSnapshot(group.persisted.values), conflicting: group.objects,
                        conflictingSnapshots: group.objects.map { $0.fullSnapshot($0.values) })
                }
            })
        try resolvePendingDuplicates()
    }

    private func resolveByPolicy(_ conflicts: [NSConstraintConflict]) throws {
        guard !conflicts.isEmpty else { return }
        try ((mergePolicy as? NSMergePolicy) ?? .error).resolve(mergeConflicts: conflicts)
        processPendingChanges()
    }

    private func pendingDuplicates() -> [NSConstraintConflict] {
        var groups: [Values: [NSManagedObject]] = [:]
        var order: [Values] = []
        for object in pendingInOrder where !object.isMarkedDeleted {
            for constraint in object.layout.entity.uniqueness {
                let isChanged = object.isMarkedInserted || constraint.slots.contains { object.committed?[$0] != object.values[$0] }
                let values = Values(constraint: constraint, values: constraint.slots.map { object.values[$0] })
                guard isChanged, !values.values.contains(where: \.isNull) else { continue }
                groups[values, default: []].append(object)
                if groups[values]?.count == 2 { order.append(values) }
            }
        }
        return order.compactMap { values in
            groups[values].map { objects in
                NSConstraintConflict(
                    constraint: values.constraint.properties, database: nil, databaseSnapshot: nil, conflicting: objects,
                    conflictingSnapshots: objects.map { $0.fullSnapshot($0.values) })
            }
        }
    }
}

extension NSManagedObject {
    /// Attributes and to-one relationships, without nil values.
    final func fullSnapshot(_ values: ContiguousArray<StoredValue>) -> [AnyHashable: Any] {
        var result: [AnyHashable: Any] = [:]
        for (index, slot) in layout.entity.slots.enumerated() { result[slot.name] = apiValue(values[index], slot: index) }
        return result
    }
}
