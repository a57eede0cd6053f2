// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import Testing

/// Objects that are deleted concurrently while they are in use.
@Suite struct GoneObjectTests {
    @Test func editingAConcurrentlyDeletedObjectHasNoEffect() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let id = try Library.save("Book", in: a)
        try b.performAndWait {
            let book = try #require(b.object(with: id) as? LibraryBook)
            try Library.remove(id, in: a)
            book.title = "changed"
            #expect(book.isDeleted)
            #expect(book.title == nil)
            #expect(book.pages == 0)
            #expect(!b.hasChanges)
            #expect(throws: CocoaError.self) { try b.existingObject(with: id) }
            b.delete(book)
            book.shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: b)
            try b.save()
            #expect(book.shelf == nil)
            #expect(book.genres == NSSet())
        }
    }

    @Test func anObjectThatAMergeDeletedCanStillBeReadAndRelated() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.automaticallyMergesChangesFromParent = true
        let id = try Library.save("Book", in: a) { book in
            book.setValue(NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: a), forKey: "shelf")
        }
        let shelf = try b.performAndWait { try #require((b.object(with: id) as? LibraryBook)?.shelf) }
        let book = try b.performAndWait { try #require(try b.existingObject(with: id) as? LibraryBook) }
        try a.performAndWait {
            a.delete(try #require((a.object(with: id) as? LibraryBook)?.shelf))
            try a.save()
        }
        try b.performAndWait {
            #expect(book.managedObjectContext == nil)
            #expect(shelf.managedObjectContext == nil)
            #expect(book.shelf == nil)
            #expect(book.value(forKey: "genres") as? NSSet == NSSet())
            book.title = "too late"
            let other = LibraryBook(context: b)
            other.shelf = shelf
            shelf.mutableSetValue(forKey: "books").add(other)
            #expect(other.shelf == nil)
            try b.save()
        }
    }

    @Test func mergedDeletionsClearUnsavedReferences() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.automaticallyMergesChangesFromParent = true
        let shelfID = try Library.save("Shelf", in: a)
        let genreID = try Library.save("Genre", in: a)
        let book = try b.performAndWait {
            let book = LibraryBook(context: b)
            book.shelf = try b.existingObject(with: shelfID)
            book.addToGenres(try b.existingObject(with: genreID))
            return book
        }
        try Library.remove(shelfID, in: a)
        try Library.remove(genreID, in: a)
        try b.performAndWait {
            #expect(book.shelf == nil)
            #expect(book.genres == NSSet())
            try b.save()
        }
        let fresh = container.newBackgroundContext()
        try fresh.performAndWait {
            let stored = try #require(try fresh.existingObject(with: book.objectID) as? LibraryBook)
            #expect(stored.shelf == nil)
            #expect(stored.genres == NSSet())
        }
    }

    /// Otherwise the row would reference a missing one forever.
    @Test(arguments: [
        NSMergePolicyType.errorMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType, .mergeByPropertyStoreTrumpMergePolicyType,
    ])
    func relatingToADeletedRowIsAConflict(type: NSMergePolicyType) throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.mergePolicy = NSMergePolicy(merge: type)
        let shelfID = try Library.save("Shelf", in: a)
        try b.performAndWait {
            let shelf = try b.existingObject(with: shelfID)
            try Library.remove(shelfID, in: a)
            let book = LibraryBook(context: b)
            book.shelf = shelf
            guard type != .mergeByPropertyStoreTrumpMergePolicyType else {
                try b.save()
                #expect(book.shelf == nil)
                #expect(shelf.managedObjectContext == nil)
                #expect(!b.hasChanges)
                return
            }
            let error = #expect(throws: CocoaError.self) { try b.save() }
            let conflicts = error?.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
            #expect(error?.code == .managedObjectMerge)
            #expect(conflicts?.map(\.sourceObject) == [shelf])
            #expect(conflicts?.first?.newVersionNumber == 0)
            book.shelf = nil
            b.refresh(shelf, mergeChanges: false)
            try b.save()
        }
        let fresh = container.newBackgroundContext()
        let leads = try fresh.performAndWait { try fresh.fetch(NSFetchRequest<LibraryBook>(entityName: "Book")).map { $0.shelf != nil } }
        #expect(leads == [false])
    }

    @Test func undoLeavesMergedChanges() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.automaticallyMergesChangesFromParent = true
        let manager = UndoManager()
        manager.groupsByEvent = false
        let shelfID = try Library.save("Shelf", in: a)
        let genreID = try Library.save("Genre", in: a)
        let book = try b.performAndWait {
            b.undoManager = manager
            let book = LibraryBook(context: b)
            b.processPendingChanges()
            book.shelf = try b.existingObject(with: shelfID)
            book.addToGenres(try b.existingObject(with: genreID))
            b.processPendingChanges()
            book.shelf = nil
            book.genres = NSSet()
            b.processPendingChanges()
            book.shelf = try b.existingObject(with: shelfID)
            return book
        }
        for id in [shelfID, genreID] { try Library.remove(id, in: a) }
        try b.performAndWait {
            // The last change is the app's own.
            #expect(book.shelf == nil)
            #expect(manager.undoCount == 4)
            b.undo()
            #expect(book.shelf == nil)
            #expect(book.genres == NSSet())
            // The related object is deleted.
            b.undo()
            #expect(book.shelf == nil)
            #expect(book.genres == NSSet())
            try b.save()
            book.title = "edited"
            b.undo()
            #expect(book.title == "Untitled")
        }
    }

    @Test func clearingARelationshipToADeletedRow() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let shelfID = try Library.save("Shelf", in: a)
        let id = try Library.save("Book", in: a) { $0.setValue(a.object(with: shelfID), forKey: "shelf") }
        try b.performAndWait {
            b.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            let book = try #require(try b.existingObject(with: id) as? LibraryBook)
            try a.performAndWait {
                (a.object(with: id) as? LibraryBook)?.shelf = nil
                a.delete(a.object(with: shelfID))
                try a.save()
            }
            book.shelf = nil
            try b.save()
            #expect(book.shelf == nil)
            #expect(!b.hasChanges)
        }
    }

    @Test func bothSidesDeleteTheSameRow() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let id = try Library.save("Book", in: a)
        try b.performAndWait {
            let book = try #require(try b.existingObject(with: id) as? LibraryBook)
            try Library.remove(id, in: a)
            b.delete(book)
            try b.save()
            #expect(!b.hasChanges)
            #expect(book.managedObjectContext == nil)
            #expect(book.hooks.last == "didSave")
        }
    }

    @Test func anUnreadObjectWithoutRelationshipsIsDeleted() throws {
        let container = try Library.container()
        let id = try Library.save("Note", in: container.newBackgroundContext())
        try Library.remove(id, in: container.newBackgroundContext())
        let context = container.newBackgroundContext()
        let count = try context.performAndWait { try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) }
        #expect(count == 0)
    }

    @Test func aDeletionIsSavedThoughTheRowChangedAndTheChangeWasMerged() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.automaticallyMergesChangesFromParent = true
        let id = try Library.save("Book", in: a)
        try b.performAndWait { b.delete(try b.existingObject(with: id)) }
        try a.performAndWait {
            (a.object(with: id) as? LibraryBook)?.title = "changed"
            try a.save()
        }
        try b.performAndWait {
            try b.save()
            #expect(try b.count(for: NSFetchRequest<LibraryBook>(entityName: "Book")) == 0)
        }
    }

    @Test func anObjectRequestedBeforeItsSaveIsFilledByTheMerge() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.automaticallyMergesChangesFromParent = true
        let new = try a.performAndWait {
            let book = LibraryBook(context: a)
            try a.obtainPermanentIDs(for: [book])
            return book
        }
        let early = try b.performAndWait {
            let book = try #require(b.object(with: new.objectID) as? LibraryBook)
            #expect(book.title == nil)
            #expect(book.isDeleted)
            return book
        }
        try a.performAndWait { try a.save() }
        b.performAndWait {
            #expect(early.title == "Untitled")
            #expect(!early.isDeleted)
        }
    }

    @Test func deletingANeverSavedObjectClearsReferencesForEveryDeleteRule() throws {
        var model = Library.model
        model.entities[1].relationships[0].deleteRule = .noAction
        let context = try Library.container(model: model).newBackgroundContext()
        try context.performAndWait {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            let book = LibraryBook(context: context)
            book.shelf = shelf
            context.delete(shelf)
            try context.save()
            #expect(book.shelf == nil)
        }
    }

    @Test func aDeletionCanBeReverted() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let book = LibraryBook(context: context)
            try context.save()
            context.delete(book)
            context.insert(book)
            try context.save()
            #expect(book.managedObjectContext === context)
            #expect(!book.isDeleted)
            context.delete(book)
            context.rollback()
            #expect(!book.isDeleted)
            #expect(!context.hasChanges)
        }
    }
}
