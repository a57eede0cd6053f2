// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// The names on the server of a mirrored model's parts, as a store was last synced with them.
///
/// A model that gives a part another name on the server loses the values of its records: the store does not sync with it. Stores that were
/// synced before there were such names have the model's own ones.
package struct ServerNames: Hashable, Sendable {
    /// A part with records under a name that the model does not have any more.
    package struct Loss: Hashable, Sendable {
        /// `Post`, or `Post.title`, in the model.
        package let part: String
        /// The name that its records have.
        package let name: String

        /// A sentence with the next step.
        package var reason: String {
            "\(part) is '\(name)' in the records of this store, and the model gives it another name on the server; "
                + "add \(SyncKeys.name) with the value '\(name)' to its user info"
        }
    }

    /// By `Post`, or `Post.title`, in the model.
    private var names: [String: String] = [:]

    package init(_ mapping: RecordMapping) {
        for entity in mapping.entities.values {
            names[entity.entity.name] = entity.name
            for property in entity.properties where !property.isOwn { names["\(entity.entity.name).\(property.modelName)"] = property.name }
            for relationship in entity.entity.toMany where !relationship.declaration.isTransient {
                names["\(entity.entity.name).\(relationship.name)"] = relationship.declaration.syncName
            }
        }
    }

    /// Lines of two names, as they are stored.
    package init(text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ")
            if parts.count == 2 { names[String(parts[0])] = String(parts[1]) }
        }
    }

    package var text: String { names.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "\n") }

    /// Returns the parts whose records the present model does not find. A part that has the former name of another part, which was renamed,
    /// isn't one of them.
    package func losses(to present: ServerNames) -> [Loss] {
        names.sorted { $0.key < $1.key }.compactMap { part, name in
            guard let now = present.names[part], now != name, !present.has(name, beside: part) else { return nil }
            return Loss(part: part, name: name)
        }
    }

    /// Whether a part of the same entity has a name on the server.
    private func has(_ name: String, beside part: String) -> Bool {
        guard let dot = part.firstIndex(of: ".") else { return names.contains { !$0.key.contains(".") && $0.value == name } }
        let entity = part[...dot]
        return names.contains { $0.key.hasPrefix(entity) && $0.value == name }
    }
}

extension RecordMapping {
    /// Whether an entity or a property has another name on the server than in the model.
    package var hasRenamedParts: Bool {
        entities.values.contains { entity in
            entity.name != entity.entity.name || entity.properties.contains { $0.name != $0.modelName }
                || entity.entity.toMany.contains { $0.declaration.syncName != $0.name }
        }
    }

    /// Returns the part whose name in the model a record has, of a store that was synced before names on the server were declared.
    ///
    /// - Parameters:
    ///   - entity: The stored name of the record's entity.
    ///   - base: The record's stored merge base.
    package func loss(in base: Ancestor, of entity: String) -> ServerNames.Loss? {
        guard let current = self.entity(syncName: entity), let mapping = entities[current.index] else {
            guard let renamed = model.entity(named: entity), entities[renamed.index] != nil else { return nil }
            return ServerNames.Loss(part: entity, name: entity)
        }
        for property in mapping.properties where property.name != property.modelName && mapping.property(named: property.modelName) == nil {
            let field = MirrorNames.field(for: property.modelName)
            if base.fields[field] != nil || base.unapplied[field] != nil {
                return ServerNames.Loss(part: "\(current.name).\(property.modelName)", name: property.modelName)
            }
        }
        return nil
    }
}
