// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import ObjectGraph

// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer and its header; the talk *Sync a Core
// Data store with the CloudKit public database* (2020). Answers are cached: lists may ask for every line they show.

extension NSPersistentCloudKitContainer {
    /// How often stores' files were looked into to answer.
    package var permissionLooks: Int { allMirrors.reduce(0) { $0 + $1.permissions.misses } }

    /// Whether the user may change an object, as far as the server is concerned.
    ///
    /// - Returns: true for objects that were not saved yet, of stores that are not synced, and of the private database. In
    ///   the public database, if somebody is signed in: for what is not on the server yet, if they may create such records;
    ///   for what is, if the roles of the server's schema let them write it, as they do by default for who made it. Of what
    ///   others share if the share lets the user write, or the object belongs to no share yet.
    public func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        guard !objectID.isTemporaryID, let store = objectID.persistentStore else { return true }
        guard let mirror = mirror(of: store) else { return !store.isReadOnly }
        return mirror.permissions.mayChange(objectID.key)
    }

    /// Whether the user may delete an object, and the deletion reaches everybody who has it.
    ///
    /// - Returns: What ``canUpdateRecord(forManagedObjectWith:)`` does, but false for what is in the public database of a
    ///   server without a change feed, where a deletion does not reach those who have the object: set a flag instead, and
    ///   leave flagged objects out by a predicate. What never reached the server can be deleted.
    public func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        guard !objectID.isTemporaryID, let store = objectID.persistentStore else { return true }
        guard let mirror = mirror(of: store) else { return !store.isReadOnly }
        return mirror.permissions.mayDelete(objectID.key)
    }

    /// Whether the user may change any objects of a store: always, but for a store of the public database while nobody is
    /// signed in, or whose user's roles allow nothing, one of shared data while no share lets the user write, and one that
    /// was opened for reading only.
    public func canModifyManagedObjects(in store: NSPersistentStore) -> Bool {
        guard !store.isReadOnly else { return false }
        return mirror(of: store)?.permissions.mayChangeStore ?? true
    }
}
