// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import Observation
import Synchronization
import Testing

@Suite @MainActor struct ObservationTests {
    /// The number of reported changes of the read properties while another block runs: 0 or 1.
    private func changes(of read: () -> Void, during change: () throws -> Void) rethrows -> Int {
        let counter = Counter()
        withObservationTracking(read) { counter.count.withLock { $0 += 1 } }
        try change()
        return counter.count.withLock { $0 }
    }

    private final class Counter: Sendable {
        let count = Mutex(0)
    }

    private func book(isObserved: Bool = true) throws -> (NSManagedObjectContext, LibraryBook) {
        let context = try Library.container().viewContext
        context.isObservationEnabled = isObserved
        return (context, LibraryBook(context: context))
    }

    @Test func trackersAreNotifiedOfPropertyChanges() throws {
        let (_, book) = try book()
        #expect(changes(of: { _ = book.title }, during: { book.title = "new" }) == 1)
        #expect(changes(of: { _ = book.title }, during: { book.pages = 3 }) == 0)
        #expect(changes(of: { _ = book.value(forKey: "pages") }, during: { book.setValue(4, forKey: "pages") }) == 1)
        #expect(changes(of: { _ = book.pages }, during: { book.title = "newer" }) == 0)
    }

    @Test func relationshipsAreObservedOnBothSides() throws {
        let (context, book) = try book()
        let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
        #expect(changes(of: { _ = shelf.value(forKey: "books") }, during: { book.shelf = shelf }) == 1)
        #expect(changes(of: { _ = book.shelf }, during: { shelf.mutableSetValue(forKey: "books").remove(book) }) == 1)
        #expect(changes(of: { _ = book.shelf }, during: { book.title = "other" }) == 0)
    }

    @Test func trackersAreNotifiedOfMergedValues() throws {
        let (context, book) = try book()
        book.title = "old"
        try context.save()
        #expect(changes(of: { _ = book.title }, during: { context.rollback() }) == 0)
        book.title = "unsaved"
        #expect(changes(of: { _ = book.title }, during: { context.rollback() }) == 1)
        #expect(book.title == "old")
        #expect(changes(of: { _ = book.title }, during: { context.refresh(book, mergeChanges: true) }) == 1)
        #expect(try changes(of: { _ = book.title }, during: { try Library.remove(book.objectID, in: context) }) == 1)
    }

    @Test func aMergeNotifiesTheOwnerOfNewMembers() throws {
        let container = try Library.container()
        let context = container.viewContext
        context.isObservationEnabled = true
        let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
        try context.save()
        let id = shelf.objectID
        let other = container.newBackgroundContext()
        nonisolated(unsafe) var saved: Notification?
        let observer = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextDidSave, object: other, queue: nil) {
            saved = $0
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        try other.performAndWait {
            LibraryBook(context: other).shelf = other.object(with: id)
            try other.save()
        }
        let members = { _ = shelf.value(forKey: "books") }
        #expect(try changes(of: members, during: { context.mergeChanges(fromContextDidSave: try #require(saved)) }) == 1)
        #expect((shelf.value(forKey: "books") as? NSSet)?.count == 1)
    }

    @Test func trackersAreNotNotifiedByDefault() throws {
        let (context, book) = try book(isObserved: false)
        #expect(changes(of: { _ = book.title }, during: { book.title = "new" }) == 0)
        context.isObservationEnabled = true
        #expect(changes(of: { _ = book.title }, during: { book.title = "newer" }) == 1)
        context.isObservationEnabled = false
        #expect(changes(of: { _ = book.title }, during: { book.title = "newest" }) == 0)
    }
}
