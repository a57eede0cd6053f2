// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The kinds of object graphs of sync measurements at several sizes. Each inserts objects of its ``entity``, and the objects that
/// they are related to.
enum ScaleShape: String, CaseIterable, Sendable {
    /// Objects without relationships.
    case plain
    /// Children of as many parents as a tenth of them.
    case toOne
    /// Children of one parent.
    case oneParent
    /// Parents, each with a child that its deletion cascades to.
    case cascade
    /// Posts with one tag each; ten posts have the same tag.
    case tagged
    /// Posts with one tag each, of their own.
    case ownTag
    /// Posts with one tag and one attachment each; ten posts have the same tag.
    case posts
    /// Posts that all have the same tag.
    case oneTag
    /// Items of ordered lists of ten.
    case ordered
    /// Items of one ordered list.
    case oneList
    /// Objects with a uniqueness constraint.
    case unique
    /// Children of one parent in a share, imported by another participant.
    case shared

    /// The entity of the objects that are counted, updated and deleted.
    var entity: String {
        switch self {
        case .plain: "Note"
        case .toOne, .oneParent, .shared: "Child"
        case .cascade: "Parent"
        case .tagged, .ownTag, .posts, .oneTag: "Post"
        case .ordered, .oneList: "Item"
        case .unique: "Word"
        }
    }

    var extensions: NSPersistentCloudKitContainerOptions.ModelExtensions {
        switch self {
        case .ordered, .oneList: .orderedRelationships
        case .unique: .uniquenessConstraints
        default: []
        }
    }

    // MARK: Model

    /// One model a shape: a model extension costs only the shapes that need it. Made once, as apps do.
    var model: NSManagedObjectModel { Self.models[self] ?? NSManagedObjectModel() }

    private static let models = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.makeModel()) })

    private func makeModel() -> NSManagedObjectModel {
        let model = NSManagedObjectModel()
        switch self {
        case .plain:
            model.entities = [Self.entity("Note")]
        case .toOne, .oneParent, .cascade, .shared:
            let parent = Self.entity("Parent"), child = Self.entity("Child")
            Self.relate(parent, "children", to: child, "parent", isMany: false, deleteRule: .cascadeDeleteRule)
            model.entities = [parent, child]
        case .tagged, .ownTag, .posts, .oneTag:
            let post = Self.entity("Post"), tag = Self.entity("Tag"), attachment = Self.entity("Attachment")
            Self.relate(post, "tags", to: tag, "posts", isMany: true)
            Self.relate(post, "attachments", to: attachment, "post", isMany: false, deleteRule: .cascadeDeleteRule)
            model.entities = [post, tag, attachment]
        case .ordered, .oneList:
            let list = Self.entity("List"), item = Self.entity("Item")
            Self.relate(list, "items", to: item, "list", isMany: false, isOrdered: true)
            model.entities = [list, item]
        case .unique:
            let word = Self.entity("Word")
            let name = NSAttributeDescription()
            name.name = "name"
            name.attributeType = .stringAttributeType
            name.isOptional = true
            word.properties.append(name)
            word.uniquenessConstraints = [["name"]]
            model.entities = [word]
        }
        return model
    }

    private static func entity(_ name: String) -> NSEntityDescription {
        let title = NSAttributeDescription()
        title.name = "title"
        title.attributeType = .stringAttributeType
        title.isOptional = true
        let entity = NSEntityDescription()
        entity.name = name
        entity.properties = [title]
        return entity
    }

    /// - Parameter isMany: Whether the inverse is to-many, too.
    private static func relate(
        _ owner: NSEntityDescription, _ name: String, to destination: NSEntityDescription, _ inverseName: String, isMany: Bool,
        isOrdered: Bool = false, deleteRule: NSDeleteRule = .nullifyDeleteRule
    ) {
        let relationship = NSRelationshipDescription(), inverse = NSRelationshipDescription()
        relationship.name = name
        relationship.destinationEntity = destination
        relationship.isOptional = true
        relationship.isOrdered = isOrdered
        relationship.deleteRule = deleteRule
        inverse.name = inverseName
        inverse.destinationEntity = owner
        inverse.maxCount = isMany ? 0 : 1
        inverse.isOptional = true
        relationship.inverseRelationship = inverse
        inverse.inverseRelationship = relationship
        owner.properties.append(relationship)
        destination.properties.append(inverse)
    }

    // MARK: Objects

    /// Inserts objects with these numbers, which no other insertion has.
    func insert(_ numbers: Range<Int>, into context: NSManagedObjectContext) throws {
        let group = 10
        var owner: NSManagedObject?
        func make(_ entity: String, _ number: Int) -> NSManagedObject {
            let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
            object.setValue("\(entity) \(number)", forKey: "title")
            return object
        }
        for number in numbers {
            let isFirst = number == numbers.lowerBound
            let object = make(entity, number)
            switch self {
            case .plain: continue
            case .toOne:
                if isFirst || number.isMultiple(of: group) { owner = make("Parent", number) }
                object.setValue(owner, forKey: "parent")
            case .oneParent:
                if isFirst { owner = make("Parent", number) }
                object.setValue(owner, forKey: "parent")
            case .shared:
                if isFirst { owner = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Parent")).first }
                object.setValue(owner, forKey: "parent")
            case .cascade: make("Child", number).setValue(object, forKey: "parent")
            case .tagged, .posts:
                if isFirst || number.isMultiple(of: group) { owner = make("Tag", number) }
                if let owner { object.setValue(Set([owner]), forKey: "tags") }
                if self == .posts { make("Attachment", number).setValue(object, forKey: "post") }
            case .ownTag: object.setValue(Set([make("Tag", number)]), forKey: "tags")
            case .oneTag:
                if isFirst { owner = make("Tag", number) }
                if let owner { object.setValue(Set([owner]), forKey: "tags") }
            case .ordered:
                if isFirst || number.isMultiple(of: group) { owner = make("List", number) }
                object.setValue(owner, forKey: "list")
            case .oneList:
                if isFirst { owner = make("List", number) }
                object.setValue(owner, forKey: "list")
            case .unique: object.setValue("name \(number)", forKey: "name")
            }
        }
    }
}
