// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import Testing

@Suite struct ObjectTests {
    @Test func aNewObjectHasDefaultsAndItsClassAndATemporaryID() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let book = try #require(NSEntityDescription.insertNewObject(forEntityName: "Book", into: context) as? LibraryBook)
            #expect(book.title == "Untitled")
            #expect(book.pages == 1)
            #expect(book.objectID.isTemporaryID)
            #expect(book.isInserted)
            #expect(context.insertedObjects == [book])
            #expect(book.hooks == ["awakeFromInsert"])
        }
    }

    @Test func everyAttributeTypeComesBackFromAFreshContext() throws {
        let container = try Library.container()
        nonisolated(unsafe) let values: [String: Any] = [
            "title": "Grüße 🏔", "pages": Int32.max, "added": Date(timeIntervalSinceReferenceDate: 1.25), "code": UUID(), "isRead": true,
            "price": NSDecimalNumber(string: "12.34"), "site": try #require(URL(string: "https://example.org/a?b=c")),
            "scan": Data([0, 255, 7]), "rating": 0.1,
        ]
        let writer = container.newBackgroundContext()
        try writer.performAndWait {
            let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: writer)
            for (key, value) in values { book.setValue(value, forKey: key) }
            try writer.save()
        }
        let reader = container.newBackgroundContext()
        try reader.performAndWait {
            let book = try #require(try reader.fetch(NSFetchRequest<LibraryBook>(entityName: "Book")).first)
            #expect(book.isFault)
            for (key, value) in values {
                #expect((book.value(forKey: key) as? NSObject) == (value as? NSObject), "\(key)")
            }
            #expect(!book.isFault)
            #expect(book.hooks == ["awakeFromFetch"])
        }
    }

    @Test func bothSidesOfARelationshipChangeTogether() throws {
        let context = try Library.container().newBackgroundContext()
        context.performAndWait {
            func make(_ entity: String) -> NSManagedObject { NSEntityDescription.insertNewObject(forEntityName: entity, into: context) }
            func books(_ shelf: NSManagedObject) -> NSSet? { shelf.value(forKey: "books") as? NSSet }
            let (first, second, book, rival) = (make("Shelf"), make("Shelf"), make("Book"), make("Book"))
            book.setValue(first, forKey: "shelf")
            #expect(books(first) == NSSet(object: book))
            second.mutableSetValue(forKey: "books").add(book)
            #expect(book.value(forKey: "shelf") as? NSManagedObject == second)
            #expect(books(first) == NSSet())
            let cover = make("Cover")
            cover.setValue(book, forKey: "book")
            rival.setValue(cover, forKey: "cover")
            #expect(cover.value(forKey: "book") as? NSManagedObject == rival)
            #expect(book.value(forKey: "cover") == nil)
            let genre = make("Genre")
            genre.setValue(NSSet(array: [book, rival]), forKey: "books")
            #expect((book.value(forKey: "genres") as? NSSet) == NSSet(object: genre))
            book.setValue(NSSet(), forKey: "genres")
            #expect(genre.value(forKey: "books") as? NSSet == NSSet(object: rival))
        }
    }

    @Test func relationshipsSurviveSaveAndMembersAddedToAFaultAreKept() throws {
        let container = try Library.container()
        let writer = container.newBackgroundContext()
        let shelfID = try writer.performAndWait {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: writer)
            let genre = NSEntityDescription.insertNewObject(forEntityName: "Genre", into: writer)
            for number in 0..<3 {
                let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: writer)
                book.setValue("Book \(number)", forKey: "title")
                book.setValue(shelf, forKey: "shelf")
                (book as? LibraryBook)?.addToGenres(genre)
            }
            try writer.save()
            #expect(!shelf.objectID.isTemporaryID)
            #expect(!writer.hasChanges)
            return shelf.objectID
        }
        let other = container.newBackgroundContext()
        try other.performAndWait {
            let shelf = other.object(with: shelfID)
            let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: other)
            book.setValue(shelf, forKey: "shelf")
            #expect(shelf.hasFault(forRelationshipNamed: "books"))
            #expect((shelf.value(forKey: "books") as? NSSet)?.count == 4)
            try other.save()
            #expect((shelf.value(forKey: "books") as? NSSet)?.count == 4)
            let genre = try #require(try other.fetch(NSFetchRequest<NSManagedObject>(entityName: "Genre")).first)
            #expect((genre.value(forKey: "books") as? NSSet)?.count == 3)
        }
    }

    @Test func deletingCascadesAndNullifies() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            let book = try #require(NSEntityDescription.insertNewObject(forEntityName: "Book", into: context) as? LibraryBook)
            let cover = NSEntityDescription.insertNewObject(forEntityName: "Cover", into: context)
            let genre = NSEntityDescription.insertNewObject(forEntityName: "Genre", into: context)
            book.shelf = shelf
            book.setValue(cover, forKey: "cover")
            book.addToGenres(genre)
            try context.save()
            context.delete(shelf)
            #expect(shelf.isDeleted)
            try context.save()
            #expect(book.hooks.contains("prepareForDeletion"))
            #expect(book.managedObjectContext == nil)
            for (entity, count) in [("Shelf", 0), ("Book", 0), ("Cover", 0), ("Genre", 1)] {
                #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: entity)) == count, "\(entity)")
            }
            #expect((genre.value(forKey: "books") as? NSSet)?.count == 0)
        }
    }

    @Test func changedAndCommittedValuesAndRollback() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let book = try #require(NSEntityDescription.insertNewObject(forEntityName: "Book", into: context) as? LibraryBook)
            book.title = "One"
            try context.save()
            #expect(book.changedValues().isEmpty)
            #expect(!book.hasChanges)
            book.title = "Two"
            #expect(book.changedValues().keys.sorted() == ["title"])
            #expect(book.isUpdated)
            #expect(book.committedValues(forKeys: ["title"])["title"] as? String == "One")
            context.rollback()
            #expect(book.title == "One")
            #expect(!context.hasChanges)
        }
    }

    /// Source: *Predicate Programming Guide*, MATCHES: the whole text matches.
    @Test(arguments: [("abc", true), ("abc\n", false), ("\nabc", false), ("ab1", false), ("", false)])
    func thePatternOfAModelCoversTheWholeText(text: String, isValid: Bool) throws {
        var model = Library.model
        let note = try #require(model.entities.firstIndex { $0.name == "Note" })
        model.entities[note].attributes[0].regularExpression = "[a-z]|[a-z]+"
        let context = try Library.container(model: model).newBackgroundContext()
        context.performAndWait {
            NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue(text, forKey: "text")
            let failure: CocoaError?
            do {
                try context.save()
                failure = nil
            } catch { failure = error as? CocoaError }
            let expected: CocoaError.Code? = isValid ? nil : .validationStringPatternMatching
            #expect(failure?.code == expected)
        }
    }

    @Test func validationNamesEveryBrokenRule() throws {
        let context = try Library.container().newBackgroundContext()
        context.performAndWait {
            let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
            book.setValue(nil, forKey: "title")
            book.setValue(0, forKey: "pages")
            do {
                try context.save()
                Issue.record("an invalid object was saved")
            } catch {
                let error = error as? CocoaError
                #expect(error?.code == .validationMultipleErrors)
                let keys = (error?.userInfo[NSDetailedErrorsKey] as? [CocoaError])?.compactMap {
                    $0.userInfo[NSValidationKeyErrorKey] as? String
                }
                #expect(keys?.sorted() == ["pages", "title"])
            }
            #expect(context.hasChanges)
        }
    }
}
