// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Keys of the user info by which a model declares how it is mirrored with earlier versions.
package enum SyncKeys {
    /// The name of an entity, an attribute or a relationship on the server, instead of the renaming identifier.
    package static let name = "syncName"
    /// On an entity: names on the server of properties that the entity had in earlier versions, separated by commas or spaces.
    package static let retired = "syncRetired"
    /// On an entity: lenses. See ``LensDeclaration``.
    package static let lens = "syncLens"
}

// A renamed part keeps its first name on the server, which its renaming identifier is: devices with any version of the model read and
// write the same record type and field.

extension Entity {
    /// The name in records and in sync metadata.
    package var syncName: String { userInfo[SyncKeys.name] ?? renamingIdentifier ?? name }

    /// Names on the server of properties that earlier versions had. No property of a later version has one of them.
    package var retiredNames: Set<String> {
        guard let text = userInfo[SyncKeys.retired] else { return [] }
        return Set(text.split { $0 == "," || $0.isWhitespace }.map { String($0) })
    }
}

extension Attribute {
    /// The name in records and in sync metadata. That of a leaf of a composite attribute is a path of renaming identifiers.
    package var syncName: String {
        (name.contains(".") || type == .composite ? nil : userInfo[SyncKeys.name]) ?? renamingIdentifier ?? name
    }
}

extension Relationship {
    /// The name in records and in sync metadata.
    package var syncName: String { userInfo[SyncKeys.name] ?? renamingIdentifier ?? name }
}

extension Slot {
    /// The name in records and in sync metadata.
    package var syncName: String {
        switch self {
        case .attribute(let attribute): attribute.syncName
        case .toOne(let relationship): relationship.declaration.syncName
        }
    }
}

extension ResolvedModel {
    /// Returns names on the server of retired properties of a root entity and its subentities, which share a record type.
    package func retiredNames(ofHierarchy root: Int) -> Set<String> {
        entities.reduce(into: []) { names, entity in if entity.root == root { names.formUnion(entity.declaration.retiredNames) } }
    }
}

extension ResolvedEntity {
    package var syncName: String { declaration.syncName }

    /// The name in records and in sync metadata of the property at a location.
    package func syncName(at location: PropertyLocation) -> String {
        switch location {
        case .slot(let index): slots[index].syncName
        case .toMany(let index): toMany[index].declaration.syncName
        }
    }
}
