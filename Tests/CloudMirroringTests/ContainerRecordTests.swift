// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import SQLiteStore
import TestBasics
import Testing

/// `record(for:)`: the record of an object has the contents of a record that `CKDatabase` fetched.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct ContainerRecordTests {
    /// An attribute of every type that is mirrored, and relationships of every shape.
    private static var model: Model {
        let types: [(String, AttributeType)] = [
            ("short", .integer16), ("medium", .integer32), ("long", .integer64), ("flag", .boolean), ("double", .double), ("float", .float),
            ("decimal", .decimal), ("title", .string), ("text", .string), ("date", .date), ("bytes", .binaryData), ("image", .binaryData),
            ("uuid", .uuid), ("address", .uri), ("empty", .string),
        ]
        var model = Posts.model
        model.entities[0].attributes = types.map { Attribute(name: $0, type: $1) }
        return model
    }

    private static func insert(_ context: NSManagedObjectContext) {
        let post = context.insert(
            "Post",
            [
                "short": 7, "medium": 70_000, "long": 7_000_000_000, "flag": true, "double": 1.5, "float": Float(0.25),
                "decimal": Decimal(12.5),
                "title": "all", "text": "é è", "date": Date(timeIntervalSince1970: 1_600_000_000),
                "bytes": Data([1, 2, 3]), "image": Data(repeating: 7, count: 760_000), "uuid": UUID(),
                "address": URL(fileURLWithPath: "/a"),
            ])
        let attachment = context.insert("Attachment", ["thumbnail": Data([9])])
        attachment.setValue(post, forKey: "post")
        post.setValue(Set([context.insert("Tag", ["name": "tag"])]), forKey: "tags")
    }

    /// Every documented member of a record, by name.
    ///
    /// Source: developer.apple.com/documentation/cloudkit/ckrecord
    private static func members(of record: CKRecord) -> [String: String] {
        var members: [String: String] = [
            "recordID": "\(record.recordID.recordName) \(record.recordID.zoneID)", "recordType": record.recordType,
            "recordChangeTag": "\(String(describing: record.recordChangeTag))",
            "creationDate": "\(String(describing: record.creationDate))",
            "creatorUserRecordID": "\(String(describing: record.creatorUserRecordID?.recordName))",
            "modificationDate": "\(String(describing: record.modificationDate))",
            "lastModifiedUserRecordID": "\(String(describing: record.lastModifiedUserRecordID?.recordName))",
            "parent": "\(String(describing: record.parent?.recordID.recordName))",
            "share": "\(String(describing: record.share?.recordID.recordName))",
            "allKeys": "\(record.allKeys())", "changedKeys": "\(record.changedKeys())", "allTokens": "\(record.allTokens().sorted())",
        ]
        for key in record.allKeys() { members["[\(key)]"] = record[key] is CKAsset ? "asset" : "\(String(describing: record[key]))" }
        return members
    }

    private func compare(_ device: Device, in database: CKDatabase, _ place: String) async throws {
        let ids = try device.read { context in try ["Post", "Attachment", "Tag"].flatMap { try context.all($0).map(\.objectID) } }
        #expect(ids.count == 3, "\(place)")
        let records = device.container.records(for: ids)
        for id in ids {
            let stored = try #require(device.container.record(for: id), "\(place)")
            #expect(records[id]?.recordID == stored.recordID)
            let fetched = try await database.record(for: stored.recordID)
            let (here, there) = (Self.members(of: stored), Self.members(of: fetched))
            for key in Set(here.keys).union(there.keys).sorted() {
                #expect(here[key] == there[key], "\(place): \(stored.recordType).\(key)")
            }
            #expect(stored.creationDate != nil, "\(place)")
            #expect(stored.creatorUserRecordID != nil, "\(place)")
            #expect(stored.modificationDate != nil, "\(place)")
        }
    }

    @Test func privateRecordsHaveWhatFetchedRecordsHave() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.model)
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"), model: Self.model)
        try tablet.edit(Self.insert)
        try await tablet.sync()
        try await compare(tablet, in: tablet.account.privateCloudDatabase, "after the export")
        // The talk's code.
        let me = try await tablet.account.userRecordID()
        let id = try tablet.postID("all")
        #expect(tablet.container.record(for: id)?.creatorUserRecordID == me)
        try await phone.sync()
        try await compare(phone, in: phone.account.privateCloudDatabase, "after the import")
        cloud.clock.advance(by: .seconds(60))
        try phone.set("all", "empty", "full")
        try await phone.sync()
        try await compare(phone, in: phone.account.privateCloudDatabase, "after an exported edit")
        try await tablet.sync()
        try await compare(tablet, in: tablet.account.privateCloudDatabase, "after an imported edit")
    }

    /// A client of another kind puts records into hierarchies.
    @Test func parentsAndSharesOfRecordsAreStored() async throws {
        let cloud = try InProcessCloud()
        let tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.model)
        try tablet.edit(Self.insert)
        try await tablet.sync()
        let database = tablet.account.privateCloudDatabase
        let ids = try tablet.read { context in try ["Post", "Attachment"].map { try #require(try context.all($0).first).objectID } }
        let names = try ids.map { try #require(tablet.container.recordID(for: $0)) }
        let (post, attachment) = (try await database.record(for: names[0]), try await database.record(for: names[1]))
        attachment.setParent(post)
        _ = try await database.save(attachment)
        _ = try await database.modifyRecords(saving: [post, CKShare(rootRecord: post)], deleting: [])
        try await tablet.sync()
        #expect(tablet.container.record(for: ids[1])?.parent?.recordID == names[0])
        #expect(tablet.container.record(for: ids[0])?.share != nil)
        try await compare(tablet, in: database, "in a hierarchy")
    }

    @Test func publicRecordsHaveWhatFetchedRecordsHave() async throws {
        let cloud = try InProcessCloud()
        let mia = try publicDevice(try await cloud.addUser("mia", device: "tablet"))
        let ben = try publicDevice(try await cloud.addUser("ben", device: "phone"))
        try mia.edit(Self.insert)
        try await mia.sync()
        try await compare(mia, in: mia.account.publicCloudDatabase, "after the export")
        try await ben.sync()
        try await compare(ben, in: ben.account.publicCloudDatabase, "after the import")
        let me = try await mia.account.userRecordID()
        #expect(mia.container.record(for: try mia.postID("all"))?.creatorUserRecordID == me)
        #expect(ben.container.record(for: try ben.postID("all"))?.creatorUserRecordID == me)
    }

    private func publicDevice(_ transport: InProcessTransport) throws -> Device {
        try Device("public", transport, model: Self.model, describe: { $0.cloudKitContainerOptions?.databaseScope = .public })
    }

    @Test func sharedRecordsHaveWhatFetchedRecordsHave() async throws {
        let cloud = try InProcessCloud()
        let mia = try Device.sharing("tablet", try await cloud.addUser("mia", device: "tablet"), model: Self.model)
        let ben = try Device.sharing("phone", try await cloud.addUser("ben", device: "phone"), model: Self.model)
        try mia.edit(Self.insert)
        try await mia.sync()
        let share = try await mia.share("all")
        try await mia.sync()
        try await compare(mia, in: mia.account.privateCloudDatabase, "at the owner's")
        try await ben.join(share)
        try await ben.sync()
        try await compare(ben, in: ben.account.sharedCloudDatabase, "at the participant's")
        cloud.clock.advance(by: .seconds(60))
        try ben.set("all", "empty", "full")
        try await ben.sync()
        try await mia.sync()
        try await compare(mia, in: mia.account.privateCloudDatabase, "after the participant's edit")
    }

    /// Records that an earlier version stored have their creator, and their creation date with the next response that holds them.
    @Test func creationDatesFillInForStoresOfEarlierFormats() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let first = try Device("tablet", transport, model: Self.model)
        try first.edit(Self.insert)
        try await first.sync()
        await first.container.stopSyncing()
        let store = try #require(first.container.persistentStoreCoordinator.persistentStores.first)
        try store.storage.write { writer in
            for statement in FormatTests.withoutSystemFields + ["UPDATE TARN_STATE SET value = 10 WHERE key = 'format'"] {
                try writer.execute(statement)
            }
        }
        try await first.kill()
        let again = try Device("tablet", transport, file: first.file, model: Self.model)
        try await again.sync()
        let id = try again.postID("all")
        #expect(again.container.record(for: id)?.creatorUserRecordID == (try await again.account.userRecordID()))
        #expect(again.container.record(for: id)?.creationDate == nil)
        try again.set("all", "empty", "full")
        try await again.sync()
        #expect(again.container.record(for: id)?.creationDate != nil)
    }
}
