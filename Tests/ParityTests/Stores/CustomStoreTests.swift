// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// A store with its rows in a dictionary, which stands in for a service behind an incremental store.
final class DictionaryStore: NSIncrementalStore, @unchecked Sendable {
    // Unchecked: used from one context at a time.
    static let type = "DictionaryStore"
    private(set) var rows: [String: [String: Any]] = [:]
    private(set) var reads = 0
    private(set) var saves: [NSSaveChangesRequest] = []
    private(set) var sortDescriptors: [NSSortDescriptor] = []
    private var last = 0

    override var type: String { Self.type }

    override func loadMetadata() throws {
        metadata = [NSStoreUUIDKey: UUID().uuidString, NSStoreTypeKey: Self.type]
    }

    override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
        if let save = request as? NSSaveChangesRequest {
            saves.append(save)
            for object in (save.insertedObjects ?? []).union(save.updatedObjects ?? []) { take(object) }
            for object in save.deletedObjects ?? [] { rows[reference(object.objectID)] = nil }
            return [Any]()
        }
        guard let fetch = request as? NSFetchRequest<any NSFetchRequestResult>, let entity = fetch.entity ?? nil, let context else {
            throw CocoaError(.persistentStoreUnsupportedRequestType)
        }
        sortDescriptors = fetch.sortDescriptors ?? []
        let found = rows.filter { $0.value["entity"] as? String == entity.name }.filter { row in
            fetch.predicate?.evaluate(with: row.value) ?? true
        }
        let sorted = found.sorted { ($0.value["name"] as? String ?? "") < ($1.value["name"] as? String ?? "") }
        let ids = sorted.map { newObjectID(for: entity, referenceObject: $0.key) }
        switch fetch.resultType {
        case .countResultType: return [NSNumber(value: ids.count)]
        case .managedObjectIDResultType: return ids
        default: return ids.map { context.object(with: $0) }
        }
    }

    private func take(_ object: NSManagedObject) {
        var row: [String: Any] = ["entity": object.entity.name ?? ""]
        for name in object.entity.attributesByName.keys { row[name] = object.value(forKey: name) }
        if object.entity.name == "Item" { row["box"] = (object.value(forKey: "box") as? NSManagedObject).map { reference($0.objectID) } }
        rows[reference(object.objectID)] = row
    }

    private func reference(_ id: NSManagedObjectID) -> String { referenceObject(for: id) as? String ?? "" }

    override func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext) throws
        -> NSIncrementalStoreNode
    {
        reads += 1
        guard let row = rows[reference(objectID)] else { throw CocoaError(.managedObjectReferentialIntegrity) }
        var values = row
        values["entity"] = nil
        if objectID.entity.name == "Item" {
            values["box"] = try newValue(
                forRelationship: objectID.entity.relationshipsByName["box"]!, forObjectWith: objectID, with: context)
        }
        return NSIncrementalStoreNode(objectID: objectID, withValues: values, version: 1)
    }

    override func newValue(
        forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
        with context: NSManagedObjectContext?
    ) throws -> Any {
        let own = reference(objectID)
        guard let destination = relationship.destinationEntity else { return NSNull() }
        switch relationship.name {
        case "box":
            guard let box = rows[own]?["box"] as? String else { return NSNull() }
            return newObjectID(for: destination, referenceObject: box)
        case "items":
            return rows.filter { $0.value["box"] as? String == own }.map { newObjectID(for: destination, referenceObject: $0.key) }
        default: return [NSManagedObjectID]()
        }
    }

    override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
        array.map { object in
            last += 1
            return newObjectID(for: object.entity, referenceObject: "row \(last)")
        }
    }
}

@Suite(.serialized) struct IncrementalStoreTests {
    private func open() throws -> (NSPersistentStoreCoordinator, DictionaryStore) {
        NSPersistentStoreCoordinator.registerStoreClass(DictionaryStore.self, forStoreType: DictionaryStore.type)
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        let store = try coordinator.addPersistentStore(
            ofType: DictionaryStore.type, configurationName: nil, at: URL(fileURLWithPath: "/tmp/dictionary"), options: nil)
        return (coordinator, try #require(store as? DictionaryStore))
    }

    @Test func aRegisteredClassIsInstantiatedForItsStoreType() throws {
        let (coordinator, store) = try open()
        #expect(NSPersistentStoreCoordinator.registeredStoreTypes[DictionaryStore.type] != nil)
        #expect(store.type == DictionaryStore.type)
        #expect(store.persistentStoreCoordinator === coordinator)
        #expect(UUID(uuidString: store.identifier) != nil)
        #expect(store.configurationName.isEmpty == false)
        #expect(store.url?.path == "/tmp/dictionary")
    }

    @Test func aReferenceObjectMapsToOneObjectID() throws {
        let (coordinator, store) = try open()
        let item = try #require(coordinator.managedObjectModel.entitiesByName["Item"])
        let box = try #require(coordinator.managedObjectModel.entitiesByName["Box"])
        let id = store.newObjectID(for: item, referenceObject: "abc")
        #expect(store.referenceObject(for: id) as? String == "abc")
        #expect(id == store.newObjectID(for: item, referenceObject: "abc"))
        #expect(id != store.newObjectID(for: item, referenceObject: "abd"))
        #expect(id != store.newObjectID(for: box, referenceObject: "abc"))
        #expect(!id.isTemporaryID)
        #expect(id.persistentStore === store)
        #expect(id.uriRepresentation().path == "/Item/pabc")
        #expect(coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()) == id)
        let spaced = store.newObjectID(for: item, referenceObject: "a b/c")
        #expect(coordinator.managedObjectID(forURIRepresentation: spaced.uriRepresentation()) == spaced)
    }

    @Test func contextsSaveAndFetchThroughAnIncrementalStore() throws {
        let (coordinator, store) = try open()
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let box = Depot.insert("Box", ["title": "left"], into: context)
            for name in ["nut", "bolt"] { Depot.insert("Item", ["name": name, "count": 3], into: context).setValue(box, forKey: "box") }
            try context.save()
            #expect(store.rows.count == 3)
            #expect(store.saves.last?.insertedObjects?.count == 3)
            #expect(store.saves.last?.requestType == .saveRequestType)
            #expect(!box.objectID.isTemporaryID)
            #expect(!context.hasChanges)
        }
        let again = Depot.context(over: coordinator)
        try again.performAndWait {
            let items = try again.fetch(Depot.request("Item", nil, sort: "name"))
            #expect(Depot.names(items) == ["bolt", "nut"])
            #expect(items.allSatisfy { $0.managedObjectContext === again })
            #expect(Depot.names(try again.fetch(Depot.request("Item", "name == 'nut'"))) == ["nut"])
            #expect(try again.count(for: Depot.request("Item")) == 2)
            #expect(items[0].value(forKey: "count") as? Int64 == 3)
            let box = try #require(items[0].value(forKey: "box") as? NSManagedObject)
            #expect(box.value(forKey: "title") as? String == "left")
            #expect((box.value(forKey: "items") as? Set<NSManagedObject>) == Set(items))
            items[0].setValue(9, forKey: "count")
            again.delete(items[1])
            try again.save()
            #expect(store.saves.last?.deletedObjects?.count == 1)
            #expect(store.saves.last?.updatedObjects?.contains(items[0]) == true)
            #expect(store.rows.count == 2)
            #expect(store.reads > 0)
        }
        context.performAndWait {
            context.refreshAllObjects()
            let bolt = try? context.fetch(Depot.request("Item")).first
            #expect(bolt?.value(forKey: "count") as? Int64 == 9)
        }
    }

    @Test func anIncrementalStoreReceivesTheSelectorsOfSortDescriptors() throws {
        let (coordinator, store) = try open()
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let request = Depot.request("Item")
            request.sortDescriptors = [
                NSSortDescriptor(key: "name", ascending: false, selector: Selector(("localizedStandardCompare:"))),
                NSSortDescriptor(key: "count", ascending: true),
            ]
            _ = try context.fetch(request)
            #expect(store.sortDescriptors == request.sortDescriptors)
        }
    }

    @Test func anEmptySaveRequestWritesMetadata() throws {
        let (coordinator, store) = try open()
        var metadata = coordinator.metadata(for: store)
        metadata["season"] = "autumn"
        coordinator.setMetadata(metadata, for: store)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            Depot.insert("Item", ["name": "nut"], into: context)
            try context.save()
            #expect(coordinator.metadata(for: store)["season"] as? String == "autumn")
            #expect(!store.saves.isEmpty)
        }
    }
}

/// An atomic store of lines: each has a reference and a name.
final class LineStore: NSAtomicStore, @unchecked Sendable {
    // Unchecked: used by the coordinator.
    static let type = "LineStore"
    private(set) var saves = 0

    override var type: String { Self.type }

    override func loadMetadata() throws { metadata = [NSStoreUUIDKey: "LINES-\(url?.lastPathComponent ?? "")", NSStoreTypeKey: Self.type] }

    override func load() throws {
        guard let url, let item = persistentStoreCoordinator?.managedObjectModel.entitiesByName["Item"],
            let text = try? String(contentsOf: url, encoding: .utf8)
        else { return }
        let nodes = text.split(separator: "\n").map { line in
            let parts = line.split(separator: "=").map(String.init)
            let node = NSAtomicStoreCacheNode(objectID: objectID(for: item, withReferenceObject: parts[0]))
            node.setValue(parts[1], forKey: "name")
            return node
        }
        addCacheNodes(Set(nodes))
    }

    override func save() throws {
        saves += 1
        guard let url else { return }
        let lines = cacheNodes().map { "\(referenceObject(for: $0.objectID))=\($0.value(forKey: "name") ?? "")" }
        try lines.sorted().joined(separator: "\n").write(to: url, atomically: true, encoding: .utf8)
    }

    override func newReferenceObject(for managedObject: NSManagedObject) -> Any {
        "\(managedObject.value(forKey: "name") ?? "")-\(cacheNodes().count)"
    }

    override func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
        let node = NSAtomicStoreCacheNode(objectID: managedObject.objectID)
        updateCacheNode(node, from: managedObject)
        return node
    }

    override func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) {
        node.setValue(managedObject.value(forKey: "name"), forKey: "name")
    }
}

@Suite(.serialized) struct AtomicStoreTests {
    @Test func anAtomicStoreWritesAndReadsCacheNodes() throws {
        NSPersistentStoreCoordinator.registerStoreClass(LineStore.self, forStoreType: LineStore.type)
        let place = try Depot.folder().appendingPathComponent("lines.txt")
        try "a=nut\nb=bolt".write(to: place, atomically: true, encoding: .utf8)
        let coordinator = try Depot.coordinator(LineStore.type, at: place)
        let store = try #require(coordinator.persistentStores.first as? LineStore)
        #expect(store.cacheNodes().count == 2)
        #expect(store.identifier == "LINES-lines.txt")
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let items = try context.fetch(Depot.request("Item", nil, sort: "name"))
            #expect(Depot.names(items) == ["bolt", "nut"])
            #expect(store.referenceObject(for: items[0].objectID) as? String == "b")
            #expect(items[0].objectID.uriRepresentation().lastPathComponent == "pb")
            #expect(store.cacheNode(for: items[1].objectID)?.value(forKey: "name") as? String == "nut")
            items[0].setValue("nail", forKey: "name")
            context.delete(items[1])
            Depot.insert("Item", ["name": "gear"], into: context)
            try context.save()
            #expect(store.saves == 1)
        }
        #expect(try String(contentsOf: place, encoding: .utf8) == "b=nail\ngear-2=gear")
        #expect(store.cacheNodes().count == 2)
    }
}
