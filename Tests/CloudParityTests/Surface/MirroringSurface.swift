// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Mirroring.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import CoreData
import Foundation
import Testing

@Suite struct MirroringSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSPersistentCloudKitContainer.eventChangedNotification", NSPersistentCloudKitContainer.eventChangedNotification, "NSPersistentCloudKitContainerEventChangedNotification")
        expectDocumented("NSPersistentCloudKitContainer.eventNotificationUserInfoKey", NSPersistentCloudKitContainer.eventNotificationUserInfoKey, "event")
        expectDocumented("NSPersistentCloudKitContainer.EventType.setup", NSPersistentCloudKitContainer.EventType.setup, 0)
        expectDocumented("NSPersistentCloudKitContainer.EventType.import", NSPersistentCloudKitContainer.EventType.`import`, 1)
        expectDocumented("NSPersistentCloudKitContainer.EventType.export", NSPersistentCloudKitContainer.EventType.export, 2)
        expectDocumented("NSPersistentCloudKitContainerEventResult.ResultType.events", NSPersistentCloudKitContainerEventResult.ResultType.events, 0)
        expectDocumented("NSPersistentCloudKitContainerEventResult.ResultType.countEvents", NSPersistentCloudKitContainerEventResult.ResultType.countEvents, 1)
        expectDocumented("NSPersistentCloudKitContainerSchemaInitializationOptions.dryRun", NSPersistentCloudKitContainerSchemaInitializationOptions.dryRun, 2)
        expectDocumented("NSPersistentCloudKitContainerSchemaInitializationOptions.printSchema", NSPersistentCloudKitContainerSchemaInitializationOptions.printSchema, 4)
        expectDocumented("NSNotification.Name.NSPersistentStoreRemoteChange", NSNotification.Name.NSPersistentStoreRemoteChange, "NSPersistentStoreRemoteChangeNotification")
        expectDocumented("NSPersistentHistoryTrackingKey", NSPersistentHistoryTrackingKey, "NSPersistentHistoryTrackingKey")
        expectDocumented("NSPersistentStoreRemoteChangeNotificationPostOptionKey", NSPersistentStoreRemoteChangeNotificationPostOptionKey, "NSPersistentStoreRemoteChangeNotificationOptionKey")
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSPersistentCloudKitContainer()
        Self.usesNSPersistentCloudKitContainerEvent()
        Self.usesNSPersistentCloudKitContainerEventType()
        Self.usesNSPersistentCloudKitContainerEventRequest()
        Self.usesNSPersistentCloudKitContainerEventResult()
        Self.usesNSPersistentCloudKitContainerEventResultResultType()
        Self.usesNSPersistentCloudKitContainerOptions()
        Self.usesNSPersistentCloudKitContainerSchemaInitializationOptions()
        Self.usesNSPersistentStoreDescription()
        Self.usesNSPersistentContainer()
        Self.usesNSNotificationNameExtension()
        Self.usesGlobals()
    }

    private static func usesNSPersistentCloudKitContainer() {
        _ = { (x: NSPersistentCloudKitContainer) -> NSPersistentContainer in x }
        _ = { (a0: String) -> NSPersistentCloudKitContainer in NSPersistentCloudKitContainer(name: a0) }
        _ = { (a0: String, a1: NSManagedObjectModel) -> NSPersistentCloudKitContainer in NSPersistentCloudKitContainer(name: a0, managedObjectModel: a1) }
        _ = { () -> NSNotification.Name in NSPersistentCloudKitContainer.eventChangedNotification }
        _ = { () -> String in NSPersistentCloudKitContainer.eventNotificationUserInfoKey }
        _ = { (x: NSPersistentCloudKitContainer, a0: NSPersistentCloudKitContainerSchemaInitializationOptions) throws -> Void in try x.initializeCloudKitSchema(options: a0) }
        _ = { (x: NSPersistentCloudKitContainer) throws -> Void in try x.initializeCloudKitSchema() }
        _ = { (x: NSPersistentCloudKitContainer, a0: NSManagedObjectID) -> CKRecord? in x.record(for: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord] in x.records(for: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: NSManagedObjectID) -> CKRecord.ID? in x.recordID(for: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord.ID] in x.recordIDs(for: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: NSManagedObjectID) -> Bool in x.canUpdateRecord(forManagedObjectWith: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: NSManagedObjectID) -> Bool in x.canDeleteRecord(forManagedObjectWith: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: NSPersistentStore) -> Bool in x.canModifyManagedObjects(in: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [NSManagedObject], a1: CKShare?) async throws -> (Set<NSManagedObjectID>, CKShare, CKContainer) in try await x.share(a0, to: a1) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [NSManagedObject], a1: CKShare?, a2: @escaping @Sendable (Set<NSManagedObjectID>?, CKShare?, CKContainer?, (any Error)?) -> Void) -> Void in x.share(a0, to: a1, completion: a2) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [CKShare.Metadata], a1: NSPersistentStore) async throws -> [CKShare.Metadata] in try await x.acceptShareInvitations(from: a0, into: a1) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [CKShare.Metadata], a1: NSPersistentStore, a2: (@Sendable ([CKShare.Metadata]?, (any Error)?) -> Void)?) -> Void in x.acceptShareInvitations(from: a0, into: a1, completion: a2) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [CKShare.Metadata], a1: NSPersistentStore) -> Void in x.acceptShareInvitations(from: a0, into: a1) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [CKUserIdentity.LookupInfo], a1: NSPersistentStore) async throws -> [CKShare.Participant] in try await x.fetchParticipants(matching: a0, into: a1) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [CKUserIdentity.LookupInfo], a1: NSPersistentStore, a2: @escaping @Sendable ([CKShare.Participant]?, (any Error)?) -> Void) -> Void in x.fetchParticipants(matching: a0, into: a1, completion: a2) }
        _ = { (x: NSPersistentCloudKitContainer, a0: NSPersistentStore?) throws -> [CKShare] in try x.fetchShares(in: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: [NSManagedObjectID]) throws -> [NSManagedObjectID: CKShare] in try x.fetchShares(matching: a0) }
        _ = { (x: NSPersistentCloudKitContainer, a0: CKShare, a1: NSPersistentStore) async throws -> CKShare in try await x.persistUpdatedShare(a0, in: a1) }
        _ = { (x: NSPersistentCloudKitContainer, a0: CKShare, a1: NSPersistentStore, a2: (@Sendable (CKShare?, (any Error)?) -> Void)?) -> Void in x.persistUpdatedShare(a0, in: a1, completion: a2) }
        _ = { (x: NSPersistentCloudKitContainer, a0: CKShare, a1: NSPersistentStore) -> Void in x.persistUpdatedShare(a0, in: a1) }
        _ = { (x: NSPersistentCloudKitContainer, a0: CKRecordZone.ID, a1: NSPersistentStore?) async throws -> CKRecordZone.ID in try await x.purgeObjectsAndRecordsInZone(with: a0, in: a1) }
        _ = { (x: NSPersistentCloudKitContainer, a0: CKRecordZone.ID, a1: NSPersistentStore?, a2: (@Sendable (CKRecordZone.ID?, (any Error)?) -> Void)?) -> Void in x.purgeObjectsAndRecordsInZone(with: a0, in: a1, completion: a2) }
        _ = { (x: NSPersistentCloudKitContainer, a0: CKRecordZone.ID, a1: NSPersistentStore?) -> Void in x.purgeObjectsAndRecordsInZone(with: a0, in: a1) }
    }

    private static func usesNSPersistentCloudKitContainerEvent() {
        _ = { (x: NSPersistentCloudKitContainer.Event) -> NSObject in x }
        _ = { (x: NSPersistentCloudKitContainer.Event) -> any NSCopying in x }
        let _: KeyPath<NSPersistentCloudKitContainer.Event, UUID> = \.identifier
        let _: KeyPath<NSPersistentCloudKitContainer.Event, String> = \.storeIdentifier
        let _: KeyPath<NSPersistentCloudKitContainer.Event, NSPersistentCloudKitContainer.EventType> = \.type
        let _: KeyPath<NSPersistentCloudKitContainer.Event, Date> = \.startDate
        let _: KeyPath<NSPersistentCloudKitContainer.Event, Date?> = \.endDate
        let _: KeyPath<NSPersistentCloudKitContainer.Event, Bool> = \.succeeded
        let _: KeyPath<NSPersistentCloudKitContainer.Event, (any Error)?> = \.error
    }

    private static func usesNSPersistentCloudKitContainerEventType() {
        _ = NSPersistentCloudKitContainer.EventType.self
        _ = { () -> NSPersistentCloudKitContainer.EventType in .setup }
        _ = { () -> NSPersistentCloudKitContainer.EventType in .`import` }
        _ = { () -> NSPersistentCloudKitContainer.EventType in .export }
    }

    private static func usesNSPersistentCloudKitContainerEventRequest() {
        _ = { (x: NSPersistentCloudKitContainerEventRequest) -> NSPersistentStoreRequest in x }
        _ = { (a0: Date) -> NSPersistentCloudKitContainerEventRequest in NSPersistentCloudKitContainerEventRequest.fetchEvents(after: a0) }
        _ = { (a0: NSPersistentCloudKitContainer.Event?) -> NSPersistentCloudKitContainerEventRequest in NSPersistentCloudKitContainerEventRequest.fetchEvents(after: a0) }
        _ = { (a0: NSFetchRequest<any NSFetchRequestResult>) -> NSPersistentCloudKitContainerEventRequest in NSPersistentCloudKitContainerEventRequest.fetchEvents(matching: a0) }
        _ = { () -> NSFetchRequest<any NSFetchRequestResult> in NSPersistentCloudKitContainerEventRequest.fetchRequestForEvents() }
        let _: ReferenceWritableKeyPath<NSPersistentCloudKitContainerEventRequest, NSPersistentCloudKitContainerEventResult.ResultType> = \.resultType
    }

    private static func usesNSPersistentCloudKitContainerEventResult() {
        _ = { (x: NSPersistentCloudKitContainerEventResult) -> NSPersistentStoreResult in x }
        let _: KeyPath<NSPersistentCloudKitContainerEventResult, Any?> = \.result
        let _: KeyPath<NSPersistentCloudKitContainerEventResult, NSPersistentCloudKitContainerEventResult.ResultType> = \.resultType
    }

    private static func usesNSPersistentCloudKitContainerEventResultResultType() {
        _ = NSPersistentCloudKitContainerEventResult.ResultType.self
        _ = { () -> NSPersistentCloudKitContainerEventResult.ResultType in .events }
        _ = { () -> NSPersistentCloudKitContainerEventResult.ResultType in .countEvents }
    }

    private static func usesNSPersistentCloudKitContainerOptions() {
        _ = { (x: NSPersistentCloudKitContainerOptions) -> NSObject in x }
        _ = { (a0: String) -> NSPersistentCloudKitContainerOptions in NSPersistentCloudKitContainerOptions(containerIdentifier: a0) }
        let _: KeyPath<NSPersistentCloudKitContainerOptions, String> = \.containerIdentifier
        let _: ReferenceWritableKeyPath<NSPersistentCloudKitContainerOptions, CKDatabase.Scope> = \.databaseScope
    }

    private static func usesNSPersistentCloudKitContainerSchemaInitializationOptions() {
        _ = { (x: NSPersistentCloudKitContainerSchemaInitializationOptions) -> any OptionSet in x }
        _ = { () -> NSPersistentCloudKitContainerSchemaInitializationOptions in NSPersistentCloudKitContainerSchemaInitializationOptions.dryRun }
        _ = { () -> NSPersistentCloudKitContainerSchemaInitializationOptions in NSPersistentCloudKitContainerSchemaInitializationOptions.printSchema }
    }

    private static func usesNSPersistentStoreDescription() {
        _ = { (x: NSPersistentStoreDescription) -> NSObject in x }
        _ = { (x: NSPersistentStoreDescription) -> any NSCopying in x }
        _ = { () -> NSPersistentStoreDescription in NSPersistentStoreDescription() }
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
        let _: ReferenceWritableKeyPath<NSPersistentStoreDescription, NSPersistentCloudKitContainerOptions?> = \.cloudKitContainerOptions
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

    private static func usesNSNotificationNameExtension() {
        _ = { () -> NSNotification.Name in NSNotification.Name.NSPersistentStoreRemoteChange }
    }

    private static func usesGlobals() {
        _ = { () -> String in NSPersistentHistoryTrackingKey }
        _ = { () -> String in NSPersistentStoreRemoteChangeNotificationPostOptionKey }
    }

    static var propertiesOfNSPersistentCloudKitContainerEvent: [(name: String, path: PartialKeyPath<NSPersistentCloudKitContainer.Event>)] {
        [
            ("identifier", \.identifier),
            ("storeIdentifier", \.storeIdentifier),
            ("type", \.type),
            ("startDate", \.startDate),
            ("endDate", \.endDate),
            ("succeeded", \.succeeded),
            ("error", \.error),
        ]
    }

    static var propertiesOfNSPersistentCloudKitContainerEventRequest: [(name: String, path: PartialKeyPath<NSPersistentCloudKitContainerEventRequest>)] {
        [
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSPersistentCloudKitContainerEventResult: [(name: String, path: PartialKeyPath<NSPersistentCloudKitContainerEventResult>)] {
        [
            ("result", \.result),
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSPersistentCloudKitContainerOptions: [(name: String, path: PartialKeyPath<NSPersistentCloudKitContainerOptions>)] {
        [
            ("containerIdentifier", \.containerIdentifier),
            ("databaseScope", \.databaseScope),
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
            ("cloudKitContainerOptions", \.cloudKitContainerOptions),
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
}
