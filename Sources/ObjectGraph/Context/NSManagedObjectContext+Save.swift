// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

extension NSManagedObjectContext {
    /// How often `willSave` may bring new changes before the save gives up.
    private static let willSaveRoundsMax = 1000
    /// How often a save may meet somebody else's change and resolve it by the merge policy.
    private static let conflictRoundsMax = 100

    /// Writes everything that is pending: one transaction per store, history included.
    ///
    /// - Throws: a validation error (1550–1680), or 1560 with several; 133020 with `NSMergeConflict`s when somebody
    ///   else changed the same rows and the merge policy is `error`; or a file error. Nothing was written then, and
    ///   what was pending still is.
    public func save() throws {
        preconditionIsCurrent()
        processPendingChanges()
        guard hasChanges else { return }
        let coordinator = requireCoordinator()
        try runWillSave()
        try validatePending()
        NotificationCenter.default.post(name: .NSManagedObjectContextWillSave, object: self)
        let saved = try write(to: coordinator)
        announceSaved(saved)
        coordinator.didCommit(saved.commits, by: self)
    }

    private func runWillSave() throws {
        for _ in 0..<Self.willSaveRoundsMax {
            let before = Set(pending.keys)
            for object in pendingInOrder where !object.flags.contains(.detached) { object.willSave() }
            propagateDeletions()
            if Set(pending.keys) == before {
                processPendingChanges()
                return
            }
        }
        throw CocoaError(
            .persistentStoreSave,
            sentence: "willSave() changed objects in each of \(Self.willSaveRoundsMax) rounds; guard it against setting equal values.")
    }

    private func validatePending() throws {
        var errors: [CocoaError] = []
        for object in pendingInOrder {
            do {
                if object.isDeleted {
                    try object.validateForDelete()
                } else if object.isInserted {
                    try object.validateForInsert()
                } else {
                    try object.validateForUpdate()
                }
            } catch let error as CocoaError { errors.append(error) }
        }
        try NSManagedObject.throwCombined(errors)
    }

    var pendingInOrder: [NSManagedObject] { pending.values.sorted { $0.sequence < $1.sequence } }

    /// What a save wrote, and what became of the objects.
    struct Saved {
        var commits: [StoreCommit] = []
        var inserted: [NSManagedObject] = []
        var updated: [NSManagedObject] = []
        var deleted: [NSManagedObject] = []
    }

    private func write(to coordinator: NSPersistentStoreCoordinator) throws -> Saved {
        try obtainPermanentKeys(for: pendingInOrder.filter { $0.isInserted && !$0.isDeleted }, coordinator)
        for _ in 0..<Self.conflictRoundsMax {
            let draft = SaveDraft(pendingInOrder, author: transactionAuthor, contextName: name)
            do {
                try coordinator.save(draft.changes)
                return finish(draft)
            } catch let error as StoreError where error.code == .conflict {
                try resolve(error.conflicts)
                if pending.isEmpty { return Saved() }
            } catch let error as StoreError {
                throw CocoaError(error)
            }
        }
        throw CocoaError(.persistentStoreSave, sentence: "Other writers changed the same rows again and again; try the save later.")
    }

    private func finish(_ draft: SaveDraft) -> Saved {
        var saved = Saved(commits: draft.commits)
        for object in pendingInOrder {
            if object.isDeleted {
                if !object.isInserted { saved.deleted.append(object) }
            } else if object.isInserted {
                saved.inserted.append(object)
            } else {
                saved.updated.append(object)
            }
        }
        pending = [:]
        assignments = [:]
        for object in saved.inserted + saved.updated {
            let version = draft.written.contains(object.key) ? object.version + 1 : object.version
            object.didCommit(version: version)
        }
        return saved
    }

    private func announceSaved(_ saved: Saved) {
        for object in saved.inserted + saved.updated + saved.deleted { object.didSave() }
        var userInfo: [AnyHashable: Any] = [:]
        for (key, objects) in [
            (NSInsertedObjectsKey, saved.inserted), (NSUpdatedObjectsKey, saved.updated), (NSDeletedObjectsKey, saved.deleted),
        ] { userInfo[key] = Set(objects) }
        NotificationCenter.default.post(name: .NSManagedObjectContextDidSave, object: self, userInfo: userInfo)
        for object in saved.deleted { forget(object) }
    }

    // MARK: Permanent identity

    /// Gives inserted objects the IDs they will have after the save.
    public func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
        preconditionIsCurrent()
        do {
            try obtainPermanentKeys(for: objects, requireCoordinator())
        } catch let error as StoreError {
            throw CocoaError(error)
        }
    }

    private func obtainPermanentKeys(for objects: [NSManagedObject], _ coordinator: NSPersistentStoreCoordinator) throws {
        let temporary = objects.filter(\.objectID.isTemporaryID)
        guard !temporary.isEmpty else { return }
        var translation: [RowKey: RowKey] = [:]
        for (entity, group) in Dictionary(grouping: temporary, by: \.layout.index).sorted(by: { $0.key < $1.key }) {
            for (store, members) in Dictionary(grouping: group, by: { assignedStore(of: $0, coordinator) }).sorted(by: storeOrder) {
                guard let store else {
                    throw CocoaError(
                        .persistentStoreSave,
                        sentence: "No writable store of the coordinator holds the entity '\(coordinator.layouts[entity].name)'.")
                }
                let keys = try store.allocateKeys(for: entity, count: members.count)
                for (object, key) in zip(members, keys) {
                    translation[object.key] = key
                    registry.remove(object.key)
                    object.setIdentity(NSManagedObjectID(key: key, layout: object.layout, store: store))
                    registry.insert(object)
                }
            }
        }
        // Whoever refers to a new object has changed with it, and is pending.
        for object in pending.values { object.translateReferences(translation) }
    }

    private func storeOrder(_ a: (key: NSPersistentStore?, value: [NSManagedObject]), _ b: (key: NSPersistentStore?, value: [NSManagedObject])) -> Bool {
        (a.key?.number ?? 0) < (b.key?.number ?? 0)
    }

    /// An explicit assignment, else the store of a related object, else the first that holds the entity.
    private func assignedStore(of object: NSManagedObject, _ coordinator: NSPersistentStoreCoordinator) -> NSPersistentStore? {
        if let assigned = assignments[ObjectIdentifier(object)] { return assigned }
        let candidates = coordinator.persistentStores.filter { $0.holds(object.layout.index) && !$0.isReadOnly }
        guard candidates.count > 1 else { return candidates.first }
        let related = object.relatedStoreNumbers
        return candidates.first { related.contains($0.number) } ?? candidates.first
    }

    /// Says which store a new object goes to.
    public func assign(_ object: Any, to store: NSPersistentStore) {
        preconditionIsCurrent()
        guard let object = object as? NSManagedObject else { preconditionFailure("only managed objects are assigned to stores") }
        precondition(object.objectID.isTemporaryID, "\(object.layout.name) is in a store already")
        assignments[ObjectIdentifier(object)] = store
    }
}

extension NSManagedObject {
    final func translateReferences(_ translation: [RowKey: RowKey]) {
        for slot in values.indices {
            if case .reference(let key) = values[slot], let permanent = translation[key] { values[slot] = .reference(permanent) }
        }
        for index in toMany.indices where toMany[index].hasChanges || isInserted { toMany[index].translate(translation) }
    }

    final var relatedStoreNumbers: Set<UInt16> {
        var numbers: Set<UInt16> = []
        for case .reference(let key) in values where !key.isTemporary { numbers.insert(key.store) }
        for state in toMany { for key in state.added where !key.isTemporary { numbers.insert(key.store) } }
        return numbers
    }
}
