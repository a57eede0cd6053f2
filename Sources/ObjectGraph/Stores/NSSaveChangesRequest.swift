// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What a context hands to a custom store to be saved.
///
/// Source: developer.apple.com/documentation/coredata/nssavechangesrequest
open class NSSaveChangesRequest: NSPersistentStoreRequest {
    open private(set) var insertedObjects: Set<NSManagedObject>?
    open private(set) var updatedObjects: Set<NSManagedObject>?
    open private(set) var deletedObjects: Set<NSManagedObject>?
    /// Objects that were only marked for a check of their version.
    open private(set) var lockedObjects: Set<NSManagedObject>?

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
