// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

/// Renamed entities, attributes and relationships have the record type and the fields of their first name.
@Suite struct RenamedPartsTests {
    private static var first: Model {
        Model(entities: [
            Entity(
                name: "Post", attributes: [Attribute(name: "title", type: .string)],
                relationships: [
                    Relationship(name: "tags", destination: "Tag", inverse: "posts", isToMany: true),
                    Relationship(name: "author", destination: "Author", inverse: "post"),
                ]),
            Entity(
                name: "Tag", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "posts", destination: "Post", inverse: "tags", isToMany: true)]),
            Entity(
                name: "Author", attributes: [Attribute(name: "name", type: .string)],
                relationships: [Relationship(name: "post", destination: "Post", inverse: "author")]),
        ])
    }

    /// Every part has another name. The new names are in another alphabetical order.
    private static var renamed: Model {
        var model = first
        model.entities[0].name = "Writing"
        model.entities[0].renamingIdentifier = "Post"
        model.entities[0].attributes[0].name = "headline"
        model.entities[0].attributes[0].renamingIdentifier = "title"
        model.entities[0].relationships[0].name = "aLabels"
        model.entities[0].relationships[0].renamingIdentifier = "tags"
        model.entities[0].relationships[0].destination = "Label"
        model.entities[0].relationships[0].inverse = "writings"
        model.entities[0].relationships[1].name = "writer"
        model.entities[0].relationships[1].renamingIdentifier = "author"
        model.entities[0].relationships[1].inverse = "writing"
        model.entities[1].name = "Label"
        model.entities[1].renamingIdentifier = "Tag"
        model.entities[1].relationships[0].name = "writings"
        model.entities[1].relationships[0].renamingIdentifier = "posts"
        model.entities[1].relationships[0].destination = "Writing"
        model.entities[1].relationships[0].inverse = "aLabels"
        model.entities[2].relationships[0].name = "writing"
        model.entities[2].relationships[0].renamingIdentifier = "post"
        model.entities[2].relationships[0].destination = "Writing"
        model.entities[2].relationships[0].inverse = "writer"
        return model
    }

    private func mapping(_ model: Model, _ allowed: ModelExtensions = []) throws -> RecordMapping {
        RecordMapping(model: try ResolvedModel(model), allowing: allowed)
    }

    @Test func everyVersionHasTheSameSchemaAndTheSameFingerprint() throws {
        let (old, new) = (try mapping(Self.first), try mapping(Self.renamed))
        #expect(CloudSchema(new) == CloudSchema(old))
        #expect(new.fingerprint == old.fingerprint)
        #expect(new.links.keys.map(\.entityNames) == ["Post:Tag"])
        #expect(new.links.keys.map(\.relationships) == ["tags:posts"])
    }

    @Test func recordsOfTheFirstVersionBelongToTheRenamedEntity() throws {
        let new = try mapping(Self.renamed)
        let record = Record(recordName: "p", recordType: "CD_Post", fields: ["CD_entityName": Field(.string("Post"))])
        #expect(new.entity(of: record)?.entity.name == "Writing")
        let link = Record(
            recordName: "l", recordType: "CDMR",
            fields: [
                "CD_entityNames": Field(.string("Tag:Post")), "CD_recordNames": Field(.string("t:p")),
                "CD_relationships": Field(.string("posts:tags")),
            ])
        #expect(new.pair(of: link) == (try mapping(Self.first)).pair(of: link))
        #expect(new.pair(of: link)?.first == "p")
    }

    @Test func recordNamesOfUniqueValuesAreTheSame() throws {
        var (old, new) = (Self.first, Self.renamed)
        old.entities[0].uniquenessConstraints = [["title"]]
        new.entities[0].uniquenessConstraints = [["headline"]]
        let record = Record(
            recordName: "p", recordType: "CD_Post", fields: ["CD_entityName": Field(.string("Post")), "CD_title": Field(.string("A"))])
        let names = try [old, new].map { model in
            let mapping = try mapping(model, .uniquenessConstraints)
            return mapping.uniqueValues(of: record).map { mapping.recordName(for: $0) }
        }
        #expect(names[0].count == 1)
        #expect(names[0] == names[1])
    }

    @Test func aPositionIsKeptUnderTheFirstNameOfTheRelationship() throws {
        var (old, new) = (Self.first, Self.renamed)
        old.entities[1].relationships[0] = Relationship(name: "posts", destination: "Post", inverse: "tag", isToMany: true, isOrdered: true)
        old.entities[0].relationships[0] = Relationship(name: "tag", destination: "Tag", inverse: "posts")
        new.entities[1].relationships[0].inverse = "label"
        new.entities[1].relationships[0].isOrdered = true
        new.entities[0].relationships[0] = Relationship(name: "label", destination: "Label", inverse: "writings")
        new.entities[0].relationships[0].renamingIdentifier = "tag"
        let (before, after) = (try mapping(old, .orderedRelationships), try mapping(new, .orderedRelationships))
        #expect(CloudSchema(before) == CloudSchema(after))
        let label = try #require(after.model.entity(named: "Label"))
        let list = OrderedList(owner: RowKey(store: 1, entity: label.index, primaryKey: 1), relationship: 0)
        #expect(after.rankedName(list) == "tag")
    }

    @Test func aDeletionLogsTheFirstNameOfTheEntity() throws {
        let entity = try #require(try mapping(Self.renamed).entities.values.first { $0.entity.name == "Writing" })
        let record = Record(
            recordName: "p", recordType: "CD_Post", fields: ["CD_entityName": Field(.string("Post")), "CD_title": Field(.string("A"))])
        let lost = entity.losing(record, since: Ancestor(), assets: [])
        #expect(lost.map(\.entity) == ["Post"])
        #expect(lost.map(\.property) == ["title"])
    }

    /// Two stores of one app: the other entity is in the other one, and has the name by chance.
    @Test func aNameOnTheServerIsThatOfTheConfigurationsEntity() throws {
        var model = Model(entities: [
            Entity(name: "Alpha", attributes: [Attribute(name: "text", type: .string)]),
            Entity(name: "Post", attributes: [Attribute(name: "title", type: .string)]),
        ])
        model.entities[0].renamingIdentifier = "Post"
        model.configurations = ["Synced": ["Post"], "Local": ["Alpha"]]
        let mapping = RecordMapping(model: try ResolvedModel(model), configuration: "Synced")
        #expect(mapping.entity(syncName: "Post")?.name == "Post")
    }

    // MARK: Names that a store was synced with

    @Test func aRenameLosesNothing() throws {
        let (old, new) = (ServerNames(try mapping(Self.first)), ServerNames(try mapping(Self.renamed)))
        #expect(old.losses(to: new).isEmpty)
        #expect(ServerNames(text: new.text) == new)
    }

    @Test func anIdentifierThatCameTooLateIsALoss() throws {
        var late = Self.first
        late.entities[0].attributes[0].renamingIdentifier = "headline"
        let losses = ServerNames(try mapping(Self.first)).losses(to: ServerNames(try mapping(late)))
        #expect(losses.map(\.part) == ["Post.title"])
        #expect(
            losses.first?.reason
                == "Post.title is 'title' in the records of this store, and the model gives it another name on the server; add syncName with the "
                + "value 'title' to its user info")
        late.entities[0].attributes[0].userInfo = ["syncName": "title"]
        #expect(ServerNames(try mapping(Self.first)).losses(to: ServerNames(try mapping(late))).isEmpty)
    }

    @Test func aNewPartMayHaveTheFormerNameOfAnotherOne() throws {
        var next = Self.first
        next.entities[0].attributes[0].name = "headline"
        next.entities[0].attributes[0].renamingIdentifier = "title"
        var title = Attribute(name: "title", type: .string)
        title.userInfo = ["syncName": "secondTitle"]
        next.entities[0].attributes.append(title)
        #expect(CloudModelRules.violations(of: try ResolvedModel(next)).isEmpty)
        #expect(ServerNames(try mapping(Self.first)).losses(to: ServerNames(try mapping(next))).isEmpty)
    }

    /// Stores of earlier releases have no list of names: their records say which ones they have.
    @Test func recordsWithTheNameInTheModelAreALoss() throws {
        let new = try mapping(Self.renamed)
        let former = Ancestor(fields: ["CD_title": Field(.string("A"))])
        #expect(new.loss(in: former, of: "Post") == nil)
        #expect(new.loss(in: Ancestor(fields: ["CD_headline": Field(.string("A"))]), of: "Post")?.part == "Writing.headline")
        #expect(new.loss(in: Ancestor(unapplied: ["CD_headline": Field(.string("A"))]), of: "Post")?.name == "headline")
        #expect(new.loss(in: former, of: "Writing")?.part == "Writing")
    }

    // MARK: Rules

    private func violations(_ change: (inout Model) -> Void) throws -> [String] {
        var model = Self.first
        change(&model)
        return CloudModelRules.violations(of: try ResolvedModel(model)).map(\.description)
    }

    @Test func aNameOnTheServerBelongsToOnePart() throws {
        #expect(try violations { $0.entities[2].renamingIdentifier = "Tag" } == ["Tag has the name of Author on the server, 'Tag'"])
        #expect(
            try violations {
                $0.entities[0].attributes.append(Attribute(name: "text", type: .string))
                $0.entities[0].attributes[1].renamingIdentifier = "title"
            } == ["Post.title has the name of text on the server, 'title'"])
        #expect(
            try violations { $0.entities[0].attributes[0].userInfo["syncName"] = "a title" } == [
                "Post.title is 'a title' on the server: a name there has letters, digits and underscores only"
            ])
    }

    @Test func aRetiredNameIsNotGivenAgain() throws {
        #expect(
            try violations {
                $0.entities[0].userInfo["syncRetired"] = "subtitle, rating"
                $0.entities[0].attributes.append(Attribute(name: "rating", type: .integer16))
            } == ["Post.rating has the name of a retired property on the server, 'rating'"])
    }
}
