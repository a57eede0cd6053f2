// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import PredicateKit
import Testing

/// Both sides of relationships stay consistent when changes are dropped, refreshed and merged.
@Suite struct RelationshipTests {
    private func books(_ shelf: NSManagedObject) -> Int { (shelf.value(forKey: "books") as? NSSet)?.count ?? -1 }

    @Test func removingAndAddingAnUnreadMemberKeepsIt() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let (genreID, bookID) = (try Library.save("Genre", in: a), try Library.save("Book", in: a))
        try b.performAndWait {
            let (genre, book) = (b.object(with: genreID), try #require(b.object(with: bookID) as? LibraryBook))
            book.removeFromGenres(genre)
            book.addToGenres(genre)
            try b.save()
        }
        a.performAndWait {
            a.reset()
            #expect(books(a.object(with: genreID)) == 1)
        }
    }

    @Test func generatedAccessorsRelateObjectsWithoutAContext() throws {
        // Entities do not retain their model.
        let model = try Library.container().managedObjectModel
        let entities = model.entitiesByName
        let book = LibraryBook(entity: try #require(entities["Book"]), insertInto: nil)
        let genre = NSManagedObject(entity: try #require(entities["Genre"]), insertInto: nil)
        book.addToGenres(genre)
        #expect(books(genre) == 1)
        book.removeFromGenres(genre)
        #expect(books(genre) == 0)
        withExtendedLifetime(model) {}
    }

    @Test func refreshingAMemberUpdatesItsOwners() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let first = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            let second = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            let book = LibraryBook(context: context)
            book.shelf = first
            try context.save()
            book.shelf = second
            #expect(books(first) == 0)
            #expect(books(second) == 1)
            context.refresh(book, mergeChanges: false)
            #expect(book.shelf === first)
            #expect(books(first) == 1)
            #expect(books(second) == 0)
            try context.save()
            #expect(books(first) == 1)
            #expect(books(second) == 0)
        }
    }

    @Test func aMemberMovesBackWhenTheStoreWins() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let shelves = try (0..<3).map { _ in try Library.save("Shelf", in: a) }
        let id = try Library.save("Book", in: a) { $0.setValue(a.object(with: shelves[0]), forKey: "shelf") }
        try b.performAndWait {
            b.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
            let mine = shelves.map { b.object(with: $0) }
            #expect(mine.map(books) == [1, 0, 0])
            let book = try #require(try b.existingObject(with: id) as? LibraryBook)
            try a.performAndWait {
                (a.object(with: id) as? LibraryBook)?.shelf = a.object(with: shelves[1])
                try a.save()
            }
            book.shelf = mine[2]
            try b.save()
            #expect(book.shelf === mine[1])
            #expect(mine.map(books) == [0, 1, 0])
        }
    }

    /// A book on the first of three shelves, saved by one context and registered in another that merges.
    private func moving() throws -> (NSManagedObjectContext, NSManagedObjectContext, NSManagedObjectID, [NSManagedObjectID]) {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.automaticallyMergesChangesFromParent = true
        let shelves = try (0..<3).map { _ in try Library.save("Shelf", in: a) }
        let id = try Library.save("Book", in: a) { $0.setValue(a.object(with: shelves[0]), forKey: "shelf") }
        return (a, b, id, shelves)
    }

    @Test func aConcurrentlyMovedMemberKeepsItsLocalOwner() throws {
        let (a, b, id, shelves) = try moving()
        let (book, mine) = try b.performAndWait {
            let mine = shelves.map { b.object(with: $0) }
            #expect(mine.map(books) == [1, 0, 0])
            let book = try #require(try b.existingObject(with: id) as? LibraryBook)
            book.shelf = mine[1]
            return (book, mine)
        }
        try a.performAndWait {
            (a.object(with: id) as? LibraryBook)?.shelf = a.object(with: shelves[2])
            try a.save()
        }
        try b.performAndWait {
            #expect(book.shelf === mine[1])
            #expect(mine.map(books) == [0, 1, 0])
            try b.save()
            #expect(mine.map(books) == [0, 1, 0])
        }
    }

    @Test func pendingDeletionsCascadeToConcurrentlyAddedMembers() throws {
        let (a, b, id, shelves) = try moving()
        b.performAndWait { b.delete(b.object(with: shelves[1])) }
        try a.performAndWait {
            (a.object(with: id) as? LibraryBook)?.shelf = a.object(with: shelves[1])
            try a.save()
        }
        try b.performAndWait {
            try b.save()
            let count = try b.count(for: NSFetchRequest<LibraryBook>(entityName: "Book"))
            #expect(count == 0)
        }
    }

    @Test func deletedObjectsGetNoNewMembers() throws {
        let (_, b, id, shelves) = try moving()
        try b.performAndWait {
            let book = try #require(b.object(with: id) as? LibraryBook)
            let shelf = b.object(with: shelves[1])
            b.delete(shelf)
            book.shelf = shelf
            #expect(book.shelf == nil)
            shelf.mutableSetValue(forKey: "books").add(book)
            try b.save()
            #expect(book.shelf == nil)
            #expect(book.managedObjectContext === b)
        }
    }

    @Test func revertingADeletionRestoresItsOwners() throws {
        let (_, b, id, shelves) = try moving()
        try b.performAndWait {
            let (book, shelf) = (try #require(b.object(with: id) as? LibraryBook), b.object(with: shelves[0]))
            let cover = NSEntityDescription.insertNewObject(forEntityName: "Cover", into: b)
            book.setValue(cover, forKey: "cover")
            try b.save()
            b.delete(book)
            b.processPendingChanges()
            #expect(books(shelf) == 0)
            #expect(cover.isDeleted)
            b.refresh(book, mergeChanges: false)
            #expect(!book.isDeleted)
            #expect(book.shelf === shelf)
            #expect(books(shelf) == 1)
            #expect(book.value(forKey: "cover") == nil)
            try b.save()
            #expect(cover.managedObjectContext == nil)
            #expect(books(shelf) == 1)
        }
    }

    @Test func historyMergesAddedAndRemovedMembers() throws {
        let container = try Library.container(tracksHistory: true)
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let shelfID = try Library.save("Shelf", in: a)
        let other = try Library.save("Shelf", in: a)
        let first = try Library.save("Book", in: a) { $0.setValue(a.object(with: shelfID), forKey: "shelf") }
        let shelf = b.performAndWait {
            let shelf = b.object(with: shelfID)
            #expect(books(shelf) == 1)
            return shelf
        }
        func catchUp() throws {
            let token = container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
            try steps.removeFirst()()
            try b.performAndWait {
                let result = try b.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token)) as? NSPersistentHistoryResult
                for transaction in try #require(result?.result as? [NSPersistentHistoryTransaction]) {
                    b.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
                }
            }
        }
        var steps: [() throws -> Void] = [
            { try Library.save("Book", in: a) { $0.setValue(a.object(with: shelfID), forKey: "shelf") } },
            {
                try a.performAndWait {
                    (a.object(with: first) as? LibraryBook)?.shelf = a.object(with: other)
                    try a.save()
                }
            },
            { try Library.remove(shelfID, in: a) },
        ]
        try catchUp()
        b.performAndWait { #expect(books(shelf) == 2) }
        try catchUp()
        b.performAndWait { #expect(books(shelf) == 1) }
        try catchUp()
        b.performAndWait { #expect(shelf.managedObjectContext == nil) }
    }

    @Test func savesAreMergedByTheirIDsAndAddressesToo() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let id = try Library.save("Note", in: a)
        let note = try b.performAndWait { try b.existingObject(with: id) }
        try a.performAndWait {
            a.object(with: id).setValue("new", forKey: "text")
            try a.save()
        }
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: [id]], into: [b])
        b.performAndWait { #expect(note.value(forKey: "text") as? String == "new") }
        try Library.remove(id, in: a)
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: [id.uriRepresentation()]], into: [b])
        b.performAndWait { #expect(note.managedObjectContext == nil) }
    }

    /// The notification names the moved books only: the owners follow from the loaded members.
    @Test(arguments: [1, 2, 7]) func aMergeFindsTheOwnersOfMovedMembers(moved: Int) throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let shelfIDs = try (0..<3).map { _ in try Library.save("Shelf", in: a) }
        // One book of the first shelf, six of the second, none of the third.
        let bookIDs = try (0..<7).map { number in
            try Library.save("Book", in: a) { $0.setValue(a.object(with: shelfIDs[min(number, 1)]), forKey: "shelf") }
        }
        let shelves = b.performAndWait {
            let shelves = shelfIDs.map { b.object(with: $0) }
            #expect(shelves.map { books($0) } == [1, 6, 0])
            return shelves
        }
        let movedIDs = Array(bookIDs.prefix(moved))
        try a.performAndWait {
            for id in movedIDs { a.object(with: id).setValue(a.object(with: shelfIDs[2]), forKey: "shelf") }
            try a.save()
        }
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: movedIDs], into: [b])
        b.performAndWait { #expect(shelves.map { books($0) } == [0, 7 - moved, moved]) }
        for id in movedIDs { try Library.remove(id, in: a) }
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: movedIDs], into: [b])
        b.performAndWait { #expect(shelves.map { books($0) } == [0, 7 - moved, 0]) }
    }

    @Test func countsAndWindowsSeeDeletionsThatAreNotSaved() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            for title in ["a", "b", "c", "d"] {
                let book = LibraryBook(context: context)
                book.title = title
                if title < "c" { book.shelf = shelf }
            }
            try context.save()
            context.reset()
            context.delete(try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Shelf")).first))
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            #expect(try context.count(for: request) == 2)
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
            request.fetchLimit = 1
            request.fetchOffset = 1
            #expect(try context.fetch(request).map(\.title) == ["d"])
        }
    }
}
