// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Refresh of one object, and rollback of all changes.
@Suite struct RefreshTests {
    @Test func refreshingWithoutMergingDropsChanges() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        try shop.context.performAndWait {
            let context = shop.context
            let author = try context.existingObject(with: id)
            author.setValue("Stein", forKey: "name")
            #expect(context.hasChanges)
            context.refresh(author, mergeChanges: false)
            #expect(author.isFault)
            #expect(!author.hasChanges)
            #expect(!author.isUpdated)
            #expect(author.changedValues().isEmpty)
            #expect(author.value(forKey: "name") as? String == "Woolf")
            #expect(!author.isFault)
        }
    }

    @Test func refreshingWithMergingKeepsChanges() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        try shop.context.performAndWait {
            let context = shop.context
            let author = try context.existingObject(with: id)
            author.setValue("Stein", forKey: "name")
            try shop.elsewhere(id) { author, _ in
                author.setValue("Sackville-West", forKey: "name")
                author.setValue(2, forKey: "rank")
            }
            #expect(integer(author.value(forKey: "rank")) == 7)
            context.refresh(author, mergeChanges: true)
            #expect(author.value(forKey: "name") as? String == "Stein")
            #expect(integer(author.value(forKey: "rank")) == 2)
            #expect(author.hasChanges)
            #expect(author.isUpdated)
            #expect(Set(author.changedValues().keys) == ["name"])
            #expect(author.committedValues(forKeys: ["name"])["name"] as? String == "Sackville-West")
            try context.save()
        }
    }

    @Test func valuesStayUnchangedUntilARefresh() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        try shop.context.performAndWait {
            let context = shop.context
            let author = try context.existingObject(with: id)
            try shop.elsewhere(id) { author, _ in author.setValue("Stein", forKey: "name") }
            #expect(author.value(forKey: "name") as? String == "Woolf")
            #expect(try context.existingObject(with: id) === author)
            #expect(author.value(forKey: "name") as? String == "Woolf")
            context.refresh(author, mergeChanges: false)
            #expect(author.value(forKey: "name") as? String == "Stein")
        }
    }

    @Test func refetchingRefreshesOnlyWithShouldRefreshRefetchedObjects() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        try shop.context.performAndWait {
            let context = shop.context
            let author = try context.existingObject(with: id)
            try shop.elsewhere(id) { author, _ in author.setValue("Stein", forKey: "name") }
            let request = NSFetchRequest<Author>(entityName: "Author")
            #expect(try context.fetch(request).first === author)
            #expect(author.value(forKey: "name") as? String == "Woolf")
            request.shouldRefreshRefetchedObjects = true
            #expect(try context.fetch(request).first === author)
            #expect(author.value(forKey: "name") as? String == "Stein")
        }
    }

    @Test func refreshAllObjectsKeepsChanges() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf", books: ["Orlando", "The Waves"])
        try shop.context.performAndWait {
            let context = shop.context
            let books = try context.books()
            books[0].setValue(333, forKey: "pages")
            let author = try context.existingObject(with: id)
            let new = Tag(context: context)
            try shop.elsewhere(id) { author, _ in author.setValue("Stein", forKey: "name") }
            context.refreshAllObjects()
            #expect(integer(books[0].value(forKey: "pages")) == 333)
            #expect(books[0].isUpdated)
            #expect(new.isInserted)
            #expect(author.value(forKey: "name") as? String == "Stein")
            #expect(try context.books().map { $0.value(forKey: "title") as? String } == ["Orlando", "The Waves"])
            #expect(context.registeredObject(for: id) === author)
        }
    }

    @Test func refreshingDiscardsToManyChanges() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf", books: ["Orlando"])
        try shop.context.performAndWait {
            let context = shop.context
            let author = try context.existingObject(with: id)
            let book = try #require(try context.books().first)
            #expect((author.value(forKey: "books") as? Set<NSManagedObject>) == [book])
            author.mutableSetValue(forKey: "books").removeAllObjects()
            #expect(book.value(forKey: "author") == nil)
            context.refresh(book, mergeChanges: false)
            context.refresh(author, mergeChanges: false)
            #expect(!context.hasChanges)
            #expect(author.hasFault(forRelationshipNamed: "books"))
            #expect((author.value(forKey: "books") as? Set<NSManagedObject>) == [book])
            #expect(book.value(forKey: "author") as? NSManagedObject === author)
        }
    }

    @Test func rollbackRevertsEveryKindOfChange() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf", books: ["Flush", "Orlando", "The Waves"])
        try shop.context.performAndWait {
            let context = shop.context
            let books = try context.books()
            let author = try context.existingObject(with: id)
            let tag = Tag(context: context)
            books[0].setValue("Jacob's Room", forKey: "title")
            books[1].setValue(nil, forKey: "author")
            books[1].mutableSetValue(forKey: "tags").add(tag)
            context.delete(books[2])
            #expect(context.hasChanges)
            context.rollback()
            #expect(!context.hasChanges)
            #expect(context.insertedObjects.isEmpty)
            #expect(context.updatedObjects.isEmpty)
            #expect(context.deletedObjects.isEmpty)
            #expect(!tag.isInserted)
            #expect(!books[2].isDeleted)
            #expect(books.map { $0.value(forKey: "title") as? String } == ["Flush", "Orlando", "The Waves"])
            #expect(books.allSatisfy { $0.value(forKey: "author") as? NSManagedObject === author })
            #expect((author.value(forKey: "books") as? Set<NSManagedObject>) == Set(books))
            #expect((books[1].value(forKey: "tags") as? Set<NSManagedObject>)?.isEmpty == true)
            #expect(try context.books() == books)
            #expect(try context.all(Tag.self, "Tag", by: "label").isEmpty)
        }
    }

    @Test func rollbackRevertsACascade() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf", books: ["Flush", "Orlando"])
        try shop.context.performAndWait {
            let context = shop.context
            let author = try context.existingObject(with: id)
            context.delete(author)
            context.processPendingChanges()
            #expect(context.deletedObjects.count == 3)
            #expect(try context.books().isEmpty)
            context.rollback()
            #expect(context.deletedObjects.isEmpty)
            #expect(!author.isDeleted)
            let books = try context.books()
            #expect(books.count == 2)
            #expect(books.allSatisfy { $0.value(forKey: "author") as? NSManagedObject === author })
            try context.save()
        }
        let other = shop.other()
        let stored = try other.performAndWait { try other.books() }
        #expect(stored.count == 2)
    }

    @Test func aRolledBackObjectCanBeChangedAgain() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        try shop.context.performAndWait {
            let context = shop.context
            let author = try context.existingObject(with: id)
            context.delete(author)
            context.rollback()
            author.setValue("Stein", forKey: "name")
            #expect(author.isUpdated)
            #expect(!author.isDeleted)
            try context.save()
            context.refresh(author, mergeChanges: false)
            #expect(author.value(forKey: "name") as? String == "Stein")
        }
    }
}
