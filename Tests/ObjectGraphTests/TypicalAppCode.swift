// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import PredicateKit
import Testing

import class PredicateKit.NSCompoundPredicate

// Code as apps have it, with the symbols they use most. That it compiles is half of the test.

/// A stack as project templates make it.
private final class PersistenceController {
    let container: NSPersistentContainer
    private(set) var failure: NSError?

    init(model: NSManagedObjectModel, inMemory: Bool = false) {
        container = NSPersistentContainer(name: "Model", managedObjectModel: model)
        if inMemory { container.persistentStoreDescriptions.first!.url = URL(fileURLWithPath: "/dev/null") }
        guard let description = container.persistentStoreDescriptions.first else { return }
        description.shouldMigrateStoreAutomatically = true
        description.shouldInferMappingModelAutomatically = true
        description.shouldAddStoreAsynchronously = false
        description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
        description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
        container.loadPersistentStores(completionHandler: { (storeDescription, error) in
            if let error = error as NSError? { self.failure = error }
        })
        container.viewContext.automaticallyMergesChangesFromParent = true
        container.viewContext.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
        container.viewContext.undoManager = nil
        container.viewContext.name = "viewContext"
    }
}

/// A model as code makes it.
private func modelInCode() -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType, default value: Any? = nil) -> NSAttributeDescription {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = type
        attribute.isOptional = value == nil
        attribute.defaultValue = value
        return attribute
    }
    let (list, item) = (NSEntityDescription(), NSEntityDescription())
    list.name = "List"
    list.managedObjectClassName = NSStringFromClass(ListObject.self)
    item.name = "Item"
    item.managedObjectClassName = "ItemObject"
    let (items, owner) = (NSRelationshipDescription(), NSRelationshipDescription())
    items.name = "items"
    items.destinationEntity = item
    items.deleteRule = .cascadeDeleteRule
    (items.minCount, items.maxCount) = (0, 0)
    owner.name = "list"
    owner.destinationEntity = list
    owner.maxCount = 1
    owner.deleteRule = .nullifyDeleteRule
    (items.inverseRelationship, owner.inverseRelationship) = (owner, items)
    list.properties = [attribute("name", .stringAttributeType), attribute("created", .dateAttributeType), items]
    item.properties = [attribute("text", .stringAttributeType), attribute("done", .booleanAttributeType, default: false), owner]
    let model = NSManagedObjectModel()
    model.entities = [list, item]
    return model
}

class ListObject: NSManagedObject {
    private static let nameKey = ManagedPropertyKey("name")
    var name: String? {
        get { _string(Self.nameKey) }
        set { _setString(Self.nameKey, newValue) }
    }
    class func fetchRequest() -> NSFetchRequest<ListObject> { NSFetchRequest<ListObject>(entityName: "List") }

    override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue(Date(timeIntervalSinceReferenceDate: 1), forKey: "created")
    }
    override func willSave() {
        super.willSave()
        if !isDeleted, hasPersistentChangedValues, changedValues()["name"] != nil {
            setPrimitiveValue(Date(timeIntervalSinceReferenceDate: 2), forKey: "created")
        }
    }
}

extension ListObject: Identifiable {}

class ItemObject: NSManagedObject {
    private static let listKey = ManagedPropertyKey("list")
    var list: ListObject? {
        get { _object(Self.listKey, as: ListObject.self) }
        set { _setObject(Self.listKey, newValue) }
    }
    var text: String? { value(forKey: "text") as? String }
}

/// A list on the screen, as view controllers have it.
private final class ListScreen: NSObject, NSFetchedResultsControllerDelegate {
    var reloads = 0
    lazy var controller: NSFetchedResultsController<ListObject> = {
        let request: NSFetchRequest<ListObject> = ListObject.fetchRequest()
        request.sortDescriptors = [NSSortDescriptor(key: #"name"#, ascending: true)]
        request.fetchBatchSize = 20
        let controller = NSFetchedResultsController(
            fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: "Lists")
        controller.delegate = self
        return controller
    }()
    let context: NSManagedObjectContext
    init(_ context: NSManagedObjectContext) { self.context = context }

    var rows: Int { controller.sections?[0].numberOfObjects ?? 0 }
    func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
        for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
        switch type {
        case .insert, .delete, .move, .update: break
        @unknown default: break
        }
    }
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { reloads += 1 }
}

@Suite struct TypicalAppCode {
    @Test @MainActor func aListAppWorks() async throws {
        let persistence = PersistenceController(model: modelInCode(), inMemory: true)
        #expect(persistence.failure == nil)
        let context = persistence.container.viewContext
        let screen = ListScreen(context)
        NSFetchedResultsController<ListObject>.deleteCache(withName: "Lists")
        try screen.controller.performFetch()

        let list = ListObject(context: context)
        list.name = "Shopping"
        let item = ItemObject(entity: NSEntityDescription.entity(forEntityName: "Item", in: context)!, insertInto: context)
        item.setValue("Milk", forKey: "text")
        item.setValue(list, forKey: "list")
        list.mutableSetValue(forKey: "items").add(NSEntityDescription.insertNewObject(forEntityName: "Item", into: context))
        if context.hasChanges { try context.save() }
        #expect(screen.rows == 1)
        #expect(screen.reloads == 1)
        #expect(screen.controller.object(at: IndexPath(indexes: [0, 0])) === list)
        #expect(list.value(forKey: "created") as? Date == Date(timeIntervalSinceReferenceDate: 2))
        #expect(!context.hasChanges)

        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")
        request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
            NSPredicate(format: "list == %@", list), NSPredicate(format: "done == NO AND text CONTAINS[cd] %@", "milk"),
        ])
        request.fetchLimit = 1
        #expect(try (context.fetch(request) as? [NSManagedObject])?.first === item)
        request.resultType = .managedObjectIDResultType
        #expect(try (context.fetch(request) as? [NSManagedObjectID])?.first == item.objectID)

        let id = list.objectID
        let uri = id.uriRepresentation()
        let ordered = NSFetchRequest<ItemObject>(entityName: "Item")
        ordered.sortDescriptors = [
            NSSortDescriptor(keyPath: \ItemObject.list?.name, ascending: true),
            NSSortDescriptor(keyPath: \ItemObject.text, ascending: false),
        ]
        #expect(try context.fetch(ordered).first === item)
        let set = list.mutableSetValue(forKey: "items")
        #expect(set.count == 2)
        #expect(set.contains(item))
        #expect(set.allObjects.count == 2)
        #expect((list.value(forKey: "items") as? Set<ItemObject>)?.count == 2)
        set.remove(item)
        #expect(item.value(forKey: "list") == nil)
        set.union([item])
        set.minus([item])
        set.addObjects(from: [item])
        #expect(set.count == 2)
        try context.save()
        let reloads = screen.reloads
        try await persistence.container.performBackgroundTask { background in
            background.transactionAuthor = "background"
            guard let known = background.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: uri),
                let other = try background.existingObject(with: known) as? ListObject
            else { return }
            other.name = "Errands"
            try background.save()
        }
        await context.perform(schedule: .enqueued) {}
        #expect(list.name == "Errands")
        #expect(screen.reloads == reloads + 1)

        let all: NSFetchRequest<ListObject> = ListObject.fetchRequest()
        let lists = try context.performAndWait { try all.execute() }
        #expect(lists == [list])
        #expect(list.id == ObjectIdentifier(list))
        for object in try context.fetch(all) { context.delete(object) }
        do {
            try context.save()
        } catch {
            let error = error as NSError
            Issue.record("Unresolved error \(error), \(error.userInfo)")
        }
        #expect(try context.count(for: NSFetchRequest<any NSFetchRequestResult>(entityName: "Item")) == 0)
        #expect(screen.rows == 0)
    }

    @Test func aStackBuiltByHandOpensAndDestroysItsStore() throws {
        let model = try #require(NSManagedObjectModel(byMerging: [modelInCode()]))
        #expect(model.entitiesByName["Item"]?.attributesByName["done"]?.defaultValue as? Bool == false)
        let url = Library.temporaryFile()
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let options = [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
        #expect(coordinator.metadata(for: store)[NSStoreUUIDKey] as? String == store.identifier)
        #expect(coordinator.url(for: store) == url)
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait {
            _ = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
            try context.save()
        }
        try coordinator.remove(store)
        let readOnly = try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: [NSReadOnlyPersistentStoreOption: true])
        #expect(readOnly.isReadOnly)
        try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType, options: nil)
        #expect(coordinator.persistentStores.isEmpty)
        try coordinator.addPersistentStore(type: .sqlite, at: url)
        try context.performAndWait {
            context.reset()
            let count = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Item"))
            #expect(count == 0)
        }
    }

    @Test func errorsAreTakenApart() throws {
        let context = try Library.container().newBackgroundContext()
        context.performAndWait {
            let book = LibraryBook(context: context)
            book.title = nil
            do {
                try context.save()
                Issue.record("an invalid book was saved")
            } catch CocoaError.validationMissingMandatoryProperty {
                #expect(CocoaError.validationMissingMandatoryProperty.rawValue == NSValidationMissingMandatoryPropertyError)
            } catch {
                Issue.record("another error: \(error)")
            }
            do { try context.save() } catch let error as CocoaError {
                #expect(error.validationKey == "title")
                #expect(error.validationObject as? LibraryBook === book)
            } catch { Issue.record("no Cocoa error: \(error)") }
            do { try context.save() } catch let error as NSError {
                #expect(error.domain == NSCocoaErrorDomain)
                #expect(error.code == NSValidationMissingMandatoryPropertyError)
            }
        }
    }

    @Test func loadingTwiceOpensOnce() throws {
        let container = try Library.container()
        container.loadPersistentStores { _, _ in Issue.record("the store is open already") }
        #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    }

    @Test func oldHistoryIsDeletedByDateAndTransaction() throws {
        let container = try Library.container(tracksHistory: true)
        let context = container.newBackgroundContext()
        for _ in 0..<3 { try Library.save("Note", in: context) }
        try context.performAndWait {
            func transactions() throws -> [NSPersistentHistoryTransaction] {
                let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
                return (try context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction] ?? []
            }
            let all = try transactions()
            _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: all[1]))
            #expect(try transactions().map(\.transactionNumber) == all.dropFirst().map(\.transactionNumber))
            func after(_ token: NSPersistentHistoryToken) throws {
                _ = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token))
            }
            try after(all[0].token)
            _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: all[2]))
            #expect { try after(all[0].token) } throws: { ($0 as? CocoaError)?.code == .persistentHistoryTokenExpired }
            try after(all[1].token)
            _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: Date.distantFuture))
            #expect { try after(all[1].token) } throws: { ($0 as? CocoaError)?.code == .persistentHistoryTokenExpired }
            try after(all[2].token)
            #expect(try transactions().isEmpty)
        }
    }
}
