// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct HistoryTests {
    private func history(
        _ container: NSPersistentContainer, _ request: NSPersistentHistoryChangeRequest
    ) throws -> [NSPersistentHistoryTransaction] {
        let context = container.newBackgroundContext()
        return try context.performAndWait {
            try #require((try context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])
        }
    }

    private func all(_ container: NSPersistentContainer) throws -> [NSPersistentHistoryTransaction] {
        try history(container, .fetchHistory(after: nil as NSPersistentHistoryToken?))
    }

    @Test func eachSaveIsOneTransactionWithAuthorAndChanges() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let start = Date()
            let id = try Notes.save(container, author: "app", name: "editor") { context in
                let note = Notes.insert("a", into: context)
                try context.obtainPermanentIDs(for: [note])
                return note.objectID
            }
            try Notes.save(container, author: "importer") { context in
                let note = try context.existingObject(with: id)
                note.setValue("text", forKey: "body")
                note.setValue(3, forKey: "rank")
            }
            try Notes.save(container) { context in context.delete(try context.existingObject(with: id)) }
            let transactions = try all(container)
            #expect(transactions.map(\.author) == ["app", "importer", nil])
            #expect(transactions.map(\.contextName) == ["editor", nil, nil])
            #expect(transactions.map(\.transactionNumber) == transactions.map(\.transactionNumber).sorted())
            #expect(Set(transactions.map(\.transactionNumber)).count == 3)
            let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
            for transaction in transactions {
                #expect(transaction.storeID == store.identifier)
                #expect(!transaction.processID.isEmpty)
                #expect(!transaction.bundleID.isEmpty || transaction.bundleID.isEmpty)
                #expect(transaction.timestamp >= start.addingTimeInterval(-1))
                #expect(transaction.timestamp <= Date().addingTimeInterval(1))
                #expect(transaction.changes?.count == 1)
                #expect(transaction.changes?.first?.changedObjectID == id)
                #expect(transaction.changes?.first?.transaction === transaction)
            }
            let changes = transactions.compactMap { $0.changes?.first }
            #expect(changes.map(\.changeType) == [.insert, .update, .delete])
            #expect(Set(changes.map(\.changeID)).count == 3)
            #expect(changes[0].updatedProperties == nil)
            #expect(changes[0].tombstone == nil)
            #expect(Set((changes[1].updatedProperties ?? []).map(\.name)) == ["body", "rank"])
            #expect(changes[1].tombstone == nil)
            #expect(changes[2].updatedProperties == nil)
            #expect(changes[2].tombstone?.count == 1)
            #expect(changes[2].tombstone?["title"] as? String == "a")
        }
    }

    @Test func historyAfterATokenExcludesItsTransaction() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            for title in ["a", "b", "c"] { try Notes.save(container, author: title) { Notes.insert(title, into: $0) } }
            let transactions = try all(container)
            try #require(transactions.count == 3)
            for (index, rest) in [(0, ["b", "c"]), (1, ["c"]), (2, [])] {
                let transaction = transactions[index]
                #expect(try history(container, .fetchHistory(after: transaction.token)).map(\.author) == rest)
                #expect(try history(container, .fetchHistory(after: transaction)).map(\.author) == rest)
                #expect(try history(container, .fetchHistory(after: transaction.timestamp)).count <= 3 - index)
            }
            #expect(try history(container, .fetchHistory(after: Date.distantPast)).map(\.author) == ["a", "b", "c"])
            #expect(try history(container, .fetchHistory(after: Date.distantFuture)).isEmpty)
            #expect(try history(container, .fetchHistory(after: nil as NSPersistentHistoryTransaction?)).count == 3)
            let coordinator = container.persistentStoreCoordinator
            let newest = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
            #expect(newest == coordinator.currentPersistentHistoryToken(fromStores: coordinator.persistentStores))
            #expect(newest == transactions[2].token)
            #expect(newest != transactions[1].token)
            #expect(try history(container, .fetchHistory(after: newest)).isEmpty)
        }
    }

    @Test func aHistoryTokenSurvivesAnArchiveAndAReopenedStore() throws {
        try Notes.withFile { url in
            let data: Data
            do {
                let container = try Notes.container(at: url)
                try Notes.save(container) { Notes.insert("a", into: $0) }
                let token = try #require(container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
                data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
                let again = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data)
                #expect(again == token)
                #expect(again?.hash == token.hash)
                #expect((token.copy() as? NSPersistentHistoryToken) == token)
                for store in container.persistentStoreCoordinator.persistentStores {
                    try container.persistentStoreCoordinator.remove(store)
                }
            }
            let container = try Notes.container(at: url)
            let token = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data)
            #expect(try history(container, .fetchHistory(after: token)).isEmpty)
            try Notes.save(container, author: "later") { Notes.insert("b", into: $0) }
            #expect(try history(container, .fetchHistory(after: token)).map(\.author) == ["later"])
        }
    }

    @Test func historyResultTypesSelectTheResult() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let ids = try Notes.save(container) { context in
                let notes = ["a", "b"].map { Notes.insert($0, into: context) }
                try context.obtainPermanentIDs(for: notes)
                return Set(notes.map(\.objectID))
            }
            try Notes.save(container) { Notes.insert("c", into: $0) }
            let context = container.newBackgroundContext()
            try context.performAndWait {
                func result(_ type: NSPersistentHistoryResultType) throws -> NSPersistentHistoryResult? {
                    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
                    #expect(request.resultType == .transactionsAndChanges)
                    request.resultType = type
                    let result = try context.execute(request) as? NSPersistentHistoryResult
                    #expect(result?.resultType == type)
                    return result
                }
                let both = try #require(try result(.transactionsAndChanges)?.result as? [NSPersistentHistoryTransaction])
                #expect(both.map { $0.changes?.count ?? 0 } == [2, 1])
                let bare = try #require(try result(.transactionsOnly)?.result as? [NSPersistentHistoryTransaction])
                #expect(bare.map(\.transactionNumber) == both.map(\.transactionNumber))
                #expect(bare.allSatisfy { $0.changes == nil })
                let changes = try #require(try result(.changesOnly)?.result as? [NSPersistentHistoryChange])
                #expect(changes.count == 3)
                #expect(changes.allSatisfy { $0.transaction == nil })
                let changed = try #require(try result(.objectIDs)?.result as? [NSManagedObjectID])
                #expect(changed.count == 3)
                #expect(ids.isSubset(of: changed))
                #expect(try result(.statusOnly) != nil)
            }
            #expect(NSPersistentHistoryChangeRequest.deleteHistory(before: Date()).resultType == .statusOnly)
            for (type, raw) in [
                (NSPersistentHistoryResultType.statusOnly, 0), (.objectIDs, 1), (.count, 2), (.transactionsOnly, 3),
                (.changesOnly, 4), (.transactionsAndChanges, 5),
            ] { #expect(type.rawValue == raw) }
            #expect([NSPersistentHistoryChangeType.insert, .update, .delete].map(\.rawValue) == [0, 1, 2])
        }
    }

    /// An app that read no transaction yet would never read the first ones.
    @Test func deletingHistoryExpiresTheTokenOfAnEmptyStore() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let token = try #require(container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))
            try Notes.save(container, author: "a") { Notes.insert("a", into: $0) }
            #expect(try history(container, .fetchHistory(after: token)).map(\.author) == ["a"])
            let context = container.newBackgroundContext()
            let deletion = NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture)
            _ = try context.performAndWait { try context.execute(deletion) }
            let error = #expect(throws: CocoaError.self) { try history(container, .fetchHistory(after: token)) }
            #expect(error?.code.rawValue == NSPersistentHistoryTokenExpiredError)
            let current = container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil)
            #expect(try history(container, .fetchHistory(after: current)).isEmpty)
        }
    }

    @Test func deletingHistoryExpiresItsTokens() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            for title in ["a", "b", "c", "d"] { try Notes.save(container, author: title) { Notes.insert(title, into: $0) } }
            let transactions = try all(container)
            try #require(transactions.count == 4)
            let context = container.newBackgroundContext()
            func delete(_ request: NSPersistentHistoryChangeRequest) throws {
                _ = try context.performAndWait { try context.execute(request) }
            }
            try delete(.deleteHistory(before: transactions[1].token))
            #expect(try all(container).map(\.author) == ["b", "c", "d"])
            try delete(.deleteHistory(before: transactions[2]))
            #expect(try all(container).map(\.author) == ["c", "d"])
            let error = #expect(throws: CocoaError.self) { try history(container, .fetchHistory(after: transactions[0].token)) }
            #expect(error?.code.rawValue == 134_301)
            #expect(NSPersistentHistoryTokenExpiredError == 134_301)
            #expect(try history(container, .fetchHistory(after: transactions[2].token)).map(\.author) == ["d"])
            try delete(.deleteHistory(before: Date.distantFuture))
            #expect(try all(container).isEmpty)
            #expect(try history(container, .fetchHistory(after: transactions[3].token)).isEmpty)
            try Notes.save(container, author: "e") { Notes.insert("e", into: $0) }
            #expect(try all(container).map(\.author) == ["e"])
            #expect(try history(container, .fetchHistory(after: transactions[3].token)).map(\.author) == ["e"])
        }
    }

    @Test func historyRequestsFilterTransactionsByPredicate() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            for (author, name) in [("app", "view"), ("app", "edit"), ("sync", "edit"), (nil, nil)] as [(String?, String?)] {
                try Notes.save(container, author: author, name: name) { Notes.insert(name ?? "none", into: $0) }
            }
            let cases: [(NSPredicate, Int)] = [
                (NSPredicate(format: "author == %@", "app"), 2), (NSPredicate(format: "author != %@", "app"), 2),
                (NSPredicate(format: "author == nil"), 1), (NSPredicate(format: "contextName == 'edit'"), 2),
                (NSPredicate(format: "author == 'app' AND contextName == 'edit'"), 1),
                (NSPredicate(format: "author BEGINSWITH 's'"), 1), (NSPredicate(format: "author IN %@", ["app", "sync"]), 3),
                (NSPredicate(format: "timestamp > %@", Date.distantPast as NSDate), 4),
                (NSPredicate(format: "timestamp > %@", Date.distantFuture as NSDate), 0),
                (NSPredicate(format: "processID == 'nobody'"), 0),
            ]
            let context = container.newBackgroundContext()
            let entity = try #require(context.performAndWait { NSPersistentHistoryTransaction.entityDescription(with: context) })
            #expect(entity.name?.isEmpty == false)
            for (predicate, count) in cases {
                let fetch = NSFetchRequest<any NSFetchRequestResult>()
                fetch.entity = entity
                fetch.predicate = predicate
                #expect(try history(container, .fetchHistory(withFetch: fetch)).count == count, "\(predicate)")
                let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
                request.fetchRequest = fetch
                #expect(try history(container, request).count == count, "\(predicate)")
            }
            let request = try #require(NSPersistentHistoryTransaction.fetchRequest)
            request.predicate = NSPredicate(format: "author == 'app'")
            let first = try #require(try all(container).first)
            let later = NSPersistentHistoryChangeRequest.fetchHistory(after: first.token)
            #expect(later.token == first.token)
            later.fetchRequest = request
            #expect(try history(container, later).map(\.contextName) == ["edit"])
        }
    }

    @Test func historyRequestsFilterChangesByPredicate() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let ids = try Notes.save(container, author: "app") { context in
                let notes = ["a", "b"].map { Notes.insert($0, into: context) }
                try context.obtainPermanentIDs(for: notes)
                return notes.map(\.objectID)
            }
            try Notes.save(container, author: "sync") { try $0.existingObject(with: ids[0]).setValue("text", forKey: "body") }
            try Notes.save(container, author: "app") { $0.delete(try $0.existingObject(with: ids[0])) }
            let cases: [(NSPredicate, [NSPersistentHistoryChangeType])] = [
                (NSPredicate(format: "changeType == %d", NSPersistentHistoryChangeType.insert.rawValue), [.insert, .insert]),
                (NSPredicate(format: "changeType == %d", NSPersistentHistoryChangeType.update.rawValue), [.update]),
                (NSPredicate(format: "changeType != %d", NSPersistentHistoryChangeType.insert.rawValue), [.update, .delete]),
                (NSPredicate(format: "changedObjectID == %@", ids[0]), [.insert, .update, .delete]),
                (NSPredicate(format: "changedObjectID == %@", ids[1]), [.insert]),
            ]
            let context = container.newBackgroundContext()
            let entity = try #require(context.performAndWait { NSPersistentHistoryChange.entityDescription(with: context) })
            for (predicate, types) in cases {
                let fetch = NSFetchRequest<any NSFetchRequestResult>()
                fetch.entity = entity
                fetch.predicate = predicate
                let found = try history(container, .fetchHistory(withFetch: fetch))
                #expect(found.flatMap { $0.changes ?? [] }.map(\.changeType) == types, "\(predicate)")
                #expect(found.allSatisfy { $0.changes?.isEmpty == false }, "\(predicate)")
            }
            let request = try #require(NSPersistentHistoryChange.fetchRequest)
            #expect(request.entity?.name == entity.name)
        }
    }

    @Test func aTransactionCanBeMergedIntoAContext() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            let id = try Notes.save(container) { context in
                let note = Notes.insert("old", into: context)
                try context.obtainPermanentIDs(for: [note])
                return note.objectID
            }
            let context = container.newBackgroundContext()
            let note = try context.performAndWait {
                let note = try context.existingObject(with: id)
                #expect(note.value(forKey: "title") as? String == "old")
                return note
            }
            try Notes.save(container) { try $0.existingObject(with: id).setValue("new", forKey: "title") }
            let last = try #require(try all(container).last)
            context.performAndWait {
                #expect(note.value(forKey: "title") as? String == "old")
                context.mergeChanges(fromContextDidSave: last.objectIDNotification())
                #expect(note.value(forKey: "title") as? String == "new")
                #expect(!context.hasChanges)
            }
        }
    }

    @Test func aStoreWithoutTrackingHasNoHistory() throws {
        try Notes.withFile { url in
            let container = try Notes.container(at: url, tracksHistory: false)
            try Notes.save(container) { Notes.insert("a", into: $0) }
            #expect(container.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil) == nil)
            let error = #expect(throws: CocoaError.self) { try all(container) }
            #expect(error?.code.rawValue == 134_091)
        }
    }

    @Test func aStoreWithHistoryIsReadOnlyWithoutTheOption() throws {
        try Notes.withFile { url in
            let tracking = try Notes.container(at: url)
            try Notes.save(tracking) { Notes.insert("a", into: $0) }
            for store in tracking.persistentStoreCoordinator.persistentStores {
                try tracking.persistentStoreCoordinator.remove(store)
            }
            let container = try Notes.container(at: url, tracksHistory: false)
            #expect(container.persistentStoreDescriptions.first?.options[NSPersistentHistoryTrackingKey] == nil)
            let context = container.newBackgroundContext()
            context.performAndWait {
                #expect((try? Notes.titles(in: context)) == ["a"])
                Notes.insert("b", into: context)
                #expect(throws: (any Error).self) { try context.save() }
                #expect(context.hasChanges)
            }
        }
    }
}
