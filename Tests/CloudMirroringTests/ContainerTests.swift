// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import Synchronization
import TestBasics
import Testing

/// The container's API for apps: rejected stores, status, events, records, accounts.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ContainerTests {
    private func folder() -> URL { TestScope.temporaryFolder() }

    private func sentence(_ error: (any Error)?) -> String { (error as? CocoaError)?.localizedDescription ?? "" }

    @Test func aModelThatCannotBeMirroredIsRefusedWithAllThatIsWrong() throws {
        var model = Posts.model
        model.entities[0].attributes[0].isOptional = false
        model.entities[1].relationships[0].deleteRule = .deny
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(model))
        container.persistentStoreDescriptions = [Device.description(of: folder().appendingPathComponent("Posts.sqlite"))]
        let error = #expect(throws: CocoaError.self) { try container.load() }
        #expect(error?.code.rawValue == 134_060)
        #expect(
            sentence(error)
                == "The model cannot be mirrored: Post.title must be optional or have a default value; Tag.posts must not have the delete rule Deny."
        )
        #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
    }

    @Test func aStoreOpenedReadOnlyCannotBeChanged() throws {
        let file = folder().appendingPathComponent("Posts.sqlite")
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        for isReadOnly in [false, true] {
            let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
            let description = NSPersistentStoreDescription(url: file)
            description.isReadOnly = isReadOnly
            container.persistentStoreDescriptions = [description]
            try container.load()
            let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
            let context = container.newBackgroundContext()
            let id = try context.performAndWait {
                if !isReadOnly {
                    context.insert("Post", ["title": "a"])
                    try context.save()
                }
                return try #require(try context.all("Post").first).objectID
            }
            #expect(container.canModifyManagedObjects(in: store) == !isReadOnly)
            #expect(container.canUpdateRecord(forManagedObjectWith: id) == !isReadOnly)
            #expect(container.canDeleteRecord(forManagedObjectWith: id) == !isReadOnly)
            try container.persistentStoreCoordinator.remove(store)
        }
    }

    @Test func storesThatCannotBeMirroredSayWhy() throws {
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        let memory = Device.description(of: folder().appendingPathComponent("Posts.sqlite"))
        memory.type = NSInMemoryStoreType
        container.persistentStoreDescriptions = [memory]
        #expect(sentence(#expect(throws: CocoaError.self) { try container.load() }).hasPrefix("Only a SQLite file"))
        let files = [folder(), folder()].map { $0.appendingPathComponent("Posts.sqlite") }
        container.persistentStoreDescriptions = files.map(Device.description)
        #expect(sentence(#expect(throws: CocoaError.self) { try container.load() }).hasPrefix("Two stores are to be mirrored"))
    }

    /// As templates of apps make it for previews and unit tests.
    @Test func aStoreWithoutAFileIsOpenedAndNotMirrored() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        container.environment.connect = { identifier, scope in
            CloudDatabaseClient(containerIdentifier: identifier, environment: .development, scope: scope.wire, transport: transport)
        }
        container.persistentStoreDescriptions.first?.url = URL(fileURLWithPath: "/dev/null")
        #expect(container.persistentStoreDescriptions.first?.cloudKitContainerOptions != nil)
        try container.load()
        let context = container.viewContext
        try await context.perform {
            let post = context.insert("Post", ["title": "Preview"])
            try context.save()
            #expect(try context.all("Post").count == 1)
            #expect(container.canUpdateRecord(forManagedObjectWith: post.objectID))
            #expect(container.record(for: post.objectID) == nil)
        }
        try await container.sync(timeout: .seconds(600))
        #expect(transport.log == [])
    }

    @Test func theFirstDescriptionIsMirroredUnlessTheAppSaysOtherwise() {
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        let options = container.persistentStoreDescriptions.first?.cloudKitContainerOptions
        #expect(options?.databaseScope == .private)
        #expect(options?.containerIdentifier == CKContainer.default().containerIdentifier)
        container.persistentStoreDescriptions.first?.cloudKitContainerOptions = nil
        #expect(container.persistentStoreDescriptions.first?.cloudKitContainerOptions == nil)
    }

    @Test func aStoreOfAnotherAccountIsNotTouchedIfItIsToBeKept() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try mia.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await mia.settles { try mia.read { try $0.all("Post").first?.objectID } != nil }
        try await mia.kill()
        let transport = try await cloud.addUser("bo", device: "tablet")
        let bo = try Device("tablet", transport, file: mia.file) { $0.cloudKitContainerOptions?.accountChangePolicy = .keep }
        try await bo.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.hasPrefix("this store holds the data of another account")
        }
        try bo.edit { $0.insert("Post", ["title": "Bo's"]) }
        #expect(try bo.read { try $0.all("Post").count } == 2)
        #expect(!transport.log.contains("records/modify"))
    }

    @Test func aStoreThatWasLocalIsSentWhole() async throws {
        let file = folder().appendingPathComponent("Posts.sqlite")
        let local = NSPersistentContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        local.persistentStoreDescriptions = [NSPersistentStoreDescription(url: file)]
        try local.load()
        let context = local.newBackgroundContext()
        try context.performAndWait {
            let post = context.insert("Post", ["title": "Before"])
            post.setValue(Set([context.insert("Tag", ["name": "old"])]), forKey: "tags")
            try context.save()
        }
        for store in local.persistentStoreCoordinator.persistentStores { try local.persistentStoreCoordinator.remove(store) }

        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), file: file)
        try await tablet.settles()
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.settles()
        #expect(try phone.dump == "Post  title Before  tags [\"old\"]\nTag  name old  posts [\"Before\"]")
    }

    @Test func pausedSyncingSendsWhatWasSavedOnceItIsResumed() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        try await tablet.settles()
        tablet.container.pauseSyncing()
        try tablet.edit { $0.insert("Post", ["title": "Later"]) }
        try await tablet.until { $0.activity == .paused && $0.pendingCount == 1 }
        #expect(!transport.log.contains("records/modify"))
        tablet.container.resumeSyncing()
        try await tablet.settles { transport.log.contains("records/modify") }
    }

    @Test func eventsArePostedAtTheirStartAndAtTheirEnd() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let (stream, feed) = AsyncStream.makeStream(of: String.self)
        let file = folder().appendingPathComponent("Posts.sqlite")
        let observer = NotificationCenter.default.addObserver(
            forName: NSPersistentCloudKitContainer.eventChangedNotification, object: nil, queue: nil
        ) { notification in
            let key = NSPersistentCloudKitContainer.eventNotificationUserInfoKey
            guard let event = notification.userInfo?[key] as? NSPersistentCloudKitContainer.Event,
                let container = notification.object as? NSPersistentCloudKitContainer,
                container.persistentStoreDescriptions.first?.url == file
            else { return }
            feed.yield("\(event.type) \(event.endDate == nil ? "began" : "ended") \(event.succeeded)")
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        let tablet = try Device("tablet", transport, file: file)
        try tablet.edit { $0.insert("Post", ["title": "Told"]) }
        var seen: [String] = []
        for await event in stream {
            seen.append(event)
            if event == "export ended true" { break }
        }
        // A set-up starts again when any test of the process posts an account change.
        while seen.starts(with: ["setup began false", "setup ended false"]) { seen.removeFirst(2) }
        #expect(Array(seen.prefix(4)) == ["setup began false", "setup ended true", "import began false", "import ended true"])
        #expect(seen.suffix(2) == ["export began false", "export ended true"])
    }

    @Test func theRecordOfAnObjectIsAtHandOnceItWasSent() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        try tablet.edit { $0.insert("Post", ["title": "Known"]) }
        try await tablet.settles { transport.log.contains("records/modify") }
        let ids = try tablet.read { try $0.all("Post").map(\.objectID) }
        let record = try #require(tablet.container.record(for: ids[0]))
        #expect(record.recordType == "CD_Post")
        #expect(record["CD_title"] as? String == "Known")
        #expect(record.recordID.zoneID.zoneName == "com.apple.coredata.cloudkit.zone")
        #expect(record.recordChangeTag != nil)
        #expect(tablet.container.recordIDs(for: ids) == [ids[0]: record.recordID])
        transport.goOffline()
        try tablet.edit { $0.insert("Tag", ["name": "unsent"]) }
        let tag = try tablet.read { try $0.all("Tag").map(\.objectID)[0] }
        #expect(tablet.container.record(for: tag) == nil)
        #expect(tablet.container.canUpdateRecord(forManagedObjectWith: tag))
        try await tablet.until { $0.activity == .offline }
        transport.goOnline()
        tablet.timers.advance(by: 400)
        try await tablet.settles { tablet.container.record(for: tag) != nil }
    }

    @Test func rejectedObjectsStayVisibleAndBlockNothingElse() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        try await tablet.settles()
        // Another program made the field a number.
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
        let foreign = Record(recordName: "foreign", recordType: "CD_Post", fields: ["CD_content": Field(.int64(1))])
        _ = try await client.modifyRecords(
            ModifyRecordsRequest(
                operations: [RecordOperation(.create, foreign)], zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")),
            idempotencyKey: "foreign")
        try tablet.edit { context in
            context.insert("Post", ["title": "Refused", "content": "text"])
            context.insert("Post", ["title": "Fine"])
        }
        try await tablet.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.hasPrefix("the server refused an object: ") && status.pendingCount == 0
        }
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.settles()
        #expect(try phone.dump == "Post\nPost  title Fine")
        // Changed, it is sent again.
        try tablet.edit { try $0.post(titled: "Refused")?.setValue(nil, forKey: "content") }
        try await phone.until { _ in try phone.read { try $0.post(titled: "Refused") != nil } }
        try await tablet.settles()
    }
}
