// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import PredicateKit
import Testing

/// Faults of a file's rows are read one by one, past the connection pool, and many-to-many relationships for many owners.
@Suite struct PointReadTests {
    private static func container(_ model: Model = Library.model) throws -> NSPersistentContainer {
        let file = Library.temporaryFile()
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        return try Library.container(at: file, model: model)
    }

    @Test func aFiredFaultHasTheLastCommittedValues() throws {
        let container = try Self.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let id = try Library.save("Book", in: a) { $0.setValue("First", forKey: "title") }
        try b.performAndWait {
            let book = try #require(b.object(with: id) as? LibraryBook)
            #expect(book.title == "First")
            try a.performAndWait {
                a.object(with: id).setValue("Second", forKey: "title")
                try a.save()
            }
            #expect(book.title == "First")
            b.refresh(book, mergeChanges: false)
            #expect(book.title == "Second")
            #expect(book.value(forKey: "pages") as? Int == 1)
            book.title = "Third"
            try b.save()
        }
        a.performAndWait {
            a.refreshAllObjects()
            #expect(a.object(with: id).value(forKey: "title") as? String == "Third")
        }
    }

    @Test func aDeletedRowIsMissing() throws {
        let container = try Self.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let id = try Library.save("Book", in: a)
        let fault = b.performAndWait { b.object(with: id) }
        try Library.remove(id, in: a)
        b.performAndWait {
            #expect(throws: CocoaError.self) { try b.existingObject(with: id) }
            #expect(fault.value(forKey: "title") == nil)
            #expect(fault.isDeleted)
        }
    }

    /// The cached store of the last fault is not used once the store is removed.
    @Test func noRowOfARemovedStoreIsRead() throws {
        let container = try Self.container()
        let context = container.newBackgroundContext()
        let id = try Library.save("Book", in: context)
        try context.performAndWait {
            context.reset()
            _ = try context.existingObject(with: id)
            let coordinator = container.persistentStoreCoordinator
            for store in coordinator.persistentStores { try coordinator.remove(store) }
            #expect(throws: CocoaError.self) { try context.existingObject(with: id) }
        }
    }

    @Test(arguments: [1, 7]) func prefetchedMembersAreThoseOfTheirOwners(_ step: Int) throws {
        let container = try Self.container()
        let writer = container.newBackgroundContext()
        try writer.performAndWait {
            let genres = (0..<40).map { _ in NSEntityDescription.insertNewObject(forEntityName: "Genre", into: writer) }
            for (index, genre) in genres.enumerated() { genre.setValue("\(index)", forKey: "name") }
            for number in 0..<200 {
                let book = LibraryBook(context: writer)
                book.title = "\(number)"
                for place in 0..<number % 20 { book.addToGenres(genres[(number + place * 3) % 40]) }
            }
            try writer.save()
        }
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.relationshipKeyPathsForPrefetching = ["genres"]
            // Every book, or books with gaps between their keys, which are looked up by a list of keys.
            let titles = stride(from: 0, to: 200, by: step).map { "\($0)" }
            request.predicate = NSPredicate(format: "title IN %@", titles)
            let books = try context.fetch(request)
            #expect(books.count == titles.count)
            for book in books {
                #expect(!book.hasFault(forRelationshipNamed: "genres"))
                let number = try #require(book.title.flatMap(Int.init))
                let names = (book.value(forKey: "genres") as? NSSet)?.compactMap {
                    ($0 as? NSManagedObject)?.value(forKey: "name") as? String
                }
                #expect(Set(names ?? []) == Set((0..<number % 20).map { "\((number + $0 * 3) % 40)" }))
                #expect(names?.count == number % 20)
            }
        }
    }
}
