// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

// What others saved, brought into this context.

extension NSManagedObjectContext {
    /// Brings another context's save into this one. Unsaved changes here stay on top.
    public func mergeChanges(fromContextDidSave notification: Notification) {
        preconditionIsCurrent()
        var commit = StoreCommit(store: 0)
        func keys(_ name: String) -> [RowKey] {
            let objects = notification.userInfo?[name]
            if let objects = objects as? Set<NSManagedObject> { return objects.map(\.objectID.key) }
            return (objects as? Set<NSManagedObjectID>)?.map(\.key) ?? []
        }
        commit.inserted = keys(NSInsertedObjectsKey)
        commit.updated = keys(NSUpdatedObjectsKey)
        commit.deleted = keys(NSDeletedObjectsKey)
        // An object whose to-many side changed is among the updated ones of the saving context.
        commit.relationshipOwners = Set(commit.updated)
        merge([commit])
    }

    /// Refreshes what is registered here, makes objects of what is new, and lets go of what is gone.
    package func merge(_ commits: [StoreCommit]) {
        preconditionIsCurrent()
        guard let coordinator = persistentStoreCoordinator else { return }
        var inserted: [NSManagedObject] = []
        var refreshed: [NSManagedObject] = []
        var deleted: [NSManagedObject] = []
        for commit in commits {
            let rows = (try? coordinator.rows(commit.inserted + commit.updated.filter { registry[$0] != nil })) ?? []
            let isNew = Set(commit.inserted)
            for row in rows {
                let known = registry[row.key]
                if let known, !known.isDeleted {
                    // A row older than what is here was read before this context's own save.
                    if row.version > known.version || known.isFault { known.merge(row) }
                    refreshed.append(known)
                } else if known == nil, isNew.contains(row.key) {
                    inserted.append(register(row))
                }
            }
            for key in commit.deleted {
                guard let known = registry[key] else { continue }
                known.flags.insert(.deleted)
                deleted.append(known)
            }
            for owner in commit.relationshipOwners {
                guard let known = registry[owner], !known.flags.contains(.detached) else { continue }
                for index in known.toMany.indices { known.toMany[index].fault() }
                refreshed.append(known)
            }
        }
        removeFromRelationships(deleted)
        postObjectsDidChange(inserted: inserted, updated: [], deleted: deleted, refreshed: unique(refreshed))
        for object in deleted { forget(object) }
    }

    /// Objects of this context may still point at what somebody else deleted.
    private func removeFromRelationships(_ deleted: [NSManagedObject]) {
        for object in deleted where !object.isFault {
            for (slot, definition) in object.layout.entity.slots.enumerated() {
                guard case .toOne(let relationship) = definition, case .toMany(let index)? = relationship.inverse,
                    let owner = object.values[slot].reference.flatMap({ registry[$0] })
                else { continue }
                owner.toMany[index].fault()
            }
        }
    }

    private func unique(_ objects: [NSManagedObject]) -> [NSManagedObject] {
        var seen: Set<ObjectIdentifier> = []
        return objects.filter { !$0.flags.contains(.detached) && seen.insert(ObjectIdentifier($0)).inserted }
    }
}
