// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// Versions of one model, in code: notes in folders, with plain objects. Each change derives the next version.
enum Versions {
    /// `Note` with a title and a count, in a `Folder` with a name.
    static func first() -> NSManagedObjectModel {
        let note = entity("Note")
        let folder = entity("Folder")
        note.properties = [
            Library.attribute("title", .stringAttributeType), Library.attribute("count", .integer16AttributeType),
            Library.attribute("kind", .stringAttributeType),
        ]
        folder.properties = [Library.attribute("name", .stringAttributeType)]
        Library.connect(note, "folder", toMany: false, with: folder, "notes", toMany: true)
        return model([note, folder])
    }

    /// The first version with changes.
    static func changed(_ change: ([String: NSEntityDescription], NSManagedObjectModel) -> Void) -> NSManagedObjectModel {
        let model = first()
        change(model.entitiesByName, model)
        return model
    }

    static func entity(_ name: String) -> NSEntityDescription {
        let entity = NSEntityDescription()
        entity.name = name
        entity.managedObjectClassName = "NSManagedObject"
        return entity
    }

    static func model(_ entities: [NSEntityDescription]) -> NSManagedObjectModel {
        let model = NSManagedObjectModel()
        model.entities = entities
        return model
    }

    static func attribute(_ entity: NSEntityDescription?, _ name: String) -> NSAttributeDescription? { entity?.attributesByName[name] }

    static func remove(_ property: String, from entity: NSEntityDescription?) {
        entity?.properties.removeAll { $0.name == property }
    }

    // MARK: Stores

    static func withFolder<T>(_ body: (URL) throws -> T) throws -> T {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("migration-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }

    static var automatically: [AnyHashable: Any] {
        [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
    }

    /// Opens a store, runs `body` in a context, closes it.
    @discardableResult
    static func open<T>(
        _ url: URL, _ model: NSManagedObjectModel, type: String = NSSQLiteStoreType, options: [AnyHashable: Any]? = automatically,
        _ body: (NSManagedObjectContext) throws -> T
    ) throws -> T {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let store = try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: options)
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        let result = try context.performAndWait { try body(context) }
        try coordinator.remove(store)
        return result
    }

    @discardableResult
    static func insert(_ entity: String, _ values: [String: Any], _ context: NSManagedObjectContext) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
        for (key, value) in values { object.setValue(value, forKey: key) }
        return object
    }

    /// Three notes in two folders; one note has no title, one no folder.
    static func fill(_ url: URL, type: String = NSSQLiteStoreType, options: [AnyHashable: Any]? = nil) throws {
        try open(url, first(), type: type, options: options) { context throws in
            let home = insert("Folder", ["name": "home"], context)
            insert("Folder", ["name": "work"], context)
            insert("Note", ["title": "a", "count": 1, "kind": "k", "folder": home], context)
            insert("Note", ["title": "b", "count": 2, "folder": home], context)
            insert("Note", ["count": 3], context)
            try context.save()
        }
    }

    static func fetch(_ entity: String, _ context: NSManagedObjectContext, sortedBy key: String? = nil) throws -> [NSManagedObject] {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        if let key { request.sortDescriptors = [NSSortDescriptor(key: key, ascending: true)] }
        return try context.fetch(request)
    }

    /// Values of one key, in the order of another.
    static func values<T>(_ entity: String, _ key: String, by order: String, _ context: NSManagedObjectContext, as type: T.Type) throws
        -> [T?]
    {
        try fetch(entity, context, sortedBy: order).map { $0.value(forKey: key) as? T }
    }

    static func names(_ value: Any?, _ key: String) -> [String] {
        let members = (value as? Set<NSManagedObject>).map(Array.init) ?? (value as? NSOrderedSet)?.array as? [NSManagedObject] ?? []
        return members.compactMap { $0.value(forKey: key) as? String }
    }
}
