// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// The compiled model that the plugin puts into a target's resources, as migration code of apps looks for it.
@Suite struct CompiledModelFolderTests {
    @Test func eachVersionIsAFileInTheModelsFolder() throws {
        let folder = try #require(Bundle.module.url(forResource: "Shelves", withExtension: "momd"))
        let current = try #require(NSManagedObjectModel(contentsOf: folder))
        #expect(current.entitiesByName["Shelf"]?.attributesByName.keys.sorted() == ["color", "label"])
        for (version, attributes) in [("Shelves", ["label"]), ("Shelves 2", ["color", "label"])] {
            let url = try #require(Bundle.module.url(forResource: version, withExtension: "mom", subdirectory: "Shelves.momd"))
            let model = try #require(NSManagedObjectModel(contentsOf: url))
            #expect(model.entitiesByName["Shelf"]?.attributesByName.keys.sorted() == attributes)
        }
        let info = try #require(Bundle.module.url(forResource: "VersionInfo", withExtension: "plist", subdirectory: "Shelves.momd"))
        let values = try PropertyListSerialization.propertyList(from: try Data(contentsOf: info), format: nil) as? [String: Any]
        #expect(values?["NSManagedObjectModel_CurrentVersionName"] as? String == "Shelves 2")
        #expect(try NSManagedObjectModel.checksumsForVersionedModel(at: folder).keys.sorted() == ["Shelves", "Shelves 2"])
    }

    @Test func aStoreMigratesFromTheVersionThatAFileHolds() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "Shelves.sqlite")
        func container(_ version: String) throws -> NSPersistentContainer {
            let url = try #require(Bundle.module.url(forResource: version, withExtension: "mom", subdirectory: "Shelves.momd"))
            let container = NSPersistentContainer(name: "Shelves", managedObjectModel: try #require(NSManagedObjectModel(contentsOf: url)))
            container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: file)]
            var failure: (any Error)?
            container.loadPersistentStores { failure = $1 }
            if let failure { throw failure }
            return container
        }
        try {
            let context = try container("Shelves").newBackgroundContext()
            try context.performAndWait {
                NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context).setValue("low", forKey: "label")
                try context.save()
            }
        }()
        let context = try container("Shelves 2").newBackgroundContext()
        try context.performAndWait {
            let shelf = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Shelf")).first)
            #expect(shelf.value(forKey: "label") as? String == "low")
            #expect(shelf.value(forKey: "color") == nil)
        }
    }

    @Test func generatedClassesAreConstructedByGenericCode() throws {
        let folder = try #require(Bundle.module.url(forResource: "Shelves", withExtension: "momd"))
        let model = try #require(NSManagedObjectModel(contentsOf: folder))
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        func make<T: NSManagedObject>(_ type: T.Type) -> T { T(context: context) }
        context.performAndWait {
            let shelf = make(GeneratedShelf.self)
            shelf.label = "a"
            #expect(shelf.value(forKey: "label") as? String == "a")
        }
        #expect((\GeneratedShelf.above?.label)._kvcKeyPathString == "above.label")
        #expect((\GeneratedShelf.below)._kvcKeyPathString == "below")
    }

    /// Outside of another type, `Type` is a name like any other.
    @Test func anEntityMayBeNamedType() throws {
        let folder = try #require(Bundle.module.url(forResource: "Shelves", withExtension: "momd"))
        let container = NSPersistentContainer(name: "Shelves", managedObjectModel: try #require(NSManagedObjectModel(contentsOf: folder)))
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))]
        container.loadPersistentStores { #expect($1 == nil) }
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let (shelf, type) = (GeneratedShelf(context: context), Type(context: context))
            type.name = "oak"
            shelf.type = type
            try context.save()
            context.reset()
            let request: NSFetchRequest<Type> = Type.fetchRequest()
            let found = try #require(try context.fetch(request).first)
            #expect(found.name == "oak")
            #expect((found.shelves as? Set<GeneratedShelf>)?.first?.type === found)
        }
    }
}
