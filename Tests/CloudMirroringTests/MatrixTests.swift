// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import Testing

/// What apps of any kind have: hierarchies, relationships of an entity with itself, history that is purged, pinned views.
@Suite(.timeLimit(.minutes(10))) struct MatrixTests {
    /// Three levels, and one entity in relationships of every shape with itself.
    private static var family: Model {
        Model(entities: [
            Entity(
                name: "Animal", isAbstract: true, attributes: [Attribute(name: "name", type: .string)],
                relationships: [
                    Relationship(name: "mother", destination: "Animal", inverse: "children"),
                    Relationship(name: "children", destination: "Animal", inverse: "mother", isToMany: true),
                    Relationship(name: "mate", destination: "Animal", inverse: "mate"),
                    Relationship(name: "friends", destination: "Animal", inverse: "friends", isToMany: true),
                    Relationship(name: "follows", destination: "Animal", inverse: "followers", isToMany: true),
                    Relationship(name: "followers", destination: "Animal", inverse: "follows", isToMany: true),
                ]),
            Entity(name: "Dog", superentity: "Animal", attributes: [Attribute(name: "tricks", type: .integer32)]),
            Entity(name: "Puppy", superentity: "Dog", attributes: [Attribute(name: "toy", type: .string)]),
        ])
    }

    private func picture(_ device: Device) throws -> [String] {
        try device.read { context in
            try context.all("Animal").map { animal in
                func names(_ key: String) -> [String] {
                    ((animal.value(forKey: key) as? Set<NSManagedObject>) ?? []).compactMap { $0.value(forKey: "name") as? String }.sorted()
                }
                func name(_ key: String) -> String { (animal.value(forKey: key) as? NSManagedObject)?.value(forKey: "name") as? String ?? "–" }
                let own = animal.value(forKey: "name") as? String ?? "?"
                return "\(animal.entity.name ?? "?") \(own): \(name("mother")) \(names("children")) \(name("mate")) "
                    + "\(names("friends")) \(names("follows")) \(names("followers"))"
            }.sorted()
        }
    }

    @Test func hierarchiesAndRelationshipsWithOneselfTravel() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.family)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), model: Self.family)
        try tablet.edit { context in
            let rex = context.insert("Dog", ["name": "Rex 🐕‍🦺𝔘", "tricks": 3])
            let bella = context.insert("Dog", ["name": "Bella"])
            let pup = context.insert("Puppy", ["name": "Pup", "toy": "ball", "mother": bella])
            rex.setValue(bella, forKey: "mate")
            rex.setValue(Set([bella, pup, rex]), forKey: "friends")
            pup.setValue(Set([rex]), forKey: "follows")
        }
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(60)) }
        let sent = try picture(tablet)
        #expect(try picture(phone) == sent && sent.count == 3)
        #expect(sent[2] == "Puppy Pup: Bella [] – [\"Rex 🐕‍🦺𝔘\"] [\"Rex 🐕‍🦺𝔘\"] []")
        try phone.edit { context in
            let all = try context.all("Animal")
            let rex = try #require(all.first { ($0.value(forKey: "name") as? String)?.hasPrefix("Rex") == true })
            rex.setValue(nil, forKey: "mate")
            rex.mutableSetValue(forKey: "friends").remove(try #require(all.first { $0.value(forKey: "name") as? String == "Pup" }))
            rex.setValue(rex, forKey: "mother")
        }
        for device in [phone, tablet] { try await device.container.sync(timeout: .seconds(60)) }
        let changed = try picture(tablet)
        #expect(try picture(phone) == changed && changed != sent)
        #expect(changed[1].hasPrefix("Dog Rex 🐕‍🦺𝔘: Rex 🐕‍🦺𝔘 [\"Rex 🐕‍🦺𝔘\"] – [\"Bella\", \"Rex 🐕‍🦺𝔘\"]"))
        // One record type for all of them, with the entity in a field.
        let zone = CKRecordZone.ID(zoneName: "com.apple.coredata.cloudkit.zone")
        let account = tablet.account
        let records = try await account.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil).modificationResultsByID.values
        let types = try records.map { try $0.get().record }.filter { $0.recordType != "CDMR" }.map { "\($0.recordType) \($0["CD_entityName"] as? String ?? "")" }
        #expect(types.sorted() == ["CD_Animal Dog", "CD_Animal Dog", "CD_Animal Puppy"])
        for device in [tablet, phone] { try await device.discard() }
    }

    @Test func historyThatIsPurgedBeforeItWasSentLosesNothing() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in for title in ["kept", "edited", "deleted"] { context.insert("Post", ["title": title]) } }
        try await tablet.container.sync(timeout: .seconds(60))
        await tablet.container.stopSyncing()
        try tablet.edit { context in
            try #require(try context.post(titled: "edited")).setValue("new", forKey: "content")
            context.delete(try #require(try context.post(titled: "deleted")))
            context.insert("Post", ["title": "made"])
        }
        let context = tablet.container.newBackgroundContext()
        try context.performAndWait { _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture)) }
        try await tablet.kill()
        let again = try Device("tablet", tablet.transport, file: tablet.file)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        for device in [again, phone] { try await device.container.sync(timeout: .seconds(60)) }
        #expect(try phone.dump == "Post  content new  title edited\nPost  title kept\nPost  title made")
        for device in [again, phone] { try await device.discard() }
    }

    @Test func aPinnedViewStandsStillWhileAnImportRuns() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { $0.insert("Post", ["title": "first"]) }
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(60)) }
        let view = phone.container.newBackgroundContext()
        func titles() throws -> [String] {
            try view.performAndWait { try view.all("Post").compactMap { $0.value(forKey: "title") as? String }.sorted() }
        }
        try view.performAndWait { try view.setQueryGenerationFrom(.current) }
        #expect(try titles() == ["first"])
        try tablet.edit { context in for number in 0..<450 { context.insert("Post", ["title": "more \(number)"]) } }
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(60)) }
        #expect(try phone.read { try $0.all("Post").count } == 451)
        #expect(try titles() == ["first"])
        try view.performAndWait { try view.setQueryGenerationFrom(.current) }
        #expect(try titles().count == 451)
        for device in [tablet, phone] { try await device.discard() }
    }

    @Test func anAppTellsWhatOthersChangedFromWhatItChanged() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { $0.insert("Post", ["title": "theirs"]) }
        try phone.edit { $0.insert("Post", ["title": "mine"]) }
        let token = phone.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(60)) }
        try phone.edit { $0.insert("Tag", ["name": "later"]) }
        func changes(_ predicate: NSPredicate) throws -> [String] {
            let context = phone.container.newBackgroundContext()
            return try context.performAndWait {
                let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
                let wanted = try #require(NSPersistentHistoryTransaction.fetchRequest)
                wanted.predicate = predicate
                request.fetchRequest = wanted
                let transactions = (try context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
                return (transactions ?? []).flatMap { $0.changes ?? [] }.compactMap { $0.changedObjectID.entity.name }
            }
        }
        #expect(try changes(NSPredicate(format: "author == %@", "NSCloudKitMirroringDelegate.import")) == ["Post"])
        #expect(try changes(NSPredicate(format: "author != %@", "NSCloudKitMirroringDelegate.import")) == ["Tag"])
        for device in [tablet, phone] { try await device.discard() }
    }

    @Test func whatIsNotOfACloudIsTheUsersOwn() async throws {
        let cloud = try InProcessCloud()
        let model: Model = {
            var model = Posts.model
            model.entities.append(Entity(name: "Draft", attributes: [Attribute(name: "text", type: .string)]))
            model.configurations = ["Cloud": ["Post", "Tag", "Attachment", "ImageData"], "Local": ["Draft"]]
            return model
        }()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-\(UUID().uuidString)/Posts.sqlite")
        let local = NSPersistentStoreDescription(url: file.deletingLastPathComponent().appendingPathComponent("Local.sqlite"))
        local.configuration = "Local"
        // Nobody is signed in, and the private database is the user's all the same.
        let tablet = try Device(
            "tablet", cloud.addVisitor(device: "tablet"), file: file, model: model, beside: [local], describe: { $0.configuration = "Cloud" })
        let ids = try tablet.read { context in
            let post = context.insert("Post", ["title": "a"]), draft = context.insert("Draft", ["text": "b"])
            let temporary = post.objectID
            try context.save()
            return [temporary, post.objectID, draft.objectID]
        }
        for id in ids {
            #expect(tablet.container.canUpdateRecord(forManagedObjectWith: id) && tablet.container.canDeleteRecord(forManagedObjectWith: id))
        }
        for store in tablet.container.persistentStoreCoordinator.persistentStores { #expect(tablet.container.canModifyManagedObjects(in: store)) }
        #expect(tablet.container.permissionLooks == 0)
        #expect(tablet.container.recordID(for: ids[2]) == nil && tablet.container.record(for: ids[1]) == nil)
        try await tablet.discard()
    }
}
