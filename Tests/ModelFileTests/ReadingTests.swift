// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ModelFile
import ModelFolders
import Testing

@Suite struct ReadingTests {
    let library: ModelFileContents
    let model: Model

    init() throws {
        library = try ModelFolder(versions: ["Library": libraryExample]).read(module: "Books")
        model = library.compiled.current
    }

    private func entity(_ name: String) throws -> Entity { try #require(model.entities.first { $0.name == name }) }

    @Test func theFullExampleIsReadWithoutAWarning() { #expect(lines(library.warnings) == []) }

    @Test func entitiesKeepWhatTheirElementsSay() throws {
        let asset = try entity("Asset")
        #expect(asset.isAbstract)
        #expect(asset.codeGeneration == .class)
        #expect(asset.superentity == nil)
        #expect(asset.indexes == [FetchIndex(name: "byIdentifier", elements: [.init(property: "identifier")])])
        let book = try entity("Book")
        #expect(book.superentity == "Asset")
        #expect(book.renamingIdentifier == "Publication")
        #expect(book.className == "Book")
        #expect(book.uniquenessConstraints == [["identifier"]])
        #expect(book.userInfo == ["jsonKey": "book"])
        let property = try #require(book.fetchedProperties.first)
        #expect(property.name == "sameAuthor")
        #expect(property.request.predicateFormat == "author == $FETCH_SOURCE.author")
        let tag = try entity("Tag")
        #expect(tag.className == "Tag")
        #expect(tag.classModule == "Books")
        #expect(tag.versionHashModifier == "1")
        #expect(try entity("Person").codeGeneration == .category)
        #expect(tag.codeGeneration == .manual)
    }

    @Test func attributesKeepWhatTheirElementsSay() throws {
        let attributes = Dictionary(uniqueKeysWithValues: try entity("Book").attributes.map { ($0.name, $0) })
        func attribute(_ name: String) throws -> Attribute { try #require(attributes[name]) }

        var title = Attribute(name: "title", type: .string, isOptional: false, defaultValue: .string(""))
        (title.minimum, title.maximum, title.renamingIdentifier) = (1, 200, "headline")
        #expect(try attribute("title") == title)

        var palette = Attribute(name: "palette", type: .transformable)
        (palette.valueTransformerName, palette.valueClassName) = ("NSSecureUnarchiveFromData", "[String]")
        #expect(try attribute("palette") == palette)

        #expect(try attribute("cover").allowsExternalBinaryDataStorage)
        #expect(try attribute("secretNote").allowsCloudEncryption)
        #expect(try attribute("viewportState").isTransient)
        #expect(try attribute("tagCount").derivationExpression == "tags.@count")
        #expect(try attribute("isRead").defaultValue == .int(0))
        #expect(try attribute("price").defaultValue == .decimal(0))
        #expect(try entity("Asset").attributes.map(\.defaultValue) == [.date(0), .null])
        #expect(try entity("Asset").attributes.map(\.preservesValueInHistoryOnDeletion) == [false, true])
        #expect(try entity("Person").attributes.map(\.isIndexedBySpotlight) == [false, true])
        #expect(try entity("Person").attributes.map(\.compositeName) == ["Address", nil])
    }

    @Test func relationshipsKeepWhatTheirElementsSay() throws {
        #expect(
            try entity("Person").relationships == [
                Relationship(
                    name: "books", destination: "Book", inverse: "author", isToMany: true, deleteRule: .cascade)
            ])
        #expect(try entity("Book").relationships.map(\.maximumCount) == [1, 0])
    }

    @Test func theModelKeepsConfigurationsTemplatesAndComposites() {
        #expect(model.versionIdentifiers == ["library-2"])
        #expect(model.configurations == ["Cloud": ["Book", "Person", "Tag"], "Local": ["Asset"]])
        #expect(model.cloudConfigurations == ["Cloud"])
        #expect(model.composites.map(\.name) == ["Address", "Point"])
        #expect(model.composites.last?.attributes.map(\.defaultValue) == [.double(0), .double(0)])
        let predicate = "isRead == NO AND title CONTAINS[cd] $needle"
        #expect(
            model.fetchTemplates == [FetchTemplate(name: "UnreadBooks", entity: "Book", predicateFormat: predicate)])
    }

    @Test func aFetchRequestThatHasOneFlagHasNoOther() throws {
        let model = try ModelFolder(
            body: """
                <entity name="Note"/>
                <fetchRequest name="All" entity="Note" includeSubentities="YES" fetchLimit="5" fetchBatchSize="2" resultType="1"/>
                """)
        var expected = FetchTemplate(name: "All", entity: "Note", fetchLimit: 5)
        (expected.fetchBatchSize, expected.resultType) = (2, 1)
        expected.includesPropertyValues = false
        expected.includesPendingChanges = false
        expected.returnsObjectsAsFaults = false
        #expect(try model.read().compiled.current.fetchTemplates == [expected])
    }

    @Test func indexesOfOldFilesAreReadAsIndexes() throws {
        let model = try ModelFolder(
            body: """
                <entity name="Note">
                    <attribute name="title" attributeType="String" indexed="YES"/>
                    <attribute name="rank" attributeType="Double"/>
                    <compoundIndexes><compoundIndex><index value="title"/><index value="rank"/></compoundIndex></compoundIndexes>
                </entity>
                """)
        let note = try #require(try model.read().compiled.current.entities.first)
        #expect(
            note.indexes == [
                FetchIndex(name: "byTitleIndex", elements: [.init(property: "title")]),
                FetchIndex(name: "compoundIndex1", elements: [.init(property: "title"), .init(property: "rank")]),
            ])
    }

    @Test func theDefaultConfigurationIsNeverListed() throws {
        let model = try ModelFolder(
            body: """
                <entity name="Note"/>
                <configuration name="Default" usedWithCloudKit="true"/>
                """)
        let current = try model.read().compiled.current
        #expect(current.configurations.isEmpty)
        #expect(current.cloudConfigurations == ["Default"])
    }

    @Test(arguments: [
        ("Integer 16", "-32768", StoredValue.int(-32768)),
        ("Integer 32", "7.0", .int(7)),
        ("Integer 64", "9223372036854775807", .int(.max)),
        ("Double", "1e3", .double(1000)),
        ("Float", "0.5", .double(0.5)),
        ("Boolean", "true", .int(1)),
        (
            "Decimal", "12345678901234567890.123",
            .decimal(Decimal(sign: .plus, exponent: -3, significand: Decimal(string: "12345678901234567890123") ?? 0))
        ),
        ("String", " two words ", .string(" two words ")),
        ("URI", "https://example.org/a", .url("https://example.org/a")),
    ])
    func defaultValuesHaveTheirAttributesType(type: String, text: String, value: StoredValue) throws {
        let body =
            "<entity name=\"E\"><attribute name=\"a\" attributeType=\"\(type)\" defaultValueString=\"\(text)\"/></entity>"
        let model = try ModelFolder(body: body).read().compiled.current
        #expect(model.entities.first?.attributes.first?.defaultValue == value)
    }

    @Test(
        .enabled(if: !Package.models.isEmpty, "no models of Apple's stores beside the package"),
        arguments: Package.models)
    func modelsOfStoresThatApplesFrameworkWroteAreReadWithoutAWarning(model: URL) throws {
        #expect(lines(try ModelFileReader.read(contentsOf: model).warnings) == [])
    }
}
