// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Resolution of uniqueness conflicts by the five policies.
//
// Source: developer.apple.com/documentation/coredata/nsmergepolicy. Which object survives is not documented (unverified):
// here the row of the store survives, so that object IDs and other objects' relationships stay valid.

/// Unsaved objects by the objects to which they refer. One traversal serves all conflicts of a save, of which an import
/// may meet as many as it has objects.
private struct Referrers {
    private var contexts: Set<ObjectIdentifier> = []
    private var objects: [RowKey: [NSManagedObject]] = [:]

    mutating func load(_ context: NSManagedObjectContext) {
        guard contexts.insert(ObjectIdentifier(context)).inserted else { return }
        for object in context.pendingInOrder where !object.isMarkedDeleted { note(object) }
    }

    mutating func note(_ object: NSManagedObject) {
        for slot in object.layout.referenceSlots {
            if let key = object.values[slot].reference { objects[key, default: []].append(object) }
        }
    }

    /// Lets relationships without an inverse, which a deletion does not update, lead to the surviving object.
    mutating func redirect(from key: RowKey, to survivor: RowKey) {
        for object in objects.removeValue(forKey: key) ?? [] where !object.isMarkedDeleted {
            for slot in object.layout.referenceSlots where object.values[slot].reference == key {
                object.setSlot(slot, to: .reference(survivor))
            }
            objects[survivor, default: []].append(object)
        }
    }
}

extension NSMergePolicy {
    func resolveByType(_ conflicts: [NSConstraintConflict]) throws {
        guard mergeType != .errorMergePolicyType else { throw CocoaError.unsettled(conflicts) }
        var referrers = Referrers()
        for conflict in conflicts {
            let objects = conflict.conflictingObjects.filter { $0.contextReference != nil && !$0.isMarkedDeleted }
            if let existing = conflict.databaseObject, !existing.isMarkedDeleted {
                for object in objects { resolve(object, against: existing, conflict.constraint, &referrers) }
            } else {
                keepLast(of: objects, conflict.constraint, &referrers)
            }
        }
    }

    private func handOver(_ object: NSManagedObject, to survivor: NSManagedObject, _ referrers: inout Referrers) {
        guard let context = object.contextReference else { return }
        referrers.load(context)
        let key = object.key
        object.handOver(to: survivor, everything: mergeType == .overwriteMergePolicyType)
        referrers.redirect(from: key, to: survivor.key)
        referrers.note(survivor)
    }

    private func resolve(
        _ object: NSManagedObject, against existing: NSManagedObject, _ constraint: [String], _ referrers: inout Referrers
    ) {
        guard let context = object.contextReference else { return }
        switch mergeType {
        case .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType:
            if object.isMarkedInserted {
                handOver(object, to: existing, &referrers)
            } else {
                context.delete(existing)
            }
        default: giveUp(object, constraint)
        }
    }

    /// Resolves duplicates among unsaved objects only: the last object wins, or else the first.
    private func keepLast(of objects: [NSManagedObject], _ constraint: [String], _ referrers: inout Referrers) {
        guard objects.count > 1 else { return }
        let stored = objects.first { !$0.isMarkedInserted }
        switch mergeType {
        case .mergeByPropertyObjectTrumpMergePolicyType, .overwriteMergePolicyType:
            let survivor = stored ?? objects[objects.count - 1]
            for object in objects where object !== survivor {
                if object.isMarkedInserted, stored != nil {
                    handOver(object, to: survivor, &referrers)
                } else {
                    object.contextReference?.delete(object)
                }
            }
        default:
            let survivor = stored ?? objects[0]
            for object in objects where object !== survivor { giveUp(object, constraint) }
        }
    }

    private func giveUp(_ object: NSManagedObject, _ constraint: [String]) {
        guard let context = object.contextReference else { return }
        if object.isMarkedInserted {
            context.delete(object)
        } else if mergeType == .rollbackMergePolicyType {
            context.refresh(object, mergeChanges: false)
        } else {
            for name in constraint {
                if case .slot(let slot)? = object.layout.entity.location(of: name), let committed = object.committed {
                    object.setSlot(slot, to: committed[slot])
                }
            }
        }
    }
}

extension NSManagedObject {
    /// Transfers values and relationships to the surviving object, and deletes this one.
    fileprivate final func handOver(to other: NSManagedObject, everything: Bool) {
        guard let context = contextReference else { return }
        for (slot, definition) in layout.entity.slots.enumerated() where slot < other.values.count {
            switch definition {
            case .attribute: other.setSlot(slot, to: values[slot])
            case .toOne(let relationship):
                let destination = toOne(slot)
                if destination != nil || everything { other.setValue(destination, forKey: relationship.name) }
                setToOne(slot, to: nil)
            }
        }
        for index in toMany.indices where index < other.toMany.count {
            let members = toManyObjects(index)
            if everything {
                other.setToMany(index, to: members)
            } else {
                for member in members { other.addToMany(index, member) }
            }
            setToMany(index, to: [])
        }
        context.delete(self)
    }
}

extension CocoaError {
    static func unsettled(_ conflicts: [NSConstraintConflict]) -> CocoaError {
        let constraintNames = conflicts.map { "\($0.conflictingObjects.first?.layout.name ?? "").\($0.constraint.joined(separator: ", "))" }
        return CocoaError(
            .managedObjectConstraintMerge,
            sentence: "Objects violate a uniqueness constraint: \(Set(constraintNames).sorted().joined(separator: "; ")).",
            userInfo: [NSPersistentStoreSaveConflictsErrorKey: conflicts])
    }
}
