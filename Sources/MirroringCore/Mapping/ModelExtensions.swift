// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// Features of mirrored models beyond those of Apple's container, which the app and the server agree on.
package struct ModelExtensions: OptionSet, Hashable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// To-many relationships keep their order.
    package static let orderedRelationships = Self(rawValue: 1 << 0)
    /// Objects with the same values of a uniqueness constraint are one.
    package static let uniquenessConstraints = Self(rawValue: 1 << 1)
    /// Objects wait for the attributes and to-one relationships that they must have.
    package static let requiredValues = Self(rawValue: 1 << 2)
    /// Relationships have the delete rule Deny, which is checked where an object is deleted.
    package static let denyDeleteRule = Self(rawValue: 1 << 3)

    /// Extensions that change records, so that the server and other devices have to support them.
    package var onTheWire: ModelExtensions { subtracting(.denyDeleteRule) }

    /// Those of the extensions that a model makes use of.
    package func used(by model: ResolvedModel, configuration: String?) -> ModelExtensions {
        var used: ModelExtensions = []
        for entity in model.entities(inConfiguration: configuration) ?? [] {
            let needsValue = entity.declaration.attributes.contains { $0.isRequired }
            if needsValue || entity.declaration.relationships.contains(where: { $0.isRequired }) { used.insert(.requiredValues) }
            if !entity.declaration.uniquenessConstraints.isEmpty { used.insert(.uniquenessConstraints) }
            if entity.declaration.relationships.contains(where: { $0.isOrdered && !$0.isTransient }) { used.insert(.orderedRelationships) }
            if entity.declaration.relationships.contains(where: { $0.deleteRule == .deny && !$0.isTransient }) { used.insert(.denyDeleteRule) }
        }
        return intersection(used)
    }
}

extension Attribute {
    /// Whether an object cannot be without a value, and has none by itself.
    var isRequired: Bool { isMirrored && !isOptional && defaultValue.isNull }
}

extension Relationship {
    /// Whether an object cannot be without a target.
    var isRequired: Bool { !isToMany && !isOptional && !isTransient }
}
