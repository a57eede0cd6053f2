// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

final class Room: NSManagedObject {}
final class Shelf: NSManagedObject {}
final class Item: NSManagedObject {}
final class Gadget: NSManagedObject {}
final class Mark: NSManagedObject {}

/// A model for fetches and batch requests: rooms have shelves, shelves have items, gadgets are items, items have marks.
///
/// Rooms delete their shelves (Cascade), shelves nullify their items (Nullify), and a mark with items cannot be deleted
/// (Deny).
enum Shelves {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())
    static var model: NSManagedObjectModel { shared.model }

    private static func makeModel() -> NSManagedObjectModel {
        let room = Library.entity("Room", Room.self)
        let shelf = Library.entity("Shelf", Shelf.self)
        let item = Library.entity("Item", Item.self)
        let gadget = Library.entity("Gadget", Gadget.self)
        let mark = Library.entity("Mark", Mark.self)
        room.properties = [Library.attribute("name", .stringAttributeType)]
        shelf.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("height", .integer32AttributeType, default: 1),
        ]
        item.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("kind", .stringAttributeType, default: "plain"),
            Library.attribute("amount", .integer32AttributeType, default: 1),
            Library.attribute("weight", .doubleAttributeType, default: 0.5),
            Library.attribute("price", .decimalAttributeType), Library.attribute("isNew", .booleanAttributeType, default: false),
            Library.attribute("seen", .dateAttributeType), Library.attribute("code", .UUIDAttributeType),
            Library.attribute("link", .URIAttributeType), Library.attribute("blob", .binaryDataAttributeType),
        ]
        gadget.properties = [Library.attribute("volts", .integer16AttributeType, default: 5)]
        mark.properties = [Library.attribute("label", .stringAttributeType)]
        item.subentities = [gadget]
        Library.connect(room, "shelves", toMany: true, rule: .cascadeDeleteRule, with: shelf, "room", toMany: false)
        Library.connect(shelf, "items", toMany: true, rule: .nullifyDeleteRule, with: item, "shelf", toMany: false)
        Library.connect(mark, "items", toMany: true, rule: .denyDeleteRule, with: item, "marks", toMany: true)
        let model = NSManagedObjectModel()
        model.entities = [room, shelf, item, gadget, mark]
        return model
    }

    /// A container with a store in memory, or in a file.
    static func container(at url: URL? = nil, tracksHistory: Bool = false) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Shelves", managedObjectModel: model)
        let description = NSPersistentStoreDescription(url: url ?? URL(fileURLWithPath: "/dev/null"))
        if tracksHistory { description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey) }
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        return container
    }

    static func context() throws -> NSManagedObjectContext { try container().newBackgroundContext() }

    @discardableResult
    static func insert(
        _ entity: String, _ values: [String: Any] = [:], into context: NSManagedObjectContext
    ) -> NSManagedObject {
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
        for (key, value) in values { object.setValue(value, forKey: key) }
        return object
    }

    /// Two rooms with two shelves each; eight items, two of them gadgets, amounts 1 to 8, kinds in turn.
    static func fill(_ context: NSManagedObjectContext) throws {
        for room in ["hall", "attic"] {
            let owner = insert("Room", ["name": room], into: context)
            for number in 1...2 {
                insert("Shelf", ["name": "\(room) \(number)", "height": number, "room": owner], into: context)
            }
        }
        let shelves = try context.fetch(sorted("Shelf", by: "name"))
        let kinds = ["tool", "toy", "book"]
        for number in 1...8 {
            let item = insert(
                number > 6 ? "Gadget" : "Item",
                [
                    "name": "item \(number)", "kind": kinds[number % 3], "amount": number, "weight": Double(number) / 4,
                    "price": NSDecimalNumber(string: "\(number).25"), "isNew": number.isMultiple(of: 2),
                    "seen": Date(timeIntervalSinceReferenceDate: Double(number) * 100),
                ], into: context)
            if number < 8 { item.setValue(shelves[number % 4], forKey: "shelf") }
        }
        try context.save()
    }

    static func sorted(_ entity: String, by key: String, ascending: Bool = true) -> NSFetchRequest<NSManagedObject> {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        request.sortDescriptors = [NSSortDescriptor(key: key, ascending: ascending)]
        return request
    }

    static func all(_ entity: String, by key: String, in context: NSManagedObjectContext) throws -> [NSManagedObject] {
        try context.fetch(sorted(entity, by: key))
    }

    static func count(_ entity: String, _ format: String? = nil, in context: NSManagedObjectContext) throws -> Int {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        request.predicate = format.map { NSPredicate(format: $0) }
        return try context.count(for: request)
    }
}
