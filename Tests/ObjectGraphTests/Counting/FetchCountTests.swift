// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

/// The number of statements that fetches need. A number may only decrease.
@Suite struct FetchCountTests {
    private let context: NSManagedObjectContext
    private let file: URL

    /// Ten shelves of ten books each, every book of two genres.
    init() throws {
        file = try StatementCounter.countedFile()
        let container = try Library.container(at: file)
        let writer = container.newBackgroundContext()
        let reader = container.newBackgroundContext()
        context = reader
        try writer.performAndWait {
            let genres = (0..<4).map { number in
                let genre = NSEntityDescription.insertNewObject(forEntityName: "Genre", into: writer)
                genre.setValue("genre \(number)", forKey: "name")
                return genre
            }
            for number in 0..<10 {
                let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: writer)
                shelf.setValue("shelf \(number)", forKey: "name")
                for place in 0..<10 {
                    let book = LibraryBook(context: writer)
                    book.title = "book \(number)\(place)"
                    book.shelf = shelf
                    book.genres = NSSet(array: [genres[place % 4], genres[(place + 1) % 4]])
                }
            }
            try writer.save()
        }
        // The first read opens a connection.
        try reader.performAndWait {
            _ = try reader.count(for: NSFetchRequest<LibraryBook>(entityName: "Book"))
            _ = try reader.fetch(NSFetchRequest<LibraryBook>(entityName: "Book"))
        }
    }

    private func books(_ prefetching: [String] = [], batch: Int = 0) -> NSFetchRequest<LibraryBook> {
        let request = NSFetchRequest<LibraryBook>(entityName: "Book")
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        request.relationshipKeyPathsForPrefetching = prefetching
        request.fetchBatchSize = batch
        return request
    }

    private func statements(_ body: () throws -> Void) throws -> Int { try StatementCounter.count(file, body) }

    /// A fetch: BEGIN, the check of the schema version, one statement, COMMIT.
    private static let oneRead = 4

    @Test func aToOneRelationshipIsOneReadMore() throws {
        try context.performAndWait {
            var books: [LibraryBook] = []
            let fetched = try statements { books = try context.fetch(self.books(["shelf"])) }
            #expect(fetched <= 2 * Self.oneRead)
            let read = try statements {
                for book in books {
                    #expect(book.shelf?.value(forKey: "name") as? String == "shelf \(book.title?.dropFirst(5).first ?? "?")")
                }
            }
            #expect(read == 0)
            context.reset()
            let plain = try context.fetch(self.books())
            let unprefetched = try statements { for book in plain { _ = book.shelf?.value(forKey: "name") } }
            #expect(unprefetched >= 10)
        }
    }

    @Test func aToManyRelationshipIsOneReadMoreAndPairsAreTwo() throws {
        try context.performAndWait {
            let request = NSFetchRequest<NSManagedObject>(entityName: "Shelf")
            request.relationshipKeyPathsForPrefetching = ["books.genres"]
            var shelves: [NSManagedObject] = []
            let fetched = try statements { shelves = try context.fetch(request) }
            #expect(fetched <= 4 * Self.oneRead)
            let read = try statements {
                for shelf in shelves {
                    let books = shelf.value(forKey: "books") as? Set<NSManagedObject> ?? []
                    #expect(books.count == 10)
                    for book in books {
                        let genres = book.value(forKey: "genres") as? Set<NSManagedObject> ?? []
                        #expect(genres.count == 2)
                        #expect(genres.allSatisfy { $0.value(forKey: "name") != nil })
                    }
                }
            }
            #expect(read == 0)
        }
    }

    @Test func keyPathsShareTheirSteps() throws {
        try context.performAndWait {
            let once = try statements { _ = try context.fetch(self.books(["shelf"])) }
            context.reset()
            let twice = try statements { _ = try context.fetch(self.books(["shelf", "shelf", "shelf.books"])) }
            #expect(twice <= once + Self.oneRead)
        }
    }

    @Test func batchesAreReadWhenTheyAreUsed() throws {
        try context.performAndWait {
            var books: [LibraryBook] = []
            let fetched = try statements { books = try context.fetch(self.books(batch: 20)) }
            #expect(fetched <= Self.oneRead)
            #expect(books.count == 100)
            let first = try statements { for book in books[0..<20] { _ = book.title } }
            #expect(first <= Self.oneRead)
            let last = try statements { _ = books[99].title }
            #expect(last <= Self.oneRead)
            let rest = try statements { for book in books { _ = book.title } }
            #expect(rest <= 3 * Self.oneRead)
            let again = try statements { for book in books { _ = book.title } }
            #expect(again == 0)
        }
    }

    /// A child context needs the rows with the fetch, and so does a fetch without faults.
    @Test func aBatchSizeHasNoEffectWhereRowsAreNeededAtOnce() throws {
        func readsLater(_ context: NSManagedObjectContext, _ request: NSFetchRequest<LibraryBook>) throws -> Int {
            let books = try context.fetch(request)
            #expect(books.count == 100)
            return try statements { for book in books { _ = book.title } }
        }
        try context.performAndWait {
            let filled = books(batch: 20), refreshed = books(batch: 20)
            filled.returnsObjectsAsFaults = false
            refreshed.shouldRefreshRefetchedObjects = true
            for request in [filled, refreshed] {
                let later = try readsLater(context, request)
                #expect(later == 0)
                context.reset()
            }
        }
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = context
        let later = try child.performAndWait { try readsLater(child, books(batch: 20)) }
        #expect(later == 0)
    }

    @Test func aBatchPrefetchesForItself() throws {
        try context.performAndWait {
            let books = try context.fetch(self.books(["shelf"], batch: 20))
            let first = try statements { for book in books[0..<20] { _ = book.shelf?.value(forKey: "name") } }
            #expect(first <= 2 * Self.oneRead)
        }
    }

    @Test func aFewUnsavedChangesLeaveBatchesAlone() throws {
        try context.performAndWait {
            LibraryBook(context: context).title = "book 555"
            var books: [LibraryBook] = []
            let fetched = try statements { books = try context.fetch(self.books(batch: 5)) }
            // The index of the new object is found in at most seven steps, each of which may read a batch.
            #expect(fetched <= 8 * Self.oneRead)
            #expect(books.count == 101)
            #expect(books.count(where: \.isFault) > 90)
            let position = try #require(books.firstIndex { $0.isInserted })
            #expect(books[position - 1].title == "book 55")
            #expect(books[position + 1].title == "book 56")
        }
    }

    @Test func aCountWithUnsavedChangesReadsNoRows() throws {
        try context.performAndWait {
            context.reset()
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.predicate = NSPredicate(format: "title BEGINSWITH 'book 3'")
            let one = try #require(try context.fetch(request).first)
            context.reset()
            let book = try #require(try context.existingObject(with: one.objectID) as? LibraryBook)
            book.title = "other"
            LibraryBook(context: context).title = "book 3 again"
            LibraryBook(context: context).title = "book 3 and again"
            var count = 0
            let counted = try statements { count = try context.count(for: request) }
            #expect(count == 11)
            #expect(counted <= 2 * Self.oneRead)
            #expect(context.registeredObjects.count == 3)
        }
    }

    @Test func withoutPropertyValuesOnlyKeysAreRead() throws {
        try context.performAndWait {
            let request = books()
            request.includesPropertyValues = false
            var books: [LibraryBook] = []
            let fetched = try statements { books = try context.fetch(request) }
            let first = try statements { _ = books[0].title }
            let second = try statements { _ = books[1].title }
            #expect(fetched <= Self.oneRead)
            #expect(first > 0)
            #expect(second > 0)
        }
    }
}
