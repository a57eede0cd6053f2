// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Counts, the remaining keys of predicates, and tokens of another state of the store.
@Suite struct HistoryDetailTests {
    private func result(_ container: NSPersistentContainer, _ request: NSPersistentHistoryChangeRequest) throws -> Any? {
        let context = container.newBackgroundContext()
        return try context.performAndWait { (try context.execute(request) as? NSPersistentHistoryResult)?.result }
    }

    private func filled(_ url: URL) throws -> (NSPersistentContainer, NSManagedObjectID) {
        let container = try Notes.container(at: url)
        let id = try Notes.save(container, author: "app") { context in
            let notes = ["a", "b", "c"].map { Notes.insert($0, into: context) }
            try context.obtainPermanentIDs(for: notes)
            return notes[0].objectID
        }
        try Notes.save(container, author: "sync") { context in
            try context.existingObject(with: id).setValue("text", forKey: "body")
        }
        return (container, id)
    }

    private func request(_ entity: NSEntityDescription?, _ format: String, _ arguments: Any...) -> NSPersistentHistoryChangeRequest {
        let fetch = NSFetchRequest<any NSFetchRequestResult>()
        fetch.entity = entity
        fetch.predicate = NSPredicate(format: format, argumentArray: arguments)
        return .fetchHistory(withFetch: fetch)
    }

    @Test func countsAreOfChangesOrOfTransactions() throws {
        try Notes.withFile { url in
            let (container, _) = try filled(url)
            let all = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
            all.resultType = .count
            #expect(try result(container, all) as? Int == 4)
            let context = container.newBackgroundContext()
            let transaction = context.performAndWait { NSPersistentHistoryTransaction.entityDescription(with: context) }
            let ofTransactions = request(transaction, "author != nil")
            ofTransactions.resultType = .count
            #expect(try result(container, ofTransactions) as? Int == 2)
            let status = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
            status.resultType = .statusOnly
            #expect(try result(container, status) as? Bool == true)
        }
    }

    @Test func predicatesSeeTheRemainingKeys() throws {
        try Notes.withFile { url in
            let (container, id) = try filled(url)
            let context = container.newBackgroundContext()
            let (transaction, change) = context.performAndWait {
                (
                    NSPersistentHistoryTransaction.entityDescription(with: context),
                    NSPersistentHistoryChange.entityDescription(with: context)
                )
            }
            let all = try #require(
                try result(container, .fetchHistory(after: nil as NSPersistentHistoryToken?)) as? [NSPersistentHistoryTransaction])
            let last = try #require(all.last?.changes?.first)
            let cases: [(NSPersistentHistoryChangeRequest, Int)] = [
                (request(transaction, "bundleID == %@", all[0].bundleID), 2), (request(transaction, "bundleID == 'none'"), 0),
                (request(transaction, "processID == %@", all[0].processID), 2),
                (request(transaction, "timestamp <= %@", all[0].timestamp as NSDate), 1),
                (request(change, "changeID == %@", last.changeID as NSNumber), 1),
                (request(change, "updatedProperties CONTAINS 'body'"), 1),
                (request(change, "changedObjectID == %@", id), 2),
            ]
            for (request, count) in cases {
                let found = try result(container, request) as? [NSPersistentHistoryTransaction]
                #expect(found?.count == count, "\(request.fetchRequest?.predicate?.description ?? "")")
            }
        }
    }

    /// The store was replaced by an earlier copy of itself.
    @Test func aTokenThatTheStoreHasNotReachedIsExpired() throws {
        try Notes.withFile { url in
            let copy = url.deletingLastPathComponent().appendingPathComponent("copy.sqlite")
            let (container, id) = try filled(url)
            let coordinator = container.persistentStoreCoordinator
            try coordinator.replacePersistentStore(at: copy, withPersistentStoreFrom: url, ofType: NSSQLiteStoreType)
            try Notes.save(container) { try $0.existingObject(with: id).setValue("later", forKey: "body") }
            let token = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
            let earlier = try Notes.container(at: copy)
            let error = #expect(throws: CocoaError.self) { try result(earlier, .fetchHistory(after: token)) }
            #expect(error?.code == .persistentHistoryTokenExpired)
        }
    }

    @Test func storesAddedLaterAreReadAsTheyAre() throws {
        let folder = try Depot.folder()
        let coordinator = try Depot.coordinator(NSSQLiteStoreType, at: folder.appendingPathComponent("first.sqlite"))
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            try context.setQueryGenerationFrom(.current)
            #expect(context.queryGenerationToken != nil, "asking pins the context")
        }
        let writer = Depot.context(over: coordinator)
        try writer.performAndWait {
            Depot.insert("Item", ["name": "first"], into: writer)
            try writer.save()
        }
        let second = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("second.sqlite"))
        try writer.performAndWait {
            writer.assign(Depot.insert("Item", ["name": "second"], into: writer), to: second)
            try writer.save()
        }
        try context.performAndWait {
            let names = Depot.names(try context.fetch(Depot.request("Item")))
            #expect(names == ["second"])
        }
    }
}
