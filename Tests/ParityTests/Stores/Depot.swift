// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Synchronization

/// Items lie in boxes, boxes have labels. Two configurations divide the model into halves without a relationship between
/// them; no entity has its own class, so that each test may have its own model.
enum Depot {
    static func makeModel(_ change: (NSManagedObjectModel) -> Void = { _ in }) -> NSManagedObjectModel {
        let item = entity("Item"), box = entity("Box"), label = entity("Label"), note = entity("Note")
        item.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("count", .integer64AttributeType, default: 0),
            Library.attribute("weight", .doubleAttributeType), Library.attribute("price", .decimalAttributeType),
            Library.attribute("arrived", .dateAttributeType), Library.attribute("isFragile", .booleanAttributeType, default: false),
            Library.attribute("picture", .binaryDataAttributeType), Library.attribute("code", .UUIDAttributeType),
            Library.attribute("page", .URIAttributeType),
        ]
        box.properties = [Library.attribute("title", .stringAttributeType)]
        label.properties = [Library.attribute("text", .stringAttributeType)]
        note.properties = [Library.attribute("text", .stringAttributeType)]
        Library.connect(box, "items", toMany: true, rule: .cascadeDeleteRule, with: item, "box", toMany: false)
        Library.connect(box, "labels", toMany: true, with: label, "boxes", toMany: true)
        let model = NSManagedObjectModel()
        model.entities = [item, box, label, note]
        model.setEntities([item, box, label], forConfigurationName: "Things")
        model.setEntities([note], forConfigurationName: "Notes")
        change(model)
        return model
    }

    private static func entity(_ name: String) -> NSEntityDescription {
        let entity = NSEntityDescription()
        entity.name = name
        return entity
    }

    /// A new temporary folder, which is removed when the process exits.
    static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("depot-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        folders.withLock { $0.append(folder) }
        return folder
    }

    private static let folders: Mutex<[URL]> = {
        atexit { for folder in Depot.folders.withLock({ $0 }) { try? FileManager.default.removeItem(at: folder) } }
        return Mutex([])
    }()

    static func coordinator(_ type: String, at url: URL?, options: [AnyHashable: Any]? = nil) throws -> NSPersistentStoreCoordinator {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: makeModel())
        try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: options)
        return coordinator
    }

    static func context(over coordinator: NSPersistentStoreCoordinator) -> NSManagedObjectContext {
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        return context
    }

    @discardableResult
    static func insert(_ entity: String, _ values: [String: Any], into context: NSManagedObjectContext) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
        for (key, value) in values { object.setValue(value, forKey: key) }
        return object
    }

    static func request(_ entity: String, _ format: String? = nil, sort key: String? = nil) -> NSFetchRequest<NSManagedObject> {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        request.predicate = format.map { NSPredicate(format: $0) }
        request.sortDescriptors = key.map { [NSSortDescriptor(key: $0, ascending: true)] }
        return request
    }

    static func names(_ objects: [NSManagedObject], _ key: String = "name") -> [String] {
        objects.map { $0.value(forKey: key) as? String ?? "" }
    }

    /// The code of the thrown error; nil if nothing is thrown.
    static func code(_ body: () throws -> Void) -> Int? {
        do {
            try body()
            return nil
        } catch {
            return (error as NSError).code
        }
    }
}
