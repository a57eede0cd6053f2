// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// An invalid model, with all its problems, each with entity and property.
package struct ModelError: Error, Hashable {
    package struct Problem: Hashable, Sendable {
        package let entity: String
        package let property: String?
        /// A sentence without a subject, such as "has no destination entity named 'Tag'".
        package let what: String

        package init(entity: String, property: String? = nil, what: String) {
            self.entity = entity
            self.property = property
            self.what = what
        }

        /// The subject of the problem: an entity, or entity and property joined by a dot.
        package var subject: String {
            let owner = entity.isEmpty ? "an entity" : entity
            return property.map { "\(owner).\($0)" } ?? owner
        }

        package var description: String { "\(subject) \(what)" }
    }

    package let problems: [Problem]

    package init(problems: [Problem]) { self.problems = problems }

    package var description: String { problems.map(\.description).joined(separator: "; ") }
}

/// Numbers entities, inherits properties and finds inverses. Collects problems instead of stopping at the first.
struct ModelResolver {
    private let byName: [String: Entity]
    private let declarations: [Entity]
    private(set) var problems: [ModelError.Problem] = []

    /// By entity, with composites replaced by their leaves.
    private var attributes: [String: [Attribute]] = [:]
    private var composites: [String: [String: [String]]] = [:]
    private let model: Model

    init(_ model: Model) {
        self.model = model
        declarations = model.entities
        byName = Dictionary(keepingFirst: model.entities.map { ($0.name, $0) })
    }

    mutating func resolve() -> [ResolvedEntity] {
        checkNames()
        checkProperties()
        for entity in declarations { takeApart(entity) }
        guard problems.isEmpty else { return [] }
        let order = numbered()
        let indexByName = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1.name, $0) })
        let chains = order.map { chain(of: $0) }

        // Locations are needed before relationships can be resolved, since an inverse is identified by location.
        let locations = chains.map { self.locations(of: $0) }
        return order.enumerated().map { index, entity in
            let chain = chains[index]
            let resolved = chain.flatMap { owner in
                owner.relationships.map { relationship in
                    resolve(relationship, owner: owner, indexByName: indexByName, locations: locations, chains: chains)
                }
            }
            let toOne = Dictionary(uniqueKeysWithValues: resolved.filter { !$0.isToMany }.map { ($0.name, $0) })
            return ResolvedEntity(
                index: index, declaration: entity, superentity: entity.superentity.flatMap { indexByName[$0] },
                root: indexByName[chain[0].name] ?? index,
                hierarchy: order.indices.filter { chains[$0].contains { $0.name == entity.name } },
                slots: slotNames(of: chain).map { name in
                    if let relationship = toOne[name] { return .toOne(relationship) }
                    return .attribute(attribute(name, in: chain))
                },
                toMany: resolved.filter(\.isToMany),
                uniqueness: chain.flatMap { owner in
                    owner.uniquenessConstraints.compactMap { constraint(of: owner, $0, indexByName, locations[index]) }
                }, composites: chain.reduce(into: [:]) { $0.merge(composites[$1.name] ?? [:]) { first, _ in first } })
        }
    }

    private mutating func checkNames() {
        for (name, group) in Dictionary(grouping: declarations, by: \.name) where group.count > 1 || name.isEmpty {
            problems.append(
                .init(entity: name, what: name.isEmpty ? "has no name" : "is declared \(group.count) times"))
        }
        for entity in declarations {
            if let parent = entity.superentity, byName[parent] == nil {
                problems.append(.init(entity: entity.name, what: "has an unknown parent entity '\(parent)'"))
            }
            var visited: Set<String> = [entity.name]
            var current = entity
            while let parent = current.superentity.flatMap({ byName[$0] }) {
                guard visited.insert(parent.name).inserted else {
                    problems.append(.init(entity: entity.name, what: "is its own ancestor"))
                    break
                }
                current = parent
            }
        }
        problems.sort { $0.description < $1.description }
    }

    /// Roots by name regardless of case, each followed by its subentities, depth first.
    private func numbered() -> [Entity] {
        func sorted(_ entities: [Entity]) -> [Entity] {
            entities.sorted { ($0.name.lowercased(), $0.name) < ($1.name.lowercased(), $1.name) }
        }
        func expanded(_ entity: Entity) -> [Entity] {
            [entity] + sorted(declarations.filter { $0.superentity == entity.name }).flatMap(expanded)
        }
        return sorted(declarations.filter { $0.superentity == nil }).flatMap(expanded)
    }

    /// From the root entity down to the entity itself. Ends at a circular hierarchy.
    private func chain(of entity: Entity) -> [Entity] {
        var chain = [entity]
        while let parent = chain[0].superentity.flatMap({ byName[$0] }),
            !chain.contains(where: { $0.name == parent.name })
        {
            chain.insert(parent, at: 0)
        }
        return chain
    }

    private mutating func checkProperties() {
        for entity in declarations {
            var owners: [String: String] = [:]
            for owner in chain(of: entity) {
                let names = [
                    owner.attributes.map(\.name), owner.relationships.map(\.name), owner.fetchedProperties.map(\.name),
                ]
                for name in names.joined() {
                    if let earlier = owners[name], owner.name == entity.name {
                        problems.append(
                            .init(entity: entity.name, property: name, what: "is declared twice (also in \(earlier))"))
                    }
                    owners[name] = owner.name
                    if name.isEmpty {
                        problems.append(.init(entity: entity.name, what: "has a property without a name"))
                    }
                }
            }
            for relationship in entity.relationships { check(relationship, of: entity) }
        }
    }

    private mutating func check(_ relationship: Relationship, of entity: Entity) {
        func problem(_ what: String) {
            problems.append(.init(entity: entity.name, property: relationship.name, what: what))
        }
        if relationship.destination.isEmpty { return problem("names no destination entity") }
        guard let destination = byName[relationship.destination] else {
            return problem("has an unknown destination entity '\(relationship.destination)'")
        }
        if relationship.isOrdered, !relationship.isToMany { problem("is ordered but not to-many") }
        guard let inverseName = relationship.inverse else { return }
        guard let inverse = chain(of: destination).flatMap(\.relationships).first(where: { $0.name == inverseName })
        else {
            return problem("has an inverse '\(inverseName)' that \(destination.name) does not declare")
        }
        if inverse.inverse != relationship.name {
            problem("has an inverse '\(destination.name).\(inverseName)' that does not point back")
        }
    }

    private mutating func takeApart(_ entity: Entity) {
        var leaves: [Attribute] = []
        var made: [String: [String]] = [:]
        // A leaf counts as renamed if it, or any enclosing composite, was renamed.
        func add(_ attribute: Attribute, _ path: String, _ canonical: String, _ ancestors: [String]) {
            guard attribute.type == .composite else {
                var leaf = attribute
                leaf.name = path
                if path.contains(".") { leaf.renamingIdentifier = canonical == path ? nil : canonical }
                return leaves.append(leaf)
            }
            let elements = model.elements(of: attribute)
            if let name = attribute.compositeName, ancestors.contains(name) {
                problems.append(.init(entity: entity.name, property: path, what: "is a composite that contains itself"))
                return
            }
            made[path] = elements.map(\.name)
            for var element in elements {
                if attribute.isTransient { element.isTransient = true }
                add(
                    element, "\(path).\(element.name)", "\(canonical).\(element.renamingIdentifier ?? element.name)",
                    ancestors + [attribute.compositeName].compactMap { $0 })
            }
        }
        for attribute in entity.attributes { add(attribute, attribute.name, attribute.renamingIdentifier ?? attribute.name, []) }
        attributes[entity.name] = leaves
        composites[entity.name] = made
    }

    private func constraint(
        of owner: Entity, _ properties: [String], _ indexByName: [String: Int], _ locations: [String: PropertyLocation]
    ) -> UniquenessConstraint? {
        let slots: [Int] = properties.compactMap { if case .slot(let slot)? = locations[$0] { slot } else { nil } }
        guard !slots.isEmpty, slots.count == properties.count, let entity = indexByName[owner.name] else { return nil }
        return UniquenessConstraint(entity: entity, properties: properties, slots: slots)
    }

    private func slotNames(of chain: [Entity]) -> [String] {
        chain.flatMap { owner in
            ((attributes[owner.name] ?? []).map(\.name) + owner.relationships.filter { !$0.isToMany }.map(\.name)).sorted()
        }
    }

    private func attribute(_ name: String, in chain: [Entity]) -> Attribute {
        guard let attribute = chain.lazy.flatMap({ attributes[$0.name] ?? [] }).first(where: { $0.name == name }) else {
            preconditionFailure("slot names come from this chain's attributes and relationships")
        }
        return attribute
    }

    private func locations(of chain: [Entity]) -> [String: PropertyLocation] {
        var result: [String: PropertyLocation] = [:]
        for (index, name) in slotNames(of: chain).enumerated() { result[name] = .slot(index) }
        let toMany = chain.flatMap { $0.relationships.filter(\.isToMany) }
        for (index, relationship) in toMany.enumerated() { result[relationship.name] = .toMany(index) }
        return result
    }

    private func resolve(
        _ relationship: Relationship, owner: Entity, indexByName: [String: Int],
        locations: [[String: PropertyLocation]], chains: [[Entity]]
    ) -> ResolvedRelationship {
        guard let destination = indexByName[relationship.destination], let ownerIndex = indexByName[owner.name] else {
            preconditionFailure("names were checked before relationships are resolved")
        }
        let inverseOwner = relationship.inverse.flatMap { name in
            chains[destination].first { $0.relationships.contains { $0.name == name } }
        }
        let inverseIsToMany =
            inverseOwner?.relationships.first { $0.name == relationship.inverse }?.isToMany ?? !relationship.isToMany
        let shape: ResolvedRelationship.Shape =
            switch (relationship.isToMany, inverseIsToMany) {
            case (false, false): .oneToOne
            case (false, true): .manyToOne
            case (true, false): .oneToMany
            case (true, true): .manyToMany
            }
        return ResolvedRelationship(
            declaration: relationship, declaringEntity: ownerIndex, destination: destination,
            inverse: relationship.inverse.flatMap { locations[destination][$0] },
            inverseDeclaringEntity: inverseOwner.flatMap { indexByName[$0.name] },
            shape: shape)
    }
}
