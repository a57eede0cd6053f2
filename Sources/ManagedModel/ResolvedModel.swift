// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A model with resolved names and checked rules.
///
/// Entities are numbered in the order of their names regardless of case, each hierarchy expanded depth first, so that
/// entity `n` here is `Z_ENT` n + 1 in a store. Properties of an entity follow those of its superentity, so that a slot
/// means the same property in a whole hierarchy.
///
/// Source: `core-data-sqlite-format`, "Entity numbers" (observed over public stores).
package struct ResolvedModel: Sendable {
    package let model: Model
    package let entities: [ResolvedEntity]
    private let indexByName: [String: Int]

    /// - Throws: ``ModelError`` with every problem.
    package init(_ model: Model) throws(ModelError) {
        var resolver = ModelResolver(model)
        let entities = resolver.resolve()
        guard resolver.problems.isEmpty else { throw ModelError(problems: resolver.problems) }
        self.model = model
        self.entities = entities
        indexByName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.index) })
    }

    package func entity(named name: String) -> ResolvedEntity? { indexByName[name].map { entities[$0] } }

    /// - Returns: The entities of a configuration, all of them for nil, or nil for an unknown name.
    package func entities(inConfiguration name: String?) -> [ResolvedEntity]? {
        guard let name else { return entities }
        guard let members = model.configurations[name] else { return nil }
        let included = Set(members)
        return entities.filter { included.contains($0.name) }
    }
}

/// The location of a property in an object.
package enum PropertyLocation: Hashable, Sendable {
    /// Index into ``ResolvedEntity/slots``: an attribute or a to-one relationship.
    case slot(Int)
    /// Index into ``ResolvedEntity/toMany``.
    case toMany(Int)
}

package enum Slot: Hashable, Sendable {
    case attribute(Attribute)
    case toOne(ResolvedRelationship)

    package var name: String {
        switch self {
        case .attribute(let attribute): attribute.name
        case .toOne(let relationship): relationship.name
        }
    }

    package var isTransformable: Bool {
        if case .attribute(let attribute) = self { attribute.type == .transformable } else { false }
    }
}

package struct ResolvedRelationship: Hashable, Sendable {
    package enum Shape: Hashable, Sendable { case oneToOne, manyToOne, oneToMany, manyToMany }

    package let declaration: Relationship
    /// The entity that declares the relationship; subentities share it.
    package let declaringEntity: Int
    package let destination: Int
    /// The location of the inverse in ``destination``; nil for a relationship without inverse.
    package let inverse: PropertyLocation?
    /// The entity that declares the inverse.
    package let inverseDeclaringEntity: Int?
    package let shape: Shape

    package var name: String { declaration.name }
    package var inverseName: String? { declaration.inverse }
    package var isToMany: Bool { declaration.isToMany }
    /// Whether members are stored outside of the members' rows: as join records, or in a column without a property.
    package var isLinked: Bool { isToMany && !declaration.isTransient && (shape == .manyToMany || inverse == nil) }
}

/// Properties whose values together are unique among the rows of an entity and its subentities. Rows with a nil among
/// them are not compared.
package struct UniquenessConstraint: Hashable, Sendable {
    /// The entity that declares it.
    package let entity: Int
    package let properties: [String]
    package let slots: [Int]
}

package final class ResolvedEntity: Sendable {
    package let index: Int
    package let declaration: Entity
    package let superentity: Int?
    package let root: Int
    /// This entity and its direct and indirect subentities, in order of index.
    package let hierarchy: [Int]
    package let slots: [Slot]
    package let toMany: [ResolvedRelationship]
    /// Its own constraints and those of its ancestors.
    package let uniqueness: [UniquenessConstraint]
    /// Paths of composite attributes and the names of their parts. Every leaf has a slot named by its path, such as
    /// `home.city`.
    package let composites: [String: [String]]
    private let locations: [String: PropertyLocation]

    init(
        index: Int, declaration: Entity, superentity: Int?, root: Int, hierarchy: [Int], slots: [Slot],
        toMany: [ResolvedRelationship], uniqueness: [UniquenessConstraint],
        composites: [String: [String]]
    ) {
        self.index = index
        self.declaration = declaration
        self.superentity = superentity
        self.root = root
        self.hierarchy = hierarchy
        self.slots = slots
        self.toMany = toMany
        self.uniqueness = uniqueness
        self.composites = composites
        var locations: [String: PropertyLocation] = [:]
        for (index, slot) in slots.enumerated() { locations[slot.name] = .slot(index) }
        for (index, relationship) in toMany.enumerated() { locations[relationship.name] = .toMany(index) }
        self.locations = locations
    }

    package var name: String { declaration.name }
    package var isAbstract: Bool { declaration.isAbstract }
    package func location(of property: String) -> PropertyLocation? { locations[property] }

    package func relationship(at location: PropertyLocation) -> ResolvedRelationship? {
        switch location {
        case .slot(let index): if case .toOne(let relationship) = slots[index] { relationship } else { nil }
        case .toMany(let index): toMany[index]
        }
    }

    /// Attributes and relationships together, sorted by name: the order in which history names changed columns.
    package var propertyNames: [String] { locations.keys.sorted() }

    /// The values of a new object before `awakeFromInsert`.
    package var defaultValues: ContiguousArray<StoredValue> {
        ContiguousArray(
            slots.map { slot in
                if case .attribute(let attribute) = slot { attribute.defaultValue } else { .null }
            })
    }
}
