// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

@Suite struct FetchTests {
    private func stocked() throws -> (NSPersistentContainer, NSManagedObjectContext) {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            shelf.setValue("A", forKey: "name")
            for (number, title) in ["delta", "alpha", "charlie", "bravo"].enumerated() {
                let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
                book.setValue(title, forKey: "title")
                book.setValue(number + 1, forKey: "pages")
                if number < 2 { book.setValue(shelf, forKey: "shelf") }
            }
            try context.save()
        }
        return (container, context)
    }

    private func titles(_ context: NSManagedObjectContext, _ configure: (NSFetchRequest<LibraryBook>) -> Void) throws -> [String?] {
        let request = NSFetchRequest<LibraryBook>(entityName: "Book")
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        configure(request)
        return try context.fetch(request).map(\.title)
    }

    @Test func predicatesOrderAndWindow() throws {
        let (_, context) = try stocked()
        try context.performAndWait {
            try #expect(titles(context) { _ in } == ["alpha", "bravo", "charlie", "delta"])
            try #expect(titles(context) { $0.predicate = NSPredicate(format: "pages > %d", 2) } == ["bravo", "charlie"])
            try #expect(titles(context) { $0.predicate = NSPredicate(format: "shelf.name == %@", "A") } == ["alpha", "delta"])
            try #expect(
                titles(context) { $0.predicate = NSPredicate(format: "title BEGINSWITH[c] 'CH' OR title ENDSWITH 'o'") } == [
                    "bravo", "charlie",
                ])
            try #expect(
                titles(context) {
                    $0.fetchLimit = 2; $0.fetchOffset = 1
                } == ["bravo", "charlie"])
        }
    }

    @Test func swiftKeyPathsOrderByTheirProperties() throws {
        let (_, context) = try stocked()
        try context.performAndWait {
            try #expect(
                titles(context) { $0.sortDescriptors = [NSSortDescriptor(keyPath: \LibraryBook.title, ascending: false)] }.first == "delta")
            try #expect(
                titles(context) { $0.sortDescriptors = [NSSortDescriptor(keyPath: \LibraryBook.pages, ascending: false)] }.first == "bravo")
            let fresh = LibraryBook(context: context)
            fresh.title = "azure"
            try #expect(
                titles(context) { $0.sortDescriptors = [NSSortDescriptor(keyPath: \LibraryBook.title, ascending: true)] }.prefix(2) == [
                    "alpha", "azure",
                ])
            // Neither is a property of the model.
            for descriptor in [
                NSSortDescriptor(keyPath: \LibraryBook.title?.count, ascending: true),
                NSSortDescriptor(keyPath: \LibraryBook.objectID, ascending: true),
            ] {
                #expect(throws: CocoaError.self) { try titles(context) { $0.sortDescriptors = [descriptor] } }
            }
        }
    }

    @Test func unsavedChangesAreOverlaid() throws {
        let (_, context) = try stocked()
        try context.performAndWait {
            let all = try context.fetch(NSFetchRequest<LibraryBook>(entityName: "Book"))
            all.first { $0.title == "alpha" }?.title = "zulu"
            context.delete(try #require(all.first { $0.title == "bravo" }))
            let fresh = LibraryBook(context: context)
            fresh.title = "azure"
            try #expect(titles(context) { _ in } == ["azure", "charlie", "delta", "zulu"])
            try #expect(titles(context) { $0.fetchLimit = 1 } == ["azure"])
            try #expect(titles(context) { $0.predicate = NSPredicate(format: "title == 'alpha'") } == [])
            try #expect(context.count(for: NSFetchRequest<LibraryBook>(entityName: "Book")) == 4)
            try #expect(titles(context) { $0.includesPendingChanges = false }.count == 4)
        }
    }

    @Test func oneObjectPerRowInAContext() throws {
        let (_, context) = try stocked()
        try context.performAndWait {
            let first = try #require(try context.fetch(NSFetchRequest<LibraryBook>(entityName: "Book")).first)
            #expect(context.object(with: first.objectID) === first)
            #expect(try context.existingObject(with: first.objectID) === first)
            let uri = first.objectID.uriRepresentation()
            #expect(context.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: uri) == first.objectID)
        }
    }

    @Test func aBlockPredicateIsRejectedWithAReason() throws {
        let (_, context) = try stocked()
        context.performAndWait {
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.predicate = NSPredicate { _, _ in true }
            #expect(throws: CocoaError.self) { try context.fetch(request) }
            #expect(throws: CocoaError.self) { try context.fetch(NSFetchRequest<LibraryBook>(entityName: "Nothing")) }
        }
    }
}
