// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

// Names and keys are Apple's; the texts of the first three names were seen in public console logs.
// Source: developer.apple.com/documentation/coredata/nsmanagedobjectcontext, "Notifications"

extension Notification.Name {
    /// Posted before a context saves. The object is the context.
    public static let NSManagedObjectContextWillSave = Notification.Name("NSManagingContextWillSaveChangesNotification")
    /// Posted after a context has saved, with the saved objects.
    public static var NSManagedObjectContextDidSave: Notification.Name { ContextNotification.didSave.requested }
    /// Posted after changes were processed, with the changed objects.
    public static var NSManagedObjectContextObjectsDidChange: Notification.Name { ContextNotification.objectsDidChange.requested }
    /// Posted after a context has saved, with the IDs of the saved objects, for other threads.
    public static var NSManagedObjectContextDidSaveObjectIDs: Notification.Name { ContextNotification.didSaveObjectIDs.requested }
    /// Posted after changes of other contexts and processes were merged into the context.
    public static let NSManagedObjectContextDidMergeChangesObjectIDs = Notification.Name(
        "NSManagedObjectContextDidMergeChangesObjectIDsNotification")
    /// Posted after another process or coordinator has committed to a store.
    public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
    /// Posted before a store is added or removed. The object is the coordinator. Texts of this name and the next but one
    /// are the names themselves (unverified).
    public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name(
        "NSPersistentStoreCoordinatorStoresWillChangeNotification")
    /// Posted before a store is removed. The object is the store.
    public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
        "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
    /// Posted after a store was added or removed. The object is the coordinator.
    public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name(
        "NSPersistentStoreCoordinatorStoresDidChangeNotification")
}

/// A notification with costly contents: sets of all objects of a save cost a third as much as writing their rows. Until
/// code has read its name there can be no observer, and it is not posted.
///
/// Differs: an observer that spells out the name's text must also read the constant.
final class ContextNotification: Sendable {
    static let didSave = ContextNotification("NSManagingContextDidSaveChangesNotification")
    static let objectsDidChange = ContextNotification("NSObjectsChangedInManagingContextNotification")
    static let didSaveObjectIDs = ContextNotification("NSManagedObjectContextDidSaveObjectIDsNotification")

    private let text: String
    private let wasRequested = Atomic(false)

    private init(_ text: String) { self.text = text }

    /// The name, for observers. Reading it enables the notification.
    var requested: Notification.Name {
        wasRequested.store(true, ordering: .relaxed)
        return Notification.Name(text)
    }

    var isRequested: Bool { wasRequested.load(ordering: .relaxed) }

    func post(_ context: NSManagedObjectContext, _ userInfo: @autoclosure () -> [AnyHashable: Any]) {
        guard isRequested else { return }
        NotificationCenter.default.post(name: Notification.Name(text), object: context, userInfo: userInfo())
    }
}

/// The user-info key of inserted objects.
public let NSInsertedObjectsKey = "inserted"
/// The user-info key of updated objects.
public let NSUpdatedObjectsKey = "updated"
/// The user-info key of deleted objects.
public let NSDeletedObjectsKey = "deleted"
/// The user-info key of refreshed objects.
public let NSRefreshedObjectsKey = "refreshed"
/// The user-info key of invalidated objects.
public let NSInvalidatedObjectsKey = "invalidated"
/// The user-info key that is present after a reset of the context.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// The user-info key of inserted objects' IDs.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// The user-info key of updated objects' IDs.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// The user-info key of deleted objects' IDs.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
/// The user-info key of refreshed objects' IDs.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// The user-info key of invalidated objects' IDs.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"
/// The user-info key of the state that a context is pinned to.
public let NSManagedObjectContextQueryGenerationKey = "newQueryGeneration"
/// The key of a store's UUID, in metadata and in user info.
public let NSStoreUUIDKey = "NSStoreUUID"
/// The user-info key of a store's URL.
public let NSPersistentStoreURLKey = "storeURL"
/// The user-info key of the history token of a remote change.
public let NSPersistentHistoryTokenKey = "historyToken"
/// The user-info key of added stores.
public let NSAddedPersistentStoresKey = "added"
/// The user-info key of removed stores.
public let NSRemovedPersistentStoresKey = "removed"
/// The user-info key of the former and the new store, after a change of a store's UUID.
public let NSUUIDChangedPersistentStoresKey = "changedUUID"

extension NSManagedObjectContext {
    /// `Notification.Name.NSManagedObjectContextWillSave`.
    public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
    /// `Notification.Name.NSManagedObjectContextDidSaveObjectIDs`.
    public static var didSaveObjectIDsNotification: Notification.Name { Notification.Name.NSManagedObjectContextDidSaveObjectIDs }
    /// `Notification.Name.NSManagedObjectContextDidMergeChangesObjectIDs`.
    public static let didMergeChangesObjectIDsNotification = Notification.Name.NSManagedObjectContextDidMergeChangesObjectIDs
    /// `Notification.Name.NSManagedObjectContextDidSave`.
    public static var didSaveObjectsNotification: Notification.Name { Notification.Name.NSManagedObjectContextDidSave }
    /// `Notification.Name.NSManagedObjectContextObjectsDidChange`.
    public static var didChangeObjectsNotification: Notification.Name { Notification.Name.NSManagedObjectContextObjectsDidChange }
}

extension NSManagedObjectContext {
    /// Keys of the user info of a context's notifications.
    ///
    /// The texts of the keys for IDs are not documented (unverified); use the cases.
    public enum NotificationKey: String, Sendable {
        /// The state that the context is pinned to.
        case queryGeneration = "newQueryGeneration"
        /// Present after a reset of the context.
        case invalidatedAllObjects = "invalidatedAll"
        /// Inserted objects.
        case insertedObjects = "inserted"
        /// Updated objects.
        case updatedObjects = "updated"
        /// Deleted objects.
        case deletedObjects = "deleted"
        /// Refreshed objects.
        case refreshedObjects = "refreshed"
        /// Invalidated objects.
        case invalidatedObjects = "invalidated"
        /// IDs of inserted objects.
        case insertedObjectIDs = "inserted_objectIDs"
        /// IDs of updated objects.
        case updatedObjectIDs = "updated_objectIDs"
        /// IDs of deleted objects.
        case deletedObjectIDs = "deleted_objectIDs"
        /// IDs of refreshed objects.
        case refreshedObjectIDs = "refreshed_objectIDs"
        /// IDs of invalidated objects.
        case invalidatedObjectIDs = "invalidated_objectIDs"
    }

    /// Posts a notification with sets of IDs as its user info.
    func postIDs(_ name: Notification.Name, _ sets: [(NotificationKey, Set<NSManagedObjectID>)]) {
        NotificationCenter.default.post(name: name, object: self, userInfo: Self.userInfo(sets))
    }

    static func userInfo(_ sets: [(NotificationKey, Set<NSManagedObjectID>)]) -> [AnyHashable: Any] {
        Dictionary(uniqueKeysWithValues: sets.map { (AnyHashable($0.0.rawValue), $0.1 as Any) })
    }
}
