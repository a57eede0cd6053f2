// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct BatchInsertTests {
    @Test func everyFormOfBatchInsertHasDefaults() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
            var number = 0
            let requests: [NSBatchInsertRequest] = [
                NSBatchInsertRequest(entityName: "Item", objects: [["name": "a"], ["name": "b"]]),
                NSBatchInsertRequest(entity: entity, objects: [["name": "c", "amount": 3], ["name": "d"]]),
                NSBatchInsertRequest(
                    entityName: "Item",
                    dictionaryHandler: { row in
                        number += 1
                        row["name"] = "row \(number)"
                        return number > 2
                    }),
                NSBatchInsertRequest(
                    entity: entity,
                    dictionaryHandler: { row in
                        number += 1
                        row["name"] = "row \(number)"
                        return number > 5
                    }),
                NSBatchInsertRequest(
                    entityName: "Item",
                    managedObjectHandler: { object in
                        number += 1
                        object.setValue("object \(number)", forKey: "name")
                        return number > 8
                    }),
                NSBatchInsertRequest(
                    entity: entity,
                    managedObjectHandler: { object in
                        number += 1
                        if number == 10 { object.setValue(99, forKey: "amount") }
                        return number > 11
                    }),
            ]
            for request in requests {
                #expect(request.requestType == .batchInsertRequestType)
                #expect(request.resultType == .statusOnly)
                #expect(request.entityName == "Item")
                request.resultType = .count
                let result = try #require(try context.execute(request) as? NSBatchInsertResult)
                #expect(result.resultType == .count)
                #expect(result.result as? Int == 2)
            }
            #expect(try Shelves.count("Item", in: context) == 12)
            #expect(try Shelves.count("Item", "amount == 1 AND kind == 'plain' AND weight == 0.5 AND isNew == NO", in: context) == 10)
            #expect(try Shelves.count("Item", "amount == 3 AND name == 'c'", in: context) == 1)
            // Values of one row do not carry over to the next.
            #expect(try Shelves.count("Item", "amount == 99", in: context) == 1)
            #expect(try Shelves.count("Item", "name == nil", in: context) == 2)
        }
    }

    @Test func aBatchInsertStoresValuesOfEveryType() throws {
        let context = try Shelves.context()
        let (seen, code, blob) = (Date(timeIntervalSinceReferenceDate: 12.5), UUID(), Data([1, 2, 3]))
        try context.performAndWait {
            let link = try #require(URL(string: "https://example.org/a"))
            let row: [String: Any] = [
                "name": "é", "amount": 7, "weight": 2.25, "price": NSDecimalNumber(string: "12.34"), "isNew": true, "seen": seen,
                "code": code, "link": link, "blob": blob, "kind": NSNull(),
            ]
            try context.execute(NSBatchInsertRequest(entityName: "Item", objects: [row]))
            let item = try #require(try Shelves.all("Item", by: "name", in: context).first)
            #expect(item.value(forKey: "name") as? String == "é")
            #expect(item.value(forKey: "amount") as? Int32 == 7)
            #expect(item.value(forKey: "weight") as? Double == 2.25)
            #expect(item.value(forKey: "price") as? NSDecimalNumber == NSDecimalNumber(string: "12.34"))
            #expect(item.value(forKey: "isNew") as? Bool == true)
            #expect(item.value(forKey: "seen") as? Date == seen)
            #expect(item.value(forKey: "code") as? UUID == code)
            #expect(item.value(forKey: "link") as? URL == link)
            #expect(item.value(forKey: "blob") as? Data == blob)
            #expect(item.value(forKey: "kind") == nil)
            #expect(item.value(forKey: "shelf") == nil)
        }
    }

    @Test func aBatchInsertReturnsObjectIDsOfItsRows() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let request = NSBatchInsertRequest(entityName: "Gadget", objects: [["name": "x", "volts": 12], ["name": "y"]])
            request.resultType = .objectIDs
            let ids = try #require((try context.execute(request) as? NSBatchInsertResult)?.result as? [NSManagedObjectID])
            #expect(ids.count == 2)
            #expect(ids.allSatisfy { !$0.isTemporaryID && $0.entity.name == "Gadget" })
            #expect(try ids.map { try context.existingObject(with: $0).value(forKey: "name") as? String } == ["x", "y"])
            #expect(try context.existingObject(with: ids[0]).value(forKey: "volts") as? Int16 == 12)
            // Keys continue after those of the batch.
            let next = Shelves.insert("Item", into: context)
            try context.save()
            #expect(!ids.contains(next.objectID))
            #expect(try Shelves.count("Item", in: context) == 3)
        }
    }

    @Test func aStatusResultIsTrueAndAnEmptyBatchSucceeds() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            let request = NSBatchInsertRequest(entityName: "Item", objects: [])
            let result = try #require(try context.execute(request) as? NSBatchInsertResult)
            #expect(result.resultType == .statusOnly)
            #expect(result.result as? Bool == true)
            #expect(try Shelves.count("Item", in: context) == 0)
            #expect(!context.hasChanges)
            #expect(context.registeredObjects.isEmpty)
        }
    }

    @Test func batchInsertsAreInTheHistoryAndMergeIntoContexts() throws {
        let container = try Shelves.container(tracksHistory: true)
        let (writer, reader) = (container.newBackgroundContext(), container.newBackgroundContext())
        let ids = try writer.performAndWait {
            writer.transactionAuthor = "importer"
            let request = NSBatchInsertRequest(entityName: "Item", objects: [["name": "a"], ["name": "b"]])
            request.resultType = .objectIDs
            return try #require((try writer.execute(request) as? NSBatchInsertResult)?.result as? [NSManagedObjectID])
        }
        try reader.performAndWait {
            let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
            let result = try #require(try reader.execute(request) as? NSPersistentHistoryResult)
            let transactions = try #require(result.result as? [NSPersistentHistoryTransaction])
            #expect(transactions.count == 1)
            #expect(transactions.first?.author == "importer")
            #expect(transactions.first?.changes?.map(\.changeType) == [.insert, .insert])
            #expect(Set(transactions.first?.changes?.map(\.changedObjectID) ?? []) == Set(ids))
        }
        let seen = Received()
        let observer = NotificationCenter.default.addObserver(forName: .NSManagedObjectContextObjectsDidChange, object: reader, queue: nil)
        {
            seen.inserted = ($0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count ?? 0
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInsertedObjectsKey: ids], into: [reader])
        #expect(seen.inserted == 2)
    }

    private final class Received: @unchecked Sendable {
        // Unchecked: written on the context's queue, read after the call that waits for it.
        var inserted = 0
    }
}

@Suite struct BatchUpdateTests {
    private func update(
        _ context: NSManagedObjectContext, _ entity: String = "Item", _ format: String? = nil, _ values: [AnyHashable: Any]
    ) throws -> Int? {
        let request = NSBatchUpdateRequest(entityName: entity)
        request.predicate = format.map { NSPredicate(format: $0) }
        request.propertiesToUpdate = values
        request.resultType = .updatedObjectsCountResultType
        return (try context.execute(request) as? NSBatchUpdateResult)?.result as? Int
    }

    @Test func aBatchUpdateChangesMatchingRows() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            #expect(try update(context, "Item", "amount > 4", ["kind": "big", "isNew": true]) == 4)
            #expect(try Shelves.count("Item", "kind == 'big' AND isNew == YES", in: context) == 4)
            #expect(try update(context, "Item", nil, ["seen": NSNull()]) == 8)
            #expect(try Shelves.count("Item", "seen == nil", in: context) == 8)
            #expect(try update(context, "Gadget", nil, ["volts": 230]) == 2)
            #expect(try Shelves.count("Gadget", "volts == 230", in: context) == 2)
            #expect(try update(context, "Item", "shelf.room.name == 'attic'", ["amount": 0]) == 3)
            #expect(try Shelves.count("Item", "amount == 0", in: context) == 3)
            #expect(try update(context, "Item", "amount == 1000", ["amount": 0]) == 0)
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Item", in: context))
            let amount = try #require(entity.propertiesByName["amount"])
            #expect(try update(context, "Item", "name == 'item 1'", [amount: 41]) == 1)
            #expect(try Shelves.count("Item", "amount == 41", in: context) == 1)
        }
    }

    @Test func aBatchUpdateEvaluatesExpressionsOfTheRow() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            // Constants as expressions, since the API once accepted only expressions.
            #expect(
                try update(
                    context, "Item", "amount > 6",
                    ["isNew": NSExpression(forConstantValue: true), "seen": NSExpression(forConstantValue: nil)]) == 2)
            #expect(try Shelves.count("Item", "isNew == YES AND seen == nil", in: context) == 2)
            let date = Date(timeIntervalSinceReferenceDate: 7)
            #expect(try update(context, "Item", "amount > 7", ["seen": NSExpression(forConstantValue: date)]) == 1)
            #expect(try Shelves.count("Item", "seen == CAST(7, 'NSDate')", in: context) == 1)
            #expect(
                try update(
                    context, "Item", "amount > 6",
                    ["amount": NSExpression(format: "amount + 10"), "weight": NSExpression(forKeyPath: "amount")]) == 2)
            #expect(try Shelves.count("Item", "amount IN {17, 18} AND weight IN {7, 8}", in: context) == 2)
            #expect(
                try update(
                    context, "Item", "amount == 17",
                    ["kind": NSExpression(forKeyPath: "name"), "amount": NSExpression(format: "amount / 2 + %d", 1)]) == 1)
            #expect(try Shelves.count("Item", "kind == name AND amount == 9", in: context) == 1)
            #expect(throws: CocoaError.self) { try update(context, "Item", nil, ["amount": NSExpression(forKeyPath: "name")]) }
            #expect(throws: CocoaError.self) { try update(context, "Item", nil, ["kind": NSExpression(forKeyPath: "shelf.name")]) }
            #expect(try Shelves.count("Item", "amount == 9", in: context) == 1)
        }
    }

    @Test func aBatchUpdateMayExcludeSubentities() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let request = NSBatchUpdateRequest(entity: try #require(NSEntityDescription.entity(forEntityName: "Item", in: context)))
            #expect(request.entityName == "Item")
            #expect(request.entity.name == "Item")
            #expect(request.includesSubentities)
            #expect(request.requestType == .batchUpdateRequestType)
            #expect(request.resultType == .statusOnlyResultType)
            request.includesSubentities = false
            request.propertiesToUpdate = ["kind": "own"]
            let result = try #require(try context.execute(request) as? NSBatchUpdateResult)
            #expect(result.result as? Bool == true)
            #expect(try Shelves.count("Item", "kind == 'own'", in: context) == 6)
            #expect(try Shelves.count("Gadget", "kind == 'own'", in: context) == 0)
        }
    }

    @Test func objectsHaveUpdatedValuesAfterAMerge() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let item = try #require(try Shelves.all("Item", by: "amount", in: context).last)
            #expect(item.value(forKey: "amount") as? Int32 == 8)
            let request = NSBatchUpdateRequest(entityName: "Item")
            request.predicate = NSPredicate(format: "amount >= 7")
            request.propertiesToUpdate = ["amount": 70]
            request.resultType = .updatedObjectIDsResultType
            let ids = try #require((try context.execute(request) as? NSBatchUpdateResult)?.result as? [NSManagedObjectID])
            #expect(ids.count == 2)
            #expect(ids.contains(item.objectID))
            #expect(item.value(forKey: "amount") as? Int32 == 8)
            NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: ids], into: [context])
            #expect(item.value(forKey: "amount") as? Int32 == 70)
            // The row has a newer version: the earlier read conflicts no more.
            item.setValue(71, forKey: "amount")
            try context.save()
            #expect(try Shelves.count("Item", "amount == 71", in: context) == 1)
        }
    }

    @Test func anOlderCopyOfAnUpdatedRowConflicts() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let item = try #require(try Shelves.all("Item", by: "amount", in: context).last)
            item.setValue("mine", forKey: "kind")
            _ = try update(context, "Item", nil, ["amount": 5])
            #expect { try context.save() } throws: { ($0 as? CocoaError)?.code.rawValue == 133_020 }
            context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            try context.save()
            #expect(try Shelves.count("Item", "kind == 'mine' AND amount == 5", in: context) == 1)
        }
    }

    @Test func batchUpdatesAreInTheHistory() throws {
        let context = try Shelves.container(tracksHistory: true).newBackgroundContext()
        try context.performAndWait {
            try Shelves.fill(context)
            let coordinator = try #require(context.persistentStoreCoordinator)
            let token = coordinator.currentPersistentHistoryToken(fromStores: nil)
            #expect(try update(context, "Item", "amount < 3", ["kind": "small", "amount": 0]) == 2)
            let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token))
            let transactions = try #require((result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
            #expect(transactions.count == 1)
            let changes = try #require(transactions.first?.changes)
            #expect(changes.map(\.changeType) == [.update, .update])
            #expect(changes.allSatisfy { Set($0.updatedProperties?.map(\.name) ?? []) == ["kind", "amount"] })
        }
    }
}

@Suite struct BatchDeleteTests {
    private func request(_ entity: String, _ format: String? = nil) -> NSBatchDeleteRequest {
        let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: entity)
        fetch.predicate = format.map { NSPredicate(format: $0) }
        let request = NSBatchDeleteRequest(fetchRequest: fetch)
        request.resultType = .resultTypeCount
        return request
    }

    private func delete(_ context: NSManagedObjectContext, _ entity: String, _ format: String? = nil) throws -> Int? {
        (try context.execute(request(entity, format)) as? NSBatchDeleteResult)?.result as? Int
    }

    @Test func aBatchDeletionDeletesMatchingRows() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            #expect(request("Item").requestType == .batchDeleteRequestType)
            #expect(try delete(context, "Item", "amount <= 2") == 2)
            #expect(try Shelves.count("Item", in: context) == 6)
            #expect(try delete(context, "Gadget") == 2)
            #expect(try Shelves.count("Item", in: context) == 4)
            #expect(try delete(context, "Item", "name == 'nobody'") == 0)
            #expect(try delete(context, "Item") == 4)
            #expect(try Shelves.count("Item", in: context) == 0)
        }
    }

    @Test func aBatchDeletionObeysLimitAndOffset() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
            fetch.sortDescriptors = [NSSortDescriptor(key: "amount", ascending: false)]
            fetch.fetchLimit = 3
            fetch.fetchOffset = 1
            try context.execute(NSBatchDeleteRequest(fetchRequest: fetch))
            #expect(try Shelves.all("Item", by: "amount", in: context).map { $0.value(forKey: "amount") as? Int32 } == [1, 2, 3, 4, 8])
        }
    }

    @Test func aBatchDeletionMayExcludeSubentities() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
            fetch.includesSubentities = false
            let request = NSBatchDeleteRequest(fetchRequest: fetch)
            #expect(request.resultType == .resultTypeStatusOnly)
            #expect((try context.execute(request) as? NSBatchDeleteResult)?.result as? Bool == true)
            #expect(try Shelves.count("Item", in: context) == 2)
            #expect(try Shelves.count("Gadget", in: context) == 2)
        }
    }

    @Test func aBatchDeletionReturnsObjectIDsOfItsRows() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let items = try Shelves.all("Item", by: "amount", in: context)
            let request = NSBatchDeleteRequest(objectIDs: [items[0].objectID, items[7].objectID])
            request.resultType = .resultTypeObjectIDs
            let ids = try #require((try context.execute(request) as? NSBatchDeleteResult)?.result as? [NSManagedObjectID])
            #expect(Set(ids) == [items[0].objectID, items[7].objectID])
            #expect(try Shelves.count("Item", in: context) == 6)
            #expect(!items[0].isDeleted)
            #expect(items[0].managedObjectContext === context)
            NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: ids], into: [context])
            #expect(items[0].managedObjectContext == nil || items[0].isDeleted)
            #expect(context.registeredObject(for: ids[0]) == nil)
        }
    }

    @Test func aBatchDeletionAppliesCascadeAndNullify() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            _ = try delete(context, "Room", "name == 'hall'")
            #expect(try Shelves.count("Room", in: context) == 1)
            #expect(try Shelves.count("Shelf", in: context) == 2)
            // Items stay, without their shelf.
            #expect(try Shelves.count("Item", in: context) == 8)
            #expect(try Shelves.count("Item", "shelf != nil", in: context) == 3)
            #expect(try Shelves.count("Item", "shelf.room.name == 'attic'", in: context) == 3)
        }
    }

    @Test func aBatchDeletionObeysTheDenyRule() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let mark = Shelves.insert("Mark", ["label": "red"], into: context)
            let item = try #require(try Shelves.all("Item", by: "amount", in: context).first)
            item.setValue(NSSet(object: mark), forKey: "marks")
            try context.save()
            #expect(throws: (any Error).self) { try delete(context, "Mark") }
            #expect(try Shelves.count("Mark", in: context) == 1)
            #expect(try delete(context, "Item", "amount == 1") == 1)
            #expect(try delete(context, "Mark") == 1)
            #expect(try Shelves.count("Mark", in: context) == 0)
        }
    }

    @Test func batchDeletionsAreInTheHistory() throws {
        let context = try Shelves.container(tracksHistory: true).newBackgroundContext()
        try context.performAndWait {
            try Shelves.fill(context)
            let token = context.persistentStoreCoordinator?.currentPersistentHistoryToken(fromStores: nil)
            _ = try delete(context, "Item", "amount == 3")
            let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token))
            let transactions = try #require((result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
            #expect(transactions.flatMap { $0.changes ?? [] }.map(\.changeType) == [.delete])
        }
    }
}
