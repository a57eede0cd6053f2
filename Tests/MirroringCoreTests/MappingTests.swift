// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import Testing
import ValueSimulation

/// Rows as records on the server: one device sends, another one receives.
@Suite struct MappingTests {
    private static let types: [(AttributeType, StoredValue, FieldValue)] = [
        (.integer16, .int(-32_768), .int64(-32_768)), (.integer32, .int(7), .int64(7)), (.integer64, .int(.max), .int64(.max)),
        (.boolean, .int(1), .int64(1)), (.double, .double(0.1), .double(0.1)), (.float, .double(1.5), .double(1.5)),
        (.decimal, .decimal(Decimal(string: "12345.678") ?? 0), .double(12345.678)),
        (.date, .date(-978_307_200), .timestamp(0)), (.date, .date(0.5), .timestamp(978_307_200_500)),
        (.string, .string("a 𝄞 b"), .string("a 𝄞 b")), (.uri, .url("https://a.example/b"), .string("https://a.example/b")),
        (
            .uuid, .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
            .string("01020304-0506-0708-090A-0B0C0D0E0F10")
        ),
        (.binaryData, .data(Data([0, 255])), .bytes([0, 255])), (.transformable, .data(Data([1])), .bytes([1])),
    ]

    /// A device with one entity that has one attribute.
    private func device(_ name: String, _ attribute: Attribute) throws -> Replica {
        var replica = Replica(name)
        replica.mapping = RecordMapping(model: try ResolvedModel(Model(entities: [Entity(name: "Thing", attributes: [attribute])])))
        return replica
    }

    @Test(arguments: types.indices) func everyAttributeTypeRoundTripsThroughARecord(_ index: Int) throws {
        let (type, stored, field) = Self.types[index]
        var server = ServerModel()
        var sender = try device("A", Attribute(name: "x", type: type)), receiver = try device("B", Attribute(name: "x", type: type))
        let key = sender.insertThing(["x": stored])
        sender.sync(&server)
        #expect(server.records["A1"]?.fields == ["CD_entityName": Field(.string("Thing")), "CD_x": Field(field)])
        #expect(server.records["A1"]?.recordType == "CD_Thing")
        receiver.sync(&server)
        #expect(receiver.liveKeys.first.flatMap { receiver.value("x", of: $0) } == stored)
        // A received value is not a change, and a cleared one is absent.
        receiver.touchThing()
        let before = server
        receiver.sync(&server)
        #expect(server.records == before.records)
        sender.set("x", of: key, to: .null)
        sender.sync(&server)
        receiver.sync(&server)
        #expect(server.records["A1"]?.fields["CD_x"] == nil)
        #expect(receiver.liveKeys.first.flatMap { receiver.value("x", of: $0) } == .null)
    }

    @Test func aDateKeepsItsFractionOfAMillisecondOnItsOwnDevice() throws {
        var server = ServerModel()
        var sender = Replica("A"), receiver = Replica("B")
        let post = sender.insert("Post", ["timestamp": .date(100.123456)])
        sender.sync(&server)
        receiver.sync(&server)
        receiver.set("title", of: receiver.liveKeys[0], to: .string("edited"))
        receiver.sync(&server)
        sender.sync(&server)
        #expect(sender.value("title", of: post) == .string("edited"))
        #expect(sender.value("timestamp", of: post) == .date(100.123456))
        #expect(sender.pendingRecords.isEmpty)
        #expect(receiver.value("timestamp", of: receiver.liveKeys[0]) == .date(100.123))
    }

    @Test func aValueWithoutFieldRepresentationIsOmittedAndNotResent() throws {
        var server = ServerModel()
        var sender = try device("A", Attribute(name: "x", type: .double))
        let key = sender.insertThing(["x": .double(.nan)])
        sender.sync(&server)
        #expect(server.records["A1"]?.fields["CD_x"] == nil)
        sender.set("x", of: key, to: .double(.infinity))
        let before = server
        sender.sync(&server)
        #expect(server.records == before.records)
    }

    @Test func toOneRelationshipsAreStringsAndManyToManyRowsAreRecords() {
        var server = ServerModel()
        var replica = Replica("A")
        let post = replica.insert("ImagePost", ["title": .string("P"), "caption": .string("C")])
        let tag = replica.insert("Tag", ["name": .string("T")])
        let attachment = replica.insert("Attachment", ["post": .reference(post)])
        let image = replica.insert("ImageData", ["attachment": .reference(attachment)])
        replica.setLinked(true, tag, "posts", post)
        replica.sync(&server)
        let (names) = [post, tag, attachment, image].map { replica.name(of: $0) ?? "?" }
        func text(_ key: RowKey, _ field: String) -> String? {
            guard case .string(let text)? = server.records[replica.name(of: key) ?? ""]?.fields[field]?.value else { return nil }
            return text
        }
        #expect(server.records[names[0]]?.recordType == "CD_Post")
        #expect(text(post, "CD_entityName") == "ImagePost")
        #expect(text(attachment, "CD_post") == names[0])
        #expect(text(attachment, "CD_imageData") == names[3])
        #expect(text(image, "CD_attachment") == names[2])
        #expect(server.records[names[0]]?.fields.keys.sorted() == ["CD_caption", "CD_entityName", "CD_title", "CD_views"])
        let link = server.links.first
        #expect(server.links.count == 1)
        #expect(link?.recordType == "CDMR")
        #expect(
            link?.fields == [
                "CD_entityNames": Field(.string("Post:Tag")), "CD_relationships": Field(.string("tags:posts")),
                "CD_recordNames": Field(.string("\(names[0]):\(names[1])")),
            ])
    }

    @Test func longValuesAreSentAsAssetsAndShortOnesAsFields() {
        var server = ServerModel()
        var sender = Replica("A"), receiver = Replica("B")
        let limit = String(repeating: "x", count: 750_000)
        let post = sender.insert("Post", ["title": .string(limit), "content": .string(limit + "x")])
        sender.sync(&server)
        #expect(fields(of: "A1", in: server) == ["CD_content_ckAsset", "CD_title", "CD_views"])
        receiver.sync(&server)
        #expect(receiver.dump == sender.dump)

        // Together too long for a record: the longest moves, changed or not.
        sender.set("content", of: post, to: .string(String(limit.prefix(400_000))))
        sender.sync(&server)
        #expect(fields(of: "A1", in: server) == ["CD_content", "CD_title_ckAsset", "CD_views"])
        receiver.sync(&server)
        #expect(receiver.dump == sender.dump)

        sender.set("title", of: post, to: .string("short"))
        sender.sync(&server)
        #expect(fields(of: "A1", in: server) == ["CD_content", "CD_title", "CD_views"])
        receiver.sync(&server)
        #expect(receiver.dump == sender.dump)
        #expect(receiver.conflicts.isEmpty)
    }

    private func fields(of name: String, in server: ServerModel) -> [String]? {
        server.records[name]?.fields.keys.filter { $0 != "CD_entityName" }.sorted()
    }

    @Test func onlyChangedFieldsAreSent() {
        var server = ServerModel()
        var replica = Replica("A")
        let post = replica.insert("Post", ["title": .string("t"), "content": .string("c")])
        replica.sync(&server)
        replica.set("content", of: post, to: .null)
        replica.set("title", of: post, to: .string("new"))
        replica.set("title", of: post, to: .string("t"))
        replica.scan()
        let batch = replica.planBatch()
        #expect(batch.items.map(\.operation) == [.update])
        #expect(batch.items.first?.record.fields == ["CD_content": Field(nil)])
        #expect(batch.items[0].record.recordChangeTag == server.records["A1"]?.recordChangeTag)
    }

    @Test func anAddedAttributeIsNotClearedOnTheServer() throws {
        var server = ServerModel()
        let old = [Attribute(name: "x", type: .string)], new = old + [Attribute(name: "y", type: .string)]
        var newer = Replica("A"), older = Replica("B")
        newer.mapping = RecordMapping(model: try ResolvedModel(Model(entities: [Entity(name: "Thing", attributes: new)])))
        older.mapping = RecordMapping(model: try ResolvedModel(Model(entities: [Entity(name: "Thing", attributes: old)])))
        newer.insertThing(["x": .string("1"), "y": .string("2")])
        newer.sync(&server)
        older.sync(&server)
        #expect(older.mapping.fingerprint != newer.mapping.fingerprint)
        older.upgrade(to: newer.mapping)
        older.set("x", of: older.liveKeys[0], to: .string("3"))
        older.export(to: &server)
        #expect(server.records["A1"]?.fields["CD_y"] == Field(.string("2")))
        older.startFullFetch()
        older.sync(&server)
        #expect(older.value("y", of: older.liveKeys[0]) == .string("2"))
        #expect(older.pendingRecords.isEmpty)
    }

    @Test func allViolationsOfModelRulesAreReported() throws {
        var model = TestModel.model
        model.entities[0].attributes[0].isOptional = false
        model.entities[0].uniquenessConstraints = [["title"]]
        model.entities[0].relationships[1].isOptional = false
        model.entities[0].attributes.append(Attribute(name: "bag", type: .undefined))
        model.entities[2].attributes.append(Attribute(name: "größe", type: .string))
        model.entities[2].relationships[0].deleteRule = .deny
        model.entities[3].relationships.append(Relationship(name: "lone", destination: "Tag"))
        let resolved = try ResolvedModel(model)
        #expect(
            CloudModelRules.violations(of: resolved).map(\.description).sorted() == [
                "Attachment.lone must have an inverse",
                "Post must not have uniqueness constraints",
                "Post.bag has a type that cannot be mirrored", "Post.tags must be optional",
                "Post.title must be optional or have a default value",
                "Tag.größe has a name with other characters than letters, digits and underscores, or that does not start with a letter",
                "Tag.posts must not have the delete rule Deny",
            ])
        #expect(CloudModelRules.violations(of: TestModel.resolved).isEmpty)
    }

    @Test func compositeAttributesHaveAFieldForEachLeaf() throws {
        var model = TestModel.model
        var home = Attribute(name: "home", type: .composite)
        home.elements = [Attribute(name: "city", type: .string), Attribute(name: "number", type: .integer32)]
        model.entities[2].attributes.append(home)
        var server = ServerModel()
        var sender = Replica("A"), receiver = Replica("B")
        let mapping = RecordMapping(model: try ResolvedModel(model))
        (sender.mapping, receiver.mapping) = (mapping, mapping)
        let tag = sender.insert(entity: try #require(mapping.model.entity(named: "Tag")))
        sender.set("home.city", of: tag, to: .string("Ulm"))
        sender.set("home.number", of: tag, to: .int(7))
        sender.sync(&server)
        #expect(server.records["A1"]?.fields.keys.sorted() == ["CD_entityName", "CD_home_city", "CD_home_number"])
        receiver.sync(&server)
        #expect(receiver.dump == sender.dump)
        #expect(receiver.dump.contains("Ulm"))
        #expect(CloudModelRules.violations(of: mapping.model).isEmpty)
        // A field cannot be two properties', and each leaf keeps the rules of attributes.
        model.entities[2].attributes.append(Attribute(name: "home_city", type: .string))
        model.entities[2].attributes[1].elements[1].isOptional = false
        let violations = CloudModelRules.violations(of: try ResolvedModel(model)).map(\.description)
        #expect(violations.count == 2)
        #expect(violations.contains("Tag.home.number must be optional or have a default value"))
        #expect(violations.contains { $0.contains("shares a field") })
    }

    /// A property that overwrites the name of an object's entity hides the object on every other device.
    @Test func aPropertyMayNotUseAReservedField() throws {
        func violations(_ names: [String], below: String? = nil) throws -> [String] {
            let entity = Entity(name: "Note", attributes: names.map { Attribute(name: $0, type: .string) })
            let heir = Entity(
                name: "List", superentity: "Note", attributes: [below].compactMap(\.self).map { Attribute(name: $0, type: .integer64) })
            return CloudModelRules.violations(of: try ResolvedModel(Model(entities: [entity, heir]))).map(\.description)
        }
        let taken = "which records have for something else"
        #expect(try violations(["entityName", "recordName", "title"]) == ["Note.entityName needs the field CD_entityName, \(taken)"])
        #expect(try violations(["moveReceipt"]) == ["Note.moveReceipt needs the field CD_moveReceipt, \(taken)"])
        #expect(try violations(["ckMerged", "entityNames"]) == ["Note.ckMerged needs the field CD_ckMerged, \(taken)"])
        #expect(
            try violations(["title"], below: "title_ckAsset") == [
                "List.title_ckAsset needs the field CD_title_ckAsset, where long values of Note.title go"
            ])
    }

    @Test func relationshipsStayInTheConfigurationAndTypesHaveAtMost256Fields() throws {
        var model = TestModel.model
        model.configurations = ["Cloud": ["Post", "ImagePost", "Attachment", "ImageData"]]
        #expect(
            CloudModelRules.violations(of: try ResolvedModel(model), configuration: "Cloud").map(\.description)
                == ["Post.tags leaves the store's configuration"])
        func wide(_ count: Int) throws -> [String] {
            let attributes = (0..<count).map { Attribute(name: "a\($0)", type: .string) } + [Attribute(name: "n", type: .double)]
            return CloudModelRules.violations(of: try ResolvedModel(Model(entities: [Entity(name: "Wide", attributes: attributes)]))).map(
                \.description)
        }
        #expect(try wide(126) == [])
        #expect(try wide(127) == ["Wide and its subentities need 258 fields, more than the 256 of a record type"])
    }
}
