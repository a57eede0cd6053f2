// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import Testing

@Suite struct MergeTests {
    /// Two contexts that both hold the same saved book.
    private func pair(policy: NSMergePolicy) throws -> (NSManagedObjectContext, LibraryBook, NSManagedObjectContext, LibraryBook) {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.mergePolicy = policy
        let mine = try a.performAndWait {
            let book = LibraryBook(context: a)
            book.title = "base"
            try a.save()
            return Held(book)
        }
        let theirs = try b.performAndWait {
            Held(try #require(try b.existingObject(with: mine.book.objectID) as? LibraryBook))
        }
        return (a, mine.book, b, theirs.book)
    }

    /// Passes a book between two performAndWait blocks of its own context.
    private struct Held: @unchecked Sendable {
        let book: LibraryBook
        init(_ book: LibraryBook) { self.book = book }
    }

    @Test(arguments: [
        (NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, "b 7 4.5"), (.mergeByPropertyStoreTrumpMergePolicyType, "a 7 4.5"),
        (.overwriteMergePolicyType, "b 7 0.0"), (.rollbackMergePolicyType, "a 1 4.5"),
    ])
    func aConflictIsResolvedByThePolicy(type: NSMergePolicyType, result: String) throws {
        let (a, mine, b, theirs) = try pair(policy: NSMergePolicy(merge: type))
        let (first, second) = (Held(mine), Held(theirs))
        try a.performAndWait {
            first.book.title = "a"
            first.book.setValue(4.5, forKey: "rating")
            try a.save()
        }
        @Sendable func values(_ book: LibraryBook) -> String {
            "\(book.title ?? "") \(book.pages) \(book.value(forKey: "rating") as? Double ?? 0)"
        }
        try b.performAndWait {
            second.book.title = "b"
            second.book.pages = 7
            try b.save()
            #expect(values(second.book) == result)
            let fresh = try #require(
                b.persistentStoreCoordinator.map { coordinator in
                    let context = NSManagedObjectContext(.privateQueue)
                    context.persistentStoreCoordinator = coordinator
                    return context
                })
            try fresh.performAndWait {
                let book = try #require(try fresh.existingObject(with: second.book.objectID) as? LibraryBook)
                #expect(values(book) == result)
            }
        }
    }

    @Test func withoutAPolicyAConflictIsAnErrorAndNothingIsLost() throws {
        let (a, mine, b, theirs) = try pair(policy: .error)
        let (first, second) = (Held(mine), Held(theirs))
        try a.performAndWait {
            first.book.title = "a"
            try a.save()
        }
        b.performAndWait {
            second.book.title = "b"
            do {
                try b.save()
                Issue.record("a conflict was saved")
            } catch {
                let error = error as? CocoaError
                #expect(error?.code == .managedObjectMerge)
                #expect((error?.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict])?.count == 1)
            }
            #expect(second.book.title == "b")
            #expect(b.hasChanges)
        }
    }

    @Test func aContextThatMergesSeesOtherSavesAndKeepsItsOwnEdits() async throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        b.automaticallyMergesChangesFromParent = true
        let id = try await a.perform {
            let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: a)
            let book = LibraryBook(context: a)
            book.title = "base"
            book.shelf = shelf
            try a.save()
            return book.objectID
        }
        try await b.perform {
            let book = try #require(try b.existingObject(with: id) as? LibraryBook)
            b.userInfo["book"] = book
            b.userInfo["shelf"] = book.shelf
            #expect((book.shelf?.value(forKey: "books") as? NSSet)?.count == 1)
            book.pages = 9
        }
        try await a.perform {
            let book = try #require(a.object(with: id) as? LibraryBook)
            book.title = "changed"
            let second = LibraryBook(context: a)
            second.shelf = book.shelf
            try a.save()
        }
        // The save enqueued the merge, so it precedes this block.
        try await b.perform(schedule: .enqueued) {
            let book = try #require(b.userInfo["book"] as? LibraryBook)
            #expect(book.title == "changed")
            #expect(book.pages == 9)
            #expect((book.shelf?.value(forKey: "books") as? NSSet)?.count == 2)
            try b.save()
        }
        try await a.perform {
            a.delete(a.object(with: id))
            try a.save()
        }
        await b.perform(schedule: .enqueued) {
            #expect((b.userInfo["book"] as? LibraryBook)?.managedObjectContext == nil)
            #expect(((b.userInfo["shelf"] as? NSManagedObject)?.value(forKey: "books") as? NSSet)?.count == 1)
        }
    }
}
