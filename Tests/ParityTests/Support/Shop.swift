// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// An in-memory store with contexts and books.
struct Shop {
    let container: NSPersistentContainer
    let context: NSManagedObjectContext

    init() throws {
        container = try Library.container()
        context = container.newBackgroundContext()
    }

    func other() -> NSManagedObjectContext { container.newBackgroundContext() }

    /// Saves an author with books, in a temporary context.
    func stock(author name: String = "Woolf", books titles: [String] = []) throws -> NSManagedObjectID {
        let context = other()
        return try context.performAndWait {
            let author = Author(context: context)
            author.setValue(name, forKey: "name")
            for title in titles {
                let book = Book(context: context)
                book.setValue(title, forKey: "title")
                book.setValue(author, forKey: "author")
            }
            try context.save()
            return author.objectID
        }
    }

    /// Changes an object in another context, and saves.
    func elsewhere(_ id: NSManagedObjectID, _ change: (NSManagedObject, NSManagedObjectContext) throws -> Void) throws {
        let context = other()
        try context.performAndWait {
            try change(try context.existingObject(with: id), context)
            try context.save()
        }
    }
}

extension NSManagedObjectContext {
    /// All objects of an entity, sorted by a key.
    func all<T: NSManagedObject>(_ type: T.Type, _ entity: String, by key: String) throws -> [T] {
        let request = NSFetchRequest<T>(entityName: entity)
        request.sortDescriptors = [NSSortDescriptor(key: key, ascending: true)]
        return try fetch(request)
    }

    func books() throws -> [Book] { try all(Book.self, "Book", by: "title") }
}

/// An integer, from a Swift integer or a number object.
func integer(_ value: Any?) -> Int? { (value as? any BinaryInteger).map { Int($0) } ?? (value as? NSNumber)?.intValue }
