// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// Folders of notes, in files with a history that preserves deleted notes' titles.
enum Notes {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(
        model: {
            let note = NSEntityDescription()
            note.name = "Note"
            let folder = NSEntityDescription()
            folder.name = "Folder"
            let title = Library.attribute("title", .stringAttributeType)
            title.preservesValueInHistoryOnDeletion = true
            let body = Library.attribute("body", .stringAttributeType)
            note.properties = [title, body, Library.attribute("rank", .integer32AttributeType, default: 0)]
            folder.properties = [Library.attribute("name", .stringAttributeType)]
            Library.connect(folder, "notes", toMany: true, rule: .cascadeDeleteRule, with: note, "folder", toMany: false)
            let model = NSManagedObjectModel()
            model.entities = [folder, note]
            return model
        }())
    static var model: NSManagedObjectModel { shared.model }

    static func container(at url: URL, tracksHistory: Bool = true, postsChanges: Bool = false) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Notes", managedObjectModel: model)
        let description = NSPersistentStoreDescription(url: url)
        if tracksHistory { description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey) }
        if postsChanges { description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey) }
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        return container
    }

    /// A file in a temporary folder that is deleted when the test ends.
    static func withFile<T>(_ body: (URL) throws -> T) throws -> T {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.appendingPathComponent("notes.sqlite"))
    }

    /// Saves a change under an author's name.
    @discardableResult
    static func save<T>(
        _ container: NSPersistentContainer, author: String? = nil, name: String? = nil, _ change: (NSManagedObjectContext) throws -> T
    ) throws -> T {
        let context = container.newBackgroundContext()
        return try context.performAndWait {
            context.transactionAuthor = author
            context.name = name
            let result = try change(context)
            try context.save()
            return result
        }
    }

    @discardableResult
    static func insert(_ title: String, into context: NSManagedObjectContext) -> NSManagedObject {
        let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
        note.setValue(title, forKey: "title")
        return note
    }

    static func titles(in context: NSManagedObjectContext) throws -> [String] {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
        request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        return try context.fetch(request).map { $0.value(forKey: "title") as? String ?? "" }
    }
}
