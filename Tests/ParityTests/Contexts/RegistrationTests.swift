// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Registered objects and pending objects of a context.
@Suite struct RegistrationTests {
    @Test func aContextListsRegisteredObjects() throws {
        let shop = try Shop()
        let id = try shop.stock(books: ["Orlando"])
        try shop.context.performAndWait {
            let context = shop.context
            #expect(context.registeredObjects.isEmpty)
            #expect(context.registeredObject(for: id) == nil)
            let author = context.object(with: id)
            #expect(context.registeredObjects == [author])
            #expect(context.registeredObject(for: id) === author)
            let books = try context.books()
            #expect(context.registeredObjects == Set([author] + books))
            let new = Tag(context: context)
            #expect(context.registeredObjects == Set([author, new] + books))
        }
    }

    @Test func aContextListsPendingObjects() throws {
        let shop = try Shop()
        _ = try shop.stock(books: ["Orlando", "The Waves"])
        try shop.context.performAndWait {
            let context = shop.context
            let books = try context.books()
            let new = Tag(context: context)
            books[0].setValue(100, forKey: "pages")
            context.delete(books[1])
            #expect(context.insertedObjects == [new])
            #expect(context.updatedObjects.contains(books[0]))
            #expect(!context.updatedObjects.contains(books[1]))
            #expect(context.deletedObjects == [books[1]])
            #expect(context.hasChanges)
            try context.save()
            #expect(context.insertedObjects.isEmpty)
            #expect(context.updatedObjects.isEmpty)
            #expect(context.deletedObjects.isEmpty)
            #expect(!context.hasChanges)
            #expect(try context.books() == [books[0]])
        }
    }

    @Test func deletingAnUnsavedObjectLeavesNoPendingChange() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            let context = shop.context
            let book = Book(context: context)
            context.delete(book)
            context.processPendingChanges()
            #expect(context.insertedObjects.isEmpty)
            #expect(context.deletedObjects.isEmpty)
            #expect(!context.hasChanges)
            let books = try context.books()
            #expect(books.isEmpty)
        }
    }

    @Test func aContextRetainsPendingObjects() throws {
        let shop = try Shop()
        _ = try shop.stock(books: ["Orlando"])
        try shop.context.performAndWait {
            let context = shop.context
            for book in try context.books() { book.setValue(321, forKey: "pages") }
            for label in ["a", "b"] { Tag(context: context).setValue(label, forKey: "label") }
            #expect(context.insertedObjects.count == 2)
            #expect(context.updatedObjects.count == 1)
            try context.save()
        }
        let other = shop.other()
        try other.performAndWait {
            let books = try other.books()
            #expect(books.map { integer($0.value(forKey: "pages")) } == [321])
            let tags = try other.all(Tag.self, "Tag", by: "label")
            #expect(tags.map { $0.value(forKey: "label") as? String } == ["a", "b"])
        }
    }

    @Test func resetUnregistersAllObjects() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf", books: ["Orlando"])
        try shop.context.performAndWait {
            let context = shop.context
            let before = try context.existingObject(with: id)
            before.setValue("Stein", forKey: "name")
            _ = Book(context: context)
            for book in try context.books() where book.value(forKey: "title") as? String == "Orlando" { context.delete(book) }
            #expect(context.hasChanges)
            context.reset()
            #expect(!context.hasChanges)
            #expect(context.registeredObjects.isEmpty)
            #expect(context.insertedObjects.isEmpty)
            #expect(context.updatedObjects.isEmpty)
            #expect(context.deletedObjects.isEmpty)
            #expect(context.registeredObject(for: id) == nil)
            let after = try context.existingObject(with: id)
            #expect(after !== before)
            #expect(after.value(forKey: "name") as? String == "Woolf")
            #expect(try context.books().count == 1)
            after.setValue(1, forKey: "rank")
            try context.save()
        }
        let other = shop.other()
        try other.performAndWait {
            let author = try other.existingObject(with: id)
            #expect(author.value(forKey: "name") as? String == "Woolf")
            #expect(integer(author.value(forKey: "rank")) == 1)
        }
    }

    @Test func savingWithoutChangesHasNoEffect() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            #expect(!shop.context.hasChanges)
            try shop.context.save()
            #expect(!shop.context.hasChanges)
        }
    }

    @Test func objectsKnowTheirStoreAndContext() throws {
        let shop = try Shop()
        let context = shop.context
        context.performAndWait {
            #expect(context.persistentStoreCoordinator === shop.container.persistentStoreCoordinator)
            #expect(context.parent == nil)
            #expect(context.concurrencyType == .privateQueueConcurrencyType)
            #expect(shop.container.viewContext.concurrencyType == .mainQueueConcurrencyType)
            #expect(context.userInfo.count == 0)
            context.userInfo["key"] = "value"
            #expect(context.userInfo["key"] as? String == "value")
            context.name = "till"
            #expect(context.name == "till")
        }
    }
}
