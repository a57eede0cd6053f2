// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Declarations of a model that other devices depend on, and that the record of a store's model omits.
///
/// A model may change them without another version, so a synced store keeps those of its last opening.
package struct SyncDeclarations: Codable, Hashable, Sendable {
    /// Names on the server in the user info of parts, by `Post`, or `Post.title`.
    private var names: [String: String] = [:]
    /// Required attributes with a default value: devices show objects without them.
    private var attributesWithDefault: Set<String> = []

    package init(_ model: Model) {
        for entity in model.entities {
            names[entity.name] = entity.userInfo[SyncKeys.name]
            for attribute in entity.attributes {
                let path = "\(entity.name).\(attribute.name)"
                names[path] = attribute.userInfo[SyncKeys.name]
                if !attribute.isOptional, !attribute.defaultValue.isNull { attributesWithDefault.insert(path) }
            }
            for relationship in entity.relationships {
                names["\(entity.name).\(relationship.name)"] = relationship.userInfo[SyncKeys.name]
            }
        }
    }

    /// Assumes the declarations of a store that an earlier release wrote: attributes have the names on the server that a later version
    /// declares, and required attributes have default values.
    ///
    /// Sync compares the names with those of the records before it sends anything.
    package init(assumedOf old: Model, from new: Model) {
        self.init(old)
        let difference = ModelDifference(from: old, to: new)
        for entity in new.entities {
            guard let origin = difference.origin(of: entity.name) else { continue }
            let matches = ModelDifference.matches(
                origin.attributes, entity.attributes, name: \.name, identifier: \.renamingIdentifier)
            for attribute in entity.attributes {
                guard let former = matches[attribute.name], let name = attribute.userInfo[SyncKeys.name] else { continue }
                names["\(origin.name).\(former.name)"] = name
            }
        }
        for entity in old.entities {
            for attribute in entity.attributes where !attribute.isOptional {
                attributesWithDefault.insert("\(entity.name).\(attribute.name)")
            }
        }
    }

    /// Returns the model with these declarations in place of its own.
    package func applied(to model: Model) -> Model {
        var model = model
        for index in model.entities.indices {
            let entity = model.entities[index].name
            model.entities[index].userInfo[SyncKeys.name] = names[entity]
            for place in model.entities[index].attributes.indices {
                let path = "\(entity).\(model.entities[index].attributes[place].name)"
                model.entities[index].attributes[place].userInfo[SyncKeys.name] = names[path]
                // A migration depends on the presence of a default value, not on the value.
                model.entities[index].attributes[place].defaultValue = attributesWithDefault.contains(path) ? .int(0) : .null
            }
            for place in model.entities[index].relationships.indices {
                let path = "\(entity).\(model.entities[index].relationships[place].name)"
                model.entities[index].relationships[place].userInfo[SyncKeys.name] = names[path]
            }
        }
        return model
    }
}
