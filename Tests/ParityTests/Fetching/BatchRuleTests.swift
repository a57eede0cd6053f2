// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Delete rules among rows, results of deletions by cascade, and requests that a context does not execute.
@Suite struct BatchRuleTests {
    private func delete(
        _ context: NSManagedObjectContext, _ entity: String, _ format: String, _ type: NSBatchDeleteRequestResultType
    ) throws -> Any? {
        let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: entity)
        fetch.predicate = NSPredicate(format: format)
        let request = NSBatchDeleteRequest(fetchRequest: fetch)
        request.resultType = type
        return (try context.execute(request) as? NSBatchDeleteResult)?.result
    }

    @Test func aCascadeIsListedAndNotCounted() throws {
        let context = try Shelves.context()
        try context.performAndWait {
            try Shelves.fill(context)
            let shelves = try Shelves.all("Shelf", by: "name", in: context)
            let rooms = try Shelves.all("Room", by: "name", in: context)
            #expect(try delete(context, "Room", "name == 'hall'", .resultTypeCount) as? Int == 1)
            let ids = try delete(context, "Room", "name == 'attic'", .resultTypeObjectIDs) as? [NSManagedObjectID]
            #expect(Set(ids ?? []) == Set([rooms[0], shelves[0], shelves[1]].map(\.objectID)))
            #expect(ids?.count == 3)
        }
    }

    /// Source: developer.apple.com/documentation/coredata/nsdeleterule: the other side keeps its reference.
    @Test func theRuleNoActionLeavesTheReference() throws {
        let (list, entry) = (Versions.entity("List"), Versions.entity("Entry"))
        list.properties = [Library.attribute("name", .stringAttributeType)]
        entry.properties = [Library.attribute("name", .stringAttributeType)]
        Library.connect(list, "entries", toMany: true, rule: .noActionDeleteRule, with: entry, "list", toMany: false)
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), Versions.model([list, entry])) { context throws in
                let owner = Versions.insert("List", ["name": "a"], context)
                let member = Versions.insert("Entry", ["name": "b", "list": owner], context)
                try context.save()
                #expect(try delete(context, "List", "name == 'a'", .resultTypeCount) as? Int == 1)
                #expect(try Versions.fetch("Entry", context).count == 1)
                context.refreshAllObjects()
                #expect(member.value(forKey: "name") as? String == "b")
                let request = NSFetchRequest<NSManagedObject>(entityName: "Entry")
                request.predicate = NSPredicate(format: "list.name == 'a'")
                #expect(try context.count(for: request) == 0)
            }
        }
    }

    @Test func aBatchRunsNoValidation() throws {
        let entity = Versions.entity("Entry")
        let size = Library.attribute("size", .integer32AttributeType, isOptional: false, default: 1)
        size.setValidationPredicates([NSPredicate(format: "SELF < 10")], withValidationWarnings: ["large"])
        entity.properties = [size]
        try Versions.withFolder { folder in
            try Versions.open(folder.appendingPathComponent("a.sqlite"), Versions.model([entity])) { context throws in
                try context.execute(NSBatchInsertRequest(entityName: "Entry", objects: [["size": 50], [:]]))
                #expect(try Versions.values("Entry", "size", by: "size", context, as: Int.self) == [1, 50])
                let request = NSBatchUpdateRequest(entityName: "Entry")
                request.propertiesToUpdate = ["size": 60]
                try context.execute(request)
                context.refreshAllObjects()
                #expect(try Versions.values("Entry", "size", by: "size", context, as: Int.self) == [60, 60])
            }
        }
    }

    @Test func aRequestToSaveIsRefusedByItsCode() throws {
        let context = try Shelves.context()
        context.performAndWait {
            let save = NSSaveChangesRequest(inserted: nil, updated: nil, deleted: nil, locked: nil)
            #expect(Depot.code { try context.execute(save) } == 134_091)
        }
    }

    @Test func aPlainFetchRequestIsDoneAtOnce() throws {
        let context = try FetchRequestTests.filled()
        try context.performAndWait {
            let request = Shelves.sorted("Item", by: "amount")
            request.fetchLimit = 2
            let result = try #require(try context.execute(request) as? NSAsynchronousFetchResult<NSManagedObject>)
            #expect(result.finalResult?.map { $0.value(forKey: "amount") as? Int } == [1, 2])
            #expect(result.operationError == nil)
        }
    }

    @Test func aCancelledAsynchronousFetchHasItsError() async throws {
        let context = try FetchRequestTests.filled()
        let code: CocoaError.Code? = try await withCheckedThrowingContinuation { continuation in
            context.perform {
                let request = NSAsynchronousFetchRequest(fetchRequest: Shelves.sorted("Item", by: "amount")) {
                    (result: NSAsynchronousFetchResult<NSManagedObject>) in
                    continuation.resume(returning: (result.operationError as? CocoaError)?.code)
                }
                do {
                    let result = try context.execute(request) as? NSAsynchronousFetchResult<NSManagedObject>
                    result?.cancel()
                } catch { continuation.resume(throwing: error) }
            }
        }
        #expect(code == .userCancelled)
    }

    @Test func requestsAreConvertedToAnotherResultType() throws {
        let request = Shelves.sorted("Item", by: "amount")
        request.predicate = NSPredicate(format: "amount > 2")
        request.fetchLimit = 3
        let ids = NSFetchRequest<NSManagedObjectID>(copying: request)
        ids.resultType = .managedObjectIDResultType
        #expect(ids.entityName == "Item")
        #expect(ids.predicate == request.predicate)
        #expect(ids.fetchLimit == 3)
        #expect(request.resultType == .managedObjectResultType)
        let context = try FetchRequestTests.filled()
        #expect(try context.performAndWait { try context.fetch(ids).count } == 3)
    }
}
