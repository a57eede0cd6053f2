// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

// Names and keys are Apple's; the texts of the first three names were seen in public console logs.
// Source: developer.apple.com/documentation/coredata/nsmanagedobjectcontext, "Notifications"

extension Notification.Name {
    public static let NSManagedObjectContextWillSave = Notification.Name("NSManagingContextWillSaveChangesNotification")
    public static var NSManagedObjectContextDidSave: Notification.Name { ContextNotification.didSave.requested }
    public static var NSManagedObjectContextObjectsDidChange: Notification.Name { ContextNotification.objectsDidChange.requested }
    /// As the did-save notification, with IDs instead of objects, for other threads.
    public static var NSManagedObjectContextDidSaveObjectIDs: Notification.Name { ContextNotification.didSaveObjectIDs.requested }
    /// What others saved was brought into the context.
    public static let NSManagedObjectContextDidMergeChangesObjectIDs = Notification.Name(
        "NSManagedObjectContextDidMergeChangesObjectIDsNotification")
    public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
    /// The object is the coordinator. Texts of this name and the next but one are the names' own (unverified).
    public static let NSPersistentStoreCoordinatorStoresWillChange = Notification.Name(
        "NSPersistentStoreCoordinatorStoresWillChangeNotification")
    /// The object is the store.
    public static let NSPersistentStoreCoordinatorWillRemoveStore = Notification.Name(
        "NSPersistentStoreCoordinatorWillRemoveStoreNotification")
    public static let NSPersistentStoreCoordinatorStoresDidChange = Notification.Name("NSPersistentStoreCoordinatorStoresDidChangeNotification")
}

/// A notification whose content is costly to collect: sets of all objects of a save cost as much as a third of writing
/// their rows. Until somebody asked for its name, nobody observes it, and it is not posted.
///
/// Differs: whoever observes it by the text of its name must have used the constant as well.
final class ContextNotification: Sendable {
    static let didSave = ContextNotification("NSManagingContextDidSaveChangesNotification")
    static let objectsDidChange = ContextNotification("NSObjectsChangedInManagingContextNotification")
    static let didSaveObjectIDs = ContextNotification("NSManagedObjectContextDidSaveObjectIDsNotification")

    private let text: String
    private let wasRequested = Atomic(false)

    private init(_ text: String) { self.text = text }

    /// The name, for those who observe.
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

public let NSInsertedObjectsKey = "inserted"
public let NSUpdatedObjectsKey = "updated"
public let NSDeletedObjectsKey = "deleted"
public let NSRefreshedObjectsKey = "refreshed"
public let NSInvalidatedObjectsKey = "invalidated"
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"
public let NSManagedObjectContextQueryGenerationKey = "newQueryGeneration"
public let NSStoreUUIDKey = "NSStoreUUID"
public let NSPersistentStoreURLKey = "storeURL"
public let NSPersistentHistoryTokenKey = "historyToken"
public let NSAddedPersistentStoresKey = "added"
public let NSRemovedPersistentStoresKey = "removed"
/// The old and the new store, of one whose UUID changed.
public let NSUUIDChangedPersistentStoresKey = "changedUUID"

extension NSManagedObjectContext {
    public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
    public static var didSaveObjectIDsNotification: Notification.Name { Notification.Name.NSManagedObjectContextDidSaveObjectIDs }
    public static let didMergeChangesObjectIDsNotification = Notification.Name.NSManagedObjectContextDidMergeChangesObjectIDs
    public static var didSaveObjectsNotification: Notification.Name { Notification.Name.NSManagedObjectContextDidSave }
    public static var didChangeObjectsNotification: Notification.Name { Notification.Name.NSManagedObjectContextObjectsDidChange }
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
        NotificationCenter.default.post(name: name, object: self, userInfo: Self.userInfo(sets))
    }

    static func userInfo(_ sets: [(NotificationKey, Set<NSManagedObjectID>)]) -> [AnyHashable: Any] {
        Dictionary(uniqueKeysWithValues: sets.map { (AnyHashable($0.0.rawValue), $0.1 as Any) })
    }
}
