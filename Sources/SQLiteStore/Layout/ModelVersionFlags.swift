// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// What is part of a model's version and leaves no trace in tables: which properties are optional, and version hash modifiers.
///
/// Source: *Core Data Model Versioning and Data Migration Programming Guide*, "Understanding Versions".
struct ModelVersionFlags: Codable, Equatable {
    private struct Property: Codable, Equatable {
        let isOptional: Bool
        let modifier: String?
    }

    private struct Entity: Codable, Equatable {
        let modifier: String?
        /// Without transient attributes, which are not part of a version, and without inherited properties.
        let properties: [String: Property]
    }

    private let entities: [String: Entity]

    init(_ model: Model) {
        let pairs = model.entities.map { entity in
            let attributes = entity.attributes.filter { !$0.isTransient }.map {
                ($0.name, Property(isOptional: $0.isOptional, modifier: $0.versionHashModifier))
            }
            let relationships = entity.relationships.map {
                ($0.name, Property(isOptional: $0.isOptional, modifier: $0.versionHashModifier))
            }
            let properties = Dictionary(keepingFirst: attributes + relationships)
            return (entity.name, Entity(modifier: entity.versionHashModifier, properties: properties))
        }
        entities = Dictionary(keepingFirst: pairs)
    }

    /// - Parameter names: The entities to compare. Properties that only one of the two versions has are left out: tables show them.
    /// - Returns: A sentence about the first property, or entity, that differs; nil if nothing does.
    func firstDifference(from other: ModelVersionFlags, among names: Set<String>) -> String? {
        for name in names.sorted() {
            guard let own = entities[name], let others = other.entities[name] else { continue }
            if own.modifier != others.modifier { return "\(name) has another version hash modifier" }
            for (key, property) in own.properties.sorted(by: { $0.key < $1.key }) {
                guard let candidate = others.properties[key], candidate != property else { continue }
                if candidate.modifier != property.modifier { return "\(name).\(key) has another version hash modifier" }
                return "\(name).\(key) is \(Self.word(property)) in the store's version and \(Self.word(candidate)) in the model"
            }
        }
        return nil
    }

    private static func word(_ property: Property) -> String { property.isOptional ? "optional" : "required" }

    /// The model with these flags in place of its own.
    func applied(to model: Model) -> Model {
        var model = model
        for index in model.entities.indices {
            guard let entity = entities[model.entities[index].name] else { continue }
            model.entities[index].versionHashModifier = entity.modifier
            for place in model.entities[index].attributes.indices {
                guard let property = entity.properties[model.entities[index].attributes[place].name] else { continue }
                model.entities[index].attributes[place].isOptional = property.isOptional
                model.entities[index].attributes[place].versionHashModifier = property.modifier
            }
            for place in model.entities[index].relationships.indices {
                guard let property = entity.properties[model.entities[index].relationships[place].name] else { continue }
                model.entities[index].relationships[place].isOptional = property.isOptional
                model.entities[index].relationships[place].versionHashModifier = property.modifier
            }
        }
        return model
    }
}
