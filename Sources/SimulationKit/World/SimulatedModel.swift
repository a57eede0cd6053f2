// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import ManagedModel
import ObjectGraph

/// The model of the simulated app: each kind of relationship, in two versions.
///
/// Each object has a unique label, which is set once: the checks identify the object by it on every device.
enum SimulatedModel {
    static let versions = 2

    /// A model is shared by many containers and never changes.
    ///
    /// - Parameter hasLenses: Whether the later version declares lenses for values that it has in another form.
    static func model(_ version: Int, _ features: Set<Feature>, hasLenses: Bool) -> NSManagedObjectModel {
        var model = version == 1 ? first : second
        if features.contains(.extensions) { model = extended(model) }
        if features.contains(.modelChanges) { model = ModelChanges.apply(to: model, version: version, hasLenses: hasLenses) }
        return NSManagedObjectModel(model)
    }

    /// Topics have unique names, comments require their posts, and both are ordered.
    private static func extended(_ model: Model) -> Model {
        var model = model
        model.entities[0].relationships += [
            Relationship(name: "topic", destination: "Topic", inverse: "mainPosts"),
            Relationship(name: "topics", destination: "Topic", inverse: "posts", isToMany: true, isOrdered: true),
            Relationship(name: "comments", destination: "Comment", inverse: "post", isToMany: true, isOrdered: true, deleteRule: .cascade),
        ]
        var topic = entity(
            "Topic", [Attribute(name: "name", type: .string), Attribute(name: "color", type: .string)],
            [
                Relationship(name: "mainPosts", destination: "Post", inverse: "topic", isToMany: true),
                Relationship(name: "posts", destination: "Post", inverse: "topics", isToMany: true),
            ])
        topic.uniquenessConstraints = [["name"]]
        let comment = entity(
            "Comment", [Attribute(name: "text", type: .string, isOptional: false)],
            [Relationship(name: "post", destination: "Post", inverse: "comments", isOptional: false)])
        model.entities += [topic, comment]
        return model
    }

    private static func entity(_ name: String, _ attributes: [Attribute], _ relationships: [Relationship]) -> Entity {
        Entity(name: name, attributes: [Attribute(name: "label", type: .string)] + attributes, relationships: relationships)
    }

    private static var first: Model {
        Model(entities: [
            entity(
                "Post",
                [
                    Attribute(name: "title", type: .string), Attribute(name: "content", type: .string),
                    Attribute(name: "stars", type: .integer64),
                ],
                [
                    Relationship(name: "attachments", destination: "Attachment", inverse: "post", isToMany: true, deleteRule: .cascade),
                    Relationship(name: "tags", destination: "Tag", inverse: "posts", isToMany: true),
                    Relationship(name: "related", destination: "Post", inverse: "related", isToMany: true),
                ]),
            entity(
                "Attachment", [Attribute(name: "caption", type: .string)],
                [
                    Relationship(name: "post", destination: "Post", inverse: "attachments"),
                    Relationship(name: "image", destination: "Image", inverse: "attachment", deleteRule: .cascade),
                ]),
            entity(
                "Image", [Attribute(name: "data", type: .binaryData)],
                [Relationship(name: "attachment", destination: "Attachment", inverse: "image")]),
            entity(
                "Tag", [Attribute(name: "name", type: .string)],
                [
                    Relationship(name: "posts", destination: "Post", inverse: "tags", isToMany: true),
                    Relationship(name: "parent", destination: "Tag", inverse: "children"),
                    Relationship(name: "children", destination: "Tag", inverse: "parent", isToMany: true),
                ]),
        ])
    }

    private static var second: Model {
        var model = first
        model.entities[0].attributes.append(Attribute(name: "mood", type: .string))
        model.entities[0].relationships.append(Relationship(name: "place", destination: "Place", inverse: "posts"))
        model.entities.append(
            entity(
                "Place", [Attribute(name: "name", type: .string)],
                [Relationship(name: "posts", destination: "Post", inverse: "place", isToMany: true)]))
        return model
    }
}
