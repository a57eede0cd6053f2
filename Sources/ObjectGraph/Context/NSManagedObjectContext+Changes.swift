// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Insertion, deletion, and notifications of changes.

extension NSManagedObjectContext {
    func insertImplementation(_ object: NSManagedObject) {
        preconditionIsCurrent()
        if object.isIn(self) { return revertDeletion(of: object) }
        guard !object.isRelatedWithoutContext else { return insert(connected: object.connectedObjects) }
        adopt(object)
        enterInserted(object)
        object.awakeFromInsert()
    }

    /// Inserts objects without a context that relationships connect.
    private func insert(connected objects: [NSManagedObject]) {
        for object in objects {
            adopt(object)
            // Each may read its relationships when it enters.
            registry.insert(object)
        }
        for object in objects { enterInserted(object) }
        for object in objects { object.awakeFromInsert() }
    }

    private func adopt(_ object: NSManagedObject) {
        precondition(object.isAlone, "\(object.layout.name) is in another context")
        precondition(!object.flags.contains(.detached), "\(object.layout.name) was deleted or released by its context; create a new object")
        precondition(
            describes(object.layout),
            "the entity '\(object.layout.name)' is of another model than the context's")
        object.contextReference = self
        // The object's former context was deallocated, so no pending list holds it.
        object.pendingPlace = -1
    }

    func enterInserted(_ object: NSManagedObject) {
        willChange(object, isPresent: false)
        object.flags.insert(.inserted)
        enter(object)
        pending.insert(object)
        announce(object)
    }

    /// Reverts an unsaved deletion. Objects deleted by its cascade stay deleted.
    private func revertDeletion(of object: NSManagedObject) {
        guard object.flags.contains(.deleted), !object.flags.contains(.detached) else { return }
        willChange(object)
        object.retractDeletion()
        object.flags.remove(.deleted)
        noteChanged(object)
        object.leaveDeleted()
    }

    func deleteImplementation(_ object: NSManagedObject) {
        preconditionIsCurrent()
        guard let context = object.contextReference, !object.flags.contains(.deleted) else { return }
        precondition(context === self, "\(object.layout.name) is in another context; get it with object(with:) before deleting it")
        object.prepareForDeletion()
        markDeleted(object)
    }

    func markDeleted(_ object: NSManagedObject) {
        // An undo after the save cannot read the row any more.
        if undoManager?.isUndoRegistrationEnabled == true { object.willRead() }
        willChange(object)
        object.flags.insert(.deleted)
        pending.insert(object)
        announce(object)
    }

    func noteChanged(_ object: NSManagedObject) {
        willChange(object)
        if object.flags.isDisjoint(with: .pending) {
            object.flags.insert(.updated)
            pending.insert(object)
        } else {
            object.flags.insert(.updated)
        }
        announce(object)
    }

    private func announce(_ object: NSManagedObject) {
        guard !object.flags.contains(.unannounced) else { return }
        object.flags.insert(.unannounced)
        unannounced.append(object)
        // Off its queue, a context posts its changes at its next save, fetch or processPendingChanges: an event on the
        // queue would race with the caller.
        guard !isProcessingScheduled, queue.isCurrent else { return }
        isProcessingScheduled = true
        // Ends the event with the queue's turn, where nothing else ends one (a main-queue context outside perform).
        queue.queue.async { [registry] in registry.context?.endEvent() }
    }

    func processPendingChangesImplementation() {
        isProcessingScheduled = false
        guard !unannounced.isEmpty else { return }
        if propagatesDeletesAtEndOfEvent { propagateDeletions() }
        registerEvent()
        let changed = inOrder(unannounced)
        unannounced = []
        let isObserved = ContextNotification.objectsDidChange.isRequested
        var (inserted, updated, deleted): ([NSManagedObject], [NSManagedObject], [NSManagedObject]) = ([], [], [])
        // An object that has left the context was announced when it left.
        changed.borrowEach { object in
            guard object.isIn(self) else { return }
            object.flags.remove(.unannounced)
            let isNew = object.isMarkedInserted && !object.flags.contains(.presented)
            switch (object.isMarkedDeleted, isNew) {
            // Inserted and deleted within one event: no observer saw it.
            case (true, true): break
            case (true, false): if isObserved { deleted.append(object) }
            case (false, true):
                object.flags.insert(.presented)
                if isObserved { inserted.append(object) }
            case (false, false): if isObserved { updated.append(object) }
            }
            if object.isMarkedInserted && object.isMarkedDeleted { forget(object) }
        }
        postObjectsDidChange(inserted: inserted, updated: updated, deleted: deleted, refreshed: [])
    }

    /// Sorts objects by creation; they are mostly sorted already.
    private func inOrder(_ objects: [NSManagedObject]) -> [NSManagedObject] {
        var last = Int64.min
        var isSorted = true
        objects.borrowEach { object in
            if object.sequence < last { isSorted = false }
            last = object.sequence
        }
        return isSorted ? objects : objects.sorted { $0.sequence < $1.sequence }
    }

    func postObjectsDidChange(
        inserted: [NSManagedObject], updated: [NSManagedObject], deleted: [NSManagedObject], refreshed: [NSManagedObject]
    ) {
        deliverObservedChanges()
        if !relationshipViews.isEmpty { relationshipViews.endEvent() }
        guard ContextNotification.objectsDidChange.isRequested else { return }
        var userInfo: [AnyHashable: Any] = [:]
        for (key, objects) in [
            (NSInsertedObjectsKey, inserted), (NSUpdatedObjectsKey, updated), (NSDeletedObjectsKey, deleted),
            (NSRefreshedObjectsKey, refreshed),
        ] where !objects.isEmpty { userInfo[key] = Set(objects) }
        guard !userInfo.isEmpty else { return }
        ContextNotification.objectsDidChange.post(self, userInfo)
    }

    /// Applies the delete rules of every unprocessed deletion, until no rule deletes another object.
    func propagateDeletions() {
        while case let fresh = pending.filter({ $0.flags.contains(.deleted) && !$0.flags.contains(.propagated) }), !fresh.isEmpty {
            for object in fresh.sorted(by: { $0.sequence < $1.sequence }) {
                object.flags.insert(.propagated)
                propagateDeletion(of: object)
            }
        }
    }

    private func propagateDeletion(of object: NSManagedObject) {
        for (slot, definition) in object.layout.entity.slots.enumerated() {
            guard case .toOne(let relationship) = definition, let destination = object.toOne(slot) else { continue }
            apply(relationship, from: object, to: destination)
        }
        for (index, relationship) in object.layout.entity.toMany.enumerated() {
            guard relationship.declaration.deleteRule != .noAction else { continue }
            // Fetches all members in one query and holds them until they are deleted or changed.
            let members = readAhead(object.toManyKeys(index))
            defer { withExtendedLifetime(members) {} }
            for destination in object.toManyObjects(index).sorted(by: { $0.sequence < $1.sequence }) {
                apply(relationship, from: object, to: destination)
            }
        }
    }

    /// Prefetches the rows of faults that are about to be fired.
    private func readAhead(_ keys: KeySet) -> [NSManagedObject] {
        let unread = keys.filter { key in
            guard !key.isTemporary || parent != nil else { return false }
            return registry[key].map { $0.isMarkedFault && !$0.flags.contains(.hasRow) } ?? true
        }
        // A row that cannot be read now is read, or reported missing, when its fault fires.
        guard unread.count > 1, let rows = try? sourceRows(unread) else { return [] }
        return rows.map(register)
    }

    private func apply(_ relationship: ResolvedRelationship, from object: NSManagedObject, to destination: NSManagedObject) {
        switch relationship.declaration.deleteRule {
        case .noAction, .deny: break
        case .cascade: delete(destination)
        case .nullify:
            if let inverse = relationship.inverse, !destination.isMarkedDeleted { destination.forget(object, at: inverse) }
        }
    }

    /// Removes an object from the context permanently.
    func forget(_ object: NSManagedObject) {
        object.willTurnIntoFault()
        object.willChangeAll(isLeaving: true)
        registry.remove(object)
        pending.remove(object)
        retained[ObjectIdentifier(object)] = nil
        eventSnapshots[ObjectIdentifier(object)] = nil
        watched[ObjectIdentifier(object)] = nil
        assignments[ObjectIdentifier(object)] = nil
        object.flags = .detached
        object.contextReference = nil
        object.didTurnIntoFault()
    }
}
