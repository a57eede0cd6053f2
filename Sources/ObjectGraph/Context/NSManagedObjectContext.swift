// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import SQLiteStore
import Synchronization

/// A graph of managed objects over the stores of a coordinator.
///
/// Use a context and its objects on the context's queue only: inside ``perform(_:)`` for private-queue contexts, on the
/// main queue for the others. Changes reach a store with ``save()``.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobjectcontext
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
    // Unchecked: all state below is used on `queue` only, which each entry checks.
    /// The kind of queue that a context runs on.
    public enum ConcurrencyType: Sendable { case privateQueue, mainQueue }

    /// The context's kind of queue, as passed to the initializer.
    open var concurrencyType: NSManagedObjectContextConcurrencyType { givenConcurrencyType }
    private final let givenConcurrencyType: NSManagedObjectContextConcurrencyType
    /// A context of the deprecated type, which belongs to a thread instead of a queue. Its uses are not checked.
    final let isConfined: Bool
    let queue: ContextQueue

    /// The coordinator whose stores the context reads and saves; the coordinator at the end of the chain for a context
    /// with a parent.
    ///
    /// A context has a parent or a coordinator: with a parent, setting a coordinator has no effect.
    open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
        get { ownCoordinator ?? parent?.persistentStoreCoordinator }
        set {
            precondition(parent == nil, "a context with a parent has its parent's coordinator")
            precondition(registry.isEmpty, "a context with objects cannot change its coordinator")
            ownCoordinator?.unregister(self)
            ownCoordinator = newValue
            lastClass = nil
            lastLayout = nil
            storeChanges = nil
            rowStore = nil
            registry.directory = newValue?.directory
            newValue?.register(self)
        }
    }
    @exclusivity(unchecked) private var ownCoordinator: NSPersistentStoreCoordinator?
    /// The context that this one reads from and saves into, instead of a coordinator's stores.
    ///
    /// - Precondition: The context has no objects yet, and is not its own ancestor.
    @exclusivity(unchecked) open var parent: NSManagedObjectContext? {
        willSet {
            precondition(registry.isEmpty, "a context with objects cannot change its parent")
            precondition(ownCoordinator == nil || newValue == nil, "a context has a parent or a coordinator, not both")
            var ancestor = newValue
            while let context = ancestor {
                precondition(context !== self, "a context cannot be its own ancestor")
                ancestor = context.parent
            }
            parent?.removeChild(self)
            newValue?.addChild(self)
            lastClass = nil
            lastLayout = nil
            storeChanges = nil
            rowStore = nil
        }
    }
    /// A name for debugging.
    open var name: String?
    /// Values that the app attaches to the context.
    open var userInfo: NSMutableDictionary { userInfoStorage }
    private let userInfoStorage: NSMutableDictionary = [:]
    /// The author of this context's history transactions, by which readers of history distinguish writers.
    open var transactionAuthor: String?
    /// The `NSMergePolicy` that resolves conflicts between a save and rows changed concurrently.
    open var mergePolicy: Any = NSMergePolicy.error
    /// Whether the context merges saves of other contexts and imports of mirroring automatically.
    open var automaticallyMergesChangesFromParent: Bool {
        get { mergesAutomatically.withLock { $0 } }
        set { mergesAutomatically.withLock { $0 = newValue } }
    }
    /// Whether the context retains registered objects that have no changes.
    @exclusivity(unchecked) open var retainsRegisteredObjects = false {
        didSet {
            retained = [:]
            if retainsRegisteredObjects { for object in registry.objects { retained[ObjectIdentifier(object)] = object } }
        }
    }
    /// Whether a fault of a deleted row becomes a deleted object with empty properties. Otherwise firing it ends the
    /// process, as Apple's exception would.
    open var shouldDeleteInaccessibleFaults = true
    /// Whether delete rules apply when changes are processed; otherwise they apply at the save.
    open var propagatesDeletesAtEndOfEvent = true
    /// Whether `withObservationTracking` tracks reads of objects' properties and is notified of their changes. Costs
    /// nothing while it is off.
    ///
    /// Tarn's own: on Apple's platforms objects are `ObservableObject`s instead.
    @exclusivity(unchecked) public final var isObservationEnabled = false {
        didSet {
            for object in registry.objects {
                if isObservationEnabled { object.flags.insert(.observed) } else { object.flags.remove(.observed) }
            }
        }
    }
    /// The age in seconds up to which a cached row may fill a fault; negative for no limit.
    ///
    /// Differs: any value from zero on reads the row from the store.
    @exclusivity(unchecked) open var stalenessInterval: TimeInterval = -1
    /// Records changes for undo. Nil, the default, records nothing.
    open var undoManager: UndoManager? {
        willSet { processPendingChanges() }
        didSet { observeCheckpoints() }
    }
    var checkpoints: (any NSObjectProtocol)?
    /// Changes to deliver by ``deliverObservedChanges()``.
    var observedChanges = ObservedChanges()
    /// The state of changed objects before the current event.
    var eventSnapshots: [ObjectIdentifier: EventSnapshot] = [:]

    /// Cached lookup of the last inserted object's class and layout.
    @exclusivity(unchecked) private final var lastClass: (type: NSManagedObject.Type, entity: NSEntityDescription)?
    @exclusivity(unchecked) private final var lastLayout: EntityLayout?
    /// The store with the coordinator's number, as of ``NSPersistentStoreCoordinator/storeChanges``.
    @exclusivity(unchecked) private final var lastStoreNumber: UInt16 = 0
    @exclusivity(unchecked) private final var lastStoreVersion = -1
    @exclusivity(unchecked) private final var storeChanges: StoreChangeCount?
    /// The store of the last fired fault, as of a count of the coordinator's changes.
    @exclusivity(unchecked) private final var rowStore: (store: NSPersistentStore, changes: StoreChangeCount, version: Int)?

    let registry = IdentityMap()
    /// Objects with unsaved changes, held strongly.
    @exclusivity(unchecked) final var pending = PendingObjects()
    /// Objects that changed since the last notification.
    @exclusivity(unchecked) final var unannounced: [NSManagedObject] = []
    @exclusivity(unchecked) final var isProcessingScheduled = false
    var isSaving = false
    var retained: [ObjectIdentifier: NSManagedObject] = [:]
    /// The collection objects through which apps change relationships.
    var relationshipViews = RelationshipViews()
    var fetchedPropertyResults = FetchedPropertyResults()
    /// Rows that fetches prefetched for relationships.
    @exclusivity(unchecked) final var prefetched = PrefetchedRows()
    /// Objects that the next save checks for concurrent changes of their rows.
    var watched: [ObjectIdentifier: NSManagedObject] = [:]
    /// Conflicts that the merge policy resolved in this attempt to save.
    var settled = SettledConflicts()
    /// The stores that new objects were assigned to.
    var assignments: [ObjectIdentifier: NSPersistentStore] = [:]
    /// See ``setQueryGenerationFrom(_:)``.
    @exclusivity(unchecked) final var readingPoint = ReadingPoint.head
    private let mergesAutomatically = Mutex(false)
    let children = Mutex<[WeakChild]>([])
    /// Keys that the parent made permanent and this context has not adopted yet.
    let inbox = Mutex<[RowKey: RowKey]>([:])
    /// Adopted permanent keys by their temporary keys.
    var aliases: [RowKey: RowKey] = [:]

    /// Creates a context with a queue of the given kind, without a coordinator.
    public init(concurrencyType: NSManagedObjectContextConcurrencyType) {
        givenConcurrencyType = concurrencyType
        isConfined = concurrencyType.rawValue == 0
        queue = ContextQueue(concurrencyType == .mainQueueConcurrencyType ? .mainQueue : .privateQueue)
        super.init()
        registry.belong(to: self)
    }

    @available(*, deprecated, message: "use init(concurrencyType:)")
    public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

    // A convenience initializer delegates through the vtable, so this symbol creates an instance of a class known only at
    // run time.
    @_silgen_name("tarn_context_init")
    convenience init(dynamicType: NSManagedObjectContextConcurrencyType) { self.init(concurrencyType: dynamicType) }

    @_silgen_name("tarn_context_init")
    static func dynamicInit(_ concurrencyType: NSManagedObjectContextConcurrencyType) -> NSManagedObjectContext

    /// Creates a context with a queue of the given kind, without a coordinator.
    public convenience init(_ type: ConcurrencyType) {
        self.init(concurrencyType: type == .mainQueue ? .mainQueueConcurrencyType : .privateQueueConcurrencyType)
    }

    deinit {
        registry.ownerWillDeallocate()
        if let checkpoints { NotificationCenter.default.removeObserver(checkpoints) }
    }

    /// Whether the context has unsaved changes.
    open var hasChanges: Bool { !pending.isEmpty }

    /// Objects that the next save inserts.
    open var insertedObjects: Set<NSManagedObject> { Set(pending.filter { $0.isMarkedInserted && !$0.isMarkedDeleted }) }
    /// Objects with unsaved changes, new and deleted ones excluded.
    open var updatedObjects: Set<NSManagedObject> { Set(pending.filter { $0.isMarkedUpdated && !$0.isMarkedDeleted }) }
    /// Objects that the next save deletes.
    open var deletedObjects: Set<NSManagedObject> { Set(pending.filter(\.isMarkedDeleted)) }
    /// The objects that the context has registered.
    open var registeredObjects: Set<NSManagedObject> { Set(registry.objects) }

    /// Called when a fault of a deleted row fires.
    ///
    /// - Parameter property: The property that was read, if known.
    /// - Returns: Whether the object becomes a deleted one with empty properties. Otherwise the process ends.
    open func shouldHandleInaccessibleFault(
        _ fault: NSManagedObject, for objectID: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
    ) -> Bool { shouldDeleteInaccessibleFaults }

    // MARK: Objects by identity

    /// Returns the object for an ID, as a fault if it isn't registered. Reads nothing: the row may turn out to be missing
    /// when the fault fires.
    open func object(with objectID: NSManagedObjectID) -> NSManagedObject {
        preconditionIsCurrent()
        return object(for: localKey(of: objectID))
    }

    /// Returns the registered object for an ID.
    ///
    /// - Returns: nil if the context has not registered the object.
    open func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
        preconditionIsCurrent()
        return registry[localKey(of: objectID)]
    }

    /// Returns the object for an ID, reading its row if necessary.
    ///
    /// - Throws: `CocoaError` 133000 if the row does not exist, or a file error of the store. Nothing is registered
    ///   then.
    open func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
        preconditionIsCurrent()
        let key = localKey(of: objectID)
        let registered = registry[key]
        if let registered {
            if registered.flags.isDisjoint(with: [.fault, .deleted]) { return registered }
            if registered.isMarkedDeleted, !registered.flags.contains(.detached) { throw missingRow(objectID) }
        }
        let object: NSManagedObject
        switch try pointRead(key) {
        case .row(let chunk): object = register(chunk, registered)
        case .missing: throw missingRow(objectID)
        case .unavailable:
            guard let row = try sourceRow(key) else { throw missingRow(objectID) }
            object = register(row)
        }
        object.willRead()
        return object
    }

    private func missingRow(_ objectID: NSManagedObjectID) -> CocoaError {
        CocoaError(
            .managedObjectReferentialIntegrity,
            sentence: "No \(objectID.entity.name ?? "object") exists with the ID \(objectID.uriRepresentation().absoluteString).")
    }

    // MARK: Methods subclasses may override
    //
    // Swift overrides only methods declared in a class's body. These call the implementations in the extensions.

    /// Writes all pending changes: one transaction per store, history included.
    ///
    /// - Throws: A validation error (1550–1680), or 1560 with several; 133010 when objects of different stores are
    ///   related; 133020 with `NSMergeConflict`s when rows were changed concurrently and the merge policy is `error`; or
    ///   a file error. Nothing was written then, and all changes are still pending. With several stores some may be saved
    ///   before another fails: 134040 names the failing store and the objects still pending.
    open func save() throws { try saveImplementation() }

    /// Inserts a new object, sets its defaults and calls `awakeFromInsert`.
    ///
    /// For an object of this context with a pending deletion, reverts the deletion; has no effect on its other objects.
    open func insert(_ object: NSManagedObject) { insertImplementation(object) }

    /// Marks an object for deletion. Delete rules apply when changes are processed, at the latest by the save.
    ///
    /// Has no effect on a deleted object.
    open func delete(_ object: NSManagedObject) { deleteImplementation(object) }

    /// Applies delete rules and posts one notification of all changes since the last one.
    open func processPendingChanges() { processPendingChangesImplementation() }

    /// Discards all unsaved changes. Inserted objects leave the context.
    open func rollback() { rollbackImplementation() }

    /// Removes all objects from the context and discards unsaved changes. Objects that the app still holds are invalid
    /// afterwards.
    open func reset() { resetImplementation() }

    /// Refreshes an object from the store.
    ///
    /// - Parameter mergeChanges: Whether unsaved changes stay, applied to the row's current values. Otherwise they are
    ///   discarded and the object becomes a fault; an object that was never saved stays unchanged.
    open func refresh(_ object: NSManagedObject, mergeChanges: Bool) { refreshImplementation(object, mergeChanges: mergeChanges) }

    /// Refreshes all registered objects; unsaved changes stay, applied to the current values.
    open func refreshAllObjects() { refreshAllObjectsImplementation() }

    /// Assigns permanent IDs to inserted objects before their save.
    ///
    /// - Throws: `CocoaError` if a store cannot assign IDs, or no store holds the entity. Objects that got their IDs
    ///   before the failure keep them.
    open func obtainPermanentIDs(for objects: [NSManagedObject]) throws { try obtainPermanentIDsImplementation(for: objects) }

    /// Sets the store that a new object will be saved to.
    open func assign(_ object: Any, to store: NSPersistentStore) { assignImplementation(object, to: store) }

    /// Merges another context's save into this one. Unsaved changes here stay, applied to the new values; objects deleted
    /// there are deleted here.
    ///
    /// - Parameter notification: A did-save notification, or the result of
    ///   ``NSPersistentHistoryTransaction/objectIDNotification()``.
    open func mergeChanges(fromContextDidSave notification: Notification) { mergeChangesImplementation(fromContextDidSave: notification) }

    /// Merges a save, described by its objects' IDs or their URIs, into several contexts.
    ///
    /// - Parameter changeNotificationData: The keys of a did-save notification, with arrays or sets of IDs, URIs or
    ///   objects.
    open class func mergeChanges(
        fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]
    ) { mergeChangesImplementation(fromRemoteContextSave: changeNotificationData, into: contexts) }

    /// Undoes the last group of changes, unprocessed changes included.
    open func undo() { undoImplementation() }

    /// Redoes the group undone last.
    open func redo() { redoImplementation() }

    /// Makes the next save check that the object's row was not changed concurrently, even if the object has no changes.
    ///
    /// The check runs just before the save writes.
    open func detectConflicts(for object: NSManagedObject) { detectConflictsImplementation(for: object) }

    /// Executes a request: a fetch, an asynchronous fetch, a batch request, or a history request.
    ///
    /// - Throws: The errors of the request, or `CocoaError` 134091 for a request type that contexts do not execute,
    ///   such as a save request. Nothing was changed then.
    @discardableResult
    open func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult { try executeImplementation(request) }

    /// Pins the state of the stores that fetches and faults of this context read, regardless of concurrent writers.
    /// Saving, and merging another context's save, advance the context to the newest state; registered objects keep their
    /// values until they are refreshed.
    ///
    /// Has no effect on stores in memory and stores without SQL.
    ///
    /// - Parameter generation: ``NSQueryGenerationToken/current``, another context's token, or nil to read the newest
    ///   state each time.
    /// - Throws: `CocoaError` 134060 when no context is pinned to the token's state any more, and for a token in a child
    ///   context, which reads the state of its parent. The context stays pinned as before.
    open func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws { try setQueryGenerationFromImplementation(generation) }

    /// Enqueues a block on the context's queue. Changes are announced when it ends.
    open func perform(_ block: @escaping @Sendable () -> Void) { performImplementation(block) }

    /// Runs a block on the context's queue before it returns; in place if the caller is on the queue, also through
    /// `performAndWait` of other contexts.
    open func performAndWait(_ block: () -> Void) { performAndWaitImplementation(block) }

    /// Fetches without a result type. The typed `fetch` of a subclass's contexts calls this method.
    ///
    /// - Throws: The errors of the typed `fetch`.
    open func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] { try results(of: request.parameters) }

    /// Counts the objects a fetch would return. The typed `count` of a subclass's contexts calls this method.
    ///
    /// - Throws: The errors of `fetch`.
    open func count(for request: NSFetchRequest<any NSFetchRequestResult>) throws -> Int { try countChecked(request.parameters) }

    /// The state that the context is pinned to; nil for an unpinned context, without stores that keep states, and in a
    /// child context, which reads through its parent.
    ///
    /// Differs: reading the property pins a context that waits for its first read.
    open var queryGenerationToken: NSQueryGenerationToken? { pinnedToken }

    /// Whether the instance's class is this class itself, so that no method has an override.
    @inline(__always)
    final var isPlain: Bool { type(of: self) == NSManagedObjectContext.self }

    package func object(for key: RowKey) -> NSManagedObject {
        if let registered = registry[key] { return registered }
        let made = NSManagedObject.make(key, layout: requireCoordinator().layouts[key.entityIndex], in: self)
        if !prefetched.isEmpty { prefetched.retain(made) }
        return made
    }

    /// Returns the objects for keys, in their order.
    func objects(for keys: [RowKey]) -> [NSManagedObject] {
        var objects = registry.registeredPrefix(of: keys)
        for index in objects.count..<keys.count { objects.append(object(for: keys[index])) }
        return objects
    }

    /// - Returns: The entity of the class in this context's model; nil for a missing entity.
    func description(for type: NSManagedObject.Type) -> NSEntityDescription? {
        if let lastClass, lastClass.type == type { return lastClass.entity }
        guard let entity = persistentStoreCoordinator?.layouts.first(where: { $0.managedClass == type })?.description else { return nil }
        lastClass = (type, entity)
        return entity
    }

    /// Whether the context's model has the layout, or an equal one.
    func describes(_ layout: EntityLayout) -> Bool {
        if lastLayout === layout { return true }
        guard persistentStoreCoordinator?.describes(layout) ?? true else { return false }
        lastLayout = layout
        return true
    }

    func registeredObject(for key: RowKey) -> NSManagedObject? { registry[key] }

    func enter(_ object: NSManagedObject) {
        registry.insert(object)
        if isObservationEnabled { object.flags.insert(.observed) }
        if retainsRegisteredObjects { retain(object) }
    }

    func retain(_ object: NSManagedObject) { retained[ObjectIdentifier(object)] = object }

    /// Returns the object for a row that was just read. A registered object that is not a fault keeps its values.
    func register(_ row: Row) -> NSManagedObject {
        let object = object(for: row.key)
        if object.flags.contains(.detached) { object.clearInaccessible() }
        if object.flags.contains(.fault), !object.flags.contains(.hasRow) || object.version < row.version || parent != nil {
            object.cacheRow(row)
        }
        return object
    }

    /// Returns the object for a row that was just read.
    ///
    /// - Parameter registered: The object registered for the requested key, which may name an ancestor of the row's entity.
    private func register(_ chunk: RowChunk, _ registered: NSManagedObject?) -> NSManagedObject {
        let key = chunk.key(at: 0)
        let object = registered?.key == key ? registered : nil
        guard let object = object ?? registry[key] else {
            let new = NSManagedObject.make(key, layout: requireCoordinator().layouts[key.entityIndex], in: self)
            new.cacheRow(chunk, at: 0)
            return new
        }
        if object.flags.contains(.detached) { object.clearInaccessible() }
        if object.flags.contains(.fault), !object.flags.contains(.hasRow) || object.version < chunk.version(at: 0) {
            object.cacheRow(chunk, at: 0)
        }
        return object
    }

    /// Returns the store with a number; cached, since consecutive faults are mostly of one store.
    func rowStore(numbered number: UInt16) -> NSPersistentStore? {
        if let rowStore, rowStore.store.number == number, rowStore.changes.value == rowStore.version { return rowStore.store }
        guard let coordinator = persistentStoreCoordinator else { return nil }
        let version = coordinator.storeChanges.value
        let store = coordinator.store(numbered: number)
        rowStore = store.map { ($0, coordinator.storeChanges, version) }
        return store
    }

    func forgetRowStore() { rowStore = nil }

    /// The ID's key in this coordinator's numbering of stores.
    func localKey(of id: NSManagedObjectID) -> RowKey {
        if id.key.isTemporary { return aliases[id.key] ?? id.key }
        if lastStoreNumber == id.key.store, storeChanges?.value == lastStoreVersion { return id.key }
        guard let coordinator = persistentStoreCoordinator else { return id.key }
        let version = coordinator.storeChanges.value
        guard coordinator.store(numbered: id.key.store) == nil,
            let local = coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation())
        else {
            storeChanges = coordinator.storeChanges
            lastStoreNumber = id.key.store
            lastStoreVersion = version
            return id.key
        }
        return local.key
    }

    func requireCoordinator() -> NSPersistentStoreCoordinator {
        guard let persistentStoreCoordinator else {
            preconditionFailure("the context has no persistent store coordinator; get contexts from a container")
        }
        return persistentStoreCoordinator
    }
}

/// Raw values are Apple's.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
    /// Differs: such a context has its own private queue, so that `perform` works too. Its uses are not checked.
    @available(*, deprecated, message: "use .privateQueueConcurrencyType or .mainQueueConcurrencyType")
    case confinementConcurrencyType = 0
    /// A private serial queue.
    case privateQueueConcurrencyType = 1
    /// The main queue.
    case mainQueueConcurrencyType = 2
}
