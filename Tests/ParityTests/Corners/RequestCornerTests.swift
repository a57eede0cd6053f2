// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Batch requests, history and results controllers as the talks show them.
@Suite struct RequestCornerTests {
    @Test func aBatchInsertUpsertsUnderATrumpPolicy() throws {
        let context = try Company.filled()
        try context.performAndWait {
            context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
            let request = NSBatchInsertRequest(
                entityName: "Employee", objects: [["name": "New Ben", "badge": "B1"], ["name": "Zoe", "badge": "Z"]])
            request.resultType = .objectIDs
            let result = try #require(try context.execute(request) as? NSBatchInsertResult)
            #expect((result.result as? [NSManagedObjectID])?.count == 2)
            #expect(try context.names("Employee", "badge IN {'B1', 'Z'}") == ["New Ben", "Zoe"])
            #expect(try context.count(for: NSFetchRequest<Employee>(entityName: "Employee")) == 10)
            let kept = NSFetchRequest<Employee>(entityName: "Employee")
            kept.predicate = NSPredicate(format: "badge == 'B1'")
            context.reset()
            // Attributes that are absent from the batch keep their values.
            #expect(integer(try context.fetch(kept)[0].value(forKey: "age")) == 25)
        }
    }

    @Test func aBatchUpdateComputesAndCounts() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSBatchUpdateRequest(entityName: "Employee")
            request.predicate = NSPredicate(format: "department.name == %@", "Labs")
            request.propertiesToUpdate = ["age": NSExpression(format: "age + 1"), "rating": NSExpression(forConstantValue: 9)]
            request.resultType = .updatedObjectsCountResultType
            let result = try #require(try context.execute(request) as? NSBatchUpdateResult)
            #expect(result.result as? Int == 4)
            context.reset()
            #expect(try context.names("Employee", "rating == 9 AND age == 26") == ["Ben"])
        }
    }

    @Test func aBatchDeletionIsMergedIntoAContext() throws {
        let container = try Company.container()
        let context = container.newBackgroundContext()
        try Company.fill(context)
        try context.performAndWait {
            let all = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee"))
            let fetch: NSFetchRequest<any NSFetchRequestResult> = NSFetchRequest(entityName: "Employee")
            fetch.predicate = NSPredicate(format: "age < 30")
            let request = NSBatchDeleteRequest(fetchRequest: fetch)
            request.resultType = .resultTypeObjectIDs
            let result = try context.execute(request) as? NSBatchDeleteResult
            let ids = try #require(result?.result as? [NSManagedObjectID])
            #expect(ids.count == 2)
            NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSDeletedObjectsKey: ids], into: [context])
            #expect(all.filter { $0.managedObjectContext == nil || $0.isDeleted }.count == 2)
            #expect(try context.count(for: NSFetchRequest<Employee>(entityName: "Employee")) == 7)
        }
    }

    @Test func historyIsFilteredAndMerged() throws {
        let container = try Company.container(history: true)
        let context = container.newBackgroundContext()
        context.transactionAuthor = "app"
        context.name = "editor"
        try Company.fill(context)
        try context.performAndWait {
            let start = try #require(container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
            let ben = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee")).first {
                $0.value(forKey: "name") as? String == "Ben"
            }
            ben?.setValue(61, forKey: "age")
            ben?.setValue("Benno", forKey: "name")
            try context.save()
            context.transactionAuthor = "widget"
            if let ben { context.delete(ben) }
            try context.save()
            let request = NSPersistentHistoryChangeRequest.fetchHistory(after: start)
            if let fetch = NSPersistentHistoryTransaction.fetchRequest {
                fetch.predicate = NSPredicate(format: "author != %@", "widget")
                request.fetchRequest = fetch
            }
            let result = try context.execute(request) as? NSPersistentHistoryResult
            let transactions = try #require(result?.result as? [NSPersistentHistoryTransaction])
            #expect(transactions.map(\.author) == ["app"])
            #expect(transactions.first?.contextName == "editor")
            let change = try #require(transactions.first?.changes?.first { $0.changedObjectID.entity.name == "Employee" })
            #expect(change.changeType == .update)
            #expect(Set(change.updatedProperties?.map(\.name) ?? []) == ["age", "name"])
            let saved = try #require(transactions.first?.objectIDNotification())
            #expect((saved.userInfo?.count ?? 0) > 0)
            context.mergeChanges(fromContextDidSave: saved)
            let later = NSPersistentHistoryChangeRequest.fetchHistory(after: transactions.last?.token)
            later.resultType = .changesOnly
            let changes = try #require((try context.execute(later) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryChange])
            #expect(changes.contains { $0.changeType == .delete && $0.changedObjectID.entity.name == "Employee" })
            #expect(changes.allSatisfy { $0.transaction == nil })
        }
    }

    @Test func sectionsByAKeyPathAreGroupedAndSorted() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.predicate = NSPredicate(format: "department != nil")
            request.sortDescriptors = [
                NSSortDescriptor(key: "department.name", ascending: true), NSSortDescriptor(key: "name", ascending: true),
            ]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "department.name", cacheName: nil)
            try controller.performFetch()
            #expect(controller.sections?.map(\.name) == ["Labs", "Sales"])
            #expect(controller.sections?.map(\.numberOfObjects) == [4, 4])
            #expect(controller.sectionIndexTitles == ["L", "S"])
            #expect(controller.section(forSectionIndexTitle: "S", at: 1) == 1)
            let first = controller.object(at: IndexPath(item: 0, section: 1))
            #expect(first.value(forKey: "name") as? String == "Ada")
            #expect(controller.indexPath(forObject: first) == IndexPath(row: 0, section: 1))
            #expect(controller.fetchedObjects?.count == 8)
        }
    }

    final class Snapshots: NSObject, NSFetchedResultsControllerDelegate {
        var snapshots: [NSDiffableDataSourceSnapshot<String, NSManagedObjectID>] = []
        func controller(
            _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
            didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
        ) {
            snapshots.append(snapshot as NSDiffableDataSourceSnapshot<String, NSManagedObjectID>)
        }
    }

    @Test func snapshotsNameSectionsAndItems() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.predicate = NSPredicate(format: "department != nil")
            request.sortDescriptors = [
                NSSortDescriptor(key: "department.name", ascending: true), NSSortDescriptor(key: "name", ascending: true),
            ]
            let controller = NSFetchedResultsController(
                fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "department.name", cacheName: nil)
            let delegate = Snapshots()
            controller.delegate = delegate
            try controller.performFetch()
            #expect(delegate.snapshots.last?.sectionIdentifiers == ["Labs", "Sales"])
            let ada = controller.object(at: IndexPath(item: 0, section: 1))
            ada.setValue(controller.object(at: IndexPath(item: 0, section: 0)).value(forKey: "department"), forKey: "department")
            context.processPendingChanges()
            let snapshot = try #require(delegate.snapshots.last)
            #expect(snapshot.numberOfItems(inSection: "Labs") == 5)
            #expect(snapshot.itemIdentifiers(inSection: "Labs").first == ada.objectID)
            #expect(snapshot.sectionIdentifier(containingItem: ada.objectID) == "Labs")
            #expect(snapshot.numberOfItems == 8)
        }
    }

    @Test func asyncPerformAndBackgroundTasksReturnFetchedValues() async throws {
        let container = try Company.container()
        let context = container.newBackgroundContext()
        try Company.fill(context)
        let names = try await context.perform {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
            return try context.fetch(request).map { $0.value(forKey: "name") as? String ?? "" }
        }
        #expect(names.count == 9)
        let count = try await container.performBackgroundTask { context in
            try context.count(for: NSFetchRequest<Employee>(entityName: "Employee"))
        }
        #expect(count == 9)
    }

    @Test func aRequestMadeByNameKnowsItsEntityOnceExecuted() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            #expect(request.entity == nil)
            _ = try context.count(for: request)
            #expect(request.entity?.name == "Employee")
            let batch = NSBatchUpdateRequest(entity: Employee.entity())
            #expect(batch.entityName == "Employee")
        }
    }

    @Test func aLimitedRequestPrefetchesRelationships() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.sortDescriptors = [NSSortDescriptor(key: "age", ascending: false)]
            request.fetchLimit = 3
            request.fetchOffset = 1
            request.relationshipKeyPathsForPrefetching = ["department", "projects"]
            request.returnsObjectsAsFaults = false
            let people = try context.fetch(request)
            #expect(people.map { $0.value(forKey: "name") as? String } == ["Hedy", "Gus", "Fritz"])
            #expect(people.allSatisfy { !$0.isFault })
        }
    }

    @Test func fetchTemplatesSubstituteTheirVariables() throws {
        let model = Company.makeModel()
        let template = NSFetchRequest<any NSFetchRequestResult>()
        template.entity = model.entitiesByName["Employee"]
        template.predicate = NSPredicate(format: "age > $LIMIT AND name BEGINSWITH[cd] $START")
        model.setFetchRequestTemplate(template, forName: "older")
        let request = model.fetchRequestFromTemplate(withName: "older", substitutionVariables: ["LIMIT": 30, "START": "e"])
        #expect(request?.predicate?.description == #"age > 30 AND name BEGINSWITH[cd] "e""#)
    }
}
