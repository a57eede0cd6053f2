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
    /// - Returns: true for objects that were not saved yet, of stores that are not synced, and of the private database;
    ///   in the public database if somebody is signed in and the object is not on the server yet or was made by them; of
    ///   what others share if the share lets the user write, or the object belongs to no share yet.
    ///   What roles of the server's schema allow beyond that is not known here.
    public func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        guard !objectID.isTemporaryID, let store = objectID.persistentStore else { return true }
        guard let mirror = mirror(of: store) else { return !store.isReadOnly }
        return mirror.permissions.mayChange(objectID.key)
    }

    /// Whether the user may delete an object's record. The same as ``canUpdateRecord(forManagedObjectWith:)``.
    ///
    /// In the public database a deletion does not reach those who have the object already, even if this is true.
    public func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        canUpdateRecord(forManagedObjectWith: objectID)
    }

    /// Whether the user may change any objects of a store: always, but for a store of the public database while nobody is
    /// signed in, one of shared data while no share lets the user write, and one that was opened for reading only.
    public func canModifyManagedObjects(in store: NSPersistentStore) -> Bool {
        guard !store.isReadOnly else { return false }
        return mirror(of: store)?.permissions.mayChangeStore ?? true
    }
}
