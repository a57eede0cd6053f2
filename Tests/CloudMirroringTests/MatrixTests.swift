// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import ModelFolders
import TestBasics
import Testing

/// What apps of any kind have: hierarchies, relationships of an entity with itself, history that is purged, pinned views.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct MatrixTests {
    @Test func hierarchiesAndRelationshipsWithOneselfTravel() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Family.model)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), model: Family.model)
        try tablet.edit { context in
            let rex = context.insert("Dog", ["name": "Rex 🐕‍🦺𝔘", "tricks": 3])
            let bella = context.insert("Dog", ["name": "Bella"])
            let pup = context.insert("Puppy", ["name": "Pup", "toy": "ball", "mother": bella])
            rex.setValue(bella, forKey: "mate")
            rex.setValue(Set([bella, pup, rex]), forKey: "friends")
            pup.setValue(Set([rex]), forKey: "follows")
        }
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        let sent = try tablet.read(Family.picture)
        #expect(try phone.read(Family.picture) == sent)
        #expect(sent.count == 3)
        #expect(sent[2] == "Puppy Pup: Bella [] – [\"Rex 🐕‍🦺𝔘\"] [\"Rex 🐕‍🦺𝔘\"] []")
        try phone.edit { context in
            let all = try context.all("Animal")
            let rex = try #require(all.first { ($0.value(forKey: "name") as? String)?.hasPrefix("Rex") == true })
            rex.setValue(nil, forKey: "mate")
            rex.mutableSetValue(forKey: "friends").remove(try #require(all.first { $0.value(forKey: "name") as? String == "Pup" }))
            rex.setValue(rex, forKey: "mother")
        }
        for device in [phone, tablet] { try await device.container.sync(timeout: .seconds(600)) }
        let changed = try tablet.read(Family.picture)
        #expect(try phone.read(Family.picture) == changed)
        #expect(changed != sent)
        #expect(changed[1].hasPrefix("Dog Rex 🐕‍🦺𝔘: Rex 🐕‍🦺𝔘 [\"Rex 🐕‍🦺𝔘\"] – [\"Bella\", \"Rex 🐕‍🦺𝔘\"]"))
        // One record type for all of them, with the entity in a field.
        let zone = CKRecordZone.ID(zoneName: "com.apple.coredata.cloudkit.zone")
        let account = tablet.account
        let records = try await account.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil).modificationResultsByID.values
        let types = try records.map { try $0.get().record }.filter { $0.recordType != "CDMR" }.map {
            "\($0.recordType) \($0["CD_entityName"] as? String ?? "")"
        }
        #expect(types.sorted() == ["CD_Animal Dog", "CD_Animal Dog", "CD_Animal Puppy"])
    }

    @Test func historyThatIsPurgedBeforeItWasSentLosesNothing() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try tablet.edit { context in for title in ["kept", "edited", "deleted"] { context.insert("Post", ["title": title]) } }
        try await tablet.container.sync(timeout: .seconds(600))
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
        for device in [again, phone] { try await device.container.sync(timeout: .seconds(600)) }
        #expect(try phone.dump == "Post  content new  title edited\nPost  title kept\nPost  title made")
    }

    @Test func aPinnedViewStandsStillWhileAnImportRuns() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { $0.insert("Post", ["title": "first"]) }
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        let view = phone.container.newBackgroundContext()
        func titles() throws -> [String] {
            try view.performAndWait { try view.all("Post").compactMap { $0.value(forKey: "title") as? String }.sorted() }
        }
        try view.performAndWait { try view.setQueryGenerationFrom(.current) }
        #expect(try titles() == ["first"])
        try tablet.edit { context in for number in 0..<450 { context.insert("Post", ["title": "more \(number)"]) } }
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        #expect(try phone.read { try $0.all("Post").count } == 451)
        #expect(try titles() == ["first"])
        try view.performAndWait { try view.setQueryGenerationFrom(.current) }
        #expect(try titles().count == 451)
    }

    @Test func anAppTellsWhatOthersChangedFromWhatItChanged() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try tablet.edit { $0.insert("Post", ["title": "theirs"]) }
        try phone.edit { $0.insert("Post", ["title": "mine"]) }
        let token = phone.container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
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
        // The export of the tag began with its save.
        try await phone.container.sync(timeout: .seconds(600))
    }

    @Test func objectsOutsideOfTheCloudConfigurationAreLocal() async throws {
        let cloud = try InProcessCloud()
        let model: Model = {
            var model = Posts.model
            model.entities.append(Entity(name: "Draft", attributes: [Attribute(name: "text", type: .string)]))
            model.configurations = ["Cloud": ["Post", "Tag", "Attachment", "ImageData"], "Local": ["Draft"]]
            return model
        }()
        let file = TestScope.temporaryFolder().appendingPathComponent("Posts.sqlite")
        let local = NSPersistentStoreDescription(url: file.deletingLastPathComponent().appendingPathComponent("Local.sqlite"))
        local.configuration = "Local"
        // No user is signed in, and the private database is the user's nevertheless.
        let tablet = try Device(
            "tablet", cloud.addVisitor(device: "tablet"), file: file, model: model, beside: [local],
            describe: { $0.configuration = "Cloud" })
        let ids = try tablet.read { context in
            let post = context.insert("Post", ["title": "a"]), draft = context.insert("Draft", ["text": "b"])
            let temporary = post.objectID
            try context.save()
            return [temporary, post.objectID, draft.objectID]
        }
        for id in ids {
            #expect(tablet.container.canUpdateRecord(forManagedObjectWith: id))
            #expect(tablet.container.canDeleteRecord(forManagedObjectWith: id))
        }
        for store in tablet.container.persistentStoreCoordinator.persistentStores {
            #expect(tablet.container.canModifyManagedObjects(in: store))
        }
        #expect(tablet.container.permissionLooks == 0)
        #expect(tablet.container.recordID(for: ids[2]) == nil)
        #expect(tablet.container.record(for: ids[1]) == nil)
    }

    // MARK: Types

    /// Every type of attribute twice: optional, and with a default value.
    private static var types: Model {
        let kinds: [(String, AttributeType, StoredValue)] = [
            ("short", .integer16, .int(7)), ("int", .integer32, .int(8)), ("long", .integer64, .int(9)), ("flag", .boolean, .int(1)),
            ("double", .double, .double(0.5)), ("float", .float, .double(1.5)), ("decimal", .decimal, .decimal(Decimal(2.5))),
            ("date", .date, .date(1_000.25)), ("uuid", .uuid, .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))),
            ("uri", .uri, .url("https://example.org/d")), ("text", .string, .string("default")), ("bytes", .binaryData, .data(Data([1]))),
        ]
        var attributes = kinds.flatMap { name, type, value in
            [Attribute(name: name, type: type), Attribute(name: name + "Set", type: type, isOptional: false, defaultValue: value)]
        }
        var list = Attribute(name: "list", type: .transformable)
        list.valueTransformerName = "NSSecureUnarchiveFromData"
        attributes.append(list)
        return Model(entities: [Entity(name: "Thing", attributes: attributes + [Attribute(name: "label", type: .string)])])
    }

    private func things(_ device: Device) throws -> [String] {
        try device.read { context in
            try context.all("Thing").map { thing in
                let names = thing.entity.attributesByName.keys.sorted()
                return names.map { name in
                    switch thing.value(forKey: name) {
                    case nil: "\(name) –"
                    case let data as Data: "\(name) \([UInt8](data))"
                    case let date as Date: "\(name) \(date.timeIntervalSinceReferenceDate)"
                    case let list as [String]: "\(name) \(list)"
                    case let value?: "\(name) \(value)"
                    }
                }.joined(separator: "  ")
            }.sorted()
        }
    }

    @Test func everyTypeTravelsWithItsLeastAndItsGreatestValueAndWithout() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.types)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), model: Self.types)
        @Sendable func insert(_ context: NSManagedObjectContext, _ label: String, _ values: [String: any Sendable]) {
            let thing = context.insert("Thing", ["label": label])
            for (name, value) in values {
                thing.setValue(value, forKey: name)
                if name != "list" { thing.setValue(value, forKey: name + "Set") }
            }
        }
        let least: [String: any Sendable] = [
            "short": Int16.min, "int": Int32.min, "long": Int64.min, "flag": false, "double": -Double.greatestFiniteMagnitude,
            "float": -Float.greatestFiniteMagnitude, "decimal": Decimal(string: "-12345.0625") ?? 0,
            "date": Date(timeIntervalSince1970: -62_135_596_800),
            "uuid": UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), "text": "", "bytes": Data(),
        ]
        let greatest: [String: any Sendable] = [
            "short": Int16.max, "int": Int32.max, "long": Int64.max, "flag": true, "double": Double.greatestFiniteMagnitude,
            "float": Float.leastNonzeroMagnitude, "decimal": Decimal(string: "98765432.125") ?? 0,
            "date": Date(timeIntervalSince1970: 253_402_300_799.999),
            "uuid": UUID(), "text": "\u{0}𝄞 \u{10FFFF} e\u{301} \"\\\n", "bytes": Data((0...255).map { UInt8($0) }), "list": ["a", "ü"],
        ]
        let address = URL(string: "https://example.org/a?b=%20#c")
        try tablet.edit { context in
            insert(context, "nothing", [:])
            insert(context, "least", least)
            insert(context, "greatest", address.map { greatest.merging(["uri": $0]) { $1 } } ?? greatest)
        }
        for device in [tablet, phone] { try await device.container.sync(timeout: .seconds(600)) }
        let sent = try things(tablet)
        #expect(try things(phone) == sent)
        #expect(sent.count == 3)
        #expect(sent.contains { $0.contains("long -9223372036854775808") })
        #expect(sent.contains { $0.contains("textSet default") })
        // Cleared on the other device, all of them are nil or their defaults again, and nothing is in dispute.
        try phone.edit { context in
            for thing in try context.all("Thing") {
                for (name, attribute) in thing.entity.attributesByName where name != "label" {
                    thing.setValue(attribute.isOptional ? nil : attribute.defaultValue, forKey: name)
                }
            }
        }
        for device in [phone, tablet] { try await device.container.sync(timeout: .seconds(600)) }
        let cleared = try things(tablet)
        #expect(try things(phone) == cleared)
        #expect(Set(cleared.map { $0.replacing(/label \w+/, with: "") }).count == 1)
        #expect(try tablet.container.conflicts().isEmpty)
        #expect(try phone.container.conflicts().isEmpty)
    }

    /// Links and relationships arrive before their targets, in saves and pages of their own.
    @Test func deferredReferencesAreResolvedOnArrival() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
        try await tablet.container.sync(timeout: .seconds(600))
        let client = CloudDatabaseClient(
            containerIdentifier: Device.containerIdentifier, environment: .development, scope: .private,
            transport: try await cloud.addDevice("script", of: "mia"))
        func create(_ name: String, _ type: String, _ fields: [String: Field]) async throws {
            let operation = RecordOperation(.create, Record(recordName: name, recordType: type, fields: fields))
            let answer = try await client.modifyRecords(
                ModifyRecordsRequest(operations: [operation], zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")),
                idempotencyKey: name)
            for case .failure(_, let error, _) in answer.results { Issue.record("\(error.reason)") }
            try await tablet.container.sync(timeout: .seconds(600))
        }
        try await create(
            "L", "CDMR",
            [
                "CD_entityNames": Field(.string("Post:Tag")), "CD_recordNames": Field(.string("P:T")),
                "CD_relationships": Field(.string("tags:posts")),
            ])
        try await create("A", "CD_Attachment", ["CD_entityName": Field(.string("Attachment")), "CD_post": Field(.string("P"))])
        #expect(try tablet.dump == "Attachment")
        try await create("T", "CD_Tag", ["CD_entityName": Field(.string("Tag")), "CD_name": Field(.string("tag"))])
        try await create("P", "CD_Post", ["CD_entityName": Field(.string("Post")), "CD_title": Field(.string("post"))])
        #expect(
            try tablet.dump == """
                Attachment  post → post
                Post  title post  attachments ["Attachment"]  tags ["tag"]
                Tag  name tag  posts ["post"]
                """)
    }
}
