// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Names and keys are Apple's; the texts of the first three names were seen in public console logs.
// Source: developer.apple.com/documentation/coredata/nsmanagedobjectcontext, "Notifications"

extension Notification.Name {
    public static let NSManagedObjectContextWillSave = Notification.Name("NSManagingContextWillSaveChangesNotification")
    public static let NSManagedObjectContextDidSave = Notification.Name("NSManagingContextDidSaveChangesNotification")
    public static let NSManagedObjectContextObjectsDidChange = Notification.Name("NSObjectsChangedInManagingContextNotification")
    /// As the did-save notification, with IDs instead of objects, for other threads.
    public static let NSManagedObjectContextDidSaveObjectIDs = Notification.Name("NSManagedObjectContextDidSaveObjectIDsNotification")
    /// What others saved was brought into the context.
    public static let NSManagedObjectContextDidMergeChangesObjectIDs = Notification.Name(
        "NSManagedObjectContextDidMergeChangesObjectIDsNotification")
    public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
    /// The object is the coordinator. Texts of this name and the next but one are the names' own (unverified).
    public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name("NSPersistentStoreCoordinatorStoresWillChangeNotification")
    /// The object is the store.
    public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name("NSPersistentStoreCoordinatorWillRemoveStoreNotification")
    public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name("NSPersistentStoreCoordinatorStoresDidChangeNotification")
}

public let NSInsertedObjectsKey = "inserted"
public let NSUpdatedObjectsKey = "updated"
public let NSDeletedObjectsKey = "deleted"
public let NSRefreshedObjectsKey = "refreshed"
public let NSInvalidatedObjectsKey = "invalidated"
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
public let NSStoreUUIDKey = "NSStoreUUID"
public let NSPersistentStoreURLKey = "storeURL"
public let NSPersistentHistoryTokenKey = "historyToken"
public let NSAddedPersistentStoresKey = "added"
public let NSRemovedPersistentStoresKey = "removed"
public let NSUUIDChangedPersistentStoresKey = "NSUUIDChangedPersistentStoresKey"

extension NSManagedObjectContext {
    public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
    public static let didSaveObjectIDsNotification = Notification.Name.NSManagedObjectContextDidSaveObjectIDs
    public static let didMergeChangesObjectIDsNotification = Notification.Name.NSManagedObjectContextDidMergeChangesObjectIDs
    public static let didSaveObjectsNotification = Notification.Name.NSManagedObjectContextDidSave
    public static let didChangeObjectsNotification = Notification.Name.NSManagedObjectContextObjectsDidChange
}

extension NSManagedObjectContext {
    /// Keys of the user info of a context's notifications.
    ///
    /// The texts of the keys for IDs are not documented (unverified); use the cases.
    public enum NotificationKey: String, Sendable {
        case queryGeneration = "newQueryGeneration"
        case invalidatedAllObjects = "invalidatedAll"
        case insertedObjects = "inserted"
        case updatedObjects = "updated"
        case deletedObjects = "deleted"
        case refreshedObjects = "refreshed"
        case invalidatedObjects = "invalidated"
        case insertedObjectIDs = "inserted_objectIDs"
        case updatedObjectIDs = "updated_objectIDs"
        case deletedObjectIDs = "deleted_objectIDs"
        case refreshedObjectIDs = "refreshed_objectIDs"
        case invalidatedObjectIDs = "invalidated_objectIDs"
    }

    /// Posts a notification whose user info holds sets of IDs.
    func postIDs(_ name: Notification.Name, _ sets: [(NotificationKey, Set<NSManagedObjectID>)]) {
        let userInfo = Dictionary(uniqueKeysWithValues: sets.map { (AnyHashable($0.0.rawValue), $0.1 as Any) })
        NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
    }
}
