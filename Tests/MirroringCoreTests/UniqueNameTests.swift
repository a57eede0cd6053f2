// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import Testing

/// Record names that follow from values, and rules for constraints.
@Suite struct UniqueNameTests {
    private static func model(_ change: (inout Entity) -> Void = { _ in }) throws -> ResolvedModel {
        var tag = Entity(name: "Tag", attributes: [Attribute(name: "name", type: .string), Attribute(name: "color", type: .string)])
        tag.uniquenessConstraints = [["name"]]
        change(&tag)
        var heir = Entity(name: "Hashtag", superentity: "Tag", attributes: [Attribute(name: "page", type: .string)])
        heir.uniquenessConstraints = [["page"]]
        var person = Entity(
            name: "Person",
            attributes: [
                Attribute(name: "first", type: .string), Attribute(name: "born", type: .integer64), Attribute(name: "at", type: .date),
            ])
        person.uniquenessConstraints = [["first", "born"], ["at"]]
        return try ResolvedModel(Model(entities: [tag, heir, person]))
    }

    private func names(_ entity: String, _ values: [String: StoredValue], attempt: Int = 0) throws -> [String] {
        let model = try Self.model()
        let mapping = RecordMapping(model: model, allowing: [.uniquenessConstraints])
        let entity = try #require(model.entity(named: entity))
        var row = Row(key: RowKey(store: 0, entity: entity.index, primaryKey: 1), version: 1, values: entity.defaultValues)
        for (name, value) in values { if case .slot(let slot)? = entity.location(of: name) { row.values[slot] = value } }
        return mapping.uniqueValues(of: row).map { mapping.recordName(for: $0, attempt: attempt) }
    }

    /// Names of released versions never change: two versions of an app have to make the same.
    @Test func uniqueNamesAreEqualOnEveryDeviceAndVersion() throws {
        #expect(try names("Tag", ["name": .string("swift")]) == ["BC31A1EF-258E-89B3-A679-D16C735E323D"])
        #expect(try names("Tag", ["name": .string("swift")], attempt: 1) == ["CF043CEF-025A-8B71-9A71-2340682A0A96"])
        #expect(try names("Person", ["first": .string("Mia"), "born": .int(1984)]) == ["B4B46F8D-0CC7-821E-B0DF-C00638A3271D"])
    }

    @Test func aSubentityHasTheUniqueNameOfItsSuperentity() throws {
        let heir = try names("Hashtag", ["name": .string("swift"), "page": .string("p")])
        #expect(heir.count == 2)
        #expect(try heir.first == names("Tag", ["name": .string("swift")]).first)
    }

    @Test func objectsWithoutAUniqueValueAreNotCompared() throws {
        #expect(try names("Person", ["first": .string("Mia")]).isEmpty)
        #expect(try names("Tag", [:]).isEmpty)
    }

    /// A date travels in milliseconds.
    @Test func uniqueNamesUseValuesAsTheyAreSent() throws {
        #expect(try names("Person", ["at": .date(1000.0001)]) == names("Person", ["at": .date(1000)]))
        #expect(try names("Person", ["at": .date(1000.5)]) != names("Person", ["at": .date(1000)]))
        #expect(try names("Tag", ["name": .string("e\u{301}")]) != names("Tag", ["name": .string("\u{e9}")]))
    }

    private func violations(_ allowed: ModelExtensions, _ change: (inout Entity) -> Void = { _ in }) throws -> [String] {
        CloudModelRules.violations(of: try Self.model(change), allowing: allowed).map(\.description).filter { $0.contains("uniqueness") }
    }

    @Test func uniquenessConstraintsNeedTheModelExtension() throws {
        #expect(try violations([]).count == 3)
        #expect(try violations([.uniquenessConstraints]).isEmpty)
        #expect(
            try violations([.uniquenessConstraints]) { $0.attributes[0].allowsCloudEncryption = true }
                == ["Tag.name is part of a uniqueness constraint and cannot be encrypted"])
        #expect(
            try violations([.uniquenessConstraints]) { $0.attributes[0].type = .binaryData }
                == ["Tag.name is part of a uniqueness constraint and has a type that cannot be"])
    }
}
