// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

// These tests use only the public API of Apple's Core Data, so that they can be compiled against Apple's framework, too.
// Models are built in code for that reason.

/// A small library: authors write books, books have tags and an ordered list of chapters.
final class Author: NSManagedObject {}
final class Book: NSManagedObject {}
final class Tag: NSManagedObject {}
final class Chapter: NSManagedObject {}

enum Library {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())
    /// One model for all tests: classes belong to the entities of one model only.
    static var model: NSManagedObjectModel { shared.model }

    static func makeModel() -> NSManagedObjectModel {
        let author = entity("Author", Author.self)
        let book = entity("Book", Book.self)
        let tag = entity("Tag", Tag.self)
        let chapter = entity("Chapter", Chapter.self)
        author.properties = [
            attribute("name", .stringAttributeType), attribute("born", .dateAttributeType),
            attribute("rank", .integer32AttributeType, default: 7),
        ]
        book.properties = [
            attribute("title", .stringAttributeType, isOptional: false, default: ""),
            attribute("pages", .integer16AttributeType, default: 0), attribute("price", .decimalAttributeType),
            attribute("rating", .doubleAttributeType, default: 0), attribute("weight", .floatAttributeType),
            attribute("sold", .integer64AttributeType, default: 0), attribute("isOut", .booleanAttributeType, default: false),
            attribute("published", .dateAttributeType), attribute("cover", .binaryDataAttributeType),
            attribute("isbn", .UUIDAttributeType), attribute("page", .URIAttributeType),
        ]
        tag.properties = [attribute("label", .stringAttributeType)]
        chapter.properties = [attribute("heading", .stringAttributeType), attribute("number", .integer16AttributeType, default: 0)]
        connect(author, "books", toMany: true, rule: .cascadeDeleteRule, with: book, "author", toMany: false)
        connect(book, "tags", toMany: true, with: tag, "books", toMany: true)
        connect(book, "chapters", toMany: true, rule: .cascadeDeleteRule, with: chapter, "book", toMany: false)
        let model = NSManagedObjectModel()
        model.entities = [author, book, tag, chapter]
        return model
    }

    /// A container with one store, loaded: in memory, or in a new file.
    static func container(at url: URL? = nil) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
        let description = NSPersistentStoreDescription(url: url ?? URL(fileURLWithPath: "/dev/null"))
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        return container
    }

    /// A private context over an in-memory store.
    static func context() throws -> NSManagedObjectContext { try container().newBackgroundContext() }

    static func entity(_ name: String, _ type: NSManagedObject.Type) -> NSEntityDescription {
        let entity = NSEntityDescription()
        entity.name = name
        entity.managedObjectClassName = NSStringFromClass(type)
        return entity
    }

    static func attribute(
        _ name: String, _ type: NSAttributeType, isOptional: Bool = true, default value: Any? = nil
    ) -> NSAttributeDescription {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = type
        attribute.isOptional = isOptional
        attribute.defaultValue = value
        return attribute
    }

    static func connect(
        _ source: NSEntityDescription, _ name: String, toMany: Bool, rule: NSDeleteRule = .nullifyDeleteRule,
        with destination: NSEntityDescription, _ inverseName: String, toMany inverseToMany: Bool
    ) {
        let relationship = NSRelationshipDescription()
        let inverse = NSRelationshipDescription()
        for (one, other, owner, name, isToMany) in [
            (relationship, inverse, destination, name, toMany), (inverse, relationship, source, inverseName, inverseToMany),
        ] {
            one.name = name
            one.destinationEntity = owner
            one.inverseRelationship = other
            one.isOptional = true
            one.maxCount = isToMany ? 0 : 1
            one.deleteRule = .nullifyDeleteRule
        }
        relationship.deleteRule = rule
        source.properties.append(relationship)
        destination.properties.append(inverse)
    }
}
