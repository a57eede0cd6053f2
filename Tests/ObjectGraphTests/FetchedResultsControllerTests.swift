// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

@Suite struct FetchedResultsControllerTests {
    private final class Log: NSFetchedResultsControllerDelegate {
        var lines: [String] = []
        func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { lines.append("will") }
        func controller(
            _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
            for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
        ) {
            let title = (anObject as? LibraryBook)?.title ?? "?"
            lines.append(
                "\(type) \(title) \(indexPath.map { "\($0[0]).\($0[1])" } ?? "-") → \(newIndexPath.map { "\($0[0]).\($0[1])" } ?? "-")")
        }
        func controller(
            _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
            atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
        ) { lines.append("section \(type) \(sectionInfo.name) \(sectionIndex)") }
        func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { lines.append("did") }
        func take() -> [String] {
            defer { lines = [] }
            return lines
        }
    }

    @Test func theDelegateReceivesInsertsMovesUpdatesAndDeletes() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            func insert(_ title: String) -> LibraryBook {
                let book = LibraryBook(context: context)
                book.title = title
                return book
            }
            let (b, d) = (insert("b"), insert("d"))
            try context.save()
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
            let log = Log()
            controller.delegate = log
            try controller.performFetch()
            #expect(controller.fetchedObjects == [b, d])
            #expect(log.take().isEmpty)

            let c = insert("c")
            context.processPendingChanges()
            #expect(log.take() == ["will", "insert c - → 0.1", "did"])
            b.pages = 5
            context.processPendingChanges()
            #expect(log.take() == ["will", "update b 0.0 → 0.0", "did"])
            d.title = "a"
            context.processPendingChanges()
            #expect(log.take() == ["will", "move a 0.2 → 0.0", "did"])
            context.delete(c)
            try context.save()
            #expect(log.take() == ["will", "delete c 0.2 → -", "did"])
            #expect(controller.object(at: IndexPath(indexes: [0, 1])) === b)
            #expect(controller.indexPath(forObject: d) == IndexPath(indexes: [0, 0]))
        }
    }

    @Test func oneChangeAmongManyResultsReadsFewOfThem() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            for number in 0..<500 { LibraryBook(context: context).title = "\(1000 + number)" }
            try context.save()
            context.reset()
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
            let log = Log()
            controller.delegate = log
            try controller.performFetch()
            for title in ["1250+", "0", "2"] { LibraryBook(context: context).title = title }
            context.processPendingChanges()
            #expect(log.lines.count == 5)
            let books = try #require(controller.fetchedObjects)
            #expect(books.count { !$0.isFault } < 50)
            let titles = books.map { $0.title ?? "" }
            #expect(titles == titles.sorted(by: >))
            #expect(titles.count == 503)
        }
    }

    @Test func sectionsAreInsertedAndDeleted() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true), NSSortDescriptor(key: "title", ascending: true)]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "pages", cacheName: nil)
            let log = Log()
            controller.delegate = log
            try controller.performFetch()
            let book = LibraryBook(context: context)
            book.title = "x"
            context.processPendingChanges()
            #expect(log.take() == ["will", "section insert 1 0", "insert x - → 0.0", "did"])
            book.pages = 2
            context.processPendingChanges()
            #expect(log.take() == ["will", "section delete 1 0", "section insert 2 0", "move x 0.0 → 0.0", "did"])
        }
    }

    @Test func sectionsByARelatedPropertyFollowChangedObjects() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
            shelf.setValue("a", forKey: "name")
            let (book, other) = (LibraryBook(context: context), LibraryBook(context: context))
            (book.title, book.shelf) = ("x", shelf)
            other.title = "y"
            try context.save()
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.sortDescriptors = [NSSortDescriptor(key: "shelf.name", ascending: true)]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "shelf.name", cacheName: nil)
            let log = Log()
            controller.delegate = log
            try controller.performFetch()
            shelf.setValue("b", forKey: "name")
            other.pages = 2
            context.processPendingChanges()
            #expect(log.take() == ["will", "update y 0.0 → 0.0", "did"])
            #expect(controller.sections?.map(\.name) == ["", "a"])
            book.pages = 2
            context.processPendingChanges()
            #expect(log.take() == ["will", "section delete a 1", "section insert b 1", "move x 1.0 → 1.0", "did"])
            #expect(controller.sectionIndexTitles == ["B"])
            #expect(controller.section(forSectionIndexTitle: "B", at: 0) == 1)
        }
    }

    @Test func conflictsResolvedForTheStoreUpdateResults() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let (kept, lost) = (try Library.save("Book", in: a), try Library.save("Book", in: a))
        try b.performAndWait {
            b.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: b, sectionNameKeyPath: nil, cacheName: nil)
            let log = Log()
            controller.delegate = log
            try controller.performFetch()
            let books = try [kept, lost].map { try #require(try b.existingObject(with: $0) as? LibraryBook) }
            try a.performAndWait {
                (a.object(with: kept) as? LibraryBook)?.title = "theirs"
                a.delete(a.object(with: lost))
                try a.save()
            }
            for book in books { book.title = "mine" }
            b.processPendingChanges()
            _ = log.take()
            try b.save()
            #expect(books[0].title == "theirs")
            #expect(controller.fetchedObjects == [books[0]])
            #expect(log.take() == ["will", "delete mine 0.1 → -", "update theirs 0.0 → 0.0", "did"])
        }
    }

    @Test func theDelegatesControllerEqualsTheAppsController() throws {
        final class Comparing: NSFetchedResultsControllerDelegate {
            var seen: NSFetchedResultsController<any NSFetchRequestResult>?
            func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { seen = controller }
        }
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
            let make = {
                NSFetchedResultsController(fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
            }
            let (mine, other) = (make(), make())
            let delegate = Comparing()
            mine.delegate = delegate
            try mine.performFetch()
            _ = LibraryBook(context: context)
            context.processPendingChanges()
            let seen = try #require(delegate.seen)
            #expect(seen.isEqual(mine))
            #expect(!seen.isEqual(other))
            #expect(seen.delegate === delegate)
            try seen.performFetch()
            #expect(seen.fetchedObjects?.count == 1)
        }
    }

    @Test func aRequestWithoutSortDescriptorsIsRejected() throws {
        let context = try Library.container().newBackgroundContext()
        context.performAndWait {
            let controller = NSFetchedResultsController(
                fetchRequest: NSFetchRequest<LibraryBook>(entityName: "Book"), managedObjectContext: context, sectionNameKeyPath: nil,
                cacheName: nil)
            #expect(throws: CocoaError.self) { try controller.performFetch() }
        }
    }

    @Test func snapshotsAreASequenceThatEndsWithItsController() async throws {
        struct Held: @unchecked Sendable {
            // Unchecked: the controller is only retained here, and used on its context's queue.
            let controller: NSFetchedResultsController<LibraryBook>
            let snapshots: AsyncStream<NSDiffableDataSourceSnapshot<String, NSManagedObjectID>>
        }
        let context = try Library.container().newBackgroundContext()
        func insert(_ title: String) async throws -> NSManagedObjectID {
            try await context.perform {
                let book = LibraryBook(context: context)
                book.title = title
                // With a permanent ID, snapshots before the save identify the object as those after it do.
                try context.obtainPermanentIDs(for: [book])
                try context.save()
                return book.objectID
            }
        }
        let first = try await insert("b")
        var held: Held? = try await context.perform {
            let request = NSFetchRequest<LibraryBook>(entityName: "Book")
            request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
            try controller.performFetch()
            return Held(controller: controller, snapshots: controller.snapshots)
        }
        var snapshots = try #require(held?.snapshots.makeAsyncIterator())
        #expect(await snapshots.next()?.itemIdentifiers == [first])
        let second = try await insert("a")
        #expect(await snapshots.next()?.itemIdentifiers == [second, first])
        held = nil
        #expect(await snapshots.next() == nil)
    }
}
