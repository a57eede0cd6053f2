// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

enum NoteModel {
    static func container() throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Notes", managedObjectModel: model())
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        return container
    }

    private static func model() -> NSManagedObjectModel {
        let thing = entity("Thing", Thing.self, [("created", .dateAttributeType), ("uuid", .UUIDAttributeType)])
        let note = entity(
            "Note", Note.self,
            [
                ("title", .stringAttributeType), ("text", .stringAttributeType), ("count", .integer32AttributeType),
                ("stars", .integer16AttributeType), ("size", .integer64AttributeType), ("plain", .integer64AttributeType),
                ("ratio", .doubleAttributeType), ("part", .floatAttributeType), ("isDone", .booleanAttributeType),
                ("number", .integer32AttributeType), ("price", .decimalAttributeType), ("cost", .decimalAttributeType),
                ("link", .URIAttributeType), ("data", .binaryDataAttributeType), ("due", .dateAttributeType),
                ("mood", .integer16AttributeType), ("color", .stringAttributeType), ("secret", .stringAttributeType),
            ])
        let label = entity("Label", Label.self, [("größe", .stringAttributeType)])
        connect(note, "parent", 1, note, "children", 0)
        connect(note, "labels", 0, label, "notes", 0)
        thing.subentities = [note]
        let model = NSManagedObjectModel()
        model.entities = [thing, note, label]
        return model
    }

    private static func entity(
        _ name: String, _ type: NSManagedObject.Type, _ attributes: [(String, NSAttributeType)]
    ) -> NSEntityDescription {
        let entity = NSEntityDescription()
        entity.name = name
        entity.managedObjectClassName = NSStringFromClass(type)
        entity.properties = attributes.map { name, type in
            let attribute = NSAttributeDescription()
            attribute.name = name
            attribute.attributeType = type
            attribute.isOptional = true
            return attribute
        }
        return entity
    }

    private static func connect(
        _ a: NSEntityDescription, _ name: String, _ count: Int, _ b: NSEntityDescription, _ inverse: String, _ inverseCount: Int
    ) {
        let (forth, back) = (NSRelationshipDescription(), NSRelationshipDescription())
        for (relationship, other, destination, name, count) in [(forth, back, b, name, count), (back, forth, a, inverse, inverseCount)] {
            relationship.name = name
            relationship.destinationEntity = destination
            relationship.inverseRelationship = other
            relationship.maxCount = count
            relationship.isOptional = true
            relationship.deleteRule = .nullifyDeleteRule
        }
        a.properties.append(forth)
        b.properties.append(back)
    }
}
