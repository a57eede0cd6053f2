// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore

/// The talk's model of posts, with an heir and a relationship between objects of one entity.
enum TestModel {
    static let model = Model(entities: [
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

    static let resolved: ResolvedModel = {
        do { return try ResolvedModel(model) } catch { preconditionFailure("the test model is sound: \(error)") }
    }()

    static let mapping = RecordMapping(model: resolved)

    static func entity(_ name: String) -> ResolvedEntity {
        guard let entity = resolved.entity(named: name) else { preconditionFailure("no entity \(name) in the test model") }
        return entity
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

extension StoredValue {
    /// As a dump shows it; binary data by its length.
    var text: String {
        switch self {
        case .null: "–"
        case .int(let number): "\(number)"
        case .double(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .string(let text): text.utf8.count > 40 ? "\"…\" \(text.utf8.count)" : "\"\(text)\""
        case .date(let seconds): "@\(seconds)"
        case .data(let data): "<\(data.count)>"
        case .uuid(let uuid): uuid.uuidString
        case .url(let text): text
        case .reference(let key): "→ \(key.primaryKey)"
        case .object: "object"
        }
    }
}
