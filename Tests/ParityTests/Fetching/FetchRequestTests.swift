// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct FetchRequestTests {
    /// A context over eight items, with none of them registered.
    static func filled() throws -> NSManagedObjectContext {
        let container = try Shelves.container()
        let writer = container.newBackgroundContext()
        try writer.performAndWait { try Shelves.fill(writer) }
        return container.newBackgroundContext()
    }

    private func amounts(_ objects: [NSManagedObject]) -> [Int] { objects.map { ($0.value(forKey: "amount") as? Int) ?? -1 } }

    private func faults(_ objects: [NSManagedObject]) -> Int { objects.count(where: \.isFault) }

    @Test func aNewRequestHasItsDefaults() {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
        #expect(request.entityName == "Item")
        #expect(request.predicate == nil)
        #expect(request.sortDescriptors == nil)
        #expect(request.fetchLimit == 0)
        #expect(request.fetchOffset == 0)
        #expect(request.fetchBatchSize == 0)
        #expect(request.resultType == .managedObjectResultType)
        #expect(request.includesSubentities)
        #expect(request.includesPropertyValues)
        #expect(request.returnsObjectsAsFaults)
        #expect(request.includesPendingChanges)
        #expect(!request.shouldRefreshRefetchedObjects)
        #expect(!request.returnsDistinctResults)
        #expect(request.relationshipKeyPathsForPrefetching?.isEmpty ?? true)
        #expect(request.propertiesToFetch?.isEmpty ?? true)
        #expect(request.propertiesToGroupBy?.isEmpty ?? true)
        #expect(request.havingPredicate == nil)
        #expect(request.affectedStores == nil)
        #expect(request.requestType == .fetchRequestType)
    }

    @Test func aCopyIsIndependent() throws {
        let request = Shelves.sorted("Item", by: "amount")
        request.fetchLimit = 3
        request.fetchBatchSize = 20
        request.predicate = NSPredicate(format: "amount > 2")
        request.relationshipKeyPathsForPrefetching = ["shelf.room"]
        let copy = try #require(request.copy() as? NSFetchRequest<NSManagedObject>)
        #expect(copy !== request)
        copy.fetchLimit = 1
        copy.relationshipKeyPathsForPrefetching = []
        #expect(request.fetchLimit == 3)
        #expect(request.relationshipKeyPathsForPrefetching == ["shelf.room"])
        #expect(copy.fetchBatchSize == 20)
        #expect(copy.entityName == "Item")
        #expect(copy.predicate == request.predicate)
        #expect(copy.sortDescriptors?.first?.key == "amount")
    }

    @Test(arguments: [
        (0, 0, [1, 2, 3, 4, 5, 6, 7, 8]), (3, 0, [1, 2, 3]), (3, 2, [3, 4, 5]), (0, 6, [7, 8]), (5, 6, [7, 8]), (1, 8, []),
        (100, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
    ])
    func fetchesObeyLimitAndOffset(limit: Int, offset: Int, expected: [Int]) throws {
        let context = try Self.filled()
        try context.performAndWait { () throws in
            for batchSize in [0, 1, 3, 50] {
                let request = Shelves.sorted("Item", by: "amount")
                request.fetchLimit = limit
                request.fetchOffset = offset
                request.fetchBatchSize = batchSize
                #expect(amounts(try context.fetch(request)) == expected)
                #expect(try context.count(for: request) == expected.count)
                context.reset()
            }
        }
    }

    @Test func subentitiesAreIncludedByDefault() throws {
        let context = try Self.filled()
        try context.performAndWait { () throws in
            let request = Shelves.sorted("Item", by: "amount")
            #expect(try context.count(for: request) == 8)
            #expect(try context.fetch(request).filter { $0 is Gadget }.count == 2)
            request.includesSubentities = false
            #expect(try context.count(for: request) == 6)
            #expect(amounts(try context.fetch(request)) == [1, 2, 3, 4, 5, 6])
            #expect(amounts(try context.fetch(Shelves.sorted("Gadget", by: "amount"))) == [7, 8])
            Shelves.insert("Gadget", ["amount": 9], into: context)
            #expect(try context.count(for: request) == 6)
            request.includesSubentities = true
            #expect(try context.count(for: request) == 9)
        }
    }

    @Test func fetchesReturnObjectIDsAndCounts() throws {
        let context = try Self.filled()
        try context.performAndWait {
            let request = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
            request.resultType = .managedObjectIDResultType
            request.sortDescriptors = [NSSortDescriptor(key: "amount", ascending: false)]
            request.predicate = NSPredicate(format: "amount BETWEEN {3, 6}")
            let ids = try context.fetch(request)
            #expect(ids.count == 4)
            #expect(ids.allSatisfy { !$0.isTemporaryID })
            #expect(context.registeredObjects.isEmpty)
            #expect(amounts(ids.map(context.object(with:))) == [6, 5, 4, 3])
            let counting = NSFetchRequest<NSNumber>(entityName: "Item")
            counting.resultType = .countResultType
            counting.predicate = request.predicate
            #expect(try context.fetch(counting) == [4])
            counting.fetchLimit = 3
            #expect(try context.fetch(counting) == [3])
            let none = NSFetchRequest<NSManagedObject>(entityName: "Item")
            none.predicate = NSPredicate(value: false)
            #expect(try context.fetch(none).isEmpty)
            #expect(try context.count(for: none) == 0)
        }
    }

    @Test func executeUsesTheContextOfTheRunningBlock() throws {
        let context = try Self.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.fetchLimit = 2
            let objects = try request.execute()
            #expect(amounts(objects) == [1, 2])
            #expect(objects.allSatisfy { $0.managedObjectContext === context })
        }
    }

    @Test func aRequestFetchesByEntityDescription() throws {
        let context = try Self.filled()
        try context.performAndWait { () throws in
            let request = NSFetchRequest<NSManagedObject>()
            request.entity = NSEntityDescription.entity(forEntityName: "Room", in: context)
            #expect(request.entityName == "Room")
            #expect(try context.fetch(request).count == 2)
        }
    }

    // MARK: Faults

    @Test func objectsAreFaultsWithCachedRows() throws {
        let context = try Self.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            let objects = try context.fetch(request)
            #expect(faults(objects) == 8)
            #expect(objects[0].value(forKey: "name") as? String == "item 1")
            #expect(!objects[0].isFault)
            #expect(objects[1].isFault)
            context.reset()
            request.returnsObjectsAsFaults = false
            let whole = try context.fetch(request)
            #expect(faults(whole) == 0)
        }
    }

    @Test func withoutPropertyValuesObjectsAreFaultsThatCanBeFired() throws {
        let context = try Self.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount", ascending: false)
            request.includesPropertyValues = false
            let objects = try context.fetch(request)
            #expect(objects.count == 8)
            #expect(faults(objects) == 8)
            #expect(amounts(objects) == [8, 7, 6, 5, 4, 3, 2, 1])
            #expect(faults(objects) == 0)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 8, 9])
    func aBatchedFetchEqualsAnUnbatchedOne(size: Int) throws {
        let context = try Self.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.fetchBatchSize = size
            let objects = try context.fetch(request)
            #expect(objects.count == 8)
            #expect(objects[5].value(forKey: "name") as? String == "item 6")
            #expect(amounts(objects) == [1, 2, 3, 4, 5, 6, 7, 8])
            #expect(objects.map { $0 is Gadget } == [false, false, false, false, false, false, true, true])
            #expect((objects[2].value(forKey: "shelf") as? NSManagedObject)?.value(forKey: "name") as? String == "hall 2")
            #expect(try context.fetch(request) == objects)
            objects[0].setValue(0, forKey: "amount")
            Shelves.insert("Item", ["amount": 4, "name": "new"], into: context)
            context.delete(objects[7])
            #expect(amounts(try context.fetch(request)) == [0, 2, 3, 4, 4, 5, 6, 7])
        }
    }

    @Test func aBatchedFetchDetectsConcurrentlyDeletedRows() throws {
        let container = try Shelves.container()
        let (reader, writer) = (container.newBackgroundContext(), container.newBackgroundContext())
        try writer.performAndWait { try Shelves.fill(writer) }
        try reader.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.fetchBatchSize = 4
            let objects = try reader.fetch(request)
            #expect(objects.count == 8)
            try writer.performAndWait {
                writer.delete(writer.object(with: objects[1].objectID))
                try writer.save()
            }
            #expect(objects[0].value(forKey: "amount") as? Int == 1)
            #expect(objects[1].value(forKey: "amount") == nil || objects[1].value(forKey: "amount") as? Int == 0)
            #expect(objects[2].value(forKey: "amount") as? Int == 3)
        }
    }

    @Test func refetchedObjectsAreRefreshedOnRequest() throws {
        let container = try Shelves.container()
        let (reader, writer) = (container.newBackgroundContext(), container.newBackgroundContext())
        try writer.performAndWait { try Shelves.fill(writer) }
        try reader.performAndWait {
            let request = Shelves.sorted("Item", by: "name")
            let first = try #require(try reader.fetch(request).first)
            let last = try #require(try reader.fetch(request).last)
            #expect(first.value(forKey: "weight") as? Double == 0.25)
            last.setValue(9.5, forKey: "weight")
            try writer.performAndWait {
                for item in try Shelves.all("Item", by: "name", in: writer) { item.setValue(7.5, forKey: "weight") }
                try writer.save()
            }
            _ = try reader.fetch(request)
            #expect(first.value(forKey: "weight") as? Double == 0.25)
            request.shouldRefreshRefetchedObjects = true
            _ = try reader.fetch(request)
            #expect(first.value(forKey: "weight") as? Double == 7.5)
            #expect(last.value(forKey: "weight") as? Double == 9.5)
        }
    }

    // MARK: Unsaved changes

    @Test func resultsIncludeUnsavedChanges() throws {
        let context = try Self.filled()
        try context.performAndWait {
            let items = try Shelves.all("Item", by: "amount", in: context)
            items[0].setValue(50, forKey: "amount")
            context.delete(items[4])
            Shelves.insert("Item", ["amount": 6, "name": "fresh"], into: context)
            let request = Shelves.sorted("Item", by: "amount")
            request.predicate = NSPredicate(format: "amount > 4")
            #expect(amounts(try context.fetch(request)) == [6, 6, 7, 8, 50])
            #expect(try context.count(for: request) == 5)
            let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
            ids.resultType = .managedObjectIDResultType
            ids.predicate = request.predicate
            #expect(try Set(context.fetch(ids)) == Set(context.fetch(request).map(\.objectID)))
            request.includesPendingChanges = false
            let stored = Set(try context.fetch(request).map(\.objectID))
            #expect(stored == Set(items[4...].map(\.objectID)))
            #expect(try context.count(for: request) == 4)
        }
    }

    @Test func countsIncludeEachKindOfUnsavedChange() throws {
        let context = try Self.filled()
        try context.performAndWait {
            let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
            request.predicate = NSPredicate(format: "kind == 'toy'")
            func count() throws -> Int { try context.count(for: request) }
            #expect(try count() == 3)
            let toy = Shelves.insert("Item", ["kind": "toy"], into: context)
            #expect(try count() == 4)
            toy.setValue("tool", forKey: "kind")
            #expect(try count() == 3)
            let stored = try #require(try context.fetch(request).first)
            stored.setValue("book", forKey: "kind")
            #expect(try count() == 2)
            stored.setValue("toy", forKey: "kind")
            #expect(try count() == 3)
            context.delete(stored)
            #expect(try count() == 2)
            request.predicate = nil
            #expect(try count() == 8)
            request.fetchLimit = 5
            #expect(try count() == 5)
            request.fetchOffset = 6
            #expect(try count() == 2)
            context.rollback()
            #expect(try count() == 2)
            request.fetchOffset = 0
            request.fetchLimit = 0
            #expect(try count() == 8)
        }
    }

    @Test func aChildFetchesItsParentsUnsavedObjects() throws {
        let parent = try Self.filled()
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = parent
        parent.performAndWait { _ = Shelves.insert("Item", ["amount": 0, "name": "unsaved"], into: parent) }
        try child.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.fetchBatchSize = 2
            request.relationshipKeyPathsForPrefetching = ["shelf.room"]
            request.fetchLimit = 3
            let items = try child.fetch(request)
            #expect(items.map { $0.value(forKey: "name") as? String } == ["unsaved", "item 1", "item 2"])
            #expect((items[2].value(forKeyPath: "shelf.room.name")) as? String == "hall")
            request.fetchLimit = 0
            #expect(try child.count(for: request) == 9)
        }
    }

    // MARK: Requests by execute

    @Test func unsupportedRequestsAreRejected() throws {
        let context = try Self.filled()
        context.performAndWait {
            let save = NSSaveChangesRequest(inserted: nil, updated: nil, deleted: nil, locked: nil)
            #expect(save.requestType == .saveRequestType)
            let unknown = NSFetchRequest<NSManagedObject>(entityName: "Item")
            unknown.resultType = [.managedObjectIDResultType, .dictionaryResultType]
            #expect(throws: (any Error).self) { try context.execute(save) }
        }
    }

    @Test func affectedStoresRestrictAFetch() throws {
        let container = try Shelves.container()
        let second = try container.persistentStoreCoordinator.addPersistentStore(
            ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
        let first = try #require(container.persistentStoreCoordinator.persistentStores.first)
        let context = container.newBackgroundContext()
        try context.performAndWait {
            for number in 1...6 {
                let item = Shelves.insert("Item", ["amount": number], into: context)
                context.assign(item, to: number.isMultiple(of: 2) ? first : second)
            }
            try context.save()
            context.reset()
            let request = Shelves.sorted("Item", by: "amount")
            #expect(amounts(try context.fetch(request)) == [1, 2, 3, 4, 5, 6])
            request.affectedStores = [first]
            #expect(amounts(try context.fetch(request)) == [2, 4, 6])
            request.affectedStores = [second]
            request.fetchLimit = 2
            #expect(amounts(try context.fetch(request)) == [1, 3])
            #expect(try context.count(for: request) == 2)
            request.affectedStores = [first, second]
            #expect(amounts(try context.fetch(request)) == [1, 2])
            request.affectedStores = nil
            request.fetchLimit = 0
            request.fetchBatchSize = 2
            #expect(amounts(try context.fetch(request)) == [1, 2, 3, 4, 5, 6])
        }
    }
}
