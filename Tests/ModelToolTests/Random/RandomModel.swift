// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// Makes models that are valid and have every feature of model files somewhere, entities and properties sorted by name
/// as files have them.
struct RandomModel {
    var random: RandomSource
    /// In front of each class name, so that several models fit into one module.
    let prefix: String
    private var model = Model()

    static let types: [AttributeType] = [
        .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData, .uuid, .uri, .transformable,
        .composite, .undefined, .objectID,
    ]
    static let words = [
        "angle", "born", "color", "default", "extra", "für", "gap", "height", "in", "join", "key", "length", "mark", "note", "on", "part",
        "quality", "repeat", "size", "title", "until", "value", "where", "x1", "year", "zone",
    ]
    static let texts = ["", "plain", "a \"quote\" & <tag> 'x'", "two\nlines\tand more", "#\"\"\"##", "ünïcødé 🌊", "  spaces  ", "\\(x)"]

    static func make(seed: UInt64, prefix: String = "") -> Model {
        var maker = RandomModel(random: RandomSource(seed: seed), prefix: prefix)
        maker.makeComposites()
        maker.makeEntities()
        maker.makeRelationships()
        maker.makeIndexesAndRequests()
        maker.makeModelLevel()
        maker.sort()
        return maker.model
    }

    private init(random: RandomSource, prefix: String) {
        self.random = random
        self.prefix = prefix
    }

    // MARK: Entities

    private mutating func makeComposites() {
        for name in ["Address", "Point"].prefix(Int.random(in: 0...2, using: &random)) {
            var composite = Composite(name: name)
            for word in ["east", "north", "up"].prefix(Int.random(in: 1...3, using: &random)) {
                composite.attributes.append(
                    attribute(word, among: Self.types.filter { ![.composite, .transformable, .undefined, .objectID].contains($0) }))
            }
            // Random models set only some of them.
            if !prefix.isEmpty { for index in composite.attributes.indices { composite.attributes[index].isOptional = true } }
            if name == "Point" {
                var inner = Attribute(name: "within", type: .composite)
                inner.compositeName = "Address"
                composite.attributes.append(inner)
            }
            model.composites.append(composite)
        }
    }

    private mutating func makeEntities() {
        for index in 0..<Int.random(in: 2...6, using: &random) {
            var entity = Entity(name: "E\(index)")
            if index > 0, random.one(in: 3) { entity.superentity = "E\(Int.random(in: 0..<index, using: &random))" }
            entity.codeGeneration = random.pick([.class, .class, .category, .manual])
            entity.className = entity.codeGeneration == .manual && random.one(in: 2) ? "NSManagedObject" : "\(prefix)Class\(index)"
            if entity.className != "NSManagedObject" { entity.classModule = random.maybe("Generated") }
            entity.userInfo = userInfo()
            entity.renamingIdentifier = random.maybe("Old\(index)")
            entity.versionHashModifier = random.one(in: 4) ? random.pick(Self.texts.filter { !$0.isEmpty }) : nil
            var words = Self.words.shuffled(using: &random)
            for _ in 0..<Int.random(in: 1...7, using: &random) {
                entity.attributes.append(
                    attribute(
                        "\(words.removeLast())\(index)",
                        among: model.composites.isEmpty ? Self.types.filter { $0 != .composite } : Self.types))
            }
            // One keyword in each hierarchy.
            if entity.superentity == nil {
                entity.attributes.append(attribute(random.pick(["default", "repeat", "switch", "where"]), among: [.string, .boolean]))
            }
            if let text = entity.attributes.first(where: { $0.type == .string && !$0.isTransient && $0.derivationExpression == nil }) {
                if random.one(in: 2) { entity.attributes.append(derived("derived\(index)", "canonical:(\(text.name))", .string)) }
                if random.one(in: 3) { entity.spotlightDisplayNameExpression = text.name }
                if random.one(in: 4) { entity.uniquenessConstraints = [[text.name]] }
            }
            if random.one(in: 3) { entity.attributes.append(derived("now\(index)", "now()", .date)) }
            model.entities.append(entity)
        }
        for index in model.entities.indices where model.entities.contains(where: { $0.superentity == model.entities[index].name }) {
            model.entities[index].isAbstract = random.one(in: 2)
        }
    }

    private func derived(_ name: String, _ expression: String, _ type: AttributeType) -> Attribute {
        var attribute = Attribute(name: name, type: type)
        attribute.derivationExpression = expression
        return attribute
    }

    private mutating func userInfo() -> [String: String] {
        guard random.one(in: 3) else { return [:] }
        return ["key": random.pick(Self.texts), random.pick(Self.texts): "value"]
    }

    private mutating func attribute(_ name: String, among types: [AttributeType]) -> Attribute {
        var attribute = Attribute(name: name, type: random.pick(types), isOptional: Bool.random(using: &random))
        if attribute.type == .composite { attribute.compositeName = random.pick(model.composites).name }
        attribute.isTransient = attribute.type == .undefined || attribute.type == .objectID || random.one(in: 6)
        if attribute.isTransient || [.composite, .transformable].contains(attribute.type) { attribute.isOptional = true }
        attribute.usesScalarValueType =
            random.one(in: 2) && [.integer16, .integer32, .integer64, .double, .float, .boolean, .date].contains(attribute.type)
        attribute.allowsCloudEncryption = random.one(in: 8)
        attribute.preservesValueInHistoryOnDeletion = random.one(in: 8)
        attribute.isIndexedBySpotlight = random.one(in: 8)
        attribute.userInfo = userInfo()
        attribute.renamingIdentifier = random.one(in: 5) ? "old\(name)" : nil
        attribute.versionHashModifier = random.one(in: 5) ? "2" : nil
        if random.one(in: 2) { setDefault(of: &attribute) }
        setRules(of: &attribute)
        return attribute
    }

    private mutating func setDefault(of attribute: inout Attribute) {
        attribute.defaultValue =
            switch attribute.type {
            case .integer16: .int(Int64(Int16.random(in: .min ... .max, using: &random)))
            case .integer32: .int(Int64(Int32.random(in: .min ... .max, using: &random)))
            case .integer64: .int(Int64.random(in: .min ... .max, using: &random))
            case .decimal: .decimal(Decimal(string: random.pick(["0", "-1.25", "12345678901234567890.123", "1e30", "0.000001"])) ?? 0)
            case .double: .double(random.pick([0, -1.5, 0.1, 1e300, 2.5e-300, Double.random(in: -1e6...1e6, using: &random)]))
            case .float: .double(Double(random.pick([0, 0.1, -2.5, Float.random(in: -1e6...1e6, using: &random)])))
            case .string: .string(random.pick(Self.texts))
            case .boolean: .int(Int64(Int.random(in: 0...1, using: &random)))
            case .date: .date(random.pick([0, 704_098_860, -1.25, 1e-3]))
            case .uuid:
                .uuid(
                    UUID(uuidString: "11111111-2222-4333-8444-\(Int.random(in: 100_000_000_000...999_999_999_999, using: &random))")
                        ?? UUID())
            case .uri: .url("https://example.org/a?b=\(Int.random(in: 0...9, using: &random))&c")
            case .undefined, .binaryData, .transformable, .objectID, .composite: .null
            }
    }

    private mutating func setRules(of attribute: inout Attribute) {
        switch attribute.type {
        case .string where attribute.defaultValue.isNull:
            (attribute.minimum, attribute.maximum) = (random.maybe(0), random.maybe(200))
            attribute.regularExpression = random.one(in: 4) ? "(?s).*<?&?\"?.*" : nil
        case .integer16, .integer32, .integer64, .double, .float, .decimal:
            guard attribute.defaultValue.isNull else { return }
            (attribute.minimum, attribute.maximum) = (random.maybe(-0.5), random.maybe(1000))
        case .date where attribute.defaultValue.isNull: attribute.minimum = random.maybe(-123.5)
        case .binaryData: attribute.allowsExternalBinaryDataStorage = Bool.random(using: &random)
        case .transformable:
            attribute.valueTransformerName = random.maybe("NSSecureUnarchiveFromData")
            attribute.valueClassName = random.pick([nil, "[String]", "NSArray"])
        default: break
        }
    }

    // MARK: Relationships

    private mutating func makeRelationships() {
        for number in 0..<Int.random(in: 1...5, using: &random) {
            let (from, to) = (random.pick(Array(model.entities.indices)), random.pick(Array(model.entities.indices)))
            var there = Relationship(
                name: "there\(number)", destination: model.entities[to].name, inverse: "back\(number)",
                isToMany: Bool.random(using: &random),
                deleteRule: random.pick([.nullify, .cascade, .deny, .noAction]))
            var back = Relationship(
                name: "back\(number)", destination: model.entities[from].name, inverse: "there\(number)",
                isToMany: Bool.random(using: &random))
            dress(&there)
            dress(&back)
            model.entities[from].relationships.append(there)
            model.entities[to].relationships.append(back)
            if there.isToMany, random.one(in: 2) {
                model.entities[from].attributes.append(derived("count\(number)", "there\(number).@count", .integer64))
            }
        }
    }

    private mutating func dress(_ relationship: inout Relationship) {
        relationship.isOrdered = relationship.isToMany && Bool.random(using: &random)
        relationship.maximumCount = relationship.isToMany ? random.pick([0, 0, 50]) : 1
        relationship.userInfo = userInfo()
        relationship.renamingIdentifier = random.maybe("old\(relationship.name)")
        relationship.versionHashModifier = random.one(in: 5) ? "3" : nil
        relationship.isIndexedBySpotlight = random.one(in: 6)
        // Objects would have to be related before they can be saved.
        guard prefix.isEmpty else { return }
        relationship.isOptional = Bool.random(using: &random)
        relationship.minimumCount = random.pick([0, 1])
        relationship.isTransient = random.one(in: 6)
    }

    // MARK: The rest

    private mutating func makeIndexesAndRequests() {
        for index in model.entities.indices {
            let names = model.entities[index].attributes.filter {
                ![.composite, .transformable, .undefined].contains($0.type) && !$0.isTransient
            }.map(\.name)
            for number in 0..<Int.random(in: 0...2, using: &random) where !names.isEmpty {
                var fetchIndex = FetchIndex(
                    name: "by\(number)",
                    elements: Array(Set([random.pick(names), random.pick(names)])).sorted().map { .init(property: $0) })
                fetchIndex.elements[0].isAscending = Bool.random(using: &random)
                if random.one(in: 3) { fetchIndex.partialPredicateFormat = "\(fetchIndex.elements[0].property) != nil" }
                if random.one(in: 4) {
                    fetchIndex.elements = [.init(property: "")]
                    fetchIndex.elements[0].expressionFormat = "uppercase:(\(names[0]))"
                    fetchIndex.elements[0].expressionType = .string
                }
                model.entities[index].indexes.append(fetchIndex)
            }
            if random.one(in: 3) {
                var property = FetchedProperty(
                    name: "fetched\(index)", request: request("fetchedPropertyFetchRequest", "SELF == $FETCH_SOURCE"),
                    isOptional: Bool.random(using: &random))
                property.userInfo = userInfo()
                property.renamingIdentifier = random.maybe("oldfetched")
                property.versionHashModifier = random.maybe("v")
                model.entities[index].fetchedProperties.append(property)
            }
        }
        for number in 0..<Int.random(in: 0...3, using: &random) {
            model.fetchTemplates.append(
                request("Request \(number)", random.pick(["SELF != $x AND 'a' < \"b & c\"", "TRUEPREDICATE", "NOT SELF IN $all"])))
        }
    }

    private mutating func request(_ name: String, _ format: String) -> FetchTemplate {
        var template = FetchTemplate(
            name: name, entity: random.pick(model.entities).name, predicateFormat: random.one(in: 5) ? nil : format)
        guard random.one(in: 2) else { return template }
        template.fetchLimit = Int.random(in: 0...5, using: &random)
        template.fetchBatchSize = Int.random(in: 0...5, using: &random)
        template.resultType = name.hasPrefix("fetched") ? 0 : Int.random(in: 0...2, using: &random)
        template.includesSubentities = Bool.random(using: &random)
        template.includesPropertyValues = Bool.random(using: &random)
        template.includesPendingChanges = Bool.random(using: &random)
        template.returnsObjectsAsFaults = Bool.random(using: &random)
        template.returnsDistinctResults = Bool.random(using: &random)
        return template
    }

    private mutating func makeModelLevel() {
        model.versionIdentifiers = random.pick([[], [""], ["4.2"], ["a & b"]])
        for name in ["Cloud", "Local"] where random.one(in: 2) {
            model.configurations[name] = model.entities.filter { _ in random.one(in: 2) }.map(\.name)
            if random.one(in: 2) { model.cloudConfigurations.append(name) }
        }
        if random.one(in: 3) { model.cloudConfigurations.insert(Model.defaultConfiguration, at: 0) }
    }

    private mutating func sort() {
        for index in model.entities.indices {
            model.entities[index].attributes.sort { $0.name < $1.name }
            model.entities[index].relationships.sort { $0.name < $1.name }
            model.entities[index].fetchedProperties.sort { $0.name < $1.name }
        }
        for index in model.composites.indices { model.composites[index].attributes.sort { $0.name < $1.name } }
    }
}
