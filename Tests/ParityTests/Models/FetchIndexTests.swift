// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct FetchIndexTests {
    private func model(_ indexes: (NSEntityDescription) -> [NSFetchIndexDescription]) -> NSManagedObjectModel {
        let entity = NSEntityDescription()
        entity.name = "Place"
        entity.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("latitude", .doubleAttributeType, default: 0),
            Library.attribute("longitude", .doubleAttributeType, default: 0),
            Library.attribute("isOpen", .booleanAttributeType, default: true),
        ]
        entity.indexes = indexes(entity)
        let model = NSManagedObjectModel()
        model.entities = [entity]
        return model
    }

    private func element(_ entity: NSEntityDescription, _ name: String, ascending: Bool = true) throws -> NSFetchIndexElementDescription {
        let element = NSFetchIndexElementDescription(property: try #require(entity.propertiesByName[name]), collationType: .binary)
        element.isAscending = ascending
        return element
    }

    @Test func aFetchIndexHasItsElementsAndEntity() throws {
        let entity = NSEntityDescription()
        entity.name = "Place"
        let name = Library.attribute("name", .stringAttributeType)
        entity.properties = [name]
        let element = NSFetchIndexElementDescription(property: name, collationType: .binary)
        #expect(element.isAscending)
        #expect(element.collationType == .binary)
        #expect(element.property === name)
        #expect(element.propertyName == "name")
        #expect(element.indexDescription == nil)
        let index = NSFetchIndexDescription(name: "byName", elements: [element])
        #expect(index.name == "byName")
        #expect(index.elements.count == 1)
        #expect(index.elements.first?.indexDescription === index)
        #expect(index.partialIndexPredicate == nil)
        #expect(index.entity == nil)
        #expect(entity.indexes.isEmpty)
        entity.indexes = [index]
        #expect(entity.indexes.count == 1)
        #expect(entity.indexes.first?.entity === entity)
        let copy = try #require(index.copy() as? NSFetchIndexDescription)
        #expect(copy.name == "byName")
        #expect(copy.elements.map(\.propertyName) == ["name"])
        #expect(copy !== index)
        #expect(NSFetchIndexDescription(name: "none", elements: nil).elements.isEmpty)
        #expect([NSFetchIndexElementType.binary, .rTree].map(\.rawValue) == [0, 1])
    }

    @Test func fetchIndexesMayChangeBetweenOpenings() throws {
        try Notes.withFile { url in
            let variants: [(NSEntityDescription) -> [NSFetchIndexDescription]] = [
                { _ in [] },
                { [self] entity in
                    [
                        NSFetchIndexDescription(name: "byName", elements: try? [element(entity, "name")]),
                        NSFetchIndexDescription(
                            name: "byPosition",
                            elements: try? [element(entity, "latitude"), element(entity, "longitude", ascending: false)]),
                    ]
                },
                { [self] entity in
                    let index = NSFetchIndexDescription(name: "byName", elements: try? [element(entity, "name", ascending: false)])
                    index.partialIndexPredicate = NSPredicate(format: "isOpen == YES AND name != nil")
                    return [index]
                },
                { _ in [] },
            ]
            for (round, variant) in variants.enumerated() {
                let container = NSPersistentContainer(name: "Places", managedObjectModel: model(variant))
                container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
                var failure: (any Error)?
                container.loadPersistentStores { failure = $1 }
                #expect(failure == nil)
                let context = container.newBackgroundContext()
                try context.performAndWait {
                    let place = NSEntityDescription.insertNewObject(forEntityName: "Place", into: context)
                    place.setValue("place \(round)", forKey: "name")
                    place.setValue(round != 1, forKey: "isOpen")
                    place.setValue(Double(round), forKey: "latitude")
                    try context.save()
                    let request = NSFetchRequest<NSManagedObject>(entityName: "Place")
                    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
                    request.predicate = NSPredicate(format: "isOpen == YES AND name != nil")
                    let names = try context.fetch(request).compactMap { $0.value(forKey: "name") as? String }
                    #expect(names == (0...round).filter { $0 != 1 }.reversed().map { "place \($0)" })
                    request.predicate = NSPredicate(format: "latitude >= %d", round)
                    #expect(try context.count(for: request) == 1)
                }
                for store in container.persistentStoreCoordinator.persistentStores {
                    try container.persistentStoreCoordinator.remove(store)
                }
            }
        }
    }
}
