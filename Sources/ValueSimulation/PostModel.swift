// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel
package import MirroringCore

/// The model of posts of Apple's talk, with a subentity and a relationship between objects of one entity.
package enum TestModel {
    package static let model = Model(entities: [
        Entity(
            name: "Post",
            attributes: [
                Attribute(name: "title", type: .string), Attribute(name: "content", type: .string),
                Attribute(name: "timestamp", type: .date),
                Attribute(name: "views", type: .integer16, isOptional: false, defaultValue: .int(7)),
            ],
            relationships: [
                Relationship(name: "attachments", destination: "Attachment", inverse: "post", isToMany: true, deleteRule: .cascade),
                Relationship(name: "tags", destination: "Tag", inverse: "posts", isToMany: true),
                Relationship(name: "related", destination: "Post", inverse: "related", isToMany: true),
            ]),
        Entity(name: "ImagePost", superentity: "Post", attributes: [Attribute(name: "caption", type: .string)]),
        Entity(
            name: "Tag", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "posts", destination: "Post", inverse: "tags", isToMany: true)]),
        Entity(
            name: "Attachment", attributes: [Attribute(name: "thumbnail", type: .binaryData)],
            relationships: [
                Relationship(name: "post", destination: "Post", inverse: "attachments"),
                Relationship(name: "imageData", destination: "ImageData", inverse: "attachment", deleteRule: .cascade),
            ]),
        Entity(
            name: "ImageData", attributes: [Attribute(name: "data", type: .binaryData)],
            relationships: [Relationship(name: "attachment", destination: "Attachment", inverse: "imageData")]),
    ])

    package static let resolved: ResolvedModel = {
        do { return try ResolvedModel(model) } catch { preconditionFailure("the test model is sound: \(error)") }
    }()

    package static let mapping = RecordMapping(model: resolved)

    package static func entity(_ name: String) -> ResolvedEntity {
        guard let entity = resolved.entity(named: name) else { preconditionFailure("no entity \(name) in the test model") }
        return entity
    }
}

extension StoredValue {
    /// The text of a dump; binary data is shown by its length.
    package var text: String {
        switch self {
        case .null: "–"
        case .int(let number): String(number)
        case .double(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .string(let text): text.utf8.count > 40 ? "\"…\" \(text.utf8.count)" : "\"" + text + "\""
        case .date(let seconds): "@\(seconds)"
        case .data(let data): "<\(data.count)>"
        case .uuid(let uuid): uuid.uuidString
        case .url(let text): text
        case .reference(let key): "→ \(key.primaryKey)"
        case .object: "object"
        }
    }
}
