// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore

// The save into a coordinator's only store assigns keys in the transaction that writes the rows: one commit per save.
// With several stores, keys are assigned first, because related objects must be in one store.

extension NSManagedObjectContext {
    /// - Returns: nil when the save needs the general path.
    func onlyStore(of coordinator: NSPersistentStoreCoordinator) -> NSPersistentStore? {
        let stores = coordinator.persistentStores
        guard stores.count == 1, let store = stores.first, !store.isReadOnly, store.sqlite != nil, !store.isMetadataChanged else {
            return nil
        }
        return pending.allSatisfy { $0.key.store == store.number || ($0.key.isTemporary && store.holds($0.layout.index)) } ? store : nil
    }

    /// Writes the pending changes in one transaction.
    ///
    /// - Throws: ``StoreError``. New objects have their temporary keys again then, since the store may assign the keys of
    ///   the rolled-back transaction to other rows.
    func writeInOneTransaction(to store: NSPersistentStore) throws -> (draft: SaveDraft, objects: [NSManagedObject]) {
        let objects = pendingInOrder
        var assignedKeys = AssignedKeys()
        do {
            let draft = try store.storage.write { writer in
                try assignedKeys.assign(to: objects, of: store, layouts: requireCoordinator().layouts, needsTranslation: needsTranslation) {
                    try writer.reserveKeys(for: $0, count: $1)
                }
                if !assignedKeys.translation.isEmpty { objects.borrowEach { $0.translateReferences(assignedKeys.translation) } }
                try checkReferences()
                let draft = SaveDraft(objects, author: transactionAuthor, contextName: name)
                for changes in draft.changes.values { _ = try writer.apply(changes) }
                return draft
            }
            registry.move(assignedKeys.objects, from: assignedKeys.formerKeys)
            didGivePermanentKeys(assignedKeys.translation)
            return (draft, objects)
        } catch {
            let error = assignedKeys.named(error)
            assignedKeys.restoreTemporaryKeys()
            let back = Dictionary(uniqueKeysWithValues: assignedKeys.translation.map { ($1, $0) })
            if !back.isEmpty { for object in objects { object.translateReferences(back) } }
            throw error
        }
    }

    /// Whether another value may hold the objects' temporary keys.
    private var needsTranslation: Bool { undoManager != nil || hasChildren || pending.layouts.contains(where: \.hasRelationships) }
}

/// Permanent keys of new objects.
private struct AssignedKeys {
    private(set) var objects: [NSManagedObject] = []
    private(set) var formerKeys: [RowKey] = []
    /// From temporary to permanent keys; empty when no value needs the translation.
    private(set) var translation: [RowKey: RowKey] = [:]

    /// - Parameter reserve: Reserves consecutive keys of an entity and returns the first.
    mutating func assign(
        to pending: [NSManagedObject], of store: NSPersistentStore, layouts: [EntityLayout], needsTranslation: Bool,
        _ reserve: (_ entity: Int, _ count: Int) throws -> Int64
    ) throws {
        var counts = [Int](repeating: 0, count: layouts.count)
        if pending.allBorrowed(Self.isNew) { objects = pending } else { objects = pending.filter(Self.isNew) }
        objects.borrowEach { counts[$0.layout.index] += 1 }
        var next = [Int64](repeating: 0, count: layouts.count)
        for entity in counts.indices where counts[entity] > 0 { next[entity] = try reserve(entity, counts[entity]) }
        formerKeys.reserveCapacity(objects.count)
        if needsTranslation { translation.reserveCapacity(objects.count) }
        let number = store.number
        objects.borrowEach { object in
            let entity = object.layout.index
            let key = RowKey(store: number, entity: entity, primaryKey: next[entity])
            next[entity] += 1
            formerKeys.append(object.key)
            if needsTranslation { translation[object.key] = key }
            object.setKey(key)
        }
    }

    /// Returns the error; uniqueness collisions of new rows name them by their temporary keys.
    func named(_ error: any Error) -> any Error {
        guard let error = error as? StoreError, !error.collisions.isEmpty else { return error }
        let former = Dictionary(uniqueKeysWithValues: zip(objects.map(\.key), formerKeys))
        return StoreError(
            error.code, error.summary, detail: error.detail,
            collisions: error.collisions.map { collision in
                UniquenessCollision(
                    constraint: collision.constraint, key: former[collision.key] ?? collision.key, persisted: collision.persisted)
            })
    }

    func restoreTemporaryKeys() {
        for (object, key) in zip(objects, formerKeys) { object.setKey(key) }
    }

    private static func isNew(_ object: NSManagedObject) -> Bool {
        object.key.isTemporary && object.isMarkedInserted && !object.isMarkedDeleted
    }
}
