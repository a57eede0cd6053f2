// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

extension NSManagedObjectContext {
    /// The number of rounds in which `willSave` may make new changes before the save fails.
    private static let willSaveRoundsMax = 1000
    /// The number of conflict rounds that a save resolves by the merge policy before it fails.
    private static let conflictRoundsMax = 100

    func saveImplementation() throws {
        preconditionIsCurrent()
        processPendingChanges()
        guard hasChanges else {
            if parent == nil { try persistentStoreCoordinator?.saveMetadata(in: self) }
            return
        }
        guard !isSaving else {
            throw CocoaError(.persistentStoreSave, sentence: "save() was called while the same context was saving; call it afterwards.")
        }
        let coordinator = requireCoordinator()
        var saved = Saved()
        let outcome = Result { try writePending(to: coordinator, &saved) }
        postObjectsDidChange(
            inserted: [], updated: [], deleted: saved.deletedConcurrently,
            refreshed: saved.merged.filter { $0.contextReference === self && !$0.isMarkedDeleted })
        if case .success = outcome { watched = [:] }
        let failure: (any Error)? = if case .failure(let error) = outcome { error } else { nil }
        if let failure, saved.commits.isEmpty { throw failure }
        advanceQueryGeneration()
        announceSaved(saved)
        if parent == nil { coordinator.didCommit(saved.commits, by: self) }
        notifyChildren(of: saved.commits)
        if let failure { throw incompleteSave(failure) }
    }

    private func writePending(to coordinator: NSPersistentStoreCoordinator, _ saved: inout Saved) throws {
        isSaving = true
        defer { isSaving = false }
        NotificationCenter.default.post(name: .NSManagedObjectContextWillSave, object: self)
        try runWillSave()
        prefetched.evict(pending.lazy.map(\.key))
        try validatePending()
        if pending.layouts.contains(where: { !$0.transformableSlots.isEmpty }) {
            for object in pending where !object.isMarkedDeleted { try object.encodeTransformables() }
        }
        if let parent { return push(to: parent, &saved) }
        if onlyStore(of: coordinator) != nil {
            try resolvePendingDuplicates()
            return try writeToOnlyStore(coordinator, &saved)
        }
        try obtainPermanentKeys(for: pendingInOrder.filter { $0.isMarkedInserted && !$0.isMarkedDeleted }, coordinator)
        try checkReferences()
        try resolvePendingDuplicates()
        for store in pendingStores { try write(store, coordinator, &saved) }
    }

    /// Calls `willSave`, and again for the objects that the calls changed, until they change none.
    ///
    /// An object that only changes another one isn't called again, so a child may always set its parent's date.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsmanagedobject/willsave()
    private func runWillSave() throws {
        propagateDeletions()
        processPendingChanges()
        var objects = pendingInOrder
        var called: Set<ObjectIdentifier> = []
        for _ in 0..<Self.willSaveRoundsMax {
            let arrivalsBefore = pending.arrivals
            objects.borrowEach { if $0.isIn(self) { $0.willSave() } }
            propagateDeletions()
            var changed = unannounced
            processPendingChanges()
            // Observers of the notification may change objects, too.
            changed += unannounced
            if changed.isEmpty, pending.arrivals == arrivalsBefore { return }
            called.formUnion(objects.lazy.map { ObjectIdentifier($0) })
            let changedObjects = Set(changed.lazy.map { ObjectIdentifier($0) })
            objects = pendingInOrder.filter { changedObjects.contains(ObjectIdentifier($0)) || !called.contains(ObjectIdentifier($0)) }
        }
        throw CocoaError(
            .persistentStoreSave,
            sentence: "willSave() changed objects in each of \(Self.willSaveRoundsMax) rounds; guard it against setting equal values.")
    }

    private func validatePending() throws {
        var errors: [any Error] = []
        pendingInOrder.borrowEach { object in
            do {
                if object.isMarkedDeleted {
                    try object.validateForDelete()
                } else if object.isMarkedInserted {
                    try object.validateForInsert()
                } else {
                    try object.validateForUpdate()
                }
            } catch { errors.append(error) }
        }
        try NSManagedObject.throwCombined(errors)
    }

    /// Writes to the coordinator's only store, as long as the merge policy leaves changes in no other one.
    private func writeToOnlyStore(_ coordinator: NSPersistentStoreCoordinator, _ saved: inout Saved) throws {
        try writeResolvingConflicts(coordinator, &saved) {
            hasChanges ? onlyStore(of: coordinator).map { (store: $0.number, pending: $0) } : nil
        } write: { store in
            try writeInOneTransaction(to: store)
        }
    }

    /// Writes the pending objects of one store.
    private func write(_ store: UInt16, _ coordinator: NSPersistentStoreCoordinator, _ saved: inout Saved) throws {
        try writeResolvingConflicts(coordinator, &saved) {
            let objects = pendingInOrder.filter { $0.key.store == store }
            return objects.isEmpty ? nil : (store: store, pending: objects)
        } write: { objects in
            let draft = SaveDraft(objects, author: transactionAuthor, contextName: name)
            try coordinator.save(draft.changes, of: objects, in: self)
            return (draft, objects)
        }
    }

    /// Writes to a store, and retries after each conflict that the merge policy resolves.
    ///
    /// - Parameters:
    ///   - next: The store and its pending changes; nil without any. Called before each attempt, since
    ///     resolving a conflict may change the pending objects.
    ///   - write: Writes the changes, all or nothing.
    /// - Throws: `CocoaError` of the store or the merge policy, or 134030 after ``conflictRoundsMax`` conflicts.
    private func writeResolvingConflicts<Pending>(
        _ coordinator: NSPersistentStoreCoordinator, _ saved: inout Saved, next: () -> (store: UInt16, pending: Pending)?,
        write: (Pending) throws -> (draft: SaveDraft, objects: [NSManagedObject])
    ) throws {
        for _ in 0..<Self.conflictRoundsMax {
            guard let (store, pending) = next() else { return }
            let watchedConflicts = try watchedConflicts(in: store, coordinator)
            if !watchedConflicts.isEmpty {
                try resolve(watchedConflicts, &saved)
                continue
            }
            do {
                let (draft, objects) = try write(pending)
                return finish(draft, objects, &saved)
            } catch let error as StoreError where error.code == .conflict {
                try resolve(error.conflicts, &saved)
            } catch let error as StoreError where !error.collisions.isEmpty {
                try resolve(error.collisions)
            } catch let error as StoreError {
                throw CocoaError(error)
            }
        }
        throw tooManyConflicts
    }

    private var tooManyConflicts: CocoaError {
        CocoaError(.persistentStoreSave, sentence: "Other writers changed the same rows again and again; try the save later.")
    }

    /// Clears references to objects deleted before their first save, and rejects references into another store.
    func checkReferences() throws {
        guard pending.layouts.contains(where: \.hasRelationships) else { return }
        pending.forEach { $0.dropTemporaryReferences() }
        var problems: [NSManagedObject] = []
        pendingInOrder.borrowEach { if !$0.isMarkedDeleted, $0.hasReferenceBeyondStore { problems.append($0) } }
        guard let first = problems.first else { return }
        throw CocoaError(
            .managedObjectExternalRelationship,
            sentence: "A \(first.layout.name) is related to an object in another store; relate only objects of one store.",
            userInfo: [NSAffectedObjectsErrorKey: problems])
    }

    var pendingInOrder: [NSManagedObject] { pending.inOrder }

    /// The outcome of a save: its commits, and the objects it changed.
    struct Saved {
        var commits: [StoreCommit] = []
        var inserted: [NSManagedObject] = []
        var updated: [NSManagedObject] = []
        var deleted: [NSManagedObject] = []
        /// Objects that took values from the store, by the merge policy.
        var merged: [NSManagedObject] = []
        /// Concurrently deleted objects, after the merge policy accepted the deletion.
        var deletedConcurrently: [NSManagedObject] = []
    }

    private var pendingStores: [UInt16] {
        var stores: [UInt16] = []
        for object in pending where stores.last != object.key.store && !stores.contains(object.key.store) {
            stores.append(object.key.store)
        }
        return stores.sorted()
    }

    private func finish(_ draft: SaveDraft, _ objects: [NSManagedObject], _ saved: inout Saved) {
        saved.commits += draft.commits
        if objects.count == pending.count { pending.removeAll() }
        let areAllNew = saved.inserted.isEmpty && objects.allBorrowed { $0.isMarkedInserted && !$0.isMarkedDeleted }
        if areAllNew { saved.inserted = objects }
        objects.borrowEach { object in
            pending.remove(object)
            if !assignments.isEmpty { assignments[ObjectIdentifier(object)] = nil }
            if object.isMarkedDeleted {
                if object.isMarkedInserted { forget(object) } else { saved.deleted.append(object) }
                return
            }
            if !areAllNew {
                if object.isMarkedInserted { saved.inserted.append(object) } else { saved.updated.append(object) }
            }
            let isUnwritten = !draft.unwritten.isEmpty && draft.unwritten.contains(object.key)
            object.didCommit(version: isUnwritten ? object.version : object.version + 1)
        }
    }

    private func announceSaved(_ saved: Saved) {
        for objects in [saved.inserted, saved.updated, saved.deleted] { objects.borrowEach { $0.didSave() } }
        ContextNotification.didSave.post(
            self,
            [
                NSInsertedObjectsKey: Set(saved.inserted), NSUpdatedObjectsKey: Set(saved.updated),
                NSDeletedObjectsKey: Set(saved.deleted),
            ])
        ContextNotification.didSaveObjectIDs.post(
            self,
            Self.userInfo([
                (.insertedObjectIDs, Set(saved.inserted.map(\.objectID))), (.updatedObjectIDs, Set(saved.updated.map(\.objectID))),
                (.deletedObjectIDs, Set(saved.deleted.map(\.objectID))),
            ]))
        for object in saved.deleted { forget(object) }
    }

    private func incompleteSave(_ error: any Error) -> CocoaError {
        let waiting = pendingInOrder
        let stores = Set(waiting.map(\.key.store)).sorted().compactMap { persistentStoreCoordinator?.store(numbered: $0) }
        return CocoaError(
            .persistentStoreIncompleteSave, sentence: "Some stores were saved, but not all: \(error.localizedDescription)",
            userInfo: [NSAffectedStoresErrorKey: stores, NSAffectedObjectsErrorKey: waiting, NSUnderlyingErrorKey: error])
    }

    // MARK: Permanent identity

    func obtainPermanentIDsImplementation(for objects: [NSManagedObject]) throws {
        preconditionIsCurrent()
        try obtainPermanentKeys(for: objects, requireCoordinator())
        guard let parent else { return }
        // An object saved into the parent gets its permanent ID there.
        let above = objects.filter { $0.objectID.isTemporaryID && !$0.isMarkedInserted && $0.contextReference === self }
        guard !above.isEmpty else { return }
        try reading(parent) { parent in try parent.obtainPermanentIDs(for: above.map { parent.object(for: $0.key) }) }
        adoptPermanentKeys()
    }

    private func obtainPermanentKeys(for objects: [NSManagedObject], _ coordinator: NSPersistentStoreCoordinator) throws {
        let temporary = objects.filter { $0.key.isTemporary && $0.isMarkedInserted }
        guard !temporary.isEmpty else { return }
        var permanent: [RowKey: RowKey] = [:]
        // Objects that reference a new object changed with it, so they are pending. Runs after a failure too: a key that
        // was assigned stays.
        defer {
            for object in pending { object.translateReferences(permanent) }
            didGivePermanentKeys(permanent)
        }
        for (entity, group) in Dictionary(grouping: temporary, by: \.layout.index).sorted(by: { $0.key < $1.key }) {
            for (store, members) in Dictionary(grouping: group, by: { assignedStore(of: $0, coordinator) }).sorted(by: storeOrder) {
                guard let store else {
                    throw CocoaError(
                        .persistentStoreSave,
                        sentence: "No writable store of the coordinator holds the entity '\(coordinator.layouts[entity].name)'.")
                }
                let keys = try store.allocateKeys(for: members, entity: entity)
                for (object, key) in zip(members, keys) {
                    permanent[object.key] = key
                    registry.remove(object)
                    object.setKey(key)
                    registry.insert(object)
                }
            }
        }
    }

    func didGivePermanentKeys(_ permanent: [RowKey: RowKey]) {
        guard !permanent.isEmpty else { return }
        // Undo actions refer to the temporary keys.
        if undoManager != nil { aliases.merge(permanent) { _, new in new } }
        publishPermanentKeys(permanent)
    }

    private func storeOrder(
        _ a: (key: NSPersistentStore?, value: [NSManagedObject]), _ b: (key: NSPersistentStore?, value: [NSManagedObject])
    ) -> Bool {
        (a.key?.number ?? 0) < (b.key?.number ?? 0)
    }

    /// Returns the store that a new object will be saved to, as far as its relationships decide it now.
    func chosenStore(of object: NSManagedObject) -> NSPersistentStore? {
        persistentStoreCoordinator.flatMap { assignedStore(of: object, $0) }
    }

    /// Returns the explicitly assigned store, else the store of a related object, else the first store that holds the
    /// entity.
    private func assignedStore(of object: NSManagedObject, _ coordinator: NSPersistentStoreCoordinator) -> NSPersistentStore? {
        if let assigned = assignments[ObjectIdentifier(object)] { return assigned }
        let candidates = coordinator.persistentStores.filter { $0.holds(object.layout.index) && !$0.isReadOnly }
        guard candidates.count > 1 else { return candidates.first }
        let related = object.relatedStoreNumbers
        return candidates.first { related.contains($0.number) } ?? candidates.first
    }

    func assignImplementation(_ object: Any, to store: NSPersistentStore) {
        preconditionIsCurrent()
        guard let object = object as? NSManagedObject else { preconditionFailure("only managed objects are assigned to stores") }
        precondition(object.objectID.isTemporaryID, "\(object.layout.name) is in a store already")
        assignments[ObjectIdentifier(object)] = store
    }
}

extension NSManagedObject {
    /// - Parameter everywhere: Whether values committed to the parent are translated, too.
    final func translateReferences(_ translation: [RowKey: RowKey], everywhere: Bool = false) {
        for slot in values.indices {
            if case .reference(let key) = values[slot], let permanent = translation[key] { values[slot] = .reference(permanent) }
            guard everywhere, case .reference(let key)? = committed?[slot], let permanent = translation[key] else { continue }
            committed?[slot] = .reference(permanent)
        }
        for index in toMany.indices where everywhere || toMany[index].hasChanges || isMarkedInserted {
            toMany[index].translate(translation)
        }
    }

    /// Clears references to objects that have no row and will not get one.
    final func dropTemporaryReferences() {
        for slot in values.indices where values[slot].reference?.isTemporary == true { values[slot] = .null }
        for index in toMany.indices where toMany[index].hasChanges {
            let lost = toMany[index].added.filter(\.isTemporary)
            if !lost.isEmpty { toMany[index].drop(Set(lost)) }
        }
    }

    final var hasReferenceBeyondStore: Bool {
        values.contains { $0.reference.map { $0.store != key.store } ?? false }
            || toMany.contains { $0.added.contains { $0.store != key.store } }
    }

    final var relatedStoreNumbers: Set<UInt16> {
        var numbers: Set<UInt16> = []
        for case .reference(let key) in values where !key.isTemporary { numbers.insert(key.store) }
        for state in toMany { for key in state.added where !key.isTemporary { numbers.insert(key.store) } }
        return numbers
    }
}
