// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation
import Testing

/// A mock as unit tests of apps have it: each documented method of the container can be overridden.
private final class MockContainer: NSPersistentCloudKitContainer, @unchecked Sendable {
    static let record = CKRecord(recordType: "CD_Post", recordID: CKRecord.ID(recordName: "mock"))

    override func record(for managedObjectID: NSManagedObjectID) -> CKRecord? { Self.record }
    override func recordID(for managedObjectID: NSManagedObjectID) -> CKRecord.ID? { Self.record.recordID }
    override func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { false }
    override func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { false }
    override func canModifyManagedObjects(in store: NSPersistentStore) -> Bool { false }
    override func initializeCloudKitSchema(options: NSPersistentCloudKitContainerSchemaInitializationOptions = []) throws {}
    override func fetchShares(in persistentStore: NSPersistentStore?) throws -> [CKShare] { [] }
    override func fetchShares(matching objectIDs: [NSManagedObjectID]) throws -> [NSManagedObjectID: CKShare] { [:] }
    override func persistUpdatedShare(_ share: CKShare, in persistentStore: NSPersistentStore) async throws -> CKShare { share }
    override func purgeObjectsAndRecordsInZone(
        with zoneID: CKRecordZone.ID, in persistentStore: NSPersistentStore?
    ) async throws -> CKRecordZone.ID { zoneID }
    override func acceptShareInvitations(
        from metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Metadata] { metadata }
    override func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Participant] { [] }
    override func share(
        _ managedObjects: [NSManagedObject], to share: CKShare?,
        completion: @escaping @Sendable (Set<NSManagedObjectID>?, CKShare?, CKContainer?, (any Error)?) -> Void
    ) { completion(nil, nil, nil, CKError(.alreadyShared)) }
    override func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore,
        completion: @escaping @Sendable ([CKShare.Participant]?, (any Error)?) -> Void
    ) { completion([], nil) }
    override func loadPersistentStores(completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void) {
        super.loadPersistentStores(completionHandler: block)
    }
}

private final class Options: NSPersistentCloudKitContainerOptions, @unchecked Sendable {
    override var containerIdentifier: String { "iCloud.mock" }
    override var databaseScope: CKDatabase.Scope {
        get { .public }
        set {}
    }
}

private final class Request: NSPersistentCloudKitContainerEventRequest {
    override class func fetchRequestForEvents() -> NSFetchRequest<any NSFetchRequestResult> { super.fetchRequestForEvents() }
}

struct ContainerOverrideTests {
    private static func model() -> NSManagedObjectModel {
        let text = NSAttributeDescription()
        (text.name, text.attributeType, text.isOptional) = ("text", .stringAttributeType, true)
        let entity = NSEntityDescription()
        (entity.name, entity.properties) = ("Post", [text])
        let model = NSManagedObjectModel()
        model.entities = [entity]
        return model
    }

    @MainActor @Test func aMockOverridesTheContainer() throws {
        let container = MockContainer(name: "Posts", managedObjectModel: Self.model())
        let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))
        container.persistentStoreDescriptions = [description]
        container.loadPersistentStores { _, error in #expect(error == nil) }
        let post = NSEntityDescription.insertNewObject(forEntityName: "Post", into: container.viewContext)
        try container.viewContext.save()
        // Calls of the superclass reach the overridden methods.
        let base: NSPersistentCloudKitContainer = container
        #expect(base.record(for: post.objectID) === MockContainer.record)
        #expect(base.records(for: [post.objectID])[post.objectID] === MockContainer.record)
        #expect(base.recordIDs(for: [post.objectID])[post.objectID] == MockContainer.record.recordID)
        #expect(!base.canUpdateRecord(forManagedObjectWith: post.objectID))
        let options = Options(containerIdentifier: "iCloud.other")
        #expect((options as NSPersistentCloudKitContainerOptions).containerIdentifier == "iCloud.mock")
        description.cloudKitContainerOptions = options
        #expect(description.cloudKitContainerOptions === options)
    }

    /// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainereventresult
    @MainActor @Test func eventsAreCountedAsNumbers() throws {
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: Self.model())
        let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))
        container.persistentStoreDescriptions = [description]
        container.loadPersistentStores { _, error in #expect(error == nil) }
        let request = NSPersistentCloudKitContainerEventRequest.fetchEvents(after: Date.distantPast)
        let type: NSPersistentCloudKitContainerEventResult.ResultType = .countEvents
        request.resultType = type
        let result = try #require(try container.viewContext.execute(request) as? NSPersistentCloudKitContainerEventResult)
        #expect(result.resultType == .countEvents)
        let counts = try #require(result.result as? [NSNumber])
        #expect(counts == [0])
        request.resultType = .events
        let events = try #require(try container.viewContext.execute(request) as? NSPersistentCloudKitContainerEventResult)
        #expect((events.result as? [NSPersistentCloudKitContainer.Event])?.isEmpty == true)
        #expect(NSPersistentCloudKitContainerEventResult.ResultType.events.rawValue == 0)
        #expect(type.rawValue == 1)
        // The name in Objective-C's header, which code written for older tools has.
        let old: NSPersistentCloudKitContainerEventResultType = type
        #expect(old == .countEvents)
        #expect(Swift.type(of: Request.fetchEvents(after: Date())) == Request.self)
    }
}
