// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

/// Goods with rules and derived values, in shelves of a kind, sold by shops; a shop's guests have no inverse
/// relationship.
final class Ware: NSManagedObject {}
final class Kind: NSManagedObject {}
final class Trader: NSManagedObject {}
final class Guest: NSManagedObject {
    override func value(forUndefinedKey key: String) -> Any? { "no \(key)" }
    override func setValue(_ value: Any?, forUndefinedKey key: String) { setValue(value, forKey: "name") }
}

enum Market {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())
    static var model: NSManagedObjectModel { shared.model }

    private static func makeModel() -> NSManagedObjectModel {
        let ware = Library.entity("Ware", Ware.self)
        let kind = Library.entity("Kind", Kind.self)
        let shop = Library.entity("Trader", Trader.self)
        let guest = Library.entity("Guest", Guest.self)
        for entity in [ware, kind, shop, guest] { entity.properties = [Library.attribute("name", .stringAttributeType)] }
        let code = Library.attribute("code", .stringAttributeType, isOptional: false)
        let price = Library.attribute("price", .doubleAttributeType, default: 1.5)
        let stock = Library.attribute("stock", .integer32AttributeType, default: 0)
        code.setValidationPredicates(
            [NSPredicate(format: "length >= 3"), NSPredicate(format: "SELF MATCHES %@", "[a-z0-9]+")],
            withValidationWarnings: ["1670", "1680"])
        price.setValidationPredicates(
            [NSPredicate(format: "SELF >= 0"), NSPredicate(format: "SELF <= 100")], withValidationWarnings: ["1620", "1610"])
        stock.setValidationPredicates([NSPredicate(format: "SELF < 1000")], withValidationWarnings: ["Too much of it."])
        ware.properties += [
            code, price, stock, Library.attribute("expires", .dateAttributeType),
            derived("search", .stringAttributeType, "canonical:(name)"), derived("loud", .stringAttributeType, "uppercase:(name)"),
            derived("changed", .dateAttributeType, "now()"), derived("kindName", .stringAttributeType, "kind.name"),
        ]
        kind.properties += [
            derived("count", .integer64AttributeType, "wares.@count"), derived("total", .doubleAttributeType, "wares.@sum.price"),
        ]
        shop.properties += [derived("count", .integer64AttributeType, "wares.@count")]
        Library.connect(kind, "wares", toMany: true, with: ware, "kind", toMany: false)
        Library.connect(shop, "wares", toMany: true, with: ware, "shops", toMany: true)
        kind.relationshipsByName["wares"]?.maxCount = 5
        kind.relationshipsByName["wares"]?.minCount = 2
        let guests = NSRelationshipDescription()
        guests.name = "guests"
        guests.destinationEntity = guest
        guests.maxCount = 0
        let line = NSRelationshipDescription()
        line.name = "line"
        line.destinationEntity = guest
        line.maxCount = 0
        line.isOrdered = true
        let alike = NSFetchedPropertyDescription()
        alike.name = "alike"
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Ware")
        request.predicate = NSPredicate(format: "name == $FETCH_SOURCE.name AND code != $FETCH_SOURCE.code")
        request.sortDescriptors = [NSSortDescriptor(key: "code", ascending: true)]
        alike.fetchRequest = request
        shop.properties += [guests, line]
        ware.properties += [alike]
        let model = NSManagedObjectModel()
        model.entities = [ware, kind, shop, guest]
        return model
    }

    private static func derived(_ name: String, _ type: NSAttributeType, _ expression: String) -> NSDerivedAttributeDescription {
        let attribute = NSDerivedAttributeDescription()
        attribute.name = name
        attribute.attributeType = type
        attribute.derivationExpression = NSExpression(format: expression)
        return attribute
    }

    /// Derived attributes need a store in a file.
    static func withContext(_ body: (NSManagedObjectContext) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let container = try Music.loaded(
            NSPersistentContainer(name: "Market", managedObjectModel: model), at: folder.appendingPathComponent("market.sqlite"))
        let context = container.newBackgroundContext()
        try withoutActuallyEscaping(body) { body in
            let run = Body(body: body)
            try context.performAndWait { try run.body(context) }
        }
        for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
    }

    private struct Body: @unchecked Sendable {
        // Unchecked: it runs while its caller waits.
        let body: (NSManagedObjectContext) throws -> Void
    }

    static func ware(_ name: String, _ code: String, _ context: NSManagedObjectContext) -> Ware {
        let ware = Ware.inserted(name, context)
        ware.setValue(code, forKey: "code")
        return ware
    }
}
