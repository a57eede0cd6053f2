// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The location of each property of an entity in an older version of the entity, including inherited ones.
package struct PropertyOrigins: Sendable {
    /// By slot; nil for new properties.
    package private(set) var slots: [PropertyLocation?]
    /// By index into ``ResolvedEntity/toMany``.
    package private(set) var toMany: [PropertyLocation?]

    /// Pairs properties as ``ModelDifference`` does. Attributes derive from attributes, relationships from relationships,
    /// to-one or to-many.
    package init(of new: ResolvedEntity, in old: ResolvedEntity) {
        slots = Array(repeating: nil, count: new.slots.count)
        toMany = Array(repeating: nil, count: new.toMany.count)
        let attributes = ModelDifference.matches(
            Self.attributes(of: old), Self.attributes(of: new), name: \.name, identifier: \.renamingIdentifier)
        let relationships = ModelDifference.matches(
            Self.relationships(of: old), Self.relationships(of: new), name: \.name, identifier: \.renamingIdentifier)
        for (index, slot) in new.slots.enumerated() {
            let origin =
                switch slot {
                case .attribute: attributes[slot.name]?.name
                case .toOne: relationships[slot.name]?.name
                }
            slots[index] = origin.flatMap(old.location(of:))
        }
        for (index, relationship) in new.toMany.enumerated() {
            toMany[index] = relationships[relationship.name].flatMap { old.location(of: $0.name) }
        }
    }

    private static func attributes(of entity: ResolvedEntity) -> [Attribute] {
        entity.slots.compactMap { if case .attribute(let attribute) = $0 { attribute } else { nil } }
    }

    private static func relationships(of entity: ResolvedEntity) -> [Relationship] {
        entity.slots.compactMap { if case .toOne(let relationship) = $0 { relationship.declaration } else { nil } }
            + entity.toMany.map(\.declaration)
    }

    package subscript(location: PropertyLocation) -> PropertyLocation? {
        switch location {
        case .slot(let index): slots[index]
        case .toMany(let index): toMany[index]
        }
    }
}
