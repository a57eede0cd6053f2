// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Stores, contexts that merge, and migrations as apps use them.
@Suite struct StoreCornerTests {
    private func withFile<T>(_ body: (URL) throws -> T) throws -> T {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.appendingPathComponent("Company.sqlite"))
    }

    private func container(_ model: NSManagedObjectModel, at url: URL) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Company", managedObjectModel: model)
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        return container
    }

    private func close(_ container: NSPersistentContainer) throws {
        for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
    }

    /// A model with one entity that has the attributes.
    private func model(_ attributes: NSAttributeDescription..., entity name: String = "Note", renamedFrom: String? = nil)
        -> NSManagedObjectModel
    {
        let entity = NSEntityDescription()
        entity.name = name
        entity.renamingIdentifier = renamedFrom
        entity.properties = attributes
        let model = NSManagedObjectModel()
        model.entities = [entity]
        return model
    }

    @Test func aStoreIsMigratedThroughARenamedEntityAndAttribute() throws {
        try withFile { url in
            let first = try container(model(Library.attribute("text", .stringAttributeType)), at: url)
            try first.viewContext.performAndWait {
                let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: first.viewContext)
                note.setValue("kept", forKey: "text")
                try first.viewContext.save()
            }
            try close(first)
            let title = Library.attribute("title", .stringAttributeType)
            title.renamingIdentifier = "text"
            let next = model(
                title, Library.attribute("stars", .integer16AttributeType, isOptional: false, default: 3), entity: "Memo",
                renamedFrom: "Note")
            let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
            #expect(!next.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
            let second = try container(next, at: url)
            try second.viewContext.performAndWait {
                let memo = try second.viewContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Memo"))[0]
                #expect(memo.value(forKey: "title") as? String == "kept")
                #expect(integer(memo.value(forKey: "stars")) == 3)
            }
        }
    }

    @Test func aChangedAttributeTypeCannotBeInferredAndChangesNothing() throws {
        try withFile { url in
            let first = try container(model(Library.attribute("text", .stringAttributeType)), at: url)
            try close(first)
            let error = #expect(throws: (any Error).self) {
                _ = try container(model(Library.attribute("text", .dateAttributeType)), at: url)
            }
            #expect((error as NSError?)?.domain == NSCocoaErrorDomain)
            #expect([134110, 134140, 134190].contains((error as NSError?)?.code))
            try close(try container(model(Library.attribute("text", .stringAttributeType)), at: url))
        }
    }

    @Test func aStagedMigrationRunsItsHandler() throws {
        try withFile { url in
            let one = model(Library.attribute("text", .stringAttributeType))
            let two = model(Library.attribute("text", .stringAttributeType), Library.attribute("size", .integer32AttributeType, default: 0))
            let first = try container(one, at: url)
            try first.viewContext.performAndWait {
                NSEntityDescription.insertNewObject(forEntityName: "Note", into: first.viewContext).setValue("four", forKey: "text")
                try first.viewContext.save()
            }
            try close(first)
            let stage = NSCustomMigrationStage(
                migratingFrom: NSManagedObjectModelReference(model: one, versionChecksum: one.versionChecksum),
                to: NSManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
            stage.label = "sizes"
            stage.didMigrateHandler = { manager, _ in
                let context = try #require(manager.container).newBackgroundContext()
                try context.performAndWait {
                    for note in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")) {
                        note.setValue((note.value(forKey: "text") as? String)?.count, forKey: "size")
                    }
                    try context.save()
                }
            }
            let container = NSPersistentContainer(name: "Company", managedObjectModel: two)
            let description = NSPersistentStoreDescription(url: url)
            description.setOption(NSStagedMigrationManager([stage]), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
            container.persistentStoreDescriptions = [description]
            var failure: (any Error)?
            container.loadPersistentStores { failure = $1 }
            #expect(failure == nil)
            try container.viewContext.performAndWait {
                let note = try container.viewContext.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))[0]
                #expect(integer(note.value(forKey: "size")) == 4)
            }
        }
    }

    @Test func aViewContextFollowsABackgroundContext() throws {
        let container = try Company.container()
        container.viewContext.automaticallyMergesChangesFromParent = true
        let background = container.newBackgroundContext()
        try Company.fill(background)
        try container.viewContext.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.predicate = NSPredicate(format: "name == 'Ben'")
            let ben = try container.viewContext.fetch(request)[0]
            ben.setValue("Mine", forKey: "name")
            let other = try background.performAndWait {
                let other = try background.existingObject(with: ben.objectID)
                other.setValue(99, forKey: "age")
                other.setValue("Theirs", forKey: "name")
                try background.save()
                return other
            }
            container.viewContext.mergeChanges(
                fromContextDidSave: Notification(
                    name: NSManagedObjectContext.didSaveObjectsNotification, object: background,
                    userInfo: [NSUpdatedObjectsKey: Set([other])]))
            #expect(integer(ben.value(forKey: "age")) == 99)
            #expect(ben.value(forKey: "name") as? String == "Mine", "unsaved values stay on top")
            container.viewContext.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            try container.viewContext.save()
        }
    }

    @Test func metadataOfTheAppIsPreserved() throws {
        try withFile { url in
            let first = try container(model(Library.attribute("text", .stringAttributeType)), at: url)
            let coordinator = first.persistentStoreCoordinator
            let store = coordinator.persistentStores[0]
            var metadata = coordinator.metadata(for: store)
            #expect(metadata[NSStoreTypeKey] as? String == NSSQLiteStoreType)
            #expect(metadata[NSStoreUUIDKey] as? String == store.identifier)
            #expect((metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.keys.sorted() == ["Note"])
            metadata["app"] = "1.2"
            coordinator.setMetadata(metadata, for: store)
            try first.viewContext.performAndWait { try first.viewContext.save() }
            try close(first)
            let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
            #expect(read["app"] as? String == "1.2")
            #expect(type(of: store).migrationManagerClass() is NSMigrationManager.Type)
        }
    }

    @Test func aReadOnlyStoreAcceptsNoSaves() throws {
        try withFile { url in
            try close(try container(model(Library.attribute("text", .stringAttributeType)), at: url))
            let container = NSPersistentContainer(
                name: "Company", managedObjectModel: model(Library.attribute("text", .stringAttributeType)))
            let description = NSPersistentStoreDescription(url: url)
            description.isReadOnly = true
            container.persistentStoreDescriptions = [description]
            container.loadPersistentStores { #expect($1 == nil) }
            container.viewContext.performAndWait {
                _ = NSEntityDescription.insertNewObject(forEntityName: "Note", into: container.viewContext)
                #expect(throws: (any Error).self) { try container.viewContext.save() }
            }
        }
    }

    @Test func compositeAttributesAreReadByKeyPathAndFetched() throws {
        let street = Library.attribute("street", .stringAttributeType)
        let number = Library.attribute("number", .integer32AttributeType)
        let address = NSCompositeAttributeDescription()
        address.name = "address"
        address.elements = [street, number]
        let entity = NSEntityDescription()
        entity.name = "House"
        entity.properties = [address, Library.attribute("name", .stringAttributeType)]
        let model = NSManagedObjectModel()
        model.entities = [entity]
        let container = try container(model, at: URL(fileURLWithPath: "/dev/null"))
        let context = container.viewContext
        try context.performAndWait {
            let house = NSEntityDescription.insertNewObject(forEntityName: "House", into: context)
            house.setValue(["street": "Main", "number": 5] as [String: Any], forKey: "address")
            house.setValue("one", forKey: "name")
            try context.save()
            let request = NSFetchRequest<NSManagedObject>(entityName: "House")
            request.predicate = NSPredicate(format: "address.street == %@ AND address.number > 4", "Main")
            request.sortDescriptors = [NSSortDescriptor(key: "address.number", ascending: true)]
            let found = try context.fetch(request)
            #expect(found.count == 1)
            #expect(found[0].value(forKeyPath: "address.street") as? String == "Main")
            #expect((found[0].value(forKey: "address") as? [String: Any])?.count == 2)
        }
    }

    @Test func urisAndIDsOfAnotherStoreAreUnknown() throws {
        let one = try Company.filled()
        let other = try Company.container()
        try one.performAndWait {
            let id = try one.fetch(NSFetchRequest<Employee>(entityName: "Employee"))[0].objectID
            #expect(other.persistentStoreCoordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()) == nil)
            #expect(id.persistentStore === one.persistentStoreCoordinator?.persistentStores.first)
        }
    }
}
