// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import ManagedModel
import TestBasics
import Testing

/// Others on the same data: other versions of the app, and programs that know nothing of Core Data.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct NeighbourTests {
    private static let zone = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")

    private static var newer: Model {
        var model = Posts.model
        model.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        model.entities[0].attributes.append(Attribute(name: "stars", type: .integer16, isOptional: false, defaultValue: .int(3)))
        model.entities[0].relationships.append(Relationship(name: "place", destination: "Place", inverse: "posts"))
        model.entities.append(
            Entity(
                name: "Place", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "posts", destination: "Post", inverse: "place", isToMany: true)]))
        return model
    }

    private func client(_ transport: InProcessTransport) -> CloudDatabaseClient {
        CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
    }

    private func records(_ client: CloudDatabaseClient) async throws -> [Record] {
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: Self.zone)]))
        guard case .changes(let changes)? = answer.zones.first else { return [] }
        return changes.records.filter { !$0.isDeleted }
    }

    @discardableResult
    private func modify(_ client: CloudDatabaseClient, _ operations: RecordOperation...) async throws -> [RecordResult] {
        let answer = try await client.modifyRecords(
            ModifyRecordsRequest(operations: operations, zoneID: Self.zone), idempotencyKey: UUID().uuidString)
        for case .failure(_, let error, _) in answer.results { Issue.record("\(error.reason)") }
        return answer.results
    }

    @Test func anOlderVersionOfTheAppDestroysNothingOfTheNewer() async throws {
        let cloud = try InProcessCloud()
        let new = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.newer)
        let oldTransport = try await cloud.addDevice("phone", of: "mia")
        let old = try Device("phone", oldTransport)
        try new.edit { context in
            let place = context.insert("Place", ["name": "Home"])
            context.insert("Post", ["title": "Both know this", "mood": "calm", "stars": 5, "place": place])
        }
        try await new.container.sync(timeout: .seconds(600))
        try await old.container.sync(timeout: .seconds(600))
        #expect(try old.dump == "Post  title Both know this")
        try old.edit { context in
            let post = try context.post(titled: "Both know this")
            post?.setValue("edited by the older", forKey: "content")
            post?.setValue(Set([context.insert("Tag", ["name": "old"])]), forKey: "tags")
            context.insert("Post", ["title": "Made by the older"])
        }
        try await old.container.sync(timeout: .seconds(600))
        try await new.container.sync(timeout: .seconds(600))
        try new.read { context in
            let post = try #require(try context.post(titled: "Both know this"))
            #expect(post.value(forKey: "mood") as? String == "calm")
            #expect(post.value(forKey: "stars") as? Int == 5)
            #expect((post.value(forKey: "place") as? NSManagedObject)?.value(forKey: "name") as? String == "Home")
            #expect(post.value(forKey: "content") as? String == "edited by the older")
            #expect(try context.post(titled: "Made by the older")?.value(forKey: "stars") as? Int == 3)
        }
        // The older one is brought up to date, with edits that it had not sent.
        old.container.pauseSyncing()
        try old.edit { try $0.post(titled: "Both know this")?.setValue("Both know this, still", forKey: "title") }
        try await old.kill()
        let updated = try Device("phone", oldTransport, file: old.file, model: Self.newer)
        try await updated.container.sync(timeout: .seconds(600))
        try await new.container.sync(timeout: .seconds(600))
        for device in [updated, new] {
            try device.read { context in
                let post = try #require(try context.post(titled: "Both know this, still"))
                #expect(post.value(forKey: "mood") as? String == "calm")
                #expect(post.value(forKey: "stars") as? Int == 5)
                #expect((post.value(forKey: "place") as? NSManagedObject)?.value(forKey: "name") as? String == "Home")
            }
        }
        #expect(try updated.container.conflicts().isEmpty)
        #expect(try new.container.conflicts().isEmpty)
    }

    @Test func aVersionThatTakesSomethingAwayIsRefusedWithWhatToDo() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        try tablet.edit { $0.insert("Post", ["title": "Here", "content": "Text"]) }
        try await tablet.kill()
        var smaller = Posts.model
        smaller.entities[0].attributes.remove(at: 1)
        let error = #expect(throws: CocoaError.self) { _ = try Device("tablet", transport, file: tablet.file, model: smaller) }
        #expect(error?.code == .inferredMappingModel)
        #expect(error?.userInfo["property"] as? String == "content")
        #expect(error?.userInfo["reason"] as? String == "was removed")
        let sentence = error?.localizedDescription ?? ""
        // A mapping model creates new objects, in addition to those on the server.
        #expect(sentence.contains("Post.content"))
        #expect(sentence.hasSuffix("list a retired property in syncRetired, or keep the former properties."))
        let again = try Device("tablet", transport, file: tablet.file)
        #expect(try again.dump == "Post  content Text  title Here")
    }

    @Test func lateValuesDeletedByAnOlderVersionAreInItsConflictLog() async throws {
        let cloud = try InProcessCloud()
        let new = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.newer)
        let oldTransport = try await cloud.addDevice("phone", of: "mia")
        let old = try Device("phone", oldTransport)
        try new.edit { context in for title in ["Short", "Long"] { context.insert("Post", ["title": title]) } }
        try await new.container.sync(timeout: .seconds(600))
        try await old.container.sync(timeout: .seconds(600))
        old.container.pauseSyncing()
        try old.edit { context in for title in ["Short", "Long"] { context.delete(try #require(try context.post(titled: title))) } }
        let moods = ["Short": "calm", "Long": String(repeating: "calm ", count: 200_000)]
        for (title, mood) in moods { try new.set(title, "mood", mood) }
        try await new.container.sync(timeout: .seconds(600))
        old.container.resumeSyncing()
        try await old.container.sync(timeout: .seconds(600))
        try await old.kill()
        let updated = try Device("phone", oldTransport, file: old.file, model: Self.newer)
        let lost = try updated.container.conflicts()
        #expect(lost.allSatisfy { $0.propertyName == "mood" })
        #expect(Set(lost.map { $0.losingValue as? String }) == Set(moods.values))
    }

    @Test func aProgramThatKnowsNothingOfCoreDataReadsEditsAndDeletes() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        try tablet.edit { context in
            let post = context.insert("Post", ["title": "Title", "content": "Text", "timestamp": Date(timeIntervalSince1970: 1_000)])
            post.setValue(Set(["red", "blue"].map { context.insert("Tag", ["name": $0]) }), forKey: "tags")
            context.insert("Attachment", ["post": post, "thumbnail": Data([1, 2])])
        }
        try await tablet.container.sync(timeout: .seconds(600))
        let client = client(try await cloud.addDevice("script", of: "mia"))
        let all = try await records(client)
        #expect(all.map(\.recordType).sorted() == ["CDMR", "CDMR", "CD_Attachment", "CD_Post", "CD_Tag", "CD_Tag"])
        let post = try #require(all.first { $0.recordType == "CD_Post" })
        #expect(post.fields["CD_entityName"]?.value == .string("Post"))
        #expect(post.fields["CD_timestamp"]?.value == .timestamp(1_000_000))
        let attachment = try #require(all.first { $0.recordType == "CD_Attachment" })
        #expect(attachment.fields["CD_post"]?.value == .string(post.recordName))
        #expect(attachment.fields["CD_thumbnail"]?.value == .bytes([1, 2]))
        let red = try #require(all.first { $0.fields["CD_name"]?.value == .string("red") })
        let link = try #require(
            all.first { record in
                guard case .string(let names)? = record.fields["CD_recordNames"]?.value else { return false }
                return names == "\(post.recordName):\(red.recordName)"
            })
        #expect(link.fields["CD_entityNames"]?.value == .string("Post:Tag"))
        #expect(link.fields["CD_relationships"]?.value == .string("tags:posts"))

        // It edits, makes a tag and links it, unlinks one, and deletes.
        try await modify(
            client,
            RecordOperation(
                .update,
                Record(
                    recordName: post.recordName, recordType: "CD_Post", recordChangeTag: post.recordChangeTag,
                    fields: ["CD_title": Field(.string("Edited")), "CD_content": Field(nil)])),
            RecordOperation(
                .create, Record(recordName: "made-by-a-script", recordType: "CD_Tag", fields: ["CD_name": Field(.string("green"))])),
            RecordOperation(
                .create,
                Record(
                    recordName: "link-by-a-script", recordType: "CDMR",
                    fields: [
                        "CD_entityNames": Field(.string("Tag;Post")),
                        "CD_recordNames": Field(.string("made-by-a-script;\(post.recordName)")),
                        "CD_relationships": Field(.string("posts;tags")),
                    ])),
            RecordOperation(.forceDelete, Record(recordName: link.recordName, recordType: "CDMR")),
            RecordOperation(.forceDelete, Record(recordName: attachment.recordName, recordType: "CD_Attachment")))
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(
            try tablet.dump == """
                Post  timestamp @\(Date(timeIntervalSince1970: 1_000).timeIntervalSinceReferenceDate)  title Edited  tags ["blue", "green"]
                Tag  name blue  posts ["Edited"]
                Tag  name green  posts ["Edited"]
                Tag  name red
                """)
        // The app changes the script's tag, and the script receives the change.
        try tablet.edit { try $0.all("Tag").first { $0.value(forKey: "name") as? String == "green" }?.setValue("teal", forKey: "name") }
        try await tablet.container.sync(timeout: .seconds(600))
        #expect(try await records(client).first { $0.recordName == "made-by-a-script" }?.fields["CD_name"]?.value == .string("teal"))
    }
}
