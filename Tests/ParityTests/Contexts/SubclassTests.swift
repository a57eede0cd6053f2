// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Test doubles as apps write them: subclasses of the stack's classes that override its methods.
@Suite struct SubclassTests {
    private func context<Context: RecordingContext>(_ type: Context.Type) throws -> (NSPersistentContainer, Context) {
        let container = try Library.container()
        let context = Context(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = container.persistentStoreCoordinator
        return (container, context)
    }

    @Test func eachOverriddenMethodOfAContextIsCalled() throws {
        let (container, context) = try context(RecordingContext.self)
        let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
        try context.performAndWait {
            let author = Author(context: context)
            context.assign(author, to: store)
            try context.obtainPermanentIDs(for: [author])
            context.processPendingChanges()
            context.detectConflicts(for: author)
            try context.save()
            context.refresh(author, mergeChanges: true)
            context.refreshAllObjects()
            context.delete(author)
            context.undo()
            context.redo()
            context.rollback()
            try context.setQueryGenerationFrom(nil)
            _ = try context.execute(NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Chapter")))
            context.reset()
            context.mergeChanges(fromContextDidSave: Notification(name: .NSManagedObjectContextDidSave, object: context))
        }
        let expected: Set = [
            "insert", "assign", "obtainPermanentIDs", "processPendingChanges", "detectConflicts", "save", "refresh", "refreshAllObjects",
            "delete", "undo", "redo", "rollback", "setQueryGenerationFrom", "execute", "reset", "mergeChanges", "performAndWait",
        ]
        #expect(expected.subtracting(context.calls) == [])
    }

    @Test func aTypedFetchAndCountCallTheOverriddenMethods() throws {
        let (_, context) = try context(FetchingContext.self)
        try context.performAndWait {
            let author = Author(context: context)
            let other = Author(context: context)
            context.answer = [author]
            let request = NSFetchRequest<Author>(entityName: "Author")
            request.fetchLimit = 5
            let answered = try context.fetch(request)
            #expect(answered == [author])
            #expect(context.limit == 5)
            let count = try context.count(for: request)
            #expect(count == 41)
            let executed = try request.execute()
            #expect(executed == [author])
            context.answer = nil
            let stored = try context.fetch(request)
            #expect(Set(stored) == [author, other])
        }
    }

    @Test func aTypedFetchThrowsWhatTheOverriddenMethodThrows() throws {
        let (_, context) = try context(FetchingContext.self)
        context.performAndWait {
            context.failure = CocoaError(.persistentStoreTimeout)
            #expect(throws: CocoaError.self) { try context.fetch(NSFetchRequest<Author>(entityName: "Author")) }
        }
    }

    @Test func theFormsOfPerformWithResultsCallTheOverriddenOnes() async throws {
        let (_, context) = try context(RecordingContext.self)
        #expect(context.performAndWait { 7 } == 7)
        #expect(context.calls.contains("performAndWait"))
        #expect(throws: CocoaError.self) { try context.performAndWait { throw CocoaError(.persistentStoreTimeout) } }
        #expect(await context.perform { 8 } == 8)
        #expect(context.calls.contains("perform"))
        let method: (() -> Void) -> Void = context.performAndWait
        var didRun = false
        method { didRun = true }
        #expect(didRun)
    }

    @Test func anOverriddenSaveSimulatesAFailure() throws {
        let (container, context) = try context(FailingContext.self)
        context.performAndWait {
            _ = Author(context: context)
            #expect(throws: CocoaError.self) { try context.save() }
        }
        let reader = container.newBackgroundContext()
        #expect(try reader.performAndWait { try reader.count(for: NSFetchRequest<Author>(entityName: "Author")) } == 0)
    }

    @Test func aContainersOverriddenPropertiesAreUsedByItsMethods() async throws {
        let container = DoubleContainer(name: "Library", managedObjectModel: Library.model)
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        #expect(failure == nil)
        #expect(container.persistentStoreCoordinator is DoubleCoordinator)
        #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
        #expect(container.name == "Double")
        #expect(container.viewContext.name == "view")
        let context = container.newBackgroundContext()
        #expect(context.persistentStoreCoordinator === container.persistentStoreCoordinator)
        let name = await container.performBackgroundTask { $0.name }
        #expect(name == "made")
    }

    @Test func eachOverriddenMethodOfACoordinatorIsCalled() throws {
        let coordinator = DoubleCoordinator(managedObjectModel: Library.model)
        let memory = try coordinator.addPersistentStore(type: .inMemory, at: URL(fileURLWithPath: "/dev/null"))
        coordinator.setMetadata(coordinator.metadata(for: memory), for: memory)
        coordinator.performAndWait {}
        try coordinator.remove(memory)
        #expect(throws: (any Error).self) { try coordinator.destroyPersistentStore(at: URL(fileURLWithPath: "/nowhere/a"), type: .xml) }
        #expect(
            coordinator.calls == ["addPersistentStore", "metadata", "setMetadata", "performAndWait", "remove", "destroyPersistentStore"])
        #expect(coordinator.managedObjectModel === Library.model)
    }

    @Test func theContextIgnoresAnObjectsOverriddenFlags() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Tag", in: context))
            let object = LyingObject(entity: entity, insertInto: context)
            object.setValue("kept", forKey: "label")
            #expect(object.isDeleted)
            #expect(!object.isInserted)
            #expect(object.isFault)
            #expect(!object.hasChanges)
            #expect(object.managedObjectContext == nil)
            #expect(object.changedValues()["label"] as? String == "double")
            try context.save()
            context.reset()
            #expect(
                try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Tag")).first?.value(forKey: "label") as? String == "kept")
        }
    }

    @Test func subclassesOfResultsAndObjectIDsOverrideMembers() throws {
        final class Result: NSBatchDeleteResult {
            override var result: Any? { 12 }
        }
        final class Token: NSManagedObjectID, @unchecked Sendable {
            override var isTemporaryID: Bool { false }
            override func uriRepresentation() -> URL { URL(fileURLWithPath: "/double") }
        }
        let id = Token()
        #expect(!id.isTemporaryID)
        #expect(id.uriRepresentation().path == "/double")
        #expect(NSManagedObjectID() != NSManagedObjectID())
        #expect(NSManagedObjectID().isTemporaryID)
    }

    @Test func subclassesOfHistoryTypesOverrideMembers() throws {
        final class Change: NSPersistentHistoryChange {
            static let id = NSManagedObjectID()
            override var changeID: Int64 { 3 }
            override var changedObjectID: NSManagedObjectID { Change.id }
            override var changeType: NSPersistentHistoryChangeType { .insert }
            override var tombstone: [AnyHashable: Any]? { ["name": "gone"] }
            override var updatedProperties: Set<NSPropertyDescription>? { [] }
            override var transaction: NSPersistentHistoryTransaction? { Transaction() }
        }
        final class Token: NSPersistentHistoryToken, @unchecked Sendable {
            override func isEqual(_ object: Any?) -> Bool { object is Token }
        }
        final class Transaction: NSPersistentHistoryTransaction {
            override var author: String? { "double" }
            override var contextName: String? { "context" }
            override var bundleID: String { "bundle" }
            override var processID: String { "process" }
            override var storeID: String { "store" }
            override var timestamp: Date { Date(timeIntervalSinceReferenceDate: 4) }
            override var transactionNumber: Int64 { 5 }
            override var token: NSPersistentHistoryToken { Token() }
            override var changes: [NSPersistentHistoryChange]? { [Change()] }
        }
        final class Result: NSPersistentHistoryResult {
            override var result: Any? { [Transaction()] }
            override var resultType: NSPersistentHistoryResultType { .transactionsAndChanges }
        }
        let result: NSPersistentHistoryResult = Result()
        let transaction = try #require((result.result as? [NSPersistentHistoryTransaction])?.first)
        #expect(transaction.author == "double")
        #expect(transaction.contextName == "context")
        #expect(transaction.storeID == "store")
        #expect(transaction.bundleID == "bundle")
        #expect(transaction.processID == "process")
        #expect(transaction.transactionNumber == 5)
        #expect(transaction.timestamp == Date(timeIntervalSinceReferenceDate: 4))
        #expect(transaction.token == Token())
        // Inherited methods work with overridden ones.
        let ids = transaction.objectIDNotification().userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObjectID>
        #expect(ids == [Change.id])
        let change = try #require(transaction.changes?.first)
        #expect(change.changeID == 3)
        #expect(change.tombstone?["name"] as? String == "gone")
        #expect(change.updatedProperties == [])
        #expect(change.transaction?.author == "double")
        #expect(NSPersistentHistoryTransaction().changes == nil)
        #expect(NSPersistentHistoryChange().transaction == nil)
        #expect(NSPersistentHistoryResult().result == nil)
        #expect(NSPersistentHistoryToken() == NSPersistentHistoryToken())
    }

    @Test func aRequestForHistoryIsOverridden() throws {
        final class Request: NSPersistentHistoryChangeRequest {
            var author = "app"
            override var resultType: NSPersistentHistoryResultType {
                get { .transactionsOnly }
                set {}
            }
            override var token: NSPersistentHistoryToken? { NSPersistentHistoryToken() }
        }
        let request = Request.fetchHistory(after: Date.distantPast)
        #expect(request.resultType == .transactionsOnly)
        #expect(request.author == "app")
        #expect(request.token != nil)
        try Notes.withFile { url in
            let container = try Notes.container(at: url)
            try Notes.save(container, author: "app") { _ = Notes.insert("a", into: $0) }
            let context = container.newBackgroundContext()
            let result = try context.performAndWait { (try context.execute(request) as? NSPersistentHistoryResult)?.result }
            let transactions = try #require(result as? [NSPersistentHistoryTransaction])
            #expect(transactions.map(\.author) == ["app"])
            #expect(transactions[0].changes == nil)
            // A point before all history, as a token that was never archived.
            let all = NSPersistentHistoryChangeRequest.fetchHistory(after: NSPersistentHistoryToken())
            let changes = try context.performAndWait { (try context.execute(all) as? NSPersistentHistoryResult)?.result }
            #expect((changes as? [NSPersistentHistoryTransaction])?.first?.changes?.count == 1)
        }
        final class Generation: NSQueryGenerationToken, @unchecked Sendable {}
        #expect(Generation().copy() is Generation)
    }
}

private class RecordingContext: NSManagedObjectContext, @unchecked Sendable {
    var calls: Set<String> = []
    override func save() throws {
        calls.insert("save")
        try super.save()
    }
    override func perform(_ block: @escaping @Sendable () -> Void) {
        calls.insert("perform")
        super.perform(block)
    }
    override func performAndWait(_ block: () -> Void) {
        calls.insert("performAndWait")
        super.performAndWait(block)
    }
    override func insert(_ object: NSManagedObject) {
        calls.insert("insert")
        super.insert(object)
    }
    override func delete(_ object: NSManagedObject) {
        calls.insert("delete")
        super.delete(object)
    }
    override func assign(_ object: Any, to store: NSPersistentStore) {
        calls.insert("assign")
        super.assign(object, to: store)
    }
    override func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
        calls.insert("obtainPermanentIDs")
        try super.obtainPermanentIDs(for: objects)
    }
    override func processPendingChanges() {
        calls.insert("processPendingChanges")
        super.processPendingChanges()
    }
    override func detectConflicts(for object: NSManagedObject) {
        calls.insert("detectConflicts")
        super.detectConflicts(for: object)
    }
    override func refresh(_ object: NSManagedObject, mergeChanges flag: Bool) {
        calls.insert("refresh")
        super.refresh(object, mergeChanges: flag)
    }
    override func refreshAllObjects() {
        calls.insert("refreshAllObjects")
        super.refreshAllObjects()
    }
    override func undo() {
        calls.insert("undo")
        super.undo()
    }
    override func redo() {
        calls.insert("redo")
        super.redo()
    }
    override func rollback() {
        calls.insert("rollback")
        super.rollback()
    }
    override func reset() {
        calls.insert("reset")
        super.reset()
    }
    override func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
        calls.insert("setQueryGenerationFrom")
        try super.setQueryGenerationFrom(generation)
    }
    override func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
        calls.insert("execute")
        return try super.execute(request)
    }
    override func mergeChanges(fromContextDidSave notification: Notification) {
        calls.insert("mergeChanges")
        super.mergeChanges(fromContextDidSave: notification)
    }
}

private final class FetchingContext: RecordingContext, @unchecked Sendable {
    var answer: [Any]?
    var failure: (any Error)?
    var limit = 0

    override func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] {
        limit = request.fetchLimit
        if let failure { throw failure }
        return try answer ?? super.fetch(request)
    }
    override func count(for request: NSFetchRequest<any NSFetchRequestResult>) throws -> Int { 41 }
}

private final class FailingContext: RecordingContext, @unchecked Sendable {
    override func save() throws { throw CocoaError(.persistentStoreSave) }
}

private final class DoubleContainer: NSPersistentContainer, @unchecked Sendable {
    private let double = DoubleCoordinator(managedObjectModel: Library.model)
    private let view = NSManagedObjectContext(.mainQueue)

    override var name: String { "Double" }
    override var persistentStoreCoordinator: NSPersistentStoreCoordinator { double }
    override var managedObjectModel: NSManagedObjectModel { Library.model }
    override var viewContext: NSManagedObjectContext {
        view.name = "view"
        return view
    }
    override func newBackgroundContext() -> NSManagedObjectContext {
        let context = super.newBackgroundContext()
        context.name = "made"
        return context
    }
}

private final class DoubleCoordinator: NSPersistentStoreCoordinator, @unchecked Sendable {
    private(set) var calls: [String] = []

    override var managedObjectModel: NSManagedObjectModel { Library.model }
    override func addPersistentStore(
        ofType storeType: String, configurationName configuration: String?, at storeURL: URL?, options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore {
        calls.append("addPersistentStore")
        return try super.addPersistentStore(ofType: storeType, configurationName: configuration, at: storeURL, options: options)
    }
    override func remove(_ store: NSPersistentStore) throws {
        calls.append("remove")
        try super.remove(store)
    }
    override func metadata(for store: NSPersistentStore) -> [String: Any] {
        calls.append("metadata")
        return super.metadata(for: store)
    }
    override func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
        calls.append("setMetadata")
        super.setMetadata(metadata, for: store)
    }
    override func performAndWait(_ block: () -> Void) {
        calls.append("performAndWait")
        super.performAndWait(block)
    }
    override func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
        calls.append("destroyPersistentStore")
        try super.destroyPersistentStore(at: url, ofType: storeType, options: options)
    }
}

private final class LyingObject: NSManagedObject {
    override var isDeleted: Bool { true }
    override var isInserted: Bool { false }
    override var isUpdated: Bool { false }
    override var isFault: Bool { true }
    override var hasChanges: Bool { false }
    override var managedObjectContext: NSManagedObjectContext? { nil }
    override func changedValues() -> [String: Any] { ["label": "double"] }
}
