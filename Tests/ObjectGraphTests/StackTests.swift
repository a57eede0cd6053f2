// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import Testing

@Suite struct StackTests {
    @Test func aStoreKeepsItsObjectsAcrossReopening() throws {
        let url = Library.temporaryFile()
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        let first = try Library.container(at: url)
        let id = try first.newBackgroundContext().save { context in
            let book = LibraryBook(context: context)
            book.title = "kept"
            return book
        }
        for store in first.persistentStoreCoordinator.persistentStores { try first.persistentStoreCoordinator.remove(store) }
        let second = try Library.container(at: url)
        let context = second.newBackgroundContext()
        try context.performAndWait {
            let found = try #require(second.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()))
            #expect(found == id)
            #expect((try context.existingObject(with: id) as? LibraryBook)?.title == "kept")
        }
    }

    @Test func historyRecordsAuthorsAndChangedProperties() throws {
        let container = try Library.container(tracksHistory: true)
        let context = container.newBackgroundContext()
        try context.performAndWait {
            context.transactionAuthor = "app"
            context.name = "editor"
            let book = LibraryBook(context: context)
            try context.save()
            let token = container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
            context.transactionAuthor = "other"
            book.title = "changed"
            try context.save()
            let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token)) as? NSPersistentHistoryResult
            let transactions = try #require(result?.result as? [NSPersistentHistoryTransaction])
            #expect(transactions.map(\.author) == ["other"])
            #expect(transactions.first?.contextName == "editor")
            let change = try #require(transactions.first?.changes?.first)
            #expect(change.changeType == .update)
            #expect(change.changedObjectID == book.objectID)
            #expect(change.updatedProperties?.map(\.name) == ["title"])
        }
    }

    @Test func anUnknownModelNameIsOneClearSentence() throws {
        let container = NSPersistentContainer(name: "NoSuchModel")
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        #expect((failure as? CocoaError)?.localizedDescription.contains("No model is named 'NoSuchModel'") == true)
    }

    @Test func anInvalidModelReportsItsProblems() throws {
        var model = Library.model
        model.entities[0].relationships[0].destination = "Nowhere"
        #expect(try failure(of: model).contains("Book.shelf has an unknown destination entity 'Nowhere'"))
    }

    private func failure(of model: Model) throws -> String {
        let container = NSPersistentContainer(name: "Broken", managedObjectModel: NSManagedObjectModel(model))
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        return try #require(failure).localizedDescription
    }
}

extension NSManagedObjectContext {
    /// Creates and saves an object, and returns its permanent ID.
    fileprivate func save(_ make: @Sendable (NSManagedObjectContext) -> NSManagedObject) throws -> NSManagedObjectID {
        try performAndWait {
            let object = make(self)
            try save()
            return object.objectID
        }
    }
}
