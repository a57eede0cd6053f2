// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import ManagedModel

/// Changes of the later version of the model beyond additions, and the names under which the checks compare both versions: renamed parts have
/// their first names, and values of a lens are those of its later attributes.
enum ModelChanges {
    static let author = "author", rating = "rating", score = "score", weight = "weight", caption = "caption"
    static let names = ["firstName", "lastName"]
    private static let content = "content", laterContent = "body"

    /// Adds the parts that change to the first version, or changes them in the second one.
    ///
    /// - Parameter hasLenses: Whether the second version declares its lenses.
    static func apply(to first: Model, version: Int, hasLenses: Bool) -> Model {
        var model = first
        guard let post = index("Post", model), let tag = index("Tag", model), let attachment = index("Attachment", model) else {
            return first
        }
        model.entities[post].attributes += [author, rating].map { Attribute(name: $0, type: .string) }
        model.entities[tag].attributes.append(Attribute(name: weight, type: version == 1 ? .integer16 : .integer64))
        if version == 1 { return model }
        model.entities[post].attributes += names.map { Attribute(name: $0, type: .string) } + [Attribute(name: score, type: .integer64)]
        if hasLenses {
            model.entities[post].userInfo["syncLens"] = "\(author) -> \(names.joined(separator: " ")); \(rating) -> \(score)"
        }
        model.entities[attachment].attributes.removeAll { $0.name == caption }
        model.entities[attachment].userInfo["syncRetired"] = caption
        for index in model.entities[post].attributes.indices where model.entities[post].attributes[index].name == content {
            model.entities[post].attributes[index].name = laterContent
            model.entities[post].attributes[index].renamingIdentifier = content
        }
        model.entities[tag].name = "Label"
        model.entities[tag].renamingIdentifier = "Tag"
        for entity in model.entities.indices {
            for index in model.entities[entity].relationships.indices {
                if model.entities[entity].relationships[index].destination == "Tag" {
                    model.entities[entity].relationships[index].destination = "Label"
                }
                if entity == post, model.entities[entity].relationships[index].name == "tags" {
                    model.entities[entity].relationships[index].name = "labels"
                    model.entities[entity].relationships[index].renamingIdentifier = "tags"
                }
                if entity == tag, model.entities[entity].relationships[index].name == "posts" {
                    model.entities[entity].relationships[index].inverse = "labels"
                }
            }
        }
        return model
    }

    private static func index(_ entity: String, _ model: Model) -> Int? { model.entities.firstIndex { $0.name == entity } }

    /// Returns a value under the names of the checks. One that only one version shows has none.
    static func shown(_ value: String?, of key: String, in entity: NSEntityDescription) -> [(key: String, value: String?)] {
        switch key {
        case author:
            if isLater(entity) { return [] }
            let parts = value?.split(separator: " ", maxSplits: 1).map { String($0) } ?? []
            return names.enumerated().map { ($1, parts.indices.contains($0) ? parts[$0] : nil) }
        case rating: return isLater(entity) ? [] : [(score, value)]
        case laterContent: return [(content, value)]
        case caption where entity.managedObjectModel.entities.contains(where: { $0.attributesByName[author] != nil }): return []
        default: return [(key, value)]
        }
    }

    private static func isLater(_ post: NSEntityDescription) -> Bool { post.attributesByName[names[0]] != nil }

    /// Returns the parts of a value in the conflict log that a device with the first version replaced as a whole.
    static func logged(_ text: String, of property: String) -> [String] {
        property == author ? [text] + text.split(separator: " ").map { String($0) } : [text]
    }
}

extension NSEntityDescription {
    /// The name in the first version.
    var firstName: String { renamingIdentifier ?? name ?? "" }
}

extension NSManagedObjectContext {
    /// Returns the name in the model of this device.
    func name(ofEntity first: String) -> String {
        persistentStoreCoordinator?.managedObjectModel.entities.first { $0.firstName == first }?.name ?? first
    }
}

extension NSManagedObject {
    /// Returns the key in the model of this device; nil if that does not have the property any more.
    func key(_ first: String) -> String? { entity.properties.first { $0.renamingIdentifier == first }?.name }

    func set(_ value: Any?, _ first: String) {
        if let key = key(first) { setValue(value, forKey: key) }
    }
}
