// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Members of a fault that leave it a fault, and those that fire it.
@Suite struct FaultingTests {
    /// Members that leave a fault unfired.
    static let harmless: [(name: String, ask: @Sendable (NSManagedObject) -> Bool)] = [
        ("objectID", { !$0.objectID.isTemporaryID }), ("entity", { $0.entity.name == "Author" }), ("isInserted", { !$0.isInserted }),
        ("isUpdated", { !$0.isUpdated }), ("isDeleted", { !$0.isDeleted }), ("hasChanges", { !$0.hasChanges }),
        ("managedObjectContext", { $0.managedObjectContext != nil }), ("description", { !$0.description.isEmpty }),
        ("hash", { $0.hash == $0.hash }), ("isEqual", { $0.isEqual($0) }),
        ("hasFault", { $0.hasFault(forRelationshipNamed: "books") }),
    ]

    @Test(arguments: harmless.indices) func readingTheObjectIDKeepsAFault(_ index: Int) throws {
        let shop = try Shop()
        let id = try shop.stock()
        shop.context.performAndWait {
            let author = shop.context.object(with: id)
            #expect(author.isFault)
            #expect(Self.harmless[index].ask(author), "\(Self.harmless[index].name)")
            #expect(author.isFault, "\(Self.harmless[index].name)")
        }
    }

    @Test func readingAValueFiresAFault() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        shop.context.performAndWait {
            let author = shop.context.object(with: id)
            #expect(author.isFault)
            #expect(author.value(forKey: "name") as? String == "Woolf")
            #expect(!author.isFault)
            #expect(!author.hasChanges)
            #expect(integer(author.value(forKey: "rank")) == 7)
        }
    }

    @Test func settingAValueFiresAFault() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        shop.context.performAndWait {
            let author = shop.context.object(with: id)
            author.setValue(3, forKey: "rank")
            #expect(!author.isFault)
            #expect(author.isUpdated)
            #expect(author.hasChanges)
            #expect(author.value(forKey: "name") as? String == "Woolf")
        }
    }

    @Test func toManyRelationshipsAreSeparateFaults() throws {
        let shop = try Shop()
        let id = try shop.stock(books: ["Orlando", "The Waves"])
        try shop.context.performAndWait {
            let author = try shop.context.existingObject(with: id)
            #expect(!author.isFault)
            #expect(author.hasFault(forRelationshipNamed: "books"))
            let books = try #require(author.value(forKey: "books") as? Set<NSManagedObject>)
            #expect(books.count == 2)
            #expect(!author.hasFault(forRelationshipNamed: "books"))
        }
    }

    @Test func anInsertedObjectHasNoFaults() throws {
        let shop = try Shop()
        shop.context.performAndWait {
            let author = Author(context: shop.context)
            #expect(!author.isFault)
            #expect(!author.hasFault(forRelationshipNamed: "books"))
            #expect((author.value(forKey: "books") as? Set<NSManagedObject>)?.isEmpty == true)
        }
    }

    @Test func fetchesReturnFaultsUnlessReturnsObjectsAsFaultsIsFalse() throws {
        let shop = try Shop()
        _ = try shop.stock(books: ["Orlando", "The Waves"])
        for (asFaults, withValues) in [(true, true), (true, false), (false, true)] {
            let context = shop.other()
            try context.performAndWait {
                let request = NSFetchRequest<Book>(entityName: "Book")
                request.returnsObjectsAsFaults = asFaults
                request.includesPropertyValues = withValues
                let books = try context.fetch(request)
                #expect(books.count == 2)
                #expect(books.allSatisfy { $0.isFault == asFaults })
                #expect(Set(books.compactMap { $0.value(forKey: "title") as? String }) == ["Orlando", "The Waves"])
                #expect(books.allSatisfy { !$0.isFault })
            }
        }
    }

    @Test func savingDoesNotTurnObjectsIntoFaults() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            let author = Author(context: shop.context)
            author.setValue("Woolf", forKey: "name")
            try shop.context.save()
            #expect(!author.isFault)
            #expect(author.value(forKey: "name") as? String == "Woolf")
        }
    }

    @Test func existingObjectReturnsNoFaultAndThrowsIfMissing() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf")
        try shop.context.performAndWait {
            let fault = shop.context.object(with: id)
            #expect(fault.isFault)
            let author = try shop.context.existingObject(with: id)
            #expect(author === fault)
            #expect(!author.isFault)
        }
        try shop.elsewhere(id) { $1.delete($0) }
        let context = shop.other()
        context.performAndWait {
            #expect(throws: CocoaError.self) { try context.existingObject(with: id) }
            do { _ = try context.existingObject(with: id) } catch {
                #expect((error as NSError).code == NSManagedObjectReferentialIntegrityError)
            }
        }
    }

    @Test func aFaultOfADeletedRowReadsAsEmpty() throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf", books: ["Orlando"])
        try shop.context.performAndWait {
            let author = shop.context.object(with: id)
            #expect(author.isFault)
            try shop.elsewhere(id) { $1.delete($0) }
            #expect(author.value(forKey: "name") == nil)
            #expect(author.value(forKey: "born") == nil)
        }
    }

    @Test func objectsReachedThroughARelationshipAreFaults() throws {
        let shop = try Shop()
        _ = try shop.stock(author: "Woolf", books: ["Orlando"])
        try shop.context.performAndWait {
            let book = try #require(try shop.context.books().first)
            let author = try #require(book.value(forKey: "author") as? Author)
            #expect(!book.isFault)
            #expect(author.isFault)
            #expect(book.value(forKeyPath: "author.name") as? String == "Woolf")
            #expect(!author.isFault)
        }
    }
}
