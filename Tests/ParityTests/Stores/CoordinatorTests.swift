// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct CoordinatorTests {
    private func url() throws -> URL { try Depot.folder().appendingPathComponent("depot.sqlite") }

    private func saved(at url: URL, _ names: [String], type: String = NSSQLiteStoreType) throws -> NSPersistentStoreCoordinator {
        let coordinator = try Depot.coordinator(type, at: url)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            for name in names { Depot.insert("Item", ["name": name], into: context) }
            try context.save()
        }
        return coordinator
    }

    private func names(_ coordinator: NSPersistentStoreCoordinator) throws -> [String] {
        let context = Depot.context(over: coordinator)
        return try context.performAndWait { Depot.names(try context.fetch(Depot.request("Item", nil, sort: "name"))) }
    }

    @Test func urisAreResolvedToObjectIDs() throws {
        let coordinator = try saved(at: url(), ["nut"])
        let store = try #require(coordinator.persistentStores.first)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let id = try #require(try context.fetch(Depot.request("Item")).first).objectID
            let address = id.uriRepresentation()
            #expect(address.scheme == "x-coredata")
            #expect(address.host?.caseInsensitiveCompare(store.identifier) == .orderedSame)
            #expect(address.path.hasPrefix("/Item/p"))
            #expect(coordinator.managedObjectID(forURIRepresentation: address) == id)
            #expect(id.persistentStore === store)
            #expect(id.entity.name == "Item")
            let foreign = URL(string: "x-coredata://\(UUID().uuidString)/Item/p1")!
            #expect(coordinator.managedObjectID(forURIRepresentation: foreign) == nil)
            let temporary = Depot.insert("Item", [:], into: context).objectID
            #expect(temporary.isTemporaryID)
            #expect(temporary.persistentStore == nil)
        }
    }

    @Test func storesAreFoundByURL() throws {
        let place = try url()
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        coordinator.name = "depot"
        #expect(coordinator.name == "depot")
        #expect(coordinator.persistentStores.isEmpty)
        let store = try coordinator.addPersistentStore(type: .sqlite, configuration: "Things", at: place, options: nil)
        #expect(coordinator.persistentStores == [store])
        #expect(coordinator.persistentStore(for: place) === store)
        #expect(coordinator.url(for: store).lastPathComponent == "depot.sqlite")
        #expect(store.configurationName == "Things")
        #expect(
            Depot.code { try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: "Nothing", at: try url()) } != nil
        )
        #expect(Depot.code { try coordinator.addPersistentStore(ofType: "Tape", configurationName: nil, at: try url()) } == 134_000)
        #expect(coordinator.persistentStores.count == 1)
        let nowhere = URL(fileURLWithPath: "/nowhere/at/all/depot.sqlite")
        #expect(Depot.code { try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: nowhere) } != nil)
        let types = NSPersistentStoreCoordinator.registeredStoreTypes
        #expect(types[NSSQLiteStoreType] != nil)
        #expect(types[NSInMemoryStoreType] != nil)
        #expect(types[NSBinaryStoreType] != nil)
        #expect(types["Tape"] == nil)
    }

    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType])
    func metadataIsWrittenWithTheNextSave(type: String) throws {
        let place = try url()
        let coordinator = try saved(at: place, ["nut"], type: type)
        let store = try #require(coordinator.persistentStores.first)
        var metadata = coordinator.metadata(for: store)
        metadata["season"] = "autumn"
        metadata["count"] = 3
        coordinator.setMetadata(metadata, for: store)
        #expect(coordinator.metadata(for: store)["season"] as? String == "autumn")
        let before = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: place, options: nil)
        #expect(before["season"] == nil)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            Depot.insert("Item", ["name": "bolt"], into: context)
            try context.save()
        }
        let after = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: place, options: nil)
        #expect(after["season"] as? String == "autumn")
        #expect((after["count"] as? NSNumber)?.intValue == 3)
        #expect(after[NSStoreUUIDKey] as? String == store.identifier)
        #expect(after[NSStoreTypeKey] as? String == type)
        #expect((after[NSStoreModelVersionHashesKey] as? [String: Data])?.keys.sorted() == ["Box", "Item", "Label", "Note"])
        try coordinator.remove(store)
        var changed = after
        changed["season"] = "winter"
        try NSPersistentStoreCoordinator.setMetadata(changed, forPersistentStoreOfType: type, at: place, options: nil)
        let last = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .init(rawValue: type), at: place, options: nil)
        #expect(last["season"] as? String == "winter")
        let again = try Depot.coordinator(type, at: place)
        #expect(again.persistentStores.first?.metadata["season"] as? String == "winter")
        #expect(try names(again) == ["bolt", "nut"])
        let nowhere = try url()
        #expect(
            Depot.code { _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: nowhere, options: nil) } != nil)
    }

    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType])
    func aDestroyedStoreIsEmpty(type: String) throws {
        let place = try url()
        let coordinator = try saved(at: place, ["nut", "bolt"], type: type)
        let old = try #require(coordinator.persistentStores.first)
        let identifier = old.identifier
        try coordinator.remove(old)
        try coordinator.destroyPersistentStore(at: place, ofType: type, options: nil)
        #expect(
            Depot.code { _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: place, options: nil) } != nil)
        let new = try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: place, options: nil)
        #expect(new.identifier != identifier)
        #expect(try names(coordinator) == [])
        #expect(Depot.code { try coordinator.destroyPersistentStore(at: try url(), type: .init(rawValue: type), options: nil) } == nil)
    }

    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType])
    func aStoreIsReplacedByAnother(type: String) throws {
        let (source, destination) = (try url(), try url())
        let first = try saved(at: source, ["nut"], type: type)
        let second = try saved(at: destination, ["bolt", "nail"], type: type)
        let identifier = try #require(first.persistentStores.first).identifier
        try second.remove(try #require(second.persistentStores.first))
        try second.replacePersistentStore(
            at: destination, destinationOptions: nil, withPersistentStoreFrom: source, sourceOptions: nil, ofType: type)
        try second.addPersistentStore(ofType: type, configurationName: nil, at: destination, options: nil)
        #expect(try names(second) == ["nut"])
        #expect(second.persistentStores.first?.identifier == identifier)
        #expect(try names(first) == ["nut"])
        let (missing, other) = (try url(), try url())
        #expect(
            Depot.code {
                try second.replacePersistentStore(
                    at: other, destinationOptions: nil, withPersistentStoreFrom: missing, sourceOptions: nil, ofType: type)
            } != nil)
    }

    @Test(arguments: [
        (NSSQLiteStoreType, NSSQLiteStoreType), (NSSQLiteStoreType, NSBinaryStoreType), (NSBinaryStoreType, NSSQLiteStoreType),
        (NSInMemoryStoreType, NSSQLiteStoreType),
    ])
    func migratePersistentStoreWritesACopy(types: (from: String, to: String)) throws {
        let coordinator = try Depot.coordinator(types.from, at: try url())
        let context = Depot.context(over: coordinator)
        let old = try context.performAndWait {
            let box = Depot.insert("Box", ["title": "left"], into: context)
            for name in ["nut", "bolt"] { Depot.insert("Item", ["name": name], into: context).setValue(box, forKey: "box") }
            box.setValue(NSSet(array: [Depot.insert("Label", ["text": "small"], into: context)]), forKey: "labels")
            try context.save()
            return box.objectID
        }
        let store = try #require(coordinator.persistentStores.first)
        let place = try url()
        let new = try coordinator.migratePersistentStore(store, to: place, options: nil, withType: types.to)
        #expect(coordinator.persistentStores == [new])
        #expect(new.type == types.to)
        #expect(new.url?.lastPathComponent == place.lastPathComponent)
        #expect(new !== store)
        let again = Depot.context(over: coordinator)
        try again.performAndWait {
            let box = try #require(try again.fetch(Depot.request("Box")).first)
            #expect(box.value(forKey: "title") as? String == "left")
            #expect(box.objectID.uriRepresentation() != old.uriRepresentation())
            let items = box.value(forKey: "items") as? Set<NSManagedObject> ?? []
            #expect(Set(items.compactMap { $0.value(forKey: "name") as? String }) == ["nut", "bolt"])
            let labels = box.value(forKey: "labels") as? Set<NSManagedObject> ?? []
            #expect(labels.compactMap { $0.value(forKey: "text") as? String } == ["small"])
            Depot.insert("Item", ["name": "nail"], into: again)
            try again.save()
            #expect(try again.count(for: Depot.request("Item")) == 3)
        }
    }

    @Test func storeChangesPostNotifications() throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        let heard = HeardOfStores()
        let center = NotificationCenter.default
        let tokens = [
            Notification.Name.NSPersistentStoreCoordinatorStoresWillChange, .NSPersistentStoreCoordinatorStoresDidChange,
        ].map { name in
            center.addObserver(forName: name, object: coordinator, queue: nil) { heard.note($0) }
        }
        let store = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
        let removal = center.addObserver(forName: .NSPersistentStoreCoordinatorWillRemoveStore, object: nil, queue: nil) {
            if $0.object as AnyObject === store { heard.note($0) }
        }
        #expect(heard.last(NSAddedPersistentStoresKey) == [store])
        try coordinator.remove(store)
        #expect(heard.last(NSRemovedPersistentStoresKey) == [store])
        #expect(heard.names.contains(.NSPersistentStoreCoordinatorStoresDidChange))
        #expect(heard.names.contains(.NSPersistentStoreCoordinatorWillRemoveStore))
        #expect(coordinator.persistentStores.isEmpty)
        for token in tokens + [removal] { center.removeObserver(token) }
    }

    @Test func objectsOfARemovedStoreAreUnregistered() throws {
        let coordinator = try saved(at: url(), ["nut", "bolt"])
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let objects = try context.fetch(Depot.request("Item"))
            objects[0].setValue("nail", forKey: "name")
            let results = NSFetchedResultsController(
                fetchRequest: Depot.request("Item", nil, sort: "name"), managedObjectContext: context, sectionNameKeyPath: nil,
                cacheName: nil)
            try results.performFetch()
            #expect(results.fetchedObjects?.count == 2)
            try coordinator.remove(try #require(coordinator.persistentStores.first))
            #expect(context.registeredObjects.isEmpty)
            #expect(!context.hasChanges)
            #expect(try context.fetch(Depot.request("Item")).isEmpty)
        }
    }

    @Test func blocksRunOnTheQueueOfTheCoordinator() async throws {
        let coordinator = try saved(at: url(), ["nut"])
        #expect(coordinator.performAndWait { coordinator.persistentStores.count } == 1)
        #expect(await coordinator.perform { coordinator.persistentStores.count } == 1)
        #expect(coordinator.performAndWait { coordinator.performAndWait { 2 } } == 2)
        await #expect(throws: CocoaError.self) { try await coordinator.perform { throw CocoaError(.fileNoSuchFile) } }
        await withCheckedContinuation { continuation in coordinator.perform { continuation.resume() } }
    }

    @Test func anAtomicStoreIsWrittenToItsNewURLByTheNextSave() throws {
        let (place, next) = (try url(), try url())
        let coordinator = try saved(at: place, ["nut"], type: NSBinaryStoreType)
        let store = try #require(coordinator.persistentStores.first)
        #expect(coordinator.setURL(next, for: store))
        #expect(coordinator.url(for: store).path == next.path)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            Depot.insert("Item", ["name": "bolt"], into: context)
            try context.save()
        }
        #expect(try names(try Depot.coordinator(NSBinaryStoreType, at: next)) == ["bolt", "nut"])
        #expect(try names(try Depot.coordinator(NSBinaryStoreType, at: place)) == ["nut"])
    }

    @Test func anotherVersionOfTheModelNeedsTheMigrationOption() throws {
        let place = try url()
        let first = try saved(at: place, ["nut"])
        try first.remove(try #require(first.persistentStores.first))
        let model = Depot.makeModel { model in
            model.entitiesByName["Note"]?.properties.append(Library.attribute("author", .stringAttributeType))
        }
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: place, options: nil)
        #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(Depot.makeModel().isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        #expect(
            Depot.code { try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place, options: nil) }
                == 134_100)
        try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: place,
            options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
        #expect(try names(coordinator) == ["nut"])
        let after = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: place, options: nil)
        #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: after))
        #expect(after[NSStoreUUIDKey] as? String == metadata[NSStoreUUIDKey] as? String)
    }
}

/// Notifications, in order of posting.
final class HeardOfStores: @unchecked Sendable {
    // Unchecked: behind a lock.
    private let lock = NSLock()
    private var notifications: [Notification] = []

    func note(_ notification: Notification) { lock.withLock { notifications.append(notification) } }
    var names: [Notification.Name] { lock.withLock { notifications.map(\.name) } }

    func last(_ key: String) -> [NSPersistentStore]? {
        lock.withLock { notifications.last { $0.userInfo?[key] != nil }?.userInfo?[key] as? [NSPersistentStore] }
    }
}
