// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// One object per row and context, and IDs valid in all contexts.
@Suite struct IdentityTests {
    @Test func aContextHasOneObjectPerRow() throws {
        let shop = try Shop()
        let id = try shop.stock(books: ["Orlando", "The Waves"])
        try shop.context.performAndWait {
            let first = try shop.context.books()
            let second = try shop.context.books()
            #expect(first.count == 2)
            for (one, other) in zip(first, second) { #expect(one === other) }
            let author = try shop.context.existingObject(with: id)
            #expect(shop.context.object(with: id) === author)
            #expect(shop.context.registeredObject(for: id) === author)
            for book in first { #expect(book.value(forKey: "author") as? NSManagedObject === author) }
            #expect(author.value(forKey: "books") as? Set<NSManagedObject> == Set(first))
        }
    }

    @Test func twoContextsHaveTwoObjectsWithOneID() throws {
        let shop = try Shop()
        let id = try shop.stock()
        let other = shop.other()
        try shop.context.performAndWait {
            let here = try shop.context.existingObject(with: id)
            try other.performAndWait {
                let there = try other.existingObject(with: id)
                #expect(here !== there)
                #expect(here.objectID == there.objectID)
                #expect(here.objectID.hash == there.objectID.hash)
                #expect(there.managedObjectContext === other)
            }
            #expect(here.managedObjectContext === shop.context)
        }
    }

    @Test func anObjectIDIsTemporaryUntilTheSave() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            let author = Author(context: shop.context)
            let temporary = author.objectID
            #expect(temporary.isTemporaryID)
            #expect(temporary.entity.name == "Author")
            #expect(shop.context.object(with: temporary) === author)
            try shop.context.save()
            #expect(!author.objectID.isTemporaryID)
            #expect(author.objectID != temporary)
            #expect(author.objectID.entity.name == "Author")
            #expect(author.objectID.persistentStore === shop.container.persistentStoreCoordinator.persistentStores.first)
            #expect(shop.context.object(with: author.objectID) === author)
        }
    }

    @Test func permanentIDsAreObtainedBeforeTheSave() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            let author = Author(context: shop.context)
            let book = Book(context: shop.context)
            book.setValue(author, forKey: "author")
            try shop.context.obtainPermanentIDs(for: [author])
            let id = author.objectID
            #expect(!id.isTemporaryID)
            #expect(book.objectID.isTemporaryID)
            #expect(author.isInserted)
            #expect(author.hasChanges)
            #expect(shop.context.object(with: id) === author)
            #expect(shop.context.registeredObject(for: id) === author)
            try shop.context.save()
            #expect(author.objectID == id)
            #expect(!author.isInserted)
            #expect((book.value(forKey: "author") as? NSManagedObject)?.objectID == id)
        }
    }

    @Test func objectIDsOfDifferentRowsDiffer() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            let books = (0..<20).map { _ in Book(context: shop.context) }
            #expect(Set(books.map(\.objectID)).count == 20)
            try shop.context.save()
            #expect(Set(books.map(\.objectID)).count == 20)
            #expect(Set(books.map { $0.objectID.uriRepresentation() }).count == 20)
        }
    }

    @Test func anObjectIDRoundTripsThroughAURI() throws {
        let shop = try Shop()
        let coordinator = shop.container.persistentStoreCoordinator
        let id = try shop.stock()
        let uri = id.uriRepresentation()
        #expect(uri.scheme == "x-coredata")
        #expect(uri.pathComponents.contains("Author"))
        let back = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
        #expect(back == id)
        #expect(back.uriRepresentation() == uri)
        try shop.context.performAndWait {
            let author = try shop.context.existingObject(with: back)
            #expect(author.value(forKey: "name") as? String == "Woolf")
        }
        let foreign = try #require(URL(string: "x-coredata://00000000-0000-0000-0000-000000000000/Author/p1"))
        #expect(coordinator.managedObjectID(forURIRepresentation: foreign) == nil)
    }

    @Test func objectsAreEqualByIdentity() throws {
        let shop = try Shop()
        shop.context.performAndWait {
            let one = Author(context: shop.context)
            let other = Author(context: shop.context)
            #expect(one == one)
            #expect(one != other)
            #expect(Set([one, other, one]).count == 2)
        }
    }

    @Test func anObjectKnowsItsEntityAndClass() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            let byClass = Book(context: shop.context)
            let byName = NSEntityDescription.insertNewObject(forEntityName: "Book", into: shop.context)
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Book", in: shop.context))
            let byEntity = Book(entity: entity, insertInto: shop.context)
            for book in [byClass, byName, byEntity] {
                #expect(book is Book)
                #expect(book.entity.name == "Book")
                #expect(book.isInserted)
                #expect(book.managedObjectContext === shop.context)
                #expect(integer(book.value(forKey: "sold")) == 0)
            }
            let alone = Book(entity: entity, insertInto: nil)
            #expect(alone.managedObjectContext == nil)
            #expect(!alone.isInserted)
            alone.setValue("Flush", forKey: "title")
            shop.context.insert(alone)
            #expect(alone.isInserted)
            #expect(alone.managedObjectContext === shop.context)
            #expect(alone.value(forKey: "title") as? String == "Flush")
            try shop.context.save()
            #expect(try shop.context.books().count == 4)
        }
    }
}
