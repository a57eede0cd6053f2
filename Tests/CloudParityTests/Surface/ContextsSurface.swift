// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Contexts.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CoreData
import Foundation
import Testing

@Suite struct ContextsSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSManagedObjectContext.willSaveObjectsNotification", NSManagedObjectContext.willSaveObjectsNotification, "NSManagingContextWillSaveChangesNotification")
        expectDocumented("NSManagedObjectContext.didSaveObjectsNotification", NSManagedObjectContext.didSaveObjectsNotification, "NSManagingContextDidSaveChangesNotification")
        expectDocumented("NSManagedObjectContext.didChangeObjectsNotification", NSManagedObjectContext.didChangeObjectsNotification, "NSObjectsChangedInManagingContextNotification")
        expectDocumented("NSManagedObjectContext.didSaveObjectIDsNotification", NSManagedObjectContext.didSaveObjectIDsNotification, "NSManagedObjectContextDidSaveObjectIDsNotification")
        expectDocumented("NSManagedObjectContext.didMergeChangesObjectIDsNotification", NSManagedObjectContext.didMergeChangesObjectIDsNotification, "NSManagedObjectContextDidMergeChangesObjectIDsNotification")
        expectDocumented("NSManagedObjectContextConcurrencyType.privateQueueConcurrencyType", NSManagedObjectContextConcurrencyType.privateQueueConcurrencyType, 1)
        expectDocumented("NSManagedObjectContextConcurrencyType.mainQueueConcurrencyType", NSManagedObjectContextConcurrencyType.mainQueueConcurrencyType, 2)
        expectDocumented("NSSQLiteStoreType", NSSQLiteStoreType, "SQLite")
        expectDocumented("NSInMemoryStoreType", NSInMemoryStoreType, "InMemory")
        expectDocumented("NSBinaryStoreType", NSBinaryStoreType, "Binary")
        expectDocumented("NSStoreTypeKey", NSStoreTypeKey, "NSStoreType")
        expectDocumented("NSStoreUUIDKey", NSStoreUUIDKey, "NSStoreUUID")
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSManagedObjectContext()
        Self.usesNSManagedObjectContextConcurrencyType()
        Self.usesNSPersistentStoreCoordinator()
        Self.usesNSPersistentContainer()
        Self.usesNSPersistentStoreDescription()
        Self.usesNSPersistentStore()
        Self.usesGlobals()
    }

    private static func usesNSManagedObjectContext() {
        _ = { (x: NSManagedObjectContext) -> NSObject in x }
        _ = { (a0: NSManagedObjectContextConcurrencyType) -> NSManagedObjectContext in NSManagedObjectContext(concurrencyType: a0) }
        _ = { (a0: NSManagedObjectContext.ConcurrencyType) -> NSManagedObjectContext in NSManagedObjectContext(a0) }
        _ = { (x: NSManagedObjectContext, a0: @escaping @Sendable () -> Void) -> Void in x.perform(a0) }
        _ = { (x: NSManagedObjectContext, a0: () -> Void) -> Void in x.performAndWait(a0) }
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, NSPersistentStoreCoordinator?> = \.persistentStoreCoordinator
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, NSManagedObjectContext?> = \.parent
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, String?> = \.name
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, UndoManager?> = \.undoManager
        let _: KeyPath<NSManagedObjectContext, Bool> = \.hasChanges
        let _: KeyPath<NSManagedObjectContext, NSMutableDictionary> = \.userInfo
        let _: KeyPath<NSManagedObjectContext, NSManagedObjectContextConcurrencyType> = \.concurrencyType
        _ = { (x: NSManagedObjectContext, a0: NSManagedObjectID) -> NSManagedObject in x.object(with: a0) }
        _ = { (x: NSManagedObjectContext, a0: NSManagedObjectID) -> NSManagedObject? in x.registeredObject(for: a0) }
        _ = { (x: NSManagedObjectContext, a0: NSManagedObjectID) throws -> NSManagedObject in try x.existingObject(with: a0) }
        _ = { (x: NSManagedObjectContext, a0: NSPersistentStoreRequest) throws -> NSPersistentStoreResult in try x.execute(a0) }
        _ = { (x: NSManagedObjectContext, a0: NSManagedObject) -> Void in x.insert(a0) }
        _ = { (x: NSManagedObjectContext, a0: NSManagedObject) -> Void in x.delete(a0) }
        _ = { (x: NSManagedObjectContext, a0: NSManagedObject, a1: Bool) -> Void in x.refresh(a0, mergeChanges: a1) }
        _ = { (x: NSManagedObjectContext, a0: NSManagedObject) -> Void in x.detectConflicts(for: a0) }
        _ = { (x: NSManagedObjectContext) -> Void in x.processPendingChanges() }
        _ = { (x: NSManagedObjectContext, a0: Any, a1: NSPersistentStore) -> Void in x.assign(a0, to: a1) }
        let _: KeyPath<NSManagedObjectContext, Set<NSManagedObject>> = \.insertedObjects
        let _: KeyPath<NSManagedObjectContext, Set<NSManagedObject>> = \.updatedObjects
        let _: KeyPath<NSManagedObjectContext, Set<NSManagedObject>> = \.deletedObjects
        let _: KeyPath<NSManagedObjectContext, Set<NSManagedObject>> = \.registeredObjects
        _ = { (x: NSManagedObjectContext) -> Void in x.undo() }
        _ = { (x: NSManagedObjectContext) -> Void in x.redo() }
        _ = { (x: NSManagedObjectContext) -> Void in x.reset() }
        _ = { (x: NSManagedObjectContext) -> Void in x.rollback() }
        _ = { (x: NSManagedObjectContext) throws -> Void in try x.save() }
        _ = { (x: NSManagedObjectContext) -> Void in x.refreshAllObjects() }
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, Bool> = \.propagatesDeletesAtEndOfEvent
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, Bool> = \.retainsRegisteredObjects
        _ = { (x: NSManagedObjectContext, a0: NSManagedObject, a1: NSManagedObjectID, a2: NSPropertyDescription?) -> Bool in x.shouldHandleInaccessibleFault(a0, for: a1, triggeredByProperty: a2) }
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, Bool> = \.shouldDeleteInaccessibleFaults
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, TimeInterval> = \.stalenessInterval
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, Any> = \.mergePolicy
        _ = { (x: NSManagedObjectContext, a0: [NSManagedObject]) throws -> Void in try x.obtainPermanentIDs(for: a0) }
        _ = { (x: NSManagedObjectContext, a0: Notification) -> Void in x.mergeChanges(fromContextDidSave: a0) }
        _ = { (a0: [AnyHashable: Any], a1: [NSManagedObjectContext]) -> Void in NSManagedObjectContext.mergeChanges(fromRemoteContextSave: a0, into: a1) }
        let _: KeyPath<NSManagedObjectContext, NSQueryGenerationToken?> = \.queryGenerationToken
        _ = { (x: NSManagedObjectContext, a0: NSQueryGenerationToken?) throws -> Void in try x.setQueryGenerationFrom(a0) }
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, Bool> = \.automaticallyMergesChangesFromParent
        let _: ReferenceWritableKeyPath<NSManagedObjectContext, String?> = \.transactionAuthor
        _ = { () -> Notification.Name in NSManagedObjectContext.willSaveObjectsNotification }
        _ = { () -> Notification.Name in NSManagedObjectContext.didSaveObjectsNotification }
        _ = { () -> Notification.Name in NSManagedObjectContext.didChangeObjectsNotification }
        _ = { () -> Notification.Name in NSManagedObjectContext.didSaveObjectIDsNotification }
        _ = { () -> Notification.Name in NSManagedObjectContext.didMergeChangesObjectIDsNotification }
    }

    private static func usesNSManagedObjectContextConcurrencyType() {
        _ = NSManagedObjectContextConcurrencyType.self
        _ = { () -> NSManagedObjectContextConcurrencyType in .privateQueueConcurrencyType }
        _ = { () -> NSManagedObjectContextConcurrencyType in .mainQueueConcurrencyType }
    }

    private static func usesNSPersistentStoreCoordinator() {
        _ = { (x: NSPersistentStoreCoordinator) -> NSObject in x }
        _ = { (a0: NSManagedObjectModel) -> NSPersistentStoreCoordinator in NSPersistentStoreCoordinator(managedObjectModel: a0) }
        let _: KeyPath<NSPersistentStoreCoordinator, NSManagedObjectModel> = \.managedObjectModel
        let _: KeyPath<NSPersistentStoreCoordinator, [NSPersistentStore]> = \.persistentStores
        let _: ReferenceWritableKeyPath<NSPersistentStoreCoordinator, String?> = \.name
        _ = { (x: NSPersistentStoreCoordinator, a0: URL) -> NSPersistentStore? in x.persistentStore(for: a0) }
        _ = { (x: NSPersistentStoreCoordinator, a0: NSPersistentStore) -> URL in x.url(for: a0) }
        _ = { (x: NSPersistentStoreCoordinator, a0: URL, a1: NSPersistentStore) -> Bool in x.setURL(a0, for: a1) }
        _ = { (x: NSPersistentStoreCoordinator, a0: String, a1: String?, a2: URL?, a3: [AnyHashable: Any]?) throws -> NSPersistentStore in try x.addPersistentStore(ofType: a0, configurationName: a1, at: a2, options: a3) }
        _ = { (x: NSPersistentStoreCoordinator, a0: String, a1: String?, a2: URL?) throws -> NSPersistentStore in try x.addPersistentStore(ofType: a0, configurationName: a1, at: a2) }
        _ = { (x: NSPersistentStoreCoordinator, a0: NSPersistentStoreDescription, a1: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void) -> Void in x.addPersistentStore(with: a0, completionHandler: a1) }
        _ = { (x: NSPersistentStoreCoordinator, a0: NSPersistentStore) throws -> Void in try x.remove(a0) }
        _ = { (x: NSPersistentStoreCoordinator, a0: NSPersistentStore, a1: URL, a2: [AnyHashable: Any]?, a3: String) throws -> NSPersistentStore in try x.migratePersistentStore(a0, to: a1, options: a2, withType: a3) }
        _ = { (x: NSPersistentStoreCoordinator, a0: NSPersistentStore, a1: URL, a3: String) throws -> NSPersistentStore in try x.migratePersistentStore(a0, to: a1, withType: a3) }
        _ = { (x: NSPersistentStoreCoordinator, a0: URL, a1: String, a2: [AnyHashable: Any]?) throws -> Void in try x.destroyPersistentStore(at: a0, ofType: a1, options: a2) }
        _ = { (x: NSPersistentStoreCoordinator, a0: URL, a1: String) throws -> Void in try x.destroyPersistentStore(at: a0, ofType: a1) }
        _ = { (x: NSPersistentStoreCoordinator, a0: URL, a1: [AnyHashable: Any]?, a2: URL, a3: [AnyHashable: Any]?, a4: String) throws -> Void in try x.replacePersistentStore(at: a0, destinationOptions: a1, withPersistentStoreFrom: a2, sourceOptions: a3, ofType: a4) }
        _ = { (x: NSPersistentStoreCoordinator, a0: URL, a2: URL, a4: String) throws -> Void in try x.replacePersistentStore(at: a0, withPersistentStoreFrom: a2, ofType: a4) }
        _ = { (x: NSPersistentStoreCoordinator, a0: URL) -> NSManagedObjectID? in x.managedObjectID(forURIRepresentation: a0) }
        _ = { (x: NSPersistentStoreCoordinator, a0: NSPersistentStore) -> [String: Any] in x.metadata(for: a0) }
        _ = { (x: NSPersistentStoreCoordinator, a0: [String: Any]?, a1: NSPersistentStore) -> Void in x.setMetadata(a0, for: a1) }
        _ = { (a0: String, a1: URL, a2: [AnyHashable: Any]?) throws -> [String: Any] in try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: a0, at: a1, options: a2) }
        _ = { (a0: String, a1: URL) throws -> [String: Any] in try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: a0, at: a1) }
        _ = { (a0: [String: Any]?, a1: String, a2: URL, a3: [AnyHashable: Any]?) throws -> Void in try NSPersistentStoreCoordinator.setMetadata(a0, forPersistentStoreOfType: a1, at: a2, options: a3) }
        _ = { (a0: [String: Any]?, a1: String, a2: URL) throws -> Void in try NSPersistentStoreCoordinator.setMetadata(a0, forPersistentStoreOfType: a1, at: a2) }
        _ = { (a0: AnyClass?, a1: String) -> Void in NSPersistentStoreCoordinator.registerStoreClass(a0, forStoreType: a1) }
        _ = { () -> [String: NSValue] in NSPersistentStoreCoordinator.registeredStoreTypes }
        _ = { (x: NSPersistentStoreCoordinator, a0: @escaping @Sendable () -> Void) -> Void in x.perform(a0) }
        _ = { (x: NSPersistentStoreCoordinator, a0: () -> Void) -> Void in x.performAndWait(a0) }
        _ = { (x: NSPersistentStoreCoordinator, a0: [Any]?) -> NSPersistentHistoryToken? in x.currentPersistentHistoryToken(fromStores: a0) }
        _ = { (x: NSPersistentStoreCoordinator) throws -> Void in try x.finishDeferredLightweightMigration() }
        _ = { (x: NSPersistentStoreCoordinator) throws -> Void in try x.finishDeferredLightweightMigrationTask() }
    }

    private static func usesNSPersistentContainer() {
        _ = { (x: NSPersistentContainer) -> NSObject in x }
        _ = { (a0: String) -> NSPersistentContainer in NSPersistentContainer(name: a0) }
        _ = { (a0: String, a1: NSManagedObjectModel) -> NSPersistentContainer in NSPersistentContainer(name: a0, managedObjectModel: a1) }
        _ = { () -> URL in NSPersistentContainer.defaultDirectoryURL() }
        let _: KeyPath<NSPersistentContainer, String> = \.name
        let _: KeyPath<NSPersistentContainer, NSManagedObjectContext> = \.viewContext
        let _: KeyPath<NSPersistentContainer, NSManagedObjectModel> = \.managedObjectModel
        let _: KeyPath<NSPersistentContainer, NSPersistentStoreCoordinator> = \.persistentStoreCoordinator
        let _: ReferenceWritableKeyPath<NSPersistentContainer, [NSPersistentStoreDescription]> = \.persistentStoreDescriptions
        _ = { (x: NSPersistentContainer, a0: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void) -> Void in x.loadPersistentStores(completionHandler: a0) }
        _ = { (x: NSPersistentContainer) -> NSManagedObjectContext in x.newBackgroundContext() }
        _ = { (x: NSPersistentContainer, a0: @escaping @Sendable (NSManagedObjectContext) -> Void) -> Void in x.performBackgroundTask(a0) }
    }

    private static func usesNSPersistentStoreDescription() {
        _ = { (x: NSPersistentStoreDescription) -> NSObject in x }
        _ = { (x: NSPersistentStoreDescription) -> any NSCopying in x }
        _ = { (a0: URL) -> NSPersistentStoreDescription in NSPersistentStoreDescription(url: a0) }
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, String> = \.type
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, String?> = \.configuration
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, URL?> = \.url
        let _: KeyPath<NSPersistentStoreDescription, [String: NSObject]> = \.options
        _ = { (x: NSPersistentStoreDescription, a0: NSObject?, a1: String) -> Void in x.setOption(a0, forKey: a1) }
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, Bool> = \.isReadOnly
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, TimeInterval> = \.timeout
        let _: KeyPath<NSPersistentStoreDescription, [String: NSObject]> = \.sqlitePragmas
        _ = { (x: NSPersistentStoreDescription, a0: NSObject?, a1: String) -> Void in x.setValue(a0, forPragmaNamed: a1) }
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, Bool> = \.shouldAddStoreAsynchronously
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, Bool> = \.shouldMigrateStoreAutomatically
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, Bool> = \.shouldInferMappingModelAutomatically
    }

    private static func usesNSPersistentStore() {
        _ = { (x: NSPersistentStore) -> NSObject in x }
        _ = { (a0: URL) throws -> [String: Any] in try NSPersistentStore.metadataForPersistentStore(with: a0) }
        _ = { (a0: [String: Any]?, a1: URL) throws -> Void in try NSPersistentStore.setMetadata(a0, forPersistentStoreAt: a1) }
        _ = { () -> AnyClass in NSPersistentStore.migrationManagerClass() }
        _ = { (x: NSPersistentStore) throws -> Void in try x.loadMetadata() }
        let _: KeyPath<NSPersistentStore, NSPersistentStoreCoordinator?> = \.persistentStoreCoordinator
        let _: KeyPath<NSPersistentStore, String> = \.configurationName
        let _: KeyPath<NSPersistentStore, [AnyHashable: Any]?> = \.options
        let _: ReferenceWritableKeyPath<NSPersistentStore, URL?> = \.url
        let _: ReferenceWritableKeyPath<NSPersistentStore, String?> = \.identifier
        let _: KeyPath<NSPersistentStore, String> = \.type
        let _: ReferenceWritableKeyPath<NSPersistentStore, Bool> = \.isReadOnly
        let _: ReferenceWritableKeyPath<NSPersistentStore, [String: Any]?> = \.metadata
        _ = { (x: NSPersistentStore, a0: NSPersistentStoreCoordinator) -> Void in x.didAdd(to: a0) }
        _ = { (x: NSPersistentStore, a0: NSPersistentStoreCoordinator?) -> Void in x.willRemove(from: a0) }
    }

    private static func usesGlobals() {
        _ = { () -> String in NSSQLiteStoreType }
        _ = { () -> String in NSInMemoryStoreType }
        _ = { () -> String in NSBinaryStoreType }
        _ = { () -> String in NSStoreTypeKey }
        _ = { () -> String in NSStoreUUIDKey }
    }

    static var propertiesOfNSManagedObjectContext: [(name: String, path: PartialKeyPath<NSManagedObjectContext>)] {
        [
            ("persistentStoreCoordinator", \.persistentStoreCoordinator),
            ("parent", \.parent),
            ("name", \.name),
            ("undoManager", \.undoManager),
            ("hasChanges", \.hasChanges),
            ("userInfo", \.userInfo),
            ("concurrencyType", \.concurrencyType),
            ("insertedObjects", \.insertedObjects),
            ("updatedObjects", \.updatedObjects),
            ("deletedObjects", \.deletedObjects),
            ("registeredObjects", \.registeredObjects),
            ("propagatesDeletesAtEndOfEvent", \.propagatesDeletesAtEndOfEvent),
            ("retainsRegisteredObjects", \.retainsRegisteredObjects),
            ("shouldDeleteInaccessibleFaults", \.shouldDeleteInaccessibleFaults),
            ("stalenessInterval", \.stalenessInterval),
            ("mergePolicy", \.mergePolicy),
            ("queryGenerationToken", \.queryGenerationToken),
            ("automaticallyMergesChangesFromParent", \.automaticallyMergesChangesFromParent),
            ("transactionAuthor", \.transactionAuthor),
        ]
    }

    static var propertiesOfNSPersistentStoreCoordinator: [(name: String, path: PartialKeyPath<NSPersistentStoreCoordinator>)] {
        [
            ("managedObjectModel", \.managedObjectModel),
            ("persistentStores", \.persistentStores),
            ("name", \.name),
        ]
    }

    static var propertiesOfNSPersistentContainer: [(name: String, path: PartialKeyPath<NSPersistentContainer>)] {
        [
            ("name", \.name),
            ("viewContext", \.viewContext),
            ("managedObjectModel", \.managedObjectModel),
            ("persistentStoreCoordinator", \.persistentStoreCoordinator),
            ("persistentStoreDescriptions", \.persistentStoreDescriptions),
        ]
    }

    static var propertiesOfNSPersistentStoreDescription: [(name: String, path: PartialKeyPath<NSPersistentStoreDescription>)] {
        [
            ("type", \.type),
            ("configuration", \.configuration),
            ("url", \.url),
            ("options", \.options),
            ("isReadOnly", \.isReadOnly),
            ("timeout", \.timeout),
            ("sqlitePragmas", \.sqlitePragmas),
            ("shouldAddStoreAsynchronously", \.shouldAddStoreAsynchronously),
            ("shouldMigrateStoreAutomatically", \.shouldMigrateStoreAutomatically),
            ("shouldInferMappingModelAutomatically", \.shouldInferMappingModelAutomatically),
        ]
    }

    static var propertiesOfNSPersistentStore: [(name: String, path: PartialKeyPath<NSPersistentStore>)] {
        [
            ("persistentStoreCoordinator", \.persistentStoreCoordinator),
            ("configurationName", \.configurationName),
            ("options", \.options),
            ("url", \.url),
            ("identifier", \.identifier),
            ("type", \.type),
            ("isReadOnly", \.isReadOnly),
            ("metadata", \.metadata),
        ]
    }
}
