// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The changes of a context that a custom store saves.
///
/// Source: developer.apple.com/documentation/coredata/nssavechangesrequest
open class NSSaveChangesRequest: NSPersistentStoreRequest {
    /// The new objects.
    open private(set) var insertedObjects: Set<NSManagedObject>?
    /// The changed objects.
    open private(set) var updatedObjects: Set<NSManagedObject>?
    /// The deleted objects.
    open private(set) var deletedObjects: Set<NSManagedObject>?
    /// Unchanged objects with a version to check.
    open private(set) var lockedObjects: Set<NSManagedObject>?

    /// Creates a save request.
    public init(
        inserted insertedObjects: Set<NSManagedObject>?, updated updatedObjects: Set<NSManagedObject>?,
        deleted deletedObjects: Set<NSManagedObject>?, locked lockedObjects: Set<NSManagedObject>?
    ) {
        self.insertedObjects = insertedObjects
        self.updatedObjects = updatedObjects
        self.deletedObjects = deletedObjects
        self.lockedObjects = lockedObjects
    }

    open override var requestType: NSPersistentStoreRequestType { .saveRequestType }
}
