// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Members of managed objects and their classes that the other suites use only in passing.
@Suite struct ManagedObjectTests {
    @Test func aClassHasItsEntityAndFetchRequest() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let byClass = Author(context: context)
            let byEntity = Author(entity: Author.entity(), insertInto: context)
            #expect(byClass.entity === byEntity.entity)
            #expect(byClass.entity.name == "Author")
            #expect(Author.entity() === Library.model.entitiesByName["Author"])
            try context.save()
            let request: NSFetchRequest<any NSFetchRequestResult> = Author.fetchRequest()
            #expect(request.entityName == "Author")
            #expect(Set(try context.fetch(request).compactMap { $0 as? Author }) == [byClass, byEntity])
        }
    }

    @Test func anObjectWithoutContextIsInsertedLater() throws {
        let context = try Library.context()
        try context.performAndWait {
            let author = Author(entity: Author.entity(), insertInto: nil)
            #expect(author.managedObjectContext == nil)
            #expect(!author.isInserted)
            author.setValue("Woolf", forKey: "name")
            context.insert(author)
            #expect(author.managedObjectContext === context)
            #expect(author.isInserted)
            try context.save()
            #expect(author.value(forKey: "name") as? String == "Woolf")
        }
    }

    @Test func objectIDsOfARelationshipAreReadWithoutItsObjects() throws {
        let shop = try Shop()
        let id: NSManagedObjectID = try shop.stock(books: ["Orlando", "The Waves"])
        try shop.context.performAndWait {
            let author = try shop.context.existingObject(with: id)
            let ids = author.objectIDs(forRelationshipNamed: "books")
            #expect(ids.count == 2)
            #expect(ids.allSatisfy { $0.entity.name == "Book" && !$0.isTemporaryID && $0.persistentStore === id.persistentStore })
            #expect(ids.allSatisfy { shop.context.registeredObject(for: $0) == nil })
            #expect(Set(try shop.context.books().map(\.objectID)) == Set(ids))
        }
    }

    @Test func mutableOrderedSetValueChangesOrderedMembers() throws {
        let context = try Music.container().newBackgroundContext()
        try context.performAndWait {
            let list = Playlist.inserted("list", context)
            let members: NSMutableOrderedSet = list.mutableOrderedSetValue(forKey: "tracks")
            members.addObjects(from: ["a", "b"].map { Track.inserted($0, context) })
            #expect(list.memberNames("tracks") == ["a", "b"])
            members.exchangeObject(at: 0, withObjectAt: 1)
            try context.save()
            #expect(list.memberNames("tracks") == ["b", "a"])
            list.setValue(NSOrderedSet(), forKey: "tracks")
            #expect(members.count == 0)
        }
    }

    @Test func primitiveValuesBypassNotifications() throws {
        let context = try Library.context()
        try context.performAndWait {
            let author = Author(context: context)
            try context.save()
            author.setPrimitiveValue("Woolf", forKey: "name")
            #expect(author.primitiveValue(forKey: "name") as? String == "Woolf")
            #expect(!author.hasChanges)
            author.willChangeValue(forKey: "name")
            author.setPrimitiveValue("Joyce", forKey: "name")
            author.didChangeValue(forKey: "name")
            #expect(author.value(forKeyPath: "name") as? String == "Joyce")
            #expect(author.hasChanges)
        }
    }
}

@Suite struct MutableSetPrintingTests {
    @Test func aMutableSetPrintsItsMembers() throws {
        let context = try Library.context()
        try context.performAndWait {
            let author = Author(context: context)
            let books = author.mutableSetValue(forKey: "books")
            #expect(books.description == NSSet().description)
            books.add(Book(context: context))
            #expect("\(books)".contains("Book"))
            #expect(books.description(withLocale: nil) == NSSet(array: books.allObjects).description)
            try context.save()
        }
    }
}

/// Primitive values in accessors of relationships.
///
/// Source: Core Data Programming Guide, "Custom Attribute and To-One Relationship Accessor Methods".
@Suite struct PrimitiveRelationshipTests {
    @Test func anAccessorOfAToOneRelationshipSetsItsPrimitiveValue() throws {
        try Market.withContext { context in
            let ware = Market.ware("one", "abc", context)
            let kind = Kind.inserted("food", context)
            ware.willChangeValue(forKey: "kind")
            ware.setPrimitiveValue(kind, forKey: "kind")
            ware.didChangeValue(forKey: "kind")
            #expect(ware.primitiveValue(forKey: "kind") as? Kind === kind)
            #expect(kind.value(forKey: "wares") as? Set<Ware> == [ware])
            ware.setPrimitiveValue(nil, forKey: "kind")
            #expect(ware.value(forKey: "kind") == nil)
            #expect((kind.value(forKey: "wares") as? NSSet)?.count == 0)
        }
    }
}

extension PrimitiveRelationshipTests {
    /// Source: developer.apple.com/documentation/coredata/nsmanagedobject/setprimitivevalue(_:forkey:) (no notification of a change).
    /// Differs: a relationship changes with its inverse.
    @Test func aPrimitiveRelationshipMarksBothObjects() throws {
        let context = try Library.context()
        try context.performAndWait {
            let (author, book) = (Author(context: context), Book(context: context))
            try context.save()
            #expect(!context.hasChanges)
            book.setPrimitiveValue(author, forKey: "author")
            #expect(book.hasChanges)
            #expect(book.hasPersistentChangedValues)
            #expect(author.hasChanges)
            #expect(context.updatedObjects == Set<NSManagedObject>([author, book]))
            try context.save()
            #expect(!context.hasChanges)
            context.refreshAllObjects()
            #expect(book.value(forKey: "author") as? Author === author)
        }
    }
}

/// Key-value coding beyond the properties of the entity.
@Suite struct KeyValueCodingTests {
    @Test func unknownKeysCallTheUndefinedKeyMethods() throws {
        let context = try Guests.context()
        context.performAndWait {
            let visitor = Visitor(context: context)
            #expect(visitor.value(forKey: "nickname") == nil)
            visitor.setValue("Mi", forKey: "nickname")
            #expect(visitor.value(forKey: "nickname") as? String == "Mi")
            #expect(visitor.value(forKeyPath: "nickname") as? String == "Mi")
            visitor.setValue("Ma", forKeyPath: "nickname")
            visitor.setValuesForKeys(["name": "Mia"])
            #expect(visitor.dictionaryWithValues(forKeys: ["name", "nickname"]) as? [String: String] == ["name": "Mia", "nickname": "Ma"])
            #expect(visitor.value(forUndefinedKey: "nickname") as? String == "Ma")
            #expect(!visitor.changedValues().keys.contains("nickname"))
        }
    }

    @Test func nilIsAValueOfOptionalNumbers() throws {
        let context = try Guests.context()
        try context.performAndWait {
            let visitor = Visitor(context: context)
            visitor.setValue(nil, forKey: "age")
            #expect(visitor.value(forKey: "age") == nil)
            try context.save()
            context.refresh(visitor, mergeChanges: false)
            #expect(visitor.value(forKey: "age") == nil)
            #expect(visitor.nilKeys.isEmpty)
            visitor.setNilValueForKey("age")
            #expect(visitor.nilKeys == ["age"])
        }
    }

    @Test func aValueIsValidatedByItsKey() throws {
        let context = try Guests.context()
        try context.performAndWait {
            let visitor = Visitor(context: context)
            var value: AnyObject? = NSString("Mia")
            try visitor.validateValue(&value, forKey: "name")
            value = nil
            #expect { try visitor.validateValue(&value, forKey: "name") } throws: {
                ($0 as? CocoaError)?.code == .validationMissingMandatoryProperty && ($0 as? CocoaError)?.validationKey == "name"
            }
        }
    }
}

final class Visitor: NSManagedObject {
    private var nicknames: [String: Any] = [:]
    private(set) var nilKeys: [String] = []

    override func value(forUndefinedKey key: String) -> Any? { nicknames[key] }
    override func setValue(_ value: Any?, forUndefinedKey key: String) { nicknames[key] = value }
    override func setNilValueForKey(_ key: String) { nilKeys.append(key) }
}

private enum Guests {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared: Shared = {
        let visitor = Library.entity("Visitor", Visitor.self)
        visitor.properties = [
            Library.attribute("name", .stringAttributeType, isOptional: false, default: "nobody"),
            Library.attribute("age", .integer32AttributeType, default: 7),
        ]
        let model = NSManagedObjectModel()
        model.entities = [visitor]
        return Shared(model: model)
    }()

    static func context() throws -> NSManagedObjectContext {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: shared.model)
        try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"), options: nil)
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        return context
    }
}
