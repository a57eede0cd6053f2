// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// External storage is invisible: readers get the value that was set.
@Suite struct ExternalStorageTests {
    private static let sizes = [0, 1, 38, 100_000, 131_072, 131_073, 400_000]

    private static func model() -> NSManagedObjectModel {
        Depot.makeModel { model in
            for case let picture as NSAttributeDescription in model.entitiesByName["Item"]?.properties ?? [] where picture.name == "picture"
            {
                picture.allowsExternalBinaryDataStorage = true
            }
        }
    }

    private static func bytes(_ count: Int, _ first: UInt8 = 2) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0) &+ first })
    }

    private func coordinator(_ type: String, at url: URL?) throws -> NSPersistentStoreCoordinator {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
        try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url)
        return coordinator
    }

    private func url() throws -> URL { try Depot.folder().appendingPathComponent("depot.sqlite") }

    private func pictures(_ coordinator: NSPersistentStoreCoordinator) throws -> [Data?] {
        let context = Depot.context(over: coordinator)
        return try context.performAndWait {
            try context.fetch(Depot.request("Item", nil, sort: "count")).map { $0.value(forKey: "picture") as? Data }
        }
    }

    private func fill(_ coordinator: NSPersistentStoreCoordinator) throws {
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            for size in Self.sizes { Depot.insert("Item", ["picture": Self.bytes(size), "count": size], into: context) }
            Depot.insert("Item", ["count": 1_000_000], into: context)
            try context.save()
        }
    }

    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType, NSInMemoryStoreType]) func externalValuesOfAnySizeRoundTrip(_ type: String)
        throws
    {
        let place = try url()
        let coordinator = try coordinator(type, at: type == NSInMemoryStoreType ? nil : place)
        try fill(coordinator)
        let expected = Self.sizes.map { Self.bytes($0) } + [nil]
        #expect(try pictures(coordinator) == expected)
        if type != NSInMemoryStoreType {
            try coordinator.remove(try #require(coordinator.persistentStores.first))
            #expect(try pictures(self.coordinator(type, at: place)) == expected)
        }
    }

    @Test func externalValuesAreReplacedAndUndone() throws {
        let coordinator = try coordinator(NSSQLiteStoreType, at: try url())
        try fill(coordinator)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let items = try context.fetch(Depot.request("Item", nil, sort: "count"))
            let large = try #require(items.dropLast().last)
            #expect((large.value(forKey: "picture") as? Data)?.count == 400_000)
            large.setValue(Self.bytes(300_000, 9), forKey: "picture")
            #expect((large.committedValues(forKeys: ["picture"])["picture"] as? Data)?.count == 400_000)
            context.rollback()
            #expect(large.value(forKey: "picture") as? Data == Self.bytes(400_000))
            large.setValue(Self.bytes(300_000, 9), forKey: "picture")
            items[0].setValue(Self.bytes(200_000), forKey: "picture")
            items[5].setValue(nil, forKey: "picture")
            try context.save()
            context.refreshAllObjects()
            #expect(large.value(forKey: "picture") as? Data == Self.bytes(300_000, 9))
            #expect(items[0].value(forKey: "picture") as? Data == Self.bytes(200_000))
            #expect(items[5].value(forKey: "picture") == nil)
            context.delete(large)
            try context.save()
            #expect(try context.count(for: Depot.request("Item")) == Self.sizes.count)
            #expect(try context.count(for: Depot.request("Item", "picture != nil")) == Self.sizes.count - 2)
            #expect(try context.count(for: Depot.request("Item", "picture == nil")) == 2)
        }
    }

    @Test func anotherContextReadsTheLastSavedValue() throws {
        let coordinator = try coordinator(NSSQLiteStoreType, at: try url())
        let (first, second) = (Depot.context(over: coordinator), Depot.context(over: coordinator))
        let id = try first.performAndWait {
            let item = Depot.insert("Item", ["picture": Self.bytes(200_000)], into: first)
            try first.save()
            return item.objectID
        }
        for round in UInt8(1)...4 {
            try first.performAndWait {
                try first.existingObject(with: id).setValue(Self.bytes(200_000 + Int(round), round), forKey: "picture")
                try first.save()
            }
            try second.performAndWait {
                let item = try second.existingObject(with: id)
                second.refresh(item, mergeChanges: false)
                #expect(item.value(forKey: "picture") as? Data == Self.bytes(200_000 + Int(round), round))
            }
        }
    }

    @Test func aPinnedContextReadsReplacedValues() throws {
        let coordinator = try coordinator(NSSQLiteStoreType, at: try url())
        let (writer, reader) = (Depot.context(over: coordinator), Depot.context(over: coordinator))
        try writer.performAndWait {
            Depot.insert("Item", ["picture": Self.bytes(200_000)], into: writer)
            try writer.save()
        }
        try reader.performAndWait {
            try reader.setQueryGenerationFrom(.current)
            let item = try #require(try reader.fetch(Depot.request("Item")).first)
            reader.refresh(item, mergeChanges: false)
            try writer.performAndWait {
                let own = try #require(try writer.fetch(Depot.request("Item")).first)
                own.setValue(Self.bytes(200_000, 77), forKey: "picture")
                try writer.save()
                writer.delete(own)
                try writer.save()
            }
            #expect(item.value(forKey: "picture") as? Data == Self.bytes(200_000))
            try reader.setQueryGenerationFrom(nil)
            #expect(try reader.count(for: Depot.request("Item")) == 0)
        }
    }

    @Test func batchRequestsAcceptExternalValues() throws {
        let coordinator = try coordinator(NSSQLiteStoreType, at: try url())
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let rows = (0..<4).map { ["count": $0, "picture": Self.bytes(150_000 + $0)] as [String: Any] }
            try context.execute(NSBatchInsertRequest(entityName: "Item", objects: rows))
            #expect(try pictures(coordinator) == (0..<4).map { Self.bytes(150_000 + $0) })
            let update = NSBatchUpdateRequest(entityName: "Item")
            update.predicate = NSPredicate(format: "count < 2")
            update.propertiesToUpdate = ["picture": Self.bytes(140_000, 5)]
            try context.execute(update)
            #expect(try pictures(coordinator).prefix(2) == [Self.bytes(140_000, 5), Self.bytes(140_000, 5)])
            try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")))
            #expect(try pictures(coordinator).isEmpty)
        }
    }

    @Test func externalFilesAreDeletedWithTheirStore() throws {
        let (place, copy, moved) = (try url(), try url(), try url())
        let expected = Self.sizes.map { Self.bytes($0) } + [nil]
        let first = try coordinator(NSSQLiteStoreType, at: place)
        try fill(first)
        try first.replacePersistentStore(at: copy, withPersistentStoreFrom: place, ofType: NSSQLiteStoreType)
        #expect(try pictures(coordinator(NSSQLiteStoreType, at: copy)) == expected)
        let store = try #require(first.persistentStores.first)
        try first.migratePersistentStore(store, to: moved, options: nil, withType: NSSQLiteStoreType)
        #expect(try pictures(first) == expected)
        try first.destroyPersistentStore(at: place, ofType: NSSQLiteStoreType)
        #expect(try pictures(first) == expected)
        #expect(try pictures(coordinator(NSSQLiteStoreType, at: place)).isEmpty)
        #expect(try pictures(coordinator(NSSQLiteStoreType, at: copy)) == expected)
    }
}
