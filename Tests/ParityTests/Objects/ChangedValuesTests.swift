// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Differences from the store, as the object reports them.
@Suite struct ChangedValuesTests {
    private func withAuthor(_ body: (Author, NSManagedObjectContext, Shop) throws -> Void) throws {
        let shop = try Shop()
        let id = try shop.stock(author: "Woolf", books: ["Orlando"])
        try shop.context.performAndWait {
            let author = try #require(try shop.context.existingObject(with: id) as? Author)
            try body(author, shop.context, shop)
        }
    }

    @Test func nothingIsChangedAfterAFetch() throws {
        try withAuthor { author, context, _ in
            #expect(author.changedValues().isEmpty)
            #expect(!author.hasChanges)
            #expect(!author.hasPersistentChangedValues)
            #expect(!context.hasChanges)
        }
    }

    @Test func changedValuesAreListedUntilTheSave() throws {
        try withAuthor { author, context, _ in
            author.setValue("Stein", forKey: "name")
            #expect(Set(author.changedValues().keys) == ["name"])
            #expect(author.changedValues()["name"] as? String == "Stein")
            author.setValue(1, forKey: "rank")
            #expect(Set(author.changedValues().keys) == ["name", "rank"])
            #expect(author.hasPersistentChangedValues)
            try context.save()
            #expect(author.changedValues().isEmpty)
            #expect(!author.hasChanges)
            #expect(!author.hasPersistentChangedValues)
        }
    }

    /// Source: `NSManagedObject.h`, `hasPersistentChangedValues` (relationship faults are not fired).
    @Test func changesAreReportedWithoutReadingRelationships() throws {
        try withAuthor { author, context, _ in
            context.refresh(author, mergeChanges: false)
            NSEntityDescription.insertNewObject(forEntityName: "Book", into: context).setValue(author, forKey: "author")
            #expect(author.hasFault(forRelationshipNamed: "books"))
            #expect(author.hasPersistentChangedValues)
            #expect(author.hasFault(forRelationshipNamed: "books"))
            try context.save()
            #expect(!author.hasPersistentChangedValues)
        }
    }

    @Test func committedValuesAreReadFromTheStore() throws {
        try withAuthor { author, context, _ in
            author.setValue("Stein", forKey: "name")
            author.setValue(nil, forKey: "rank")
            let committed = author.committedValues(forKeys: ["name", "rank"])
            #expect(committed["name"] as? String == "Woolf")
            #expect(integer(committed["rank"]) == 7)
            #expect(author.committedValues(forKeys: nil)["name"] as? String == "Woolf")
            try context.save()
            #expect(author.committedValues(forKeys: ["name"])["name"] as? String == "Stein")
        }
    }

    /// Source: developer.apple.com/documentation/coredata/nsmanagedobject/committedvalues(forkeys:) (persistent
    /// properties only).
    @Test func committedValuesHaveNoTransientOnes() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let picture = Picture.inserted("one", context)
            picture.setValue(5, forKey: "cached")
            try context.save()
            #expect(picture.value(forKey: "cached") as? Int == 5)
            let committed = picture.committedValues(forKeys: nil)
            #expect(committed["name"] as? String == "one")
            #expect(committed["cached"] == nil)
            #expect(committed["preview"] == nil)
            #expect(picture.committedValues(forKeys: ["cached"]).isEmpty)
        }
    }

    @Test func settingTheSameValueIsNotAPersistentChange() throws {
        try withAuthor { author, context, _ in
            author.setValue("Woolf", forKey: "name")
            #expect(author.hasChanges)
            #expect(!author.hasPersistentChangedValues)
            #expect(context.hasChanges)
            try context.save()
            #expect(!author.hasChanges)
        }
    }

    @Test func relationshipsAreChangesOnBothSides() throws {
        try withAuthor { author, context, _ in
            let book = try #require(try context.books().first)
            book.setValue(nil, forKey: "author")
            #expect(Set(book.changedValues().keys) == ["author"])
            #expect(Set(author.changedValues().keys) == ["books"])
            #expect(author.isUpdated)
            #expect(book.isUpdated)
            #expect((author.value(forKey: "books") as? Set<NSManagedObject>)?.isEmpty == true)
        }
    }

    @Test func primitiveValuesAreSetWithoutChangeTracking() throws {
        try withAuthor { author, context, _ in
            #expect(author.value(forKey: "name") as? String == "Woolf")
            author.setPrimitiveValue("Stein", forKey: "name")
            #expect(author.primitiveValue(forKey: "name") as? String == "Stein")
            #expect(author.value(forKey: "name") as? String == "Stein")
            #expect(!author.hasChanges)
            #expect(!context.hasChanges)
        }
    }

    @Test func stateFlagsFollowInsertionUpdateAndDeletion() throws {
        let shop = try Shop()
        try shop.context.performAndWait {
            let context = shop.context
            let author = Author(context: context)
            func state() -> [Bool] { [author.isInserted, author.isUpdated, author.isDeleted, author.hasChanges, context.hasChanges] }
            #expect(state() == [true, false, false, true, true])
            author.setValue("Woolf", forKey: "name")
            #expect(state() == [true, false, false, true, true])
            try context.save()
            #expect(state() == [false, false, false, false, false])
            author.setValue("Stein", forKey: "name")
            #expect(state() == [false, true, false, true, true])
            try context.save()
            #expect(state() == [false, false, false, false, false])
            context.delete(author)
            #expect(author.isDeleted)
            #expect(author.hasChanges)
            #expect(context.hasChanges)
            try context.save()
            #expect(!author.isDeleted)
            #expect(!context.hasChanges)
            #expect(author.managedObjectContext == nil)
        }
    }
}
