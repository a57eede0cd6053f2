// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation
import ObjectGraph
import PredicateKit
import Testing

/// Contexts on their queues, and their deallocation.
@Suite struct QueueTests {
    @Test func contextsWaitForOneAnotherInsideTheirBlocks() throws {
        let container = try Library.container()
        let (a, b) = (container.newBackgroundContext(), container.newBackgroundContext())
        let id = try Library.save("Note", in: a) { $0.setValue("a", forKey: "text") }
        try a.performAndWait {
            a.reset()
            let note = a.object(with: id)
            try b.performAndWait {
                #expect(note.value(forKey: "text") as? String == "a")
                a.performAndWait { note.setValue("b", forKey: "text") }
                DispatchQueue(label: "another").sync { #expect(note.hasChanges) }
                b.object(with: id).setValue("c", forKey: "text")
                try b.save()
            }
        }
    }

    @Test @MainActor func theMainContextIsUsedFromTheMainActor() async throws {
        let container = try Library.container()
        let context = container.viewContext
        context.automaticallyMergesChangesFromParent = true
        let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
        try context.save()
        let id = note.objectID
        try await container.performBackgroundTask { background in
            background.object(with: id).setValue("changed", forKey: "text")
            try background.save()
            container.viewContext.performAndWait {
                #expect(container.viewContext.object(with: id).managedObjectContext != nil)
            }
        }
        await context.perform(schedule: .enqueued) {}
        #expect(note.value(forKey: "text") as? String == "changed")
    }

    @Test func manyThreadsSaveAndMergeConcurrently() async throws {
        let container = try Library.container(at: Library.temporaryFile())
        let reader = container.newBackgroundContext()
        reader.automaticallyMergesChangesFromParent = true
        let shelfID = try Library.save("Shelf", in: reader)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<10 {
                        try await container.performBackgroundTask { context in
                            let book = LibraryBook(context: context)
                            book.shelf = context.object(with: shelfID)
                            try context.save()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        await reader.perform(schedule: .enqueued) {
            #expect((reader.object(with: shelfID).value(forKey: "books") as? NSSet)?.count == 40)
        }
    }

    @Test func anUnreferencedStackIsDeallocated() throws {
        weak var container: NSPersistentContainer?
        weak var context: NSManagedObjectContext?
        weak var object: NSManagedObject?
        weak var store: NSPersistentStore?
        try {
            let stack = try Library.container()
            let background = stack.newBackgroundContext()
            try background.performAndWait {
                let controller = NSFetchedResultsController(
                    fetchRequest: { () -> NSFetchRequest<LibraryBook> in
                        let request = NSFetchRequest<LibraryBook>(entityName: "Book")
                        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
                        return request
                    }(), managedObjectContext: background, sectionNameKeyPath: nil, cacheName: nil)
                try controller.performFetch()
                let book = LibraryBook(context: background)
                try background.save()
                book.title = "unsaved"
                object = book
            }
            (container, context, store) = (stack, background, stack.persistentStoreCoordinator.persistentStores.first)
        }()
        #expect(container == nil)
        #expect(context == nil)
        #expect(object == nil)
        #expect(store == nil)
    }
}
