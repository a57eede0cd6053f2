// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph

/// A model and a stack for tests: shelves of books (one-to-many, cascade), covers (one-to-one), genres (many-to-many).
enum Library {
    static var model: Model {
        var title = Attribute(name: "title", type: .string, isOptional: false, defaultValue: .string("Untitled"))
        title.maximum = 20
        var pages = Attribute(name: "pages", type: .integer32, defaultValue: .int(1))
        pages.minimum = 1
        let book = Entity(
            name: "Book", className: "LibraryBook",
            attributes: [
                title, pages, Attribute(name: "added", type: .date), Attribute(name: "code", type: .uuid),
                Attribute(name: "isRead", type: .boolean), Attribute(name: "price", type: .decimal),
                Attribute(name: "site", type: .uri), Attribute(name: "scan", type: .binaryData), Attribute(name: "rating", type: .double),
            ],
            relationships: [
                Relationship(name: "shelf", destination: "Shelf", inverse: "books"),
                Relationship(name: "cover", destination: "Cover", inverse: "book", deleteRule: .cascade),
                Relationship(name: "genres", destination: "Genre", inverse: "books", isToMany: true),
            ])
        let shelf = Entity(
            name: "Shelf", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "books", destination: "Book", inverse: "shelf", isToMany: true, deleteRule: .cascade)])
        let cover = Entity(
            name: "Cover", attributes: [Attribute(name: "color", type: .string)],
            relationships: [Relationship(name: "book", destination: "Book", inverse: "cover")])
        let genre = Entity(
            name: "Genre", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "books", destination: "Book", inverse: "genres", isToMany: true)])
        let note = Entity(name: "Note", attributes: [Attribute(name: "text", type: .string)])
        return Model(entities: [book, shelf, cover, genre, note])
    }

    /// A loaded container. Stores are in memory unless a file is given.
    static func container(
        at url: URL = URL(fileURLWithPath: "/dev/null"), tracksHistory: Bool = false, model: Model = Library.model
    ) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Library", managedObjectModel: NSManagedObjectModel(model))
        let description = NSPersistentStoreDescription(url: url)
        if tracksHistory { description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey) }
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
        return container
    }

    /// Inserts and saves an object, and returns its ID.
    @discardableResult
    static func save(
        _ entity: String, in context: NSManagedObjectContext, _ configure: (NSManagedObject) throws -> Void = { _ in }
    ) throws -> NSManagedObjectID {
        try context.performAndWait {
            let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
            try configure(object)
            try context.save()
            return object.objectID
        }
    }

    /// Deletes an object and saves.
    static func remove(_ id: NSManagedObjectID, in context: NSManagedObjectContext) throws {
        try context.performAndWait {
            context.delete(context.object(with: id))
            try context.save()
        }
    }

    static func temporaryFile() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("tarn-\(UUID().uuidString)/Library.sqlite")
    }
}

/// A class with accessors as the model compiler writes them, and hooks that count.
class LibraryBook: NSManagedObject {
    private enum Keys {
        static let title = ManagedPropertyKey("title")
        static let pages = ManagedPropertyKey("pages")
        static let shelf = ManagedPropertyKey("shelf")
        static let genres = ManagedPropertyKey("genres")
    }

    var title: String? {
        get { _string(Keys.title) }
        set { _setString(Keys.title, newValue) }
    }
    var pages: Int32 {
        get { _int32(Keys.pages) }
        set { _setInt32(Keys.pages, newValue) }
    }
    var shelf: NSManagedObject? {
        get { _object(Keys.shelf, as: NSManagedObject.self) }
        set { _setObject(Keys.shelf, newValue) }
    }
    var genres: NSSet? {
        get { _objects(Keys.genres) }
        set { _setObjects(Keys.genres, newValue) }
    }
    func addToGenres(_ value: NSManagedObject) { _addObject(Keys.genres, value) }
    func removeFromGenres(_ value: NSManagedObject) { _removeObject(Keys.genres, value) }

    var hooks: [String] = []
    override func awakeFromInsert() { hooks.append("awakeFromInsert") }
    override func awakeFromFetch() { hooks.append("awakeFromFetch") }
    override func willSave() { hooks.append("willSave") }
    override func didSave() { hooks.append("didSave") }
    override func prepareForDeletion() { hooks.append("prepareForDeletion") }
}
