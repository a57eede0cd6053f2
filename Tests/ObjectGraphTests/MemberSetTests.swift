// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import Testing

/// The set that is the value of a to-many relationship behaves as Foundation's own set of the same objects. A subclass of
/// `NSSet` would fail: it is cast to an empty `Set`.
@Suite struct MemberSetTests {
    /// A book with so many genres. The keys of up to sixteen are an array, those of more a hash table.
    private static func withGenres(_ count: Int, _ body: (NSManagedObjectContext, LibraryBook, [NSManagedObject]) throws -> Void) throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let book = LibraryBook(context: context)
            let genres = (0..<count).map { _ in NSEntityDescription.insertNewObject(forEntityName: "Genre", into: context) }
            for genre in genres { book.addToGenres(genre) }
            try context.save()
            try body(context, book, genres)
        }
    }

    private static func genres(of book: NSManagedObject) throws -> NSSet { try #require(book.value(forKey: "genres") as? NSSet) }

    @Test(arguments: [0, 1, 16, 17, 40]) func hasTheMembersByEveryWayOfReading(_ count: Int) throws {
        try Self.withGenres(count) { context, book, genres in
            let set = try Self.genres(of: book)
            let plain = NSSet(array: genres)
            #expect(set.count == count)
            #expect(set.isEqual(plain))
            #expect(plain.isEqual(set))
            #expect(set.hash == plain.hash)
            #expect(Set(set.allObjects.compactMap { $0 as? NSManagedObject }) == Set(genres))
            #expect(set as? Set<NSManagedObject> == Set(genres))
            #expect((set.anyObject() == nil) == genres.isEmpty)
            var enumerated: [NSManagedObject] = []
            for case let genre as NSManagedObject in set { enumerated.append(genre) }
            #expect(enumerated.count == count)
            #expect(Set(enumerated) == Set(genres))
            #expect(genres.allSatisfy(set.contains))
            #expect(!set.contains(book))
            #expect(!set.contains("text"))
        }
    }

    /// Few owners are read by one statement, many by two; without gaps between their keys by a range of the index, with gaps by a list.
    @Test(arguments: [100, 600], [false, true])
    func prefetchedMembersAreThoseOfTheStore(_ count: Int, _ hasGaps: Bool) throws {
        let container = try Library.container()
        let writer = container.newBackgroundContext()
        try writer.performAndWait {
            let genres = (0..<20).map { number in
                let genre = NSEntityDescription.insertNewObject(forEntityName: "Genre", into: writer)
                genre.setValue("\(number)", forKey: "name")
                return genre
            }
            let books = (0..<count).map { number in
                let book = LibraryBook(context: writer)
                book.title = "\(number)"
                // Some have none, and some more than the keys of a small set.
                for place in 0..<(number % 19) { book.addToGenres(genres[(number + place) % 20]) }
                return book
            }
            try writer.save()
            if hasGaps { for book in books where Int(book.title ?? "").map({ $0 % 7 == 3 }) == true { writer.delete(book) } }
            writer.delete(genres[5])
            try writer.save()
        }
        let reader = container.newBackgroundContext()
        try reader.performAndWait {
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.relationshipKeyPathsForPrefetching = ["genres"]
            let books = try reader.fetch(request)
            #expect(books.count == (hasGaps ? (0..<count).filter { $0 % 7 != 3 }.count : count))
            for book in books {
                let number = try #require(Int(book.title ?? ""))
                let expected = Set((0..<(number % 19)).map { (number + $0) % 20 }).subtracting([5]).map { "\($0)" }
                let names = try Self.genres(of: book).compactMap { ($0 as? NSManagedObject)?.value(forKey: "name") as? String }
                #expect(names.sorted() == expected.sorted(), "book \(number)")
            }
        }
    }

    @Test(arguments: [3, 20]) func staysAsItWasRead(_ count: Int) throws {
        try Self.withGenres(count) { context, book, genres in
            let set = try Self.genres(of: book)
            book.removeFromGenres(genres[0])
            #expect(set.count == count)
            #expect(set.contains(genres[0]))
            #expect(try Self.genres(of: book).count == count - 1)
            #expect(try !Self.genres(of: book).contains(genres[0]))
        }
    }

    @Test func copiesAreSetsOfFoundation() throws {
        try Self.withGenres(20) { context, book, genres in
            let set = try Self.genres(of: book)
            let mutable = try #require(set.mutableCopy() as? NSMutableSet)
            mutable.remove(genres[0])
            #expect(mutable.count == 19)
            #expect(set.count == 20)
            #expect((set.copy() as? NSSet)?.count == 20)
            let names = set.filtered(using: NSPredicate { object, _ in object as? NSManagedObject === genres[3] })
            #expect(names.count == 1)
            book.setValue(mutable, forKey: "genres")
            #expect(try Self.genres(of: book).isEqual(mutable))
        }
    }

    @Test func addingAndRemovingPastSixteenMembersIsSaved() throws {
        try Self.withGenres(16) { context, book, genres in
            let more = (0..<10).map { _ in NSEntityDescription.insertNewObject(forEntityName: "Genre", into: context) }
            for genre in more { book.addToGenres(genre) }
            for genre in genres[..<12] { book.removeFromGenres(genre) }
            book.addToGenres(genres[0])
            let expected = Set(more + genres[12...] + [genres[0]])
            #expect(try Self.genres(of: book) as? Set<NSManagedObject> == expected)
            try context.save()
            #expect(try Self.genres(of: book) as? Set<NSManagedObject> == expected)
            let ids = Set(expected.map(\.objectID))
            let bookID = book.objectID
            context.reset()
            let fetched = try context.existingObject(with: bookID)
            #expect(try Set(Self.genres(of: fetched).compactMap { ($0 as? NSManagedObject)?.objectID }) == ids)
        }
    }
}
