// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Merges the commits of other contexts and processes into this context.

extension NSManagedObjectContext {
    func mergeChangesImplementation(fromContextDidSave notification: Notification) {
        preconditionIsCurrent()
        if notification.object as AnyObject? === self { return }
        mergeSave(notification.userInfo ?? [:])
    }

    class func mergeChangesImplementation(
        fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]
    ) {
        for context in contexts { context.performAndWait { context.mergeSave(changeNotificationData) } }
    }

    private func mergeSave(_ userInfo: [AnyHashable: Any]) {
        guard let coordinator = persistentStoreCoordinator else { return }
        advanceQueryGeneration()
        func keys(_ name: String) -> [RowKey] {
            let elements: [Any] =
                switch userInfo[name] {
                case let objects as Set<NSManagedObject>: Array(objects)
                case let ids as Set<NSManagedObjectID>: Array(ids)
                case let array as [Any]: array
                case let set as NSSet: set.allObjects
                default: []
                }
            return elements.compactMap { element in
                let address = (element as? URL) ?? (element as? NSURL).map { $0 as URL }
                let id =
                    (element as? NSManagedObject)?.objectID ?? (element as? NSManagedObjectID)
                    ?? address.flatMap(coordinator.managedObjectID(forURIRepresentation:))
                return id.flatMap { $0.isTemporaryID && parent == nil ? nil : localKey(of: $0) }
            }
        }
        var commit = StoreCommit(store: 0)
        commit.inserted = keys(NSInsertedObjectsKey) + keys(NotificationKey.insertedObjectIDs.rawValue)
        commit.updated = [NSUpdatedObjectsKey, NSRefreshedObjectsKey].flatMap(keys)
        commit.updated += keys(NotificationKey.updatedObjectIDs.rawValue) + keys(NotificationKey.refreshedObjectIDs.rawValue)
        commit.deleted = keys(NSDeletedObjectsKey) + keys(NotificationKey.deletedObjectIDs.rawValue)
        // The saving context lists owners of changed to-many relationships among its updated objects.
        commit.relationshipOwners = Set(commit.updated)
        // History does not record owners of one-to-many relationships: compares the loaded members instead.
        commit.relationshipOwners.formUnion(staleOwners(commit, coordinator))
        merge([commit])
    }

    /// Returns registered owners with loaded members that differ from the store's.
    ///
    /// The steps are as many as the changed rows and the loaded members together, not their product.
    private func staleOwners(_ commit: StoreCommit, _ coordinator: NSPersistentStoreCoordinator) -> Set<RowKey> {
        let rows = (try? sourceRows(commit.inserted + commit.updated)) ?? []
        let changed = Dictionary(keepingFirst: rows.map { ($0.key, $0) })
        let (changedKeys, deleted) = (Set(changed.keys), Set(commit.deleted))
        var referrers: [RowKey: [(slot: Int, member: RowKey)]] = [:]
        for row in changed.values {
            for slot in coordinator.layouts[row.key.entityIndex].referenceSlots {
                if let owner = row.values[slot].reference { referrers[owner, default: []].append((slot, row.key)) }
            }
        }
        var stale: Set<RowKey> = []
        for owner in registry.objects {
            for (index, relationship) in owner.layout.entity.toMany.enumerated() {
                guard let members = owner.toMany[index].stored else { continue }
                if hasCommon(members, deleted, where: { _ in true }) { stale.insert(owner.key) }
                guard case .slot(let slot) = relationship.inverse else { continue }
                let hasJoined = (referrers[owner.key] ?? []).contains { entry in
                    entry.slot == slot && coordinator.isKind(entry.member.entityIndex, of: relationship.destination)
                        && !members.contains(entry.member)
                }
                let hasLeft = hasCommon(members, changedKeys) { member in
                    coordinator.isKind(member.entityIndex, of: relationship.destination)
                        && changed[member].map { $0.values[slot].reference != owner.key } ?? false
                }
                if hasJoined || hasLeft { stale.insert(owner.key) }
            }
        }
        return stale
    }

    /// Whether a key of both sets satisfies a condition. Traverses the smaller set.
    private func hasCommon(_ members: KeySet, _ keys: Set<RowKey>, where isWanted: (RowKey) -> Bool) -> Bool {
        members.count < keys.count
            ? members.contains { keys.contains($0) && isWanted($0) } : keys.contains { members.contains($0) && isWanted($0) }
    }

    /// Refreshes registered objects, registers inserted rows and drops deleted ones.
    package func merge(_ commits: [StoreCommit]) {
        preconditionIsCurrent()
        guard persistentStoreCoordinator != nil else { return }
        advanceQueryGeneration()
        // Closes the event first: undo covers local changes only, never merged ones.
        if undoManager != nil { processPendingChanges() }
        var merged = Merged()
        for commit in commits {
            prefetched.evict(commit.inserted + commit.updated + commit.deleted + commit.relationshipOwners)
            merge(commit, &merged)
        }
        let deleted = merged.deleted.uniqued(by: ObjectIdentifier.init)
        dropReferences(to: deleted)
        NSManagedObject.rebaseReferences(merged.keptReferences)
        propagateDeletions()
        if let undoManager {
            undoManager.disableUndoRegistration()
            processPendingChanges()
            undoManager.enableUndoRegistration()
        }
        postObjectsDidChange(
            inserted: merged.inserted.uniqued(by: ObjectIdentifier.init).filter { !$0.isMarkedDeleted }, updated: [], deleted: deleted,
            refreshed: merged.refreshed.uniqued(by: ObjectIdentifier.init).filter { !$0.isMarkedDeleted })
        postMerged(merged, deleted)
        for object in deleted { forget(object) }
        notifyChildren(of: commits)
    }

    private func postMerged(_ merged: Merged, _ deleted: [NSManagedObject]) {
        postIDs(
            .NSManagedObjectContextDidMergeChangesObjectIDs,
            [
                (.insertedObjectIDs, Set(merged.inserted.map(\.objectID))), (.updatedObjectIDs, Set(merged.refreshed.map(\.objectID))),
                (.deletedObjectIDs, Set(deleted.map(\.objectID))),
            ])
    }

    private struct Merged {
        var inserted: [NSManagedObject] = []
        var refreshed: [NSManagedObject] = []
        var deleted: [NSManagedObject] = []
        var keptReferences: [NSManagedObject.KeptReference] = []
    }

    private func merge(_ commit: StoreCommit, _ merged: inout Merged) {
        let rows = (try? sourceRows(commit.inserted + commit.updated.filter { registry[$0] != nil })) ?? []
        let isNew = Set(commit.inserted)
        for row in rows {
            guard let registered = registry[row.key] else {
                if isNew.contains(row.key) { merged.inserted.append(register(row)) }
                continue
            }
            if registered.flags.contains(.detached) {
                // The object was requested before its commit.
                merged.inserted.append(register(row))
                continue
            }
            if row.version > registered.version || registered.isMarkedFault || parent != nil {
                // An older row was read before this context's own save. A pending deletion takes over the newer version,
                // so that its save finds no conflict.
                merged.keptReferences += registered.merge(row)
            }
            merged.refreshed.append(registered)
        }
        for key in commit.deleted {
            guard let registered = registry[key] else { continue }
            // The other context applied the delete rules already.
            registered.flags.insert([.deleted, .propagated])
            merged.deleted.append(registered)
        }
        for owner in commit.relationshipOwners {
            guard let registered = registry[owner], !registered.flags.contains(.detached) else { continue }
            registered.willChangeAll()
            registered.toMany.fault()
            // Members that joined the object since its deletion here need the delete rules, too.
            registered.flags.remove(.propagated)
            merged.refreshed.append(registered)
        }
    }

    /// Removes references from unsaved or loaded objects to concurrently deleted ones, as a local deletion would.
    func dropReferences(to deleted: [NSManagedObject]) {
        guard !deleted.isEmpty else { return }
        let keys = Set(deleted.map(\.key))
        for object in pendingInOrder where !object.isMarkedDeleted && !keys.contains(object.key) {
            for (slot, definition) in object.layout.entity.slots.enumerated() {
                guard case .toOne = definition, let key = object.values[slot].reference, keys.contains(key) else { continue }
                // A reference without a local change is refreshed with its row.
                if object.isMarkedInserted || object.committed?[slot] != object.values[slot] { object.setSlot(slot, to: .null) }
            }
            object.willChangeAll()
            for index in object.toMany.indices { object.toMany[index].drop(keys) }
        }
        for object in deleted where !object.isMarkedFault {
            for (slot, definition) in object.layout.entity.slots.enumerated() {
                guard case .toOne(let relationship) = definition, case .toMany(let index)? = relationship.inverse else { continue }
                for owner in [object.values[slot].reference, object.committed?[slot].reference].compactMap(\.self) {
                    let owner = registry[owner]
                    owner?.willChangeAll()
                    owner?.toMany[index].drop(keys)
                }
            }
        }
    }
}
