// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ObjectGraph

// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer and its header; the talk *Sync a Core
// Data store with the CloudKit public database* (2020). Answers are cached: lists may ask for every line they show.

extension NSPersistentCloudKitContainer {
    /// The number of reads of stores' files for permissions.
    package var permissionLooks: Int { allMirrors.reduce(0) { $0 + $1.permissions.misses } }

    func mayUpdateRecord(of objectID: NSManagedObjectID) -> Bool {
        guard !objectID.isTemporaryID, let store = objectID.persistentStore else { return true }
        guard let mirror = mirror(of: store) else { return !store.isReadOnly }
        return mirror.permissions.mayChange(objectID.key)
    }

    func mayDeleteRecord(of objectID: NSManagedObjectID) -> Bool {
        guard !objectID.isTemporaryID, let store = objectID.persistentStore else { return true }
        guard let mirror = mirror(of: store) else { return !store.isReadOnly }
        return mirror.permissions.mayDelete(objectID.key)
    }

    func mayModifyObjects(in store: NSPersistentStore) -> Bool {
        guard !store.isReadOnly else { return false }
        return mirror(of: store)?.permissions.mayChangeStore ?? true
    }
}
