// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// A store in memory with contexts over it, and books in it.
struct Shop {
    let container: NSPersistentContainer
    let context: NSManagedObjectContext

    init() throws {
        container = try Library.container()
        context = container.newBackgroundContext()
    }

    func other() -> NSManagedObjectContext { container.newBackgroundContext() }

    /// Saves, in a context that is gone afterwards, an author with so many books.
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

    /// Changes an object in a context of its own, and saves.
    func elsewhere(_ id: NSManagedObjectID, _ change: (NSManagedObject, NSManagedObjectContext) throws -> Void) throws {
        let context = other()
        try context.performAndWait {
            try change(try context.existingObject(with: id), context)
            try context.save()
        }
    }
}

extension NSManagedObjectContext {
    /// Every object of an entity, in the order of a key.
    func all<T: NSManagedObject>(_ type: T.Type, _ entity: String, by key: String) throws -> [T] {
        let request = NSFetchRequest<T>(entityName: entity)
        request.sortDescriptors = [NSSortDescriptor(key: key, ascending: true)]
        return try fetch(request)
    }

    func books() throws -> [Book] { try all(Book.self, "Book", by: "title") }
}

/// An integer, whether it comes in a type of its own size or as a number object.
func integer(_ value: Any?) -> Int? { (value as? any BinaryInteger).map { Int($0) } ?? (value as? NSNumber)?.intValue }
