// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The rules of a model that its file can break and ``ResolvedModel`` does not look at. Collects all findings.
struct ModelChecks {
    private(set) var errors: [ModelError.Problem] = []
    private(set) var warnings: [ModelError.Problem] = []
    let model: Model
    let entities: [String: Entity]

    init(_ model: Model) {
        self.model = model
        entities = Dictionary(keepingFirst: model.entities.map { ($0.name, $0) })
    }

    mutating func run() {
        for entity in model.entities {
            check(entity)
            for attribute in entity.attributes { check(attribute, of: entity.name) }
            for attribute in entity.attributes { checkDerivation(of: attribute, in: entity) }
            for relationship in entity.relationships { check(relationship, of: entity) }
            for property in entity.fetchedProperties { check(property, of: entity) }
            checkFormats(of: entity)
            checkIndexesAndConstraints(of: entity)
        }
        checkGeneratedClasses()
        checkComposites()
        checkModelLevel()
    }

    mutating func error(_ entity: String, _ property: String? = nil, _ what: String) {
        errors.append(.init(entity: entity, property: property, what: what))
    }

    mutating func warning(_ entity: String, _ property: String? = nil, _ what: String) {
        warnings.append(.init(entity: entity, property: property, what: what))
    }

    /// From the entity itself up to its root; ends early when the hierarchy is broken.
    func ancestry(of entity: Entity) -> [Entity] {
        var result = [entity]
        while let parent = result[result.count - 1].superentity.flatMap({ entities[$0] }),
            !result.contains(where: { $0.name == parent.name })
        {
            result.append(parent)
        }
        return result
    }

    // MARK: Entities and properties

    private mutating func check(_ entity: Entity) {
        if !entity.name.isEmpty, !SwiftName.isIdentifier(entity.name) {
            error(entity.name, nil, "has a name that is not a letter followed by letters, digits and underscores")
        }
        if entity.isAbstract, !model.entities.contains(where: { $0.superentity == entity.name }) {
            warning(entity.name, nil, "is abstract and no entity has it as its parent")
        }
        let names =
            entity.attributes.map(\.name) + entity.relationships.map(\.name) + entity.fetchedProperties.map(\.name)
        for name in names { checkName(name, of: entity.name) }
    }

    private mutating func checkName(_ name: String, of owner: String) {
        if name.isEmpty { return }  // ResolvedModel reports it.
        if !SwiftName.isIdentifier(name) {
            error(owner, name, "has a name that is not a letter followed by letters, digits and underscores")
        } else if SwiftName.isMemberOfManagedObject(name) {
            error(owner, name, "has the name of a member of NSManagedObject; choose another")
        } else if name.first?.isUppercase == true {
            warning(owner, name, "has a name that starts with an uppercase letter")
        }
    }

    private mutating func check(_ attribute: Attribute, of owner: String) {
        if let pattern = attribute.regularExpression, (try? NSRegularExpression(pattern: pattern)) == nil {
            error(owner, attribute.name, "has a regular expression that cannot be read: '\(pattern)'")
        }
        switch (attribute.type, attribute.compositeName) {
        case (.composite, nil): error(owner, attribute.name, "is a composite attribute that names no composite")
        case (.composite, .some(let name)):
            if !model.composites.contains(where: { $0.name == name }) {
                error(owner, attribute.name, "is made of an unknown composite '\(name)'")
            }
        case (_, .some): error(owner, attribute.name, "names a composite and is not of type Composite")
        case (_, nil): break
        }
    }

    private mutating func check(_ relationship: Relationship, of entity: Entity) {
        if relationship.isToMany, relationship.maximumCount > 0, relationship.minimumCount > relationship.maximumCount {
            error(entity.name, relationship.name, "has a minimum count above its maximum count")
        }
        guard let inverseName = relationship.inverse else {
            return warning(entity.name, relationship.name, "has no inverse")
        }
        // ResolvedModel looks for the inverse; here only whether its destination is of the same family.
        guard let destination = entities[relationship.destination],
            let inverse = ancestry(of: destination).flatMap(\.relationships).first(where: { $0.name == inverseName }),
            inverse.inverse == relationship.name, let back = entities[inverse.destination]
        else { return }
        let isRelated =
            ancestry(of: back).contains { $0.name == entity.name }
            || ancestry(of: entity).contains { $0.name == back.name }
        if !isRelated {
            error(
                entity.name, relationship.name,
                "has an inverse '\(relationship.destination).\(inverseName)' that leads to \(back.name)")
        }
    }

    private mutating func check(_ property: FetchedProperty, of entity: Entity) {
        if entities[property.request.entity] == nil {
            error(entity.name, property.name, "fetches an unknown entity '\(property.request.entity)'")
        }
    }

    private mutating func checkIndexesAndConstraints(of entity: Entity) {
        let family = ancestry(of: entity)
        let attributes = Set(family.flatMap(\.attributes).map(\.name))
        let properties = attributes.union(family.flatMap(\.relationships).map(\.name))
        for index in entity.indexes {
            for element in index.elements where element.expressionFormat == nil && !properties.contains(element.property) {
                error(entity.name, index.name, "is an index on an unknown property '\(element.property)'")
            }
            if Set(index.elements.map(\.isRTree)).count > 1 {
                error(entity.name, index.name, "is an index that mixes binary and R-tree elements")
            }
        }
        let indexNames = entity.indexes.map(\.name)
        for name in Set(indexNames).sorted() where indexNames.count(where: { $0 == name }) > 1 {
            error(entity.name, name, "is the name of two indexes")
        }
        let toOne = Set(family.flatMap(\.relationships).filter { !$0.isToMany }.map(\.name))
        for name in entity.uniquenessConstraints.joined() where !attributes.contains(name) && !toOne.contains(name) {
            error(entity.name, nil, "has a uniqueness constraint on an unknown attribute '\(name)'")
        }
    }

    // MARK: Generated classes

    private mutating func checkGeneratedClasses() {
        var owners: [String: String] = [:]
        for entity in model.entities where entity.codeGeneration != .manual {
            if entity.className == "NSManagedObject" {
                warning(
                    entity.name, nil,
                    "asks for a generated \(entity.codeGeneration.rawValue) and names no class; none is written")
                continue
            }
            if !SwiftName.isIdentifier(entity.className) || SwiftName.cannotNameClass(entity.className) {
                error(entity.name, nil, "has a class name that Swift does not accept: '\(entity.className)'")
            }
            if let owner = owners[entity.className] {
                error(entity.name, nil, "has the class '\(entity.className)', which is also generated for \(owner)")
            }
            owners[entity.className] = entity.name
            let ancestors = ancestry(of: entity).dropFirst()
            if entity.codeGeneration == .class, let same = ancestors.first(where: { $0.className == entity.className }),
                same.codeGeneration == .manual
            {
                error(
                    entity.name, nil,
                    "has a generated class with the name of its ancestor's class '\(entity.className)'")
            }
        }
    }
}
