// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import PredicateKit
import Testing

/// Hooks, notifications and partial failures of a save.
@Suite struct SaveTests {
    @Test func changesByWillSaveObserversAreValidatedAndSaved() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        nonisolated(unsafe) var title = String(repeating: "long", count: 10)
        let token = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextWillSave, object: context, queue: nil) { note in
            for case let book as LibraryBook in (note.object as? NSManagedObjectContext)?.insertedObjects ?? [] { book.title = title }
        }
        defer { NotificationCenter.default.removeObserver(token) }
        try context.performAndWait {
            let book = LibraryBook(context: context)
            #expect(throws: CocoaError.self) { try context.save() }
            title = "short"
            try context.save()
            #expect(book.title == "short")
            #expect(!context.hasChanges)
            #expect(book.hooks.suffix(2) == ["willSave", "didSave"])
        }
    }

    @Test func aFailedSaveCanBeRetried() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let book = LibraryBook(context: context)
            book.pages = 0
            #expect { try context.save() } throws: { ($0 as? CocoaError)?.code == .validationNumberTooSmall }
            #expect(book.isInserted)
            book.pages = 2
            try context.save()
            #expect(!book.objectID.isTemporaryID)
            #expect(!book.isInserted)
        }
    }

    @Test func permanentIDsBeforeASaveThatNeverComes() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            try context.save()
            let book = LibraryBook(context: context)
            book.shelf = shelf
            try context.obtainPermanentIDs(for: [book])
            let id = book.objectID
            #expect(!id.isTemporaryID)
            #expect(book.isInserted)
            #expect(context.registeredObject(for: id) === book)
            #expect((shelf.value(forKey: "books") as? NSSet) == NSSet(object: book))
            context.rollback()
            #expect(context.registeredObject(for: id) == nil)
            #expect(book.managedObjectContext == nil)
            #expect(!context.hasChanges)
            #expect((shelf.value(forKey: "books") as? NSSet) == NSSet())
            let next = LibraryBook(context: context)
            next.shelf = shelf
            try context.save()
            #expect(next.objectID != id)
        }
    }

    @Test func aPrimitiveValueIsSavedWithTheNextChange() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        let id = try context.performAndWait {
            let book = LibraryBook(context: context)
            try context.save()
            book.setPrimitiveValue(4.5, forKey: "rating")
            #expect(!context.hasChanges)
            book.title = "rated"
            try context.save()
            return book.objectID
        }
        let fresh = container.newBackgroundContext()
        let rating = try fresh.performAndWait { try fresh.existingObject(with: id).value(forKey: "rating") as? Double }
        #expect(rating == 4.5)
    }

    @Test func notificationsListEachObjectOnce() throws {
        let context = try Library.container().newBackgroundContext()
        nonisolated(unsafe) var log: [String] = []
        let token = NotificationCenter.default.addObserver(
            forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
        ) { note in
            let keys = [NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey, NSRefreshedObjectsKey]
            log.append(
                keys.filter { note.userInfo?[$0] != nil }.map { "\($0) \((note.userInfo?[$0] as? Set<NSManagedObject>)?.count ?? 0)" }
                    .joined(separator: ", "))
        }
        defer { NotificationCenter.default.removeObserver(token) }
        func told() -> [String] {
            context.processPendingChanges()
            defer { log = [] }
            return log
        }
        try context.performAndWait {
            let book = LibraryBook(context: context)
            #expect(told() == ["inserted 1"])
            book.pages = 3
            #expect(told() == ["updated 1"])
            context.delete(LibraryBook(context: context))
            #expect(told() == [])
            try context.save()
            #expect(told() == [])
            book.pages = 4
            let other = LibraryBook(context: context)
            context.delete(other)
            #expect(told() == ["updated 1"])
            context.refreshAllObjects()
            #expect(told() == ["refreshed 1"])
            context.rollback()
            #expect(told() == ["refreshed 1"])
        }
    }

    @Test func savingWithinASaveIsRejected() throws {
        let context = try Library.container().newBackgroundContext()
        nonisolated(unsafe) var refusals = 0
        let token = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextWillSave, object: context, queue: nil) { note in
            do { try (note.object as? NSManagedObjectContext)?.save() } catch { refusals += 1 }
        }
        defer { NotificationCenter.default.removeObserver(token) }
        try Library.save("Note", in: context)
        #expect(refusals == 1)
    }

    @Test func relationshipsSurviveASaveThatGaveOnlySomeObjectsTheirKeys() throws {
        var model = Library.model
        model.configurations["Books"] = ["Book", "Cover", "Genre", "Shelf"]
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel(model))
        try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: "Books", at: nil)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait {
            let (book, cover) = (LibraryBook(context: context), NSEntityDescription.insertNewObject(forEntityName: "Cover", into: context))
            book.setValue(cover, forKey: "cover")
            let homeless = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
            #expect { try context.save() } throws: { ($0 as? CocoaError)?.code == .persistentStoreSave }
            context.delete(homeless)
            try context.save()
            context.refreshAllObjects()
            #expect(book.value(forKey: "cover") as? NSManagedObject === cover)
            #expect(cover.value(forKey: "book") as? NSManagedObject === book)
        }
    }

    // MARK: Several stores

    private func twoStores() throws -> (NSManagedObjectContext, NSPersistentStore, NSPersistentStore) {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel(Library.model))
        let first = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
        let second = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        return (context, first, second)
    }

    @Test func relatingObjectsOfTwoStoresIsAnErrorOfTheSave() throws {
        let (context, first, second) = try twoStores()
        context.performAndWait {
            let (book, shelf) = (LibraryBook(context: context), NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context))
            context.assign(book, to: first)
            context.assign(shelf, to: second)
            book.shelf = shelf
            #expect { try context.save() } throws: { ($0 as? CocoaError)?.code == .managedObjectExternalRelationship }
            #expect(context.hasChanges)
        }
    }

    @Test func savedStoresAreNotSavedAgainAfterAnotherFails() throws {
        let (context, first, second) = try twoStores()
        let other = NSManagedObjectContext(.privateQueue)
        other.persistentStoreCoordinator = context.persistentStoreCoordinator
        try context.performAndWait {
            let old = LibraryBook(context: context)
            context.assign(old, to: second)
            try context.save()
            try other.performAndWait {
                (other.object(with: old.objectID) as? LibraryBook)?.title = "theirs"
                try other.save()
            }
            let new = LibraryBook(context: context)
            context.assign(new, to: first)
            old.title = "mine"
            do {
                try context.save()
                Issue.record("a conflict was saved")
            } catch let error as CocoaError {
                #expect(error.code == .persistentStoreIncompleteSave)
                #expect(error.affectedObjects?.first === old)
                #expect(error.affectedStores?.first === second)
            }
            #expect(!new.isInserted)
            #expect(context.updatedObjects == [old])
            context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            try context.save()
            #expect(!context.hasChanges)
            #expect(try context.count(for: NSFetchRequest<LibraryBook>(entityName: "Book")) == 2)
        }
    }
}
