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

/// The public database, on a server with the documented protocol only: no feed, no push, objects of other users.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct PublicTests {
    private static let types = ["CD_Post", "CD_Tag", "CD_Attachment", "CD_ImageData", "CDMR"]

    private func publish(_ description: NSPersistentStoreDescription) { description.cloudKitContainerOptions?.databaseScope = .public }

    /// A cloud with indexes for its types, as after initialising the schema.
    private func cloud() async throws -> InProcessCloud {
        let cloud = try InProcessCloud(offered: [])
        for type in Self.types {
            try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        }
        return cloud
    }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    private func id(_ device: Device, _ title: String) throws -> NSManagedObjectID {
        try device.read { try #require(try $0.post(titled: title)?.objectID) }
    }

    @Test func publishedRecordsAreReadByEveryUser() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        try mia.edit { context in
            let post = context.insert("Post", ["title": "High score"])
            post.setValue(Set([context.insert("Tag", ["name": "game"])]), forKey: "tags")
            let image = context.insert("ImageData", ["data": Data(repeating: 9, count: 900_000)])
            context.insert("Attachment", ["post": post, "imageData": image])
        }
        try await sync(mia)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try await sync(bo)
        #expect(try bo.dump == mia.dump)
        #expect(try !bo.dump.isEmpty)
        // Bo's objects are exported, also those that are linked with Mia's.
        try bo.edit { context in
            let post = context.insert("Post", ["title": "Bo's score"])
            post.setValue(Set(try context.all("Tag")), forKey: "tags")
        }
        try await sync(bo, mia)
        #expect(try bo.dump == mia.dump)
        #expect(try mia.dump.contains("tags [\"game\"]"))
        #expect(!mia.transport.log.contains("push/stream"))
    }

    @Test func importsReadOnlyWhatWasModifiedSinceAndPageByPage() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        try mia.edit { context in for number in 0..<220 { context.insert("Post", ["title": "\(number)"]) } }
        try await sync(mia)
        cloud.clock.advance(by: .seconds(60))
        try mia.edit { $0.insert("Post", ["title": "Last"]) }
        try await sync(mia)
        let transport = try await cloud.addUser("bo", device: "phone")
        let first = Faults(transport)
        let bo = try Device("bo's", transport, over: first, describe: publish)
        try await sync(bo)
        #expect(try bo.read { try $0.all("Post").count } == 221)
        #expect(first.bodies.contains { $0.firstRange(of: Array("continuationMarker".utf8)) != nil })
        // After another launch only new records are fetched, and those modified shortly before the last fetch.
        cloud.clock.advance(by: .seconds(3600))
        try mia.edit { $0.insert("Post", ["title": "New"]) }
        try await sync(mia)
        try await bo.kill()
        let wire = Faults(bo.transport)
        let again = try Device("bo's", bo.transport, over: wire, file: bo.file, describe: publish)
        try await sync(again)
        #expect(try again.read { try $0.all("Post").count } == 222)
        // The check of the indexes brings one as well.
        #expect(wire.records("records/query").count <= 3)
    }

    /// Later queries begin behind the page that lists the record.
    @Test func aRecordThatAServerIsTooBusyToReturnIsRequestedAgain() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        for title in ["Busy", "Last"] {
            try mia.edit { $0.insert("Post", ["title": title]) }
            try await sync(mia)
            cloud.clock.advance(by: .seconds(60))
        }
        let transport = try await cloud.addUser("bo", device: "phone")
        let faults = Faults(transport)
        let isRefused = Mutex(false)
        // Checks of indexes are queries for one record.
        for _ in 0..<40 {
            faults.plan(
                "records/query",
                .answer { body in
                    var response = try QueryRecordsResponse(json: body)
                    guard response.results.count > 1, isRefused.withLock({ $0 }) == false else { return body }
                    isRefused.withLock { $0 = true }
                    response.results[0] = .failure(
                        recordName: response.results[0].recordName, WireError(.tryAgainLater, "busy"), serverRecord: nil)
                    return response.encoded()
                })
        }
        let bo = try Device("bo's", transport, over: faults, describe: publish)
        // Not until the next poll.
        bo.timers.runFreely(upTo: 60)
        try await bo.settles()
        let wasRefused = isRefused.withLock { $0 }
        #expect(wasRefused)
        #expect(try bo.read { try $0.all("Post").count } == 2)
    }

    @Test func itIsAskedAtLaunchAndEveryHalfHourOfUse() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try await sync(mia, bo)
        try mia.edit { $0.insert("Post", ["title": "Later"]) }
        try await sync(mia)
        bo.timers.advance(by: 1_799)
        #expect(try bo.read { try $0.all("Post").count } == 0)
        bo.timers.advance(by: 1)
        try await bo.until { _ in try bo.read { try $0.all("Post").count } == 1 }
    }

    @Test func theAppSetsTheIntervalOfUse() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device(
            "bo's", try await cloud.addUser("bo", device: "phone"),
            describe: { description in
                publish(description)
                description.cloudKitContainerOptions?.publicPollInterval = .seconds(60)
            })
        try await sync(mia, bo)
        try mia.edit { $0.insert("Post", ["title": "Later"]) }
        try await sync(mia)
        bo.timers.advance(by: 59)
        #expect(try bo.read { try $0.all("Post").count } == 0)
        bo.timers.advance(by: 1)
        try await bo.until { _ in try bo.read { try $0.all("Post").count } == 1 }
        for device in [mia, bo] { try await device.discard() }
    }

    @Test func missingIndexesAreAllNamedWithWhatToDo() async throws {
        let cloud = try InProcessCloud(offered: [])
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        try mia.edit { context in
            context.insert("Post", ["title": "First"])
            context.insert("Tag", ["name": "first"])
        }
        // The types come into being by use, without the indexes.
        let error = await #expect(throws: CKError.self) {
            for _ in 0..<2 { try await mia.container.sync(timeout: .seconds(600)) }
        }
        let text = error?.localizedDescription ?? ""
        #expect(text.contains("CD_Post: recordName QUERYABLE, modifiedTimestamp QUERYABLE, modifiedTimestamp SORTABLE"))
        #expect(text.contains("CD_Tag: "))
        #expect(text.contains("tarn schema import --container \(Device.containerIdentifier)"))
        for type in Self.types {
            try await cloud.addIndexes(toType: type, fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        }
        try await sync(mia)
    }

    @Test func anonymousClientsReadAndSendAfterSignIn() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        try mia.edit { $0.insert("Post", ["title": "For all"]) }
        try await sync(mia)
        let visitor = cloud.addVisitor(device: "kiosk")
        let kiosk = try Device("kiosk", visitor, describe: publish)
        let store = kiosk.container.persistentStoreCoordinator.persistentStores[0]
        try await sync(kiosk)
        #expect(try kiosk.dump == "Post  title For all")
        #expect(!kiosk.container.canModifyManagedObjects(in: store))
        #expect(try !kiosk.container.canUpdateRecord(forManagedObjectWith: id(kiosk, "For all")))
        try kiosk.edit { $0.insert("Post", ["title": "Made by a visitor"]) }
        try await kiosk.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.hasPrefix("signed out") && status.pendingCount == 1
        }
        try await kiosk.kill()
        let bo = try Device("kiosk", try await cloud.addUser("bo", device: "kiosk"), file: kiosk.file, describe: publish)
        try await sync(bo, mia)
        #expect(try mia.dump == "Post  title For all\nPost  title Made by a visitor")
    }

    /// Source: the truth table of *NSPersistentCloudKitContainer*'s header.
    @Test func onlyTheMakerMayChangeAndTheAnswerIsCached() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try mia.edit { $0.insert("Post", ["title": "Mia's"]) }
        try await sync(mia, bo)
        #expect(try mia.container.canUpdateRecord(forManagedObjectWith: id(mia, "Mia's")))
        let (bos, theirs) = (bo.container, try id(bo, "Mia's"))
        #expect(!bos.canUpdateRecord(forManagedObjectWith: theirs))
        #expect(!bos.canDeleteRecord(forManagedObjectWith: theirs))
        #expect(bos.canModifyManagedObjects(in: bos.persistentStoreCoordinator.persistentStores[0]))
        try bo.read { context in
            let new = context.insert("Post", ["title": "Bo's"])
            #expect(bos.canUpdateRecord(forManagedObjectWith: new.objectID))
            try context.save()
        }
        let own = try id(bo, "Bo's")
        #expect(bos.canUpdateRecord(forManagedObjectWith: own))
        #expect(bos.canDeleteRecord(forManagedObjectWith: own))
        try await sync(bo, mia)
        // Others have it now, and would not hear of a deletion.
        #expect(bos.canUpdateRecord(forManagedObjectWith: own))
        #expect(!bos.canDeleteRecord(forManagedObjectWith: own))
        #expect(try !mia.container.canUpdateRecord(forManagedObjectWith: id(mia, "Bo's")))
        // Asked once, then known.
        let looks = bos.permissionLooks
        for _ in 0..<1_000 { _ = bos.canUpdateRecord(forManagedObjectWith: own) && bos.canUpdateRecord(forManagedObjectWith: theirs) }
        #expect(bos.permissionLooks <= looks + 2)
        // Edits without permission are rejected by the server, and block nothing else.
        try bo.edit { context in
            try context.post(titled: "Mia's")?.setValue("Bo was here", forKey: "content")
            context.insert("Post", ["title": "Bo's second"])
        }
        try await bo.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.contains("refused an object") && status.pendingCount == 0
        }
        try await sync(mia)
        #expect(
            try mia.read { try ($0.post(titled: "Mia's")?.value(forKey: "content") == nil, $0.post(titled: "Bo's second") != nil) } == (
                true, true
            ))
    }

    @Test func deletionsDoNotTravelAndFlagsDo() async throws {
        let cloud = try await cloud()
        let mia = try Device("mia's", try await cloud.addUser("mia", device: "tablet"), describe: publish)
        let bo = try Device("bo's", try await cloud.addUser("bo", device: "phone"), describe: publish)
        try mia.edit { context in for title in ["Deleted", "Trashed"] { context.insert("Post", ["title": title]) } }
        try await sync(mia, bo)
        try mia.edit { context in
            if let post = try context.post(titled: "Deleted") { context.delete(post) }
            try context.post(titled: "Trashed")?.setValue("trashed", forKey: "content")
        }
        try await sync(mia, bo)
        #expect(try mia.dump == "Post  content trashed  title Trashed")
        #expect(try bo.dump == "Post  content trashed  title Trashed\nPost  title Deleted")
        // A new device does not receive deleted objects.
        let lea = try Device("lea's", try await cloud.addUser("lea", device: "laptop"), describe: publish)
        try await sync(lea)
        #expect(try lea.dump == mia.dump)
    }

    @Test func aStoreOfEachScopeInOneContainer() async throws {
        let cloud = try await cloud()
        var model = Posts.model
        model.entities.append(Entity(name: "Score", attributes: [Attribute(name: "points", type: .integer64)]))
        model.configurations = ["Public": ["Score"], "Private": ["Post", "Tag", "Attachment", "ImageData"]]
        try await cloud.addIndexes(toType: "CD_Score", fields: ["___recordID", "___modTime"], container: Device.containerIdentifier)
        func app(_ name: String, _ transport: InProcessTransport) throws -> Device {
            let folder = TestScope.temporaryFolder()
            let scores = Device.description(of: folder.appendingPathComponent("Scores.sqlite"))
            publish(scores)
            scores.configuration = "Public"
            let file = folder.appendingPathComponent("Posts.sqlite")
            return try Device(name, transport, file: file, model: model, beside: [scores]) { $0.configuration = "Private" }
        }
        let mia = try app("mia's", try await cloud.addUser("mia", device: "tablet"))
        let bo = try app("bo's", try await cloud.addUser("bo", device: "phone"))
        try mia.edit { context in
            context.insert("Post", ["title": "Mine"])
            context.insert("Score", ["points": 7])
        }
        try await sync(mia, bo)
        #expect(try bo.read { try ($0.all("Post").count, $0.all("Score").count) } == (0, 1))
        let score = try bo.read { try #require(try $0.all("Score").first?.objectID) }
        #expect(!bo.container.canUpdateRecord(forManagedObjectWith: score))
        #expect(bo.container.recordID(for: score)?.zoneID.zoneName == "_defaultZone")
    }

    @Test func encryptedAttributesCannotBePublic() throws {
        var model = Posts.model
        model.entities[0].attributes[0].allowsCloudEncryption = true
        let container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(model))
        let description = Device.description(
            of: TestScope.temporaryFolder().appendingPathComponent("Posts.sqlite"))
        publish(description)
        container.persistentStoreDescriptions = [description]
        let error = #expect(throws: CocoaError.self) { try container.load() }
        #expect(error?.localizedDescription.contains("Post.title cannot be encrypted in the public database") == true)
    }
}
