// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import CoreData
import Foundation
import ManagedModel
import ObjectGraph
import SQLiteStore
import TestBasics
import Testing

/// Versions of an app with renamed and retired parts, on the same data.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ModelVersionTests {
    private static let zone = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")

    /// `Post.content` is `text`, tags are labels, an attachment is a file.
    private static var renamed: Model {
        var model = Posts.model
        model.entities[0].attributes[1].name = "text"
        model.entities[0].attributes[1].renamingIdentifier = "content"
        model.entities[0].relationships[1].name = "labels"
        model.entities[0].relationships[1].renamingIdentifier = "tags"
        model.entities[0].relationships[1].destination = "Label"
        model.entities[1].name = "Label"
        model.entities[1].renamingIdentifier = "Tag"
        model.entities[1].relationships[0].inverse = "labels"
        model.entities[2].relationships[0].name = "owner"
        model.entities[2].relationships[0].renamingIdentifier = "post"
        model.entities[0].relationships[0].inverse = "owner"
        return model
    }

    private func records(_ transport: InProcessTransport) async throws -> [Record] {
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private, transport: transport)
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: Self.zone)]))
        guard case .changes(let changes)? = answer.zones.first else { return [] }
        return changes.records.filter { !$0.isDeleted }
    }

    private func sync(_ devices: Device...) async throws {
        for device in devices { try await device.container.sync(timeout: .seconds(600)) }
    }

    @Test func renamedPartsAreThoseOfTheFirstVersion() async throws {
        let cloud = try InProcessCloud()
        let old = try Device("phone", try await cloud.addUser("mia", device: "phone"))
        let new = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: Self.renamed)
        try old.edit { context in
            let post = context.insert("Post", ["title": "Both", "content": "by the old one"])
            post.setValue(Set([context.insert("Tag", ["name": "red"])]), forKey: "tags")
            context.insert("Attachment", ["post": post])
        }
        try await sync(old, new)
        try new.edit { context in
            let post = try #require(try context.post(titled: "Both"))
            #expect(post.value(forKey: "text") as? String == "by the old one")
            let labels = try #require(post.value(forKey: "labels") as? Set<NSManagedObject>)
            #expect(labels.map { $0.value(forKey: "name") as? String } == ["red"])
            #expect((post.value(forKey: "attachments") as? Set<NSManagedObject>)?.count == 1)
            post.setValue("by the new one", forKey: "text")
            post.setValue(labels.union([context.insert("Label", ["name": "blue"])]), forKey: "labels")
            context.insert("Attachment", ["owner": post])
        }
        try await sync(new, old)
        #expect(
            try old.dump == """
                Attachment  post → Both
                Attachment  post → Both
                Post  content by the new one  title Both  attachments ["Attachment", "Attachment"]  tags ["blue", "red"]
                Tag  name blue  posts ["Both"]
                Tag  name red  posts ["Both"]
                """)
        let all = try await records(new.transport)
        #expect(Set(all.map(\.recordType)) == ["CD_Post", "CD_Tag", "CD_Attachment", "CDMR"])
        #expect(Set(all.compactMap { $0.fields["CD_entityNames"]?.value }) == [.string("Post:Tag")])
        #expect(Set(all.flatMap(\.fields.keys)).isDisjoint(with: ["CD_text", "CD_owner"]))
    }

    /// Edits of different fields merge. Of two edits of one field the later one wins, under any name.
    @Test func concurrentEditsOfTwoVersionsMergeByField() async throws {
        let cloud = try InProcessCloud()
        let old = try Device("phone", try await cloud.addUser("mia", device: "phone"))
        let new = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: Self.renamed)
        try old.edit { $0.insert("Post", ["title": "A", "content": "0"]) }
        try await sync(old, new)
        for device in [old, new] { device.container.pauseSyncing() }
        try old.edit { context in
            let post = try context.post(titled: "A")
            post?.setValue("B", forKey: "title")
            post?.setValue("1", forKey: "content")
        }
        try new.edit { try $0.post(titled: "A")?.setValue("2", forKey: "text") }
        old.container.resumeSyncing()
        try await sync(old)
        new.container.resumeSyncing()
        try await sync(new, old)
        #expect(try old.dump == "Post  content 2  title B")
        try new.read { context in
            let post = try context.post(titled: "B")
            #expect(post?.value(forKey: "text") as? String == "2")
        }
        let lost = try new.container.conflicts()
        #expect(lost.map(\.propertyName) == ["text"])
        #expect(lost.map { $0.losingValue as? String } == ["1"])
    }

    /// The device has an unsent edit, a link and a deletion.
    @Test func aDeviceThatIsUpdatedSendsTheEditsOfItsFormerVersion() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let phone = try Device("phone", transport)
        let tablet = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: Self.renamed)
        try phone.edit { context in
            let post = context.insert("Post", ["title": "A", "content": "0"])
            post.setValue(Set([context.insert("Tag", ["name": "red"]), context.insert("Tag", ["name": "gone"])]), forKey: "tags")
        }
        try await sync(phone, tablet)
        phone.container.pauseSyncing()
        try phone.edit { context in
            let post = try #require(try context.post(titled: "A"))
            post.setValue("1", forKey: "content")
            let tags = try context.all("Tag")
            try context.delete(#require(tags.first { $0.value(forKey: "name") as? String == "gone" }))
            post.setValue(Set([context.insert("Tag", ["name": "new"])]), forKey: "tags")
        }
        try await phone.kill()
        let updated = try Device("phone", transport, file: phone.file, model: Self.renamed)
        try await sync(updated, tablet)
        for device in [updated, tablet] {
            try device.read { context in
                let post = try #require(try context.post(titled: "A"))
                #expect(post.value(forKey: "text") as? String == "1")
                let labels = post.value(forKey: "labels") as? Set<NSManagedObject>
                #expect(labels?.map { $0.value(forKey: "name") as? String } == ["new"])
                #expect(Set(try context.all("Label").map { $0.value(forKey: "name") as? String }) == ["red", "new"])
            }
        }
        #expect(try await records(transport).count == 4)
    }

    /// The phone receives a record of the tablet's later version. Then the server loses the record, and the phone is updated.
    @Test func anUpdatedDeviceShowsTheValuesOfARecordThatItSendsAgain() async throws {
        var later = Posts.model
        later.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let phone = try Device("phone", transport)
        let tablet = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: later)
        try await sync(phone, tablet)
        let backup = TestScope.temporaryFolder("tarn-backup").path
        try await cloud.backUp(to: backup)
        try tablet.edit { $0.insert("Post", ["title": "A", "mood": "calm"]) }
        try await sync(tablet, phone)
        try await phone.kill()
        try await tablet.kill()
        try await cloud.restore(from: backup)
        let updated = try Device("phone", transport, file: phone.file, model: later)
        try await sync(updated)
        #expect(try updated.read { try $0.post(titled: "A")?.value(forKey: "mood") as? String } == "calm")
        #expect(try await records(transport).map { $0.fields["CD_mood"]?.value } == [.string("calm")])
        #expect(try updated.container.conflicts().isEmpty)
    }

    @Test func aRetiredAttributeStaysOnTheServer() async throws {
        var retired = Posts.model
        retired.entities[0].attributes.remove(at: 1)
        retired.entities[0].userInfo["syncRetired"] = "content"
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let tablet = try Device("tablet", transport)
        let old = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { $0.insert("Post", ["title": "A", "content": "Text"]) }
        try await sync(tablet, old)
        try await tablet.kill()
        let new = try Device("tablet", transport, file: tablet.file, model: retired)
        try new.edit { context in
            try context.post(titled: "A")?.setValue("B", forKey: "title")
            context.insert("Post", ["title": "C"])
        }
        try await sync(new, old)
        #expect(try old.dump == "Post  content Text  title B\nPost  title C")
        try old.edit { try $0.post(titled: "B")?.setValue("Edited", forKey: "content") }
        try await sync(old, new)
        try new.edit { try $0.post(titled: "B")?.setValue("D", forKey: "title") }
        try await sync(new, old)
        #expect(try old.dump == "Post  content Edited  title D\nPost  title C")
        #expect(try old.container.conflicts().isEmpty)
    }

    /// Stars are a 64-bit integer on the phone and a 16-bit one on the tablet.
    @Test func aValueThatAVersionCannotHoldIsKept() async throws {
        func model(_ type: AttributeType) -> Model {
            var model = Posts.model
            model.entities[0].attributes.append(Attribute(name: "stars", type: type))
            return model
        }
        func stars(_ device: Device) throws -> Int? {
            try device.read { try $0.all("Post").first?.value(forKey: "stars") as? Int }
        }
        let cloud = try InProcessCloud()
        let wide = try Device("phone", try await cloud.addUser("mia", device: "phone"), model: model(.integer64))
        let narrow = try Device("tablet", try await cloud.addDevice("tablet", of: "mia"), model: model(.integer16))
        try wide.edit { $0.insert("Post", ["title": "A", "stars": 70_000]) }
        try await sync(wide, narrow)
        #expect(try stars(narrow) == nil)
        try narrow.edit { try $0.post(titled: "A")?.setValue("B", forKey: "title") }
        try await sync(narrow, wide)
        #expect(try stars(wide) == 70_000)
        try narrow.edit { try $0.post(titled: "B")?.setValue(5, forKey: "stars") }
        try await sync(narrow, wide)
        #expect(try stars(wide) == 5)
        try wide.edit { try $0.post(titled: "B")?.setValue(80_000, forKey: "stars") }
        try await sync(wide, narrow)
        #expect(try stars(narrow) == nil)
        try narrow.edit { try $0.post(titled: "B")?.setValue("C", forKey: "title") }
        try await sync(narrow, wide)
        #expect(try await records(narrow.transport).map { $0.fields["CD_stars"]?.value } == [.int64(80_000)])
        // The phone's store has the value: it does not get the narrow version.
        try await wide.kill()
        let error = #expect(throws: CocoaError.self) {
            _ = try Device("phone", wide.transport, file: wide.file, model: model(.integer16))
        }
        #expect(error?.localizedDescription.contains("Post.stars is integer16 now, and rows have greater values") == true)
    }

    /// The renaming identifier came after the store was synced: its records have another field than the model names.
    @Test func aStoreWithRecordsUnderAnotherNameDoesNotSync() async throws {
        var late = Posts.model
        late.entities[0].attributes[1].renamingIdentifier = "body"
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let phone = try Device("phone", transport)
        try phone.edit { $0.insert("Post", ["title": "A", "content": "Text"]) }
        try await sync(phone)
        try await phone.kill()
        for isOfEarlierRelease in [false, true] {
            let other = try Device("phone", transport, file: phone.file, model: late)
            try await other.until { status in
                guard case .error(let reason) = status.activity else { return false }
                return reason.contains("add syncName with the value 'content'")
            }
            if !isOfEarlierRelease {
                let store = try #require(other.container.persistentStoreCoordinator.persistentStores.first)
                try store.storage.write { try $0.execute("DELETE FROM TARN_STATE WHERE key = 'serverNames'") }
            }
            try await other.kill()
        }
        late.entities[0].attributes[1].userInfo["syncName"] = "content"
        let declared = try Device("phone", transport, file: phone.file, model: late)
        try await sync(declared)
        #expect(try declared.dump == "Post  content Text  title A")
    }
}
