// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import Testing

@Suite struct CompiledModelTests {
    /// A model in which every field differs from the blank one.
    private static var full: Model {
        var attribute = Attribute(
            name: "a", type: .decimal, isOptional: false, defaultValue: .decimal(Decimal(string: "1.10") ?? 0))
        attribute.isTransient = true
        (attribute.minimum, attribute.maximum, attribute.regularExpression) = (-1.5, 2.5, "a+\"\\")
        attribute.allowsExternalBinaryDataStorage = true
        attribute.allowsCloudEncryption = true
        attribute.preservesValueInHistoryOnDeletion = true
        attribute.usesScalarValueType = true
        attribute.isIndexedBySpotlight = true
        (attribute.valueTransformerName, attribute.valueClassName) = ("T", "[String]")
        (attribute.derivationExpression, attribute.compositeName) = ("now()", "C")
        (attribute.renamingIdentifier, attribute.versionHashModifier, attribute.userInfo) = ("r", "v", ["k": "é"])
        var relationship = Relationship(
            name: "r", destination: "E", inverse: "r", isToMany: true, isOrdered: true, isOptional: false,
            deleteRule: .deny)
        (relationship.minimumCount, relationship.maximumCount) = (1, 9)
        (relationship.isTransient, relationship.isIndexedBySpotlight, relationship.userInfo) = (true, true, ["k": ""])
        (relationship.renamingIdentifier, relationship.versionHashModifier) = ("r", "v")
        var template = FetchTemplate(name: "t", entity: "E", predicateFormat: "a == 1", fetchLimit: 1)
        (template.fetchBatchSize, template.resultType) = (2, 2)
        (template.includesSubentities, template.includesPropertyValues) = (false, false)
        (template.includesPendingChanges, template.returnsObjectsAsFaults) = (false, false)
        template.returnsDistinctResults = true
        var property = FetchedProperty(name: "f", request: template, isOptional: false)
        property.userInfo = ["k": "v"]
        var index = FetchIndex(name: "i", elements: [.init(property: "a", isAscending: false, isRTree: true)])
        index.partialPredicateFormat = "a > 0"
        var entity = Entity(
            name: "E", className: "C", superentity: "P", isAbstract: true, attributes: [attribute],
            relationships: [relationship])
        (entity.classModule, entity.fetchedProperties, entity.indexes) = ("M", [property], [index])
        (entity.uniquenessConstraints, entity.userInfo, entity.codeGeneration) = ([["a", "b"]], ["k": "v"], .category)
        (entity.renamingIdentifier, entity.versionHashModifier) = ("r", "v")
        entity.spotlightDisplayNameExpression = "a"
        var model = Model(
            entities: [entity], configurations: ["Cloud": ["E"]], versionIdentifiers: ["1"], fetchTemplates: [template])
        (model.cloudConfigurations, model.composites) = (["Cloud"], [Composite(name: "C", attributes: [attribute])])
        return model
    }

    @Test func everyFieldOfAModelSurvives() throws {
        let compiled = try CompiledModel(currentVersion: "2", versions: ["1": Model(), "2": Self.full])
        let read = try CompiledModel(data: try compiled.encoded())
        #expect(read == compiled)
        #expect(read.current == Self.full)
    }

    @Test(arguments: [
        StoredValue.null, .int(.min), .double(0.1), .decimal(Decimal(string: "12345678901234567890.12345") ?? 0),
        .string("\u{2028}\0"),
        .date(-0.25), .data(Data([0, 255])), .uuid(UUID()), .url("https://example.org/ä"),
    ])
    func everyKindOfDefaultValueSurvives(value: StoredValue) throws {
        let model = Model(entities: [
            Entity(name: "E", attributes: [Attribute(name: "a", type: .string, defaultValue: value)])
        ])
        let data = try CompiledModel(currentVersion: "1", versions: ["1": model]).encoded()
        #expect(try CompiledModel(data: data).current == model)
    }

    @Test func theSameModelGivesTheSameBytes() throws {
        var versions: [String: Model] = [:]
        for number in 1...9 { versions["V\(number)"] = Self.full }
        let first = try CompiledModel(currentVersion: "V1", versions: versions).encoded()
        let second = try CompiledModel(
            currentVersion: "V1", versions: Dictionary(uniqueKeysWithValues: versions.reversed())
        ).encoded()
        #expect(first == second)
    }

    @Test func fieldsOfLaterReleasesAreIgnored() throws {
        let text =
            #"{"format":1,"current":"1","versions":{"1":{"entities":[{"name":"E","isGolden":true}],"mood":"fine"}}}"#
        #expect(try CompiledModel(data: Data(text.utf8)).current == Model(entities: [Entity(name: "E")]))
    }

    @Test(arguments: [
        ("", CompiledModelError.Code.notACompiledModel), ("bplist00", .notACompiledModel), ("[1]", .notACompiledModel),
        (#"{"format":0}"#, .notACompiledModel), (#"{"format":"1"}"#, .notACompiledModel),
        (#"{"format":2,"contents":{}}"#, .newerFormat), (#"{"format":1}"#, .damaged),
        (#"{"format":1,"current":"A","versions":{"A":{}}}"#, .damaged),
        (
            #"{"format":1,"current":"A","versions":{"A":{"entities":[{"name":"E","attributes":[{"name":"a","type":7}]}]}}}"#,
            .damaged
        ),
        (#"{"format":1,"current":"B","versions":{"A":{"entities":[]}}}"#, .noCurrentVersion),
    ])
    func whatCannotBeReadSaysWhy(text: String, code: CompiledModelError.Code) {
        let error = #expect(throws: CompiledModelError.self) { try CompiledModel(data: Data(text.utf8)) }
        #expect(error?.code == code)
    }

    @Test func aNewerFormatIsReported() {
        let error = #expect(throws: CompiledModelError.self) { try CompiledModel(data: Data(#"{"format":9}"#.utf8)) }
        #expect(
            error?.description
                == "the compiled model was made by a newer release: format 9, this release reads up to 1")
    }

    @Test func processLocalDefaultValuesCannotBeWritten() throws {
        let key = RowKey(store: 0, entity: 0, primaryKey: 1)
        let model = Model(entities: [
            Entity(name: "E", attributes: [Attribute(name: "a", type: .string, defaultValue: .reference(key))])
        ])
        let compiled = try CompiledModel(currentVersion: "1", versions: ["1": model])
        let error = #expect(throws: CompiledModelError.self) { try compiled.encoded() }
        #expect(error?.code == .cannotBeWritten)
    }
}
