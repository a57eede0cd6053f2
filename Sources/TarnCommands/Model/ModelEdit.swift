// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ModelFile
import ModelTool
import SystemSupport

/// One change of a model. References of other parts of the model follow.
enum ModelEdit {
    case addEntity(Entity)
    case addAttribute(Attribute, entity: String)
    /// - Parameter inverse: The other side, on the destination.
    case addRelationship(Relationship, inverse: Relationship, entity: String)
    case renameEntity(String, to: String)
    case renameProperty(String, entity: String, to: String)
    case removeEntity(String)
    case removeProperty(String, entity: String)

    /// - Throws: ``CommandError`` for a name that is taken or does not exist.
    func apply(to model: inout Model) throws {
        switch self {
        case .addEntity(let entity):
            try model.checkFree(entity: entity.name)
            if let parent = entity.superentity { _ = try model.index(ofEntity: parent) }
            model.entities.append(entity)
        case .addAttribute(let attribute, let entity):
            let index = try model.index(ofEntity: entity)
            try model.checkFree(property: attribute.name, in: entity)
            model.entities[index].attributes.append(attribute)
        case .addRelationship(let relationship, let inverse, let entity):
            let (source, destination) = (try model.index(ofEntity: entity), try model.index(ofEntity: relationship.destination))
            try model.checkFree(property: relationship.name, in: entity)
            try model.checkFree(property: inverse.name, in: relationship.destination)
            guard source != destination || relationship.name != inverse.name else {
                throw CommandError("A relationship to its own entity needs an inverse of another name.")
            }
            model.entities[source].relationships.append(relationship)
            model.entities[destination].relationships.append(inverse)
        case .renameEntity(let name, let newName): try model.rename(entity: name, to: newName)
        case .renameProperty(let name, let entity, let newName): try model.rename(property: name, of: entity, to: newName)
        case .removeEntity(let name): try model.remove(entity: name)
        case .removeProperty(let name, let entity): try model.remove(property: name, of: entity)
        }
    }
}

extension Entity {
    fileprivate var propertyNames: [String] { attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name) }
}

extension Model {
    /// - Throws: ``CommandError`` with the nearest name.
    func index(ofEntity name: String) throws -> Int {
        if let index = entities.firstIndex(where: { $0.name == name }) { return index }
        let names = entities.map(\.name)
        let list = names.isEmpty ? "it has none yet" : "it has \(names.sorted().joined(separator: ", "))"
        throw CommandError("The model has no entity '\(name)'; \(list).\(Suggestion.sentence(for: name, among: names))")
    }

    fileprivate func checkFree(entity name: String) throws {
        guard !entities.contains(where: { $0.name == name }) else {
            throw CommandError("The model has an entity '\(name)' already: choose another name.")
        }
    }

    /// An inherited property has its name in all subentities.
    fileprivate func checkFree(property name: String, in entity: String) throws {
        let kin = ancestors(of: entity) + entities.filter { ancestors(of: $0.name).contains(entity) }.map(\.name)
        let owner = entities.first { ($0.name == entity || kin.contains($0.name)) && $0.propertyNames.contains(name) }
        if let owner { throw CommandError("\(owner.name) has a property '\(name)' already: choose another name.") }
    }

    /// Superentities, nearest first. A cycle, which the checks of the file report, ends.
    private func ancestors(of entity: String) -> [String] {
        var names: [String] = []
        var next = entities.first { $0.name == entity }?.superentity
        while let name = next, !names.contains(name) {
            names.append(name)
            next = entities.first { $0.name == name }?.superentity
        }
        return names
    }

    private func missingProperty(_ name: String, of index: Int) -> CommandError {
        let names = entities[index].propertyNames
        let list = names.isEmpty ? "it has none" : "it has \(names.sorted().joined(separator: ", "))"
        return CommandError("\(entities[index].name) has no property '\(name)'; \(list).\(Suggestion.sentence(for: name, among: names))")
    }

    // MARK: Renaming

    fileprivate mutating func rename(entity name: String, to newName: String) throws {
        let index = try index(ofEntity: name)
        try checkFree(entity: newName)
        // The renaming identifier is the name in the version of existing stores.
        entities[index].renamingIdentifier = entities[index].renamingIdentifier ?? name
        entities[index].name = newName
        if entities[index].className == name { entities[index].className = newName }
        for other in entities.indices {
            if entities[other].superentity == name { entities[other].superentity = newName }
            for place in entities[other].relationships.indices where entities[other].relationships[place].destination == name {
                entities[other].relationships[place].destination = newName
            }
            for place in entities[other].fetchedProperties.indices where entities[other].fetchedProperties[place].request.entity == name {
                entities[other].fetchedProperties[place].request.entity = newName
            }
        }
        for place in fetchTemplates.indices where fetchTemplates[place].entity == name { fetchTemplates[place].entity = newName }
        configurations = configurations.mapValues { $0.map { $0 == name ? newName : $0 } }
    }

    fileprivate mutating func rename(property name: String, of entity: String, to newName: String) throws {
        let index = try index(ofEntity: entity)
        guard entities[index].propertyNames.contains(name) else { throw missingProperty(name, of: index) }
        try checkFree(property: newName, in: entity)
        if let place = entities[index].attributes.firstIndex(where: { $0.name == name }) {
            entities[index].attributes[place].renamingIdentifier = entities[index].attributes[place].renamingIdentifier ?? name
            entities[index].attributes[place].name = newName
        }
        if let place = entities[index].relationships.firstIndex(where: { $0.name == name }) {
            entities[index].relationships[place].renamingIdentifier = entities[index].relationships[place].renamingIdentifier ?? name
            entities[index].relationships[place].name = newName
            forEachInverse(of: name, entity) { $0.inverse = newName }
        }
        if let place = entities[index].fetchedProperties.firstIndex(where: { $0.name == name }) {
            entities[index].fetchedProperties[place].name = newName
        }
        for other in entities.indices where other == index || ancestors(of: entities[other].name).contains(entity) {
            for place in entities[other].indexes.indices {
                for element in entities[other].indexes[place].elements.indices
                where entities[other].indexes[place].elements[element].property == name {
                    entities[other].indexes[place].elements[element].property = newName
                }
            }
            entities[other].uniquenessConstraints = entities[other].uniquenessConstraints.map { $0.map { $0 == name ? newName : $0 } }
            // A lens has the names of the model, unlike records.
            if entities[other].lenses.contains(where: { $0.attributes.contains(name) }) {
                let lenses = entities[other].lenses.map { $0.renaming(name, to: newName).source }
                entities[other].userInfo[SyncKeys.lens] = lenses.joined(separator: "; ")
            }
        }
    }

    /// Changes each relationship that is the inverse of the entity's relationship. Its destination may be a subentity.
    private mutating func forEachInverse(of relationship: String, _ entity: String, _ change: (inout Relationship) -> Void) {
        for other in entities.indices {
            for place in entities[other].relationships.indices {
                let inverse = entities[other].relationships[place]
                guard inverse.inverse == relationship,
                    inverse.destination == entity || ancestors(of: inverse.destination).contains(entity)
                else { continue }
                change(&entities[other].relationships[place])
            }
        }
    }

    // MARK: Removing

    fileprivate mutating func remove(entity name: String) throws {
        let index = try index(ofEntity: name)
        let heirs = entities.filter { $0.superentity == name }.map(\.name)
        guard heirs.isEmpty else { throw CommandError("\(name) is the parent of \(heirs.joined(separator: ", ")): remove these first.") }
        let users = entities.filter { $0.name != name && $0.relationships.contains { $0.destination == name && $0.inverse == nil } }.map(
            \.name)
        guard users.isEmpty else { throw CommandError("\(users.joined(separator: ", ")) has a relationship to \(name): remove it first.") }
        for other in entities.indices where other != index {
            // Both sides of a relationship are removed.
            entities[other].relationships.removeAll { $0.destination == name }
        }
        entities.remove(at: index)
        configurations = configurations.mapValues { $0.filter { $0 != name } }
    }

    fileprivate mutating func remove(property name: String, of entity: String) throws {
        let index = try index(ofEntity: entity)
        guard entities[index].propertyNames.contains(name) else { throw missingProperty(name, of: index) }
        let isRelationship = entities[index].relationships.contains { $0.name == name }
        entities[index].attributes.removeAll { $0.name == name }
        entities[index].relationships.removeAll { $0.name == name }
        entities[index].fetchedProperties.removeAll { $0.name == name }
        guard isRelationship else { return }
        for other in entities.indices {
            entities[other].relationships.removeAll { inverse in
                inverse.inverse == name && inverse.destination == entity
            }
        }
    }
}

/// `NAME:TYPE`, with `!` behind it for a required attribute and `=VALUE` for a default.
struct AttributeText {
    let attribute: Attribute

    static let types = "String, Integer16, Integer32, Integer64, Decimal, Double, Float, Boolean, Date, Binary, UUID, URI, Transformable"
    private static let aliases: [String: AttributeType] = [
        "int": .integer64, "integer": .integer64, "int16": .integer16, "int32": .integer32, "int64": .integer64, "bool": .boolean,
        "data": .binaryData, "url": .uri, "text": .string,
    ]

    /// - Throws: ``CommandError`` for an unknown type or a default of another type.
    init(_ text: String) throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let words = parts[0].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 2, !words[0].isEmpty else {
            throw CommandError(
                "'\(text)' isn't an attribute: write NAME:TYPE, such as title:String, count:Integer64=0 or isDone:Boolean!=NO.")
        }
        let isRequired = words[1].hasSuffix("!")
        attribute = try Self.attribute(
            words[0], isRequired ? String(words[1].dropLast()) : words[1], isRequired: isRequired, default: parts.count > 1 ? parts[1] : nil
        )
    }

    static func type(_ text: String) throws -> AttributeType {
        let word = text.lowercased().replacing(" ", with: "")
        let usable = AttributeType.allCases.filter { ![.undefined, .objectID, .composite].contains($0) }
        if let type = aliases[word] ?? usable.first(where: { $0.modelText.lowercased().replacing(" ", with: "") == word }) { return type }
        throw CommandError(
            "The attribute type '\(text)' is unknown. Choose one of \(types)."
                + Suggestion.sentence(for: text, among: types.split(separator: ", ").map(String.init)))
    }

    static func attribute(_ name: String, _ typeText: String, isRequired: Bool, default text: String?) throws -> Attribute {
        let type = try type(typeText)
        var attribute = Attribute(name: name, type: type, isOptional: !isRequired)
        switch type {
        case .integer16, .integer32, .integer64, .double, .float, .boolean:
            attribute.usesScalarValueType = true
            if text == nil { attribute.defaultValue = type == .double || type == .float ? .double(0) : .int(0) }
        case .transformable: attribute.valueTransformerName = "NSSecureUnarchiveFromData"
        default: break
        }
        guard let text else { return attribute }
        switch DefaultValue.parse(text, as: type) {
        case .value(let value), .converted(let value, _): attribute.defaultValue = value
        case .malformed(let expected): throw CommandError("The default of \(name) is \(expected), not '\(text)'.")
        case .unsupported: throw CommandError("An attribute of type \(type.modelText) has no default: leave it out.")
        }
        return attribute
    }
}
