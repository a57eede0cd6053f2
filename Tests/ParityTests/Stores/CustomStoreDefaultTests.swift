// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// The behaviour of custom stores that override no more than they have to.
@Suite(.serialized) struct CustomStoreDefaultTests {
    /// A store without a file: it keeps its nodes in memory.
    private final class PlainStore: NSAtomicStore, @unchecked Sendable {
        // Unchecked: used by the coordinator.
        static let type = "CustomStoreDefaultTests.Plain"
        private(set) var saves = 0
        override var type: String { Self.type }

        override func loadMetadata() throws { metadata = [NSStoreUUIDKey: "PLAIN", NSStoreTypeKey: Self.type] }

        override func load() throws {}

        override func save() throws { saves += 1 }

        override func newReferenceObject(for managedObject: NSManagedObject) -> Any { cacheNodes().count + 1 }
    }

    @Test func nodesAreCopiedFromObjects() throws {
        NSPersistentStoreCoordinator.registerStoreClass(PlainStore.self, forStoreType: PlainStore.type)
        let coordinator = try Depot.coordinator(PlainStore.type, at: try Depot.folder().appendingPathComponent("plain"))
        let store = try #require(coordinator.persistentStores.first as? PlainStore)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let box = Depot.insert("Box", ["title": "left"], into: context)
            try context.save()
            let item = Depot.insert("Item", ["name": "nut", "count": 3, "box": box], into: context)
            try context.save()
            let node = try #require(store.cacheNode(for: item.objectID))
            #expect(node.value(forKey: "name") as? String == "nut")
            #expect((node.value(forKey: "box") as? NSAtomicStoreCacheNode)?.objectID == box.objectID)
            let members = store.cacheNode(for: box.objectID)?.value(forKey: "items") as? NSSet
            #expect((members?.anyObject() as? NSAtomicStoreCacheNode)?.objectID == item.objectID)
            item.setValue("bolt", forKey: "name")
            try context.save()
            #expect(node.value(forKey: "name") as? String == "bolt")
            context.delete(box)
            try context.save()
            #expect(store.cacheNodes().isEmpty, "the items go with their box")
            #expect(store.saves == 4)
        }
    }

    @Test func anIncrementalStoreRefusesBatchesAndHistory() throws {
        NSPersistentStoreCoordinator.registerStoreClass(DictionaryStore.self, forStoreType: DictionaryStore.type)
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        try coordinator.addPersistentStore(
            ofType: DictionaryStore.type, configurationName: nil, at: URL(fileURLWithPath: "/tmp/dictionary"), options: nil)
        let context = Depot.context(over: coordinator)
        context.performAndWait {
            let update = NSBatchUpdateRequest(entityName: "Item")
            update.propertiesToUpdate = ["name": "x"]
            let requests: [NSPersistentStoreRequest] = [
                NSBatchInsertRequest(entityName: "Item", objects: [["name": "nut"]]), update,
                NSBatchDeleteRequest(fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")),
                NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?),
            ]
            for request in requests { #expect(Depot.code { try context.execute(request) } == 134_091, "\(type(of: request))") }
        }
    }

    /// A save with nothing but metadata is a request without objects.
    @Test func metadataAloneIsWrittenByARequestWithoutObjects() throws {
        NSPersistentStoreCoordinator.registerStoreClass(DictionaryStore.self, forStoreType: DictionaryStore.type)
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        let store = try #require(
            try coordinator.addPersistentStore(
                ofType: DictionaryStore.type, configurationName: nil, at: URL(fileURLWithPath: "/tmp/dictionary"), options: nil)
                as? DictionaryStore)
        var metadata = coordinator.metadata(for: store)
        metadata["season"] = "autumn"
        coordinator.setMetadata(metadata, for: store)
        let context = Depot.context(over: coordinator)
        try context.performAndWait { try context.save() }
        #expect(coordinator.metadata(for: store)["season"] as? String == "autumn")
    }
}
