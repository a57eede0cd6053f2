// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Rollback, reset and refresh.

extension NSManagedObjectContext {
    func rollbackImplementation() {
        preconditionIsCurrent()
        let objects = pendingInOrder
        let neverSaved = objects.filter(\.isMarkedInserted)
        let presented = neverSaved.filter { $0.flags.contains(.presented) }
        unannounced = []
        pending.removeAll()
        forgetUndo()
        for object in objects { object.revert() }
        for object in neverSaved { forget(object) }
        for object in objects where object.contextReference === self { object.awake(fromSnapshotEvents: .rollback) }
        postObjectsDidChange(inserted: [], updated: [], deleted: presented, refreshed: objects.filter { !$0.flags.contains(.detached) })
    }

    func resetImplementation() {
        preconditionIsCurrent()
        let objects = registry.objects + pending.filter { registry[$0.key] !== $0 }
        let isObserved = ContextNotification.objectsDidChange.isRequested
        let ids = isObserved ? objects.sorted { $0.sequence < $1.sequence }.map(\.objectID) : []
        for object in objects where object.contextReference != nil {
            object.flags = .detached
            object.contextReference = nil
        }
        registry.removeAll()
        prefetched = PrefetchedRows()
        pending.removeAll()
        unannounced = []
        relationshipViews.endEvent()
        forgetUndo()
        retained = [:]
        watched = [:]
        assignments = [:]
        advanceQueryGeneration()
        ContextNotification.objectsDidChange.post(self, [NSInvalidatedAllObjectsKey: ids])
    }

    private func forgetUndo() {
        eventSnapshots = [:]
        undoManager?.removeAllActions()
    }

    func refreshImplementation(_ object: NSManagedObject, mergeChanges: Bool) {
        preconditionIsCurrent()
        refresh([object], mergeChanges: mergeChanges)
    }

    func refreshAllObjectsImplementation() {
        preconditionIsCurrent()
        prefetched = PrefetchedRows()
        refresh(registry.objects.sorted { $0.sequence < $1.sequence }, mergeChanges: true)
    }

    private func refresh(_ objects: [NSManagedObject], mergeChanges: Bool) {
        let objects = objects.filter { $0.contextReference === self && !$0.isMarkedInserted }
        for object in objects where object.flags.contains(.detached) { object.clearInaccessible() }
        for object in objects { fetchedPropertyResults.removeResults(of: object) }
        prefetched.evict(objects.lazy.map(\.key))
        if mergeChanges {
            readAnew(objects.filter { !$0.isMarkedFault })
            // A fault's cached row is stale.
            for object in objects where object.isMarkedFault && !object.isMarkedChanged { object.flags.remove(.hasRow) }
        } else {
            for object in objects { forgetChanges(of: object) }
        }
        postObjectsDidChange(inserted: [], updated: [], deleted: [], refreshed: objects)
    }

    private func readAnew(_ objects: [NSManagedObject]) {
        // Objects whose rows cannot be read now stay unchanged.
        guard !objects.isEmpty, let read = try? sourceRows(objects.map(\.key)) else { return }
        var keptReferences: [NSManagedObject.KeptReference] = []
        defer { NSManagedObject.rebaseReferences(keptReferences) }
        let rows = Dictionary(keepingFirst: read.map { ($0.key, $0) })
        for object in objects {
            if let row = rows[object.key] {
                keptReferences += object.merge(row)
                object.awake(fromSnapshotEvents: .refresh)
            } else if !object.isMarkedChanged {
                // The next read finds the row missing; unsaved changes meet a conflict at their save.
                object.turnIntoFault()
            }
        }
    }

    private func forgetChanges(of object: NSManagedObject) {
        let wasDeleted = object.isMarkedDeleted
        pending.remove(object)
        eventSnapshots[ObjectIdentifier(object)] = nil
        object.revertAlone()
        object.turnIntoFault()
        if wasDeleted { object.leaveDeleted() }
        // Members with unsaved changes still reference this object.
        guard object.toMany.hasChanges else { return }
        object.flags.insert(.updated)
        pending.insert(object)
    }
}
