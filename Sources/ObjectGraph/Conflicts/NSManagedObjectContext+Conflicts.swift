// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

// Conflicts of a save, and their resolution by a merge policy.

/// Objects with conflicts that a merge policy resolved.
struct SettledConflicts {
    /// Objects that took values from the store.
    var merged: [NSManagedObject] = []
    /// Concurrently deleted objects, after the deletion was accepted.
    var deletedConcurrently: [NSManagedObject] = []
    /// Objects deleted here and, concurrently, in the store.
    var deleted: [NSManagedObject] = []
}

extension NSManagedObjectContext {
    private var policy: NSMergePolicy { mergePolicy as? NSMergePolicy ?? .error }

    /// Resolves conflicts by the merge policy, so that the save can be retried.
    ///
    /// - Throws: The error of the merge policy.
    func resolve(_ conflicts: [RowConflict], _ saved: inout Saved) throws {
        let met = conflicts.compactMap { conflict -> NSMergeConflict? in
            guard let object = registry[conflict.key] else { return nil }
            return NSMergeConflict(object, conflict, isOurs: persistentStoreCoordinator?.hasWritten(conflict) ?? false)
        }
        guard !met.isEmpty else {
            throw CocoaError(.managedObjectMerge, sentence: "Could not merge changes: the same objects were changed concurrently.")
        }
        settled = SettledConflicts()
        defer { settled = SettledConflicts() }
        try policy.resolve(mergeConflicts: met)
        // An object that the policy left alone keeps its changes, applied to the store's row.
        for conflict in met where conflict.sourceObject.contextReference === self {
            let object = conflict.sourceObject
            let isSettled = conflict.persisted == nil ? object.pendingPlace < 0 : object.version == conflict.persisted?.version
            if !isSettled {
                rebase(conflict, by: conflict.persisted == nil ? .rollbackMergePolicyType : .mergeByPropertyObjectTrumpMergePolicyType)
            }
        }
        saved.merged += settled.merged
        saved.deleted += settled.deleted
        saved.deletedConcurrently += settled.deletedConcurrently
    }

    /// Rebases an object onto the store's current row.
    func rebase(_ conflict: NSMergeConflict, by policy: NSMergePolicyType) {
        let object = conflict.sourceObject
        guard let persisted = conflict.persisted else { return settleGone(object) }
        if policy == .rollbackMergePolicyType {
            let wasDeleted = object.isMarkedDeleted
            pending.remove(object)
            object.revertAlone()
            _ = object.merge(persisted)
            if wasDeleted { object.leaveDeleted() }
        } else if object.isMarkedDeleted {
            // A deletion cannot be merged property by property, and its delete rules were applied already: it stands.
            object.version = persisted.version
        } else {
            object.rebase(onto: persisted, by: policy)
        }
        object.awake(fromSnapshotEvents: .mergePolicy)
        settled.merged.append(object)
    }

    private func settleGone(_ object: NSManagedObject) {
        dropReferences(to: [object])
        if object.isMarkedDeleted {
            pending.remove(object)
            settled.deleted.append(object)
        } else {
            settled.deletedConcurrently.append(object)
            forget(object)
        }
    }

    // MARK: Conflicts of unchanged objects

    func detectConflictsImplementation(for object: NSManagedObject) {
        preconditionIsCurrent()
        precondition(object.contextReference === self, "\(object.layout.name) is in another context")
        guard !object.isMarkedInserted else { return }
        object.willRead()
        watched[ObjectIdentifier(object)] = object
    }

    /// Conflicts of one store's watched objects.
    func watchedConflicts(in store: UInt16, _ coordinator: NSPersistentStoreCoordinator) throws -> [RowConflict] {
        let objects = watched.values.filter {
            $0.key.store == store && $0.flags.isDisjoint(with: [.pending, .detached]) && !$0.isMarkedFault
        }
        guard !objects.isEmpty else { return [] }
        let rows = Dictionary(keepingFirst: try coordinator.rows(objects.map(\.key)).map { ($0.key, $0) })
        return objects.sorted { $0.sequence < $1.sequence }.filter { rows[$0.key]?.version != $0.version }.map {
            RowConflict(key: $0.key, expectedVersion: $0.version, persisted: rows[$0.key])
        }
    }
}

extension NSManagedObject {
    /// Rebases the object's changes onto a newer row.
    final func rebase(onto row: Row, by policy: NSMergePolicyType) {
        willChangeAll()
        let base = committed ?? values
        var merged = row.values
        for slot in values.indices {
            let changedHere = values[slot] != base[slot]
            let changedThere = row.values[slot] != base[slot]
            let keepsMine =
                switch policy {
                case .overwriteMergePolicyType: true
                case .mergeByPropertyStoreTrumpMergePolicyType: changedHere && !changedThere
                default: changedHere
                }
            if keepsMine { merged[slot] = values[slot] }
            if merged[slot] != values[slot] { reloadOwners(slot, [values[slot], base[slot], merged[slot]]) }
        }
        committed = row.values
        values = merged
        version = row.version
    }
}
