// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Batch requests that meet existing rows and other contexts.
@Suite struct BatchPolicyTests {
    private func insert(_ context: NSManagedObjectContext) throws {
        let rows = [["name": "a", "note": "new"], ["name": "b", "note": "new"]]
        _ = try context.execute(NSBatchInsertRequest(entityName: "Picture", objects: rows))
    }

    @Test(arguments: [
        (NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, ["a new", "b new"]), (.overwriteMergePolicyType, ["a new", "b new"]),
        (.mergeByPropertyStoreTrumpMergePolicyType, ["a old", "b new"]), (.rollbackMergePolicyType, ["a old", "b new"]),
    ])
    func batchInsertsWithDuplicateValuesFollowTheMergePolicy(_ policy: NSMergePolicyType, _ pictures: [String]) throws {
        let context = try Gallery.context(NSMergePolicy(merge: policy))
        try context.performAndWait {
            let picture = NSEntityDescription.insertNewObject(forEntityName: "Picture", into: context)
            picture.setValuesForKeys(["name": "a", "note": "old"])
            try context.save()
            let id = picture.objectID
            context.reset()
            try insert(context)
            #expect(try Gallery.pictures(context) == pictures)
            // The row keeps its identity.
            #expect(try context.existingObject(with: id).value(forKey: "name") as? String == "a")
        }
    }

    @Test func underTheErrorPolicyABatchWithAConflictInsertsNothing() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            NSEntityDescription.insertNewObject(forEntityName: "Picture", into: context).setValuesForKeys(["name": "a", "note": "old"])
            try context.save()
            context.reset()
            #expect(throws: CocoaError.self) { try insert(context) }
            #expect(try Gallery.pictures(context) == ["a old"])
        }
    }

    @Test(arguments: [["title": "x"], ["note": 5]] as [[String: any Sendable]])
    func wrongKeysAndValuesThrowAndInsertNothing(_ values: [String: any Sendable]) throws {
        let context = try Gallery.context()
        try context.performAndWait {
            #expect(throws: CocoaError.self) {
                try context.execute(NSBatchInsertRequest(entityName: "Picture", objects: [["name": "a"], values]))
            }
            let pictures = try Gallery.pictures(context)
            #expect(pictures == [])
        }
    }

    @Test(.timeLimit(.minutes(1))) func contextsThatMergeAutomaticallyMergeBatches() async throws {
        let container = NSPersistentContainer(name: "Shelves", managedObjectModel: Shelves.model)
        let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))
        description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
        description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
        container.persistentStoreDescriptions = [description]
        container.loadPersistentStores { #expect($1 == nil) }
        let (reader, writer) = (container.newBackgroundContext(), container.newBackgroundContext())
        reader.automaticallyMergesChangesFromParent = true
        let item = try reader.performAndWait {
            let item = Shelves.insert("Item", ["name": "a", "amount": 1], into: reader)
            try reader.save()
            return item
        }
        var changes = NotificationCenter.default.notifications(named: .NSManagedObjectContextObjectsDidChange, object: reader)
            .makeAsyncIterator()
        try writer.performAndWait {
            let request = NSBatchUpdateRequest(entityName: "Item")
            request.propertiesToUpdate = ["amount": 9]
            _ = try writer.execute(request)
        }
        _ = await changes.next()
        #expect(reader.performAndWait { item.value(forKey: "amount") as? Int } == 9)
        try writer.performAndWait {
            _ = try writer.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")))
        }
        _ = await changes.next()
        #expect(reader.performAndWait { item.isDeleted || item.managedObjectContext == nil })
    }
}
