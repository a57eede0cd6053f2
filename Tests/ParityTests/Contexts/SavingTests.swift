// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct SavingTests {
    @Test func anInsertedObjectGetsAPermanentIDWithTheSave() throws {
        let context = try Library.context()
        try context.performAndWait {
            let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
            #expect(book is Book)
            #expect(book.objectID.isTemporaryID)
            #expect(book.isInserted)
            #expect(context.hasChanges)
            book.setValue("Walden", forKey: "title")
            try context.save()
            #expect(!book.objectID.isTemporaryID)
            #expect(!book.isInserted)
            #expect(!context.hasChanges)
            #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Book")) == 1)
        }
    }
}
