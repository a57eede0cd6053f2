// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Inserting, deleting, and telling about changes.

extension NSManagedObjectContext {
    /// Adds a new object. Its defaults are set; `awakeFromInsert` runs.
    public func insert(_ object: NSManagedObject) {
        preconditionIsCurrent()
        precondition(object.contextReference == nil, "\(object.layout.name) is in a context already")
        object.contextReference = self
        object.flags.insert(.inserted)
        enter(object)
        pending[ObjectIdentifier(object)] = object
        announce(object)
        object.awakeFromInsert()
    }

    /// Marks an object for deletion. Delete rules are applied when changes are processed, at the latest by the save.
    public func delete(_ object: NSManagedObject) {
        preconditionIsCurrent()
        guard object.contextReference === self, !object.flags.contains(.deleted) else { return }
        object.prepareForDeletion()
        object.flags.insert(.deleted)
        pending[ObjectIdentifier(object)] = object
        announce(object)
    }

    func noteChanged(_ object: NSManagedObject) {
        if object.flags.isDisjoint(with: .pending) {
            object.flags.insert(.updated)
            pending[ObjectIdentifier(object)] = object
        } else {
            object.flags.insert(.updated)
        }
        announce(object)
    }

    private func announce(_ object: NSManagedObject) {
        guard !object.flags.contains(.unannounced) else { return }
        object.flags.insert(.unannounced)
        unannounced.append(object)
        guard !isProcessingScheduled else { return }
        isProcessingScheduled = true
        // The end of the turn of the queue, where nothing else ends one (a main-queue context outside perform).
        queue.queue.async { [weak self] in self?.processPendingChanges() }
    }

    /// Applies delete rules and posts one notification about everything that changed since the last.
    public func processPendingChanges() {
        isProcessingScheduled = false
        guard !unannounced.isEmpty else { return }
        propagateDeletions()
        let changed = unannounced.sorted { $0.sequence < $1.sequence }
        unannounced = []
        for object in changed { object.flags.remove(.unannounced) }
        // An object that was inserted and deleted before anybody saw it never was.
        for object in changed where object.isInserted && object.isDeleted { forget(object) }
        postObjectsDidChange(
            inserted: changed.filter { $0.isInserted && !$0.isDeleted },
            updated: changed.filter { $0.isUpdated && !$0.isDeleted },
            deleted: changed.filter { $0.isDeleted || $0.flags.contains(.detached) }, refreshed: [])
    }

    func postObjectsDidChange(
        inserted: [NSManagedObject], updated: [NSManagedObject], deleted: [NSManagedObject], refreshed: [NSManagedObject]
    ) {
        var userInfo: [AnyHashable: Any] = [:]
        for (key, objects) in [
            (NSInsertedObjectsKey, inserted), (NSUpdatedObjectsKey, updated), (NSDeletedObjectsKey, deleted),
            (NSRefreshedObjectsKey, refreshed),
        ] where !objects.isEmpty { userInfo[key] = Set(objects) }
        guard !userInfo.isEmpty else { return }
        NotificationCenter.default.post(name: .NSManagedObjectContextObjectsDidChange, object: self, userInfo: userInfo)
    }

    /// Cascades and nullifies for every deletion that has not been through it, until nothing new is deleted.
    func propagateDeletions() {
        while case let fresh = pending.values.filter({ $0.flags.contains(.deleted) && !$0.flags.contains(.propagated) }), !fresh.isEmpty {
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
            for destination in object.toManyObjects(index).sorted(by: { $0.sequence < $1.sequence }) {
                apply(relationship, from: object, to: destination)
            }
        }
    }

    private func apply(_ relationship: ResolvedRelationship, from object: NSManagedObject, to destination: NSManagedObject) {
        switch relationship.declaration.deleteRule {
        case .noAction, .deny: break
        case .cascade: delete(destination)
        case .nullify:
            if let inverse = relationship.inverse, !destination.isDeleted { destination.forget(object, at: inverse) }
        }
    }

    /// Takes an object out of the context for good.
    func forget(_ object: NSManagedObject) {
        object.willTurnIntoFault()
        registry.remove(object.key)
        pending[ObjectIdentifier(object)] = nil
        retained[ObjectIdentifier(object)] = nil
        object.flags = .detached
        object.contextReference = nil
        object.didTurnIntoFault()
    }

    // MARK: Dropping changes

    /// Forgets every unsaved change. Inserted objects leave the context.
    public func rollback() {
        preconditionIsCurrent()
        let objects = pending.values.sorted { $0.sequence < $1.sequence }
        unannounced = []
        pending = [:]
        for object in objects { object.revert() }
        let kept = objects.filter { !$0.isInserted }
        for object in objects where object.isInserted { forget(object) }
        postObjectsDidChange(inserted: [], updated: [], deleted: objects.filter { $0.flags.contains(.detached) }, refreshed: kept)
    }

    /// Lets go of every object. Objects that the app still holds are of no use afterwards.
    public func reset() {
        preconditionIsCurrent()
        for object in registry.objects + Array(pending.values) where object.contextReference != nil {
            object.flags = .detached
            object.contextReference = nil
        }
        registry.removeAll()
        pending = [:]
        unannounced = []
        retained = [:]
        NotificationCenter.default.post(
            name: .NSManagedObjectContextObjectsDidChange, object: self,
            userInfo: [NSInvalidatedAllObjectsKey: [NSManagedObjectID]()])
    }

    /// - Parameter mergeChanges: Whether unsaved changes stay, on top of what the store holds now.
    public func refresh(_ object: NSManagedObject, mergeChanges: Bool) {
        preconditionIsCurrent()
        guard object.contextReference === self, !object.isInserted else { return }
        if !mergeChanges {
            pending[ObjectIdentifier(object)] = nil
            object.revert()
            object.turnIntoFault()
        } else if !object.isFault, let row = try? requireCoordinator().row(object.key) {
            object.merge(row)
        }
        postObjectsDidChange(inserted: [], updated: [], deleted: [], refreshed: [object])
    }

    public func refreshAllObjects() {
        for object in registry.objects.sorted(by: { $0.sequence < $1.sequence }) { refresh(object, mergeChanges: true) }
    }
}
