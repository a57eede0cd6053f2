// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import Synchronization

/// A scratchpad of objects over the stores of a coordinator.
///
/// Everything about a context and its objects happens on its queue: inside ``perform(_:)`` for private-queue
/// contexts, on the main queue for the others. Nothing reaches a store before ``save()``.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobjectcontext
open class NSManagedObjectContext: NSObject, @unchecked Sendable {
    // Unchecked: all state below is used on `queue` only, which each entry checks.
    public enum ConcurrencyType: Sendable { case privateQueue, mainQueue }

    open var concurrencyType: NSManagedObjectContextConcurrencyType { givenConcurrencyType }
    private final let givenConcurrencyType: NSManagedObjectContextConcurrencyType
    /// A context of the deprecated type, which belongs to a thread instead of a queue. Its uses are not checked.
    final let isConfined: Bool
    let queue: ContextQueue

    /// Of a context with a parent: the coordinator at the end of the chain. Setting it there has no effect but for nil
    /// parents: a context has a parent or a coordinator.
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
            registry.directory = newValue?.directory
            newValue?.register(self)
        }
    }
    private var ownCoordinator: NSPersistentStoreCoordinator?
    /// The context that this one reads from and saves into, instead of a coordinator's stores.
    ///
    /// - Precondition: The context has no objects yet, and is not its own ancestor.
    open var parent: NSManagedObjectContext? {
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
        }
    }
    open var name: String?
    open var userInfo: NSMutableDictionary = [:]
    /// Written to each history transaction, so that readers of history can tell writers apart.
    open var transactionAuthor: String?
    /// An `NSMergePolicy`; saves that meet somebody else's change ask it.
    open var mergePolicy: Any = NSMergePolicy.error
    /// Whether saves of other contexts, and what mirroring imports, show up here by themselves.
    open var automaticallyMergesChangesFromParent: Bool {
        get { mergesAutomatically.withLock { $0 } }
        set { mergesAutomatically.withLock { $0 = newValue } }
    }
    /// Whether the context keeps objects alive that nobody else holds and that did not change.
    @exclusivity(unchecked) open var retainsRegisteredObjects = false {
        didSet {
            retained = [:]
            if retainsRegisteredObjects { for object in registry.objects { retained[ObjectIdentifier(object)] = object } }
        }
    }
    /// Whether a fault whose row is gone becomes a deleted object with empty properties. Otherwise firing it ends the
    /// process, as Apple's exception would.
    open var shouldDeleteInaccessibleFaults = true
    /// Whether delete rules are applied when changes are processed; otherwise when they are saved.
    open var propagatesDeletesAtEndOfEvent = true
    /// Whether reads of objects' properties are tracked by `withObservationTracking`, and changes told to it. Objects
    /// of contexts that do without it pay nothing for it.
    ///
    /// Tarn's own: on Apple's platforms objects are `ObservableObject`s instead.
    @exclusivity(unchecked) public final var isObservationEnabled = false {
        didSet {
            for object in registry.objects {
                if isObservationEnabled { object.flags.insert(.observed) } else { object.flags.remove(.observed) }
            }
        }
    }
    /// Seconds for which a row that a fetch brought may be used when its fault is fired; negative for ever.
    ///
    /// Differs: any other value reads the row anew.
    open var stalenessInterval: TimeInterval = -1
    /// Nil unless it is set: nothing is recorded then.
    open var undoManager: UndoManager? {
        willSet { processPendingChanges() }
        didSet { observeCheckpoints() }
    }
    var checkpoints: (any NSObjectProtocol)?
    /// Waiting for ``deliverObservedChanges()``.
    var observedChanges = ObservedChanges()
    /// Objects as they were before the current event.
    var eventSnapshots: [ObjectIdentifier: EventSnapshot] = [:]

    /// What was found for the class, and about the layout, of the last object that was inserted.
    @exclusivity(unchecked) private final var lastClass: (type: NSManagedObject.Type, entity: NSEntityDescription)?
    @exclusivity(unchecked) private final var lastLayout: EntityLayout?
    /// A store whose numbers are the coordinator's own, as of ``NSPersistentStoreCoordinator/storeChanges``.
    @exclusivity(unchecked) private final var lastStoreNumber: UInt16 = 0
    @exclusivity(unchecked) private final var lastStoreVersion = -1
    @exclusivity(unchecked) private final var storeChanges: StoreChangeCount?

    let registry = IdentityMap()
    /// Objects that wait for a save, held strongly.
    @exclusivity(unchecked) final var pending = PendingObjects()
    /// Objects that changed since the last notification.
    @exclusivity(unchecked) final var unannounced: [NSManagedObject] = []
    @exclusivity(unchecked) final var isProcessingScheduled = false
    var isSaving = false
    var retained: [ObjectIdentifier: NSManagedObject] = [:]
    /// Collections that apps change relationships by.
    var relationshipViews = RelationshipViews()
    var fetchedPropertyResults = FetchedPropertyResults()
    /// What fetches read ahead for relationships.
    var prefetched = PrefetchedRows()
    /// Objects whose rows the next save checks for others' changes.
    var watched: [ObjectIdentifier: NSManagedObject] = [:]
    /// What the merge policy settled in this attempt to save.
    var settled = SettledConflicts()
    /// Stores that new objects were assigned to.
    var assignments: [ObjectIdentifier: NSPersistentStore] = [:]
    /// See ``setQueryGenerationFrom(_:)``.
    var readingPoint = ReadingPoint.head
    private let mergesAutomatically = Mutex(false)
    let children = Mutex<[WeakChild]>([])
    /// Keys that a context above made permanent, until this one takes them over.
    let inbox = Mutex<[RowKey: RowKey]>([:])
    /// What became of temporary keys that were taken over.
    var aliases: [RowKey: RowKey] = [:]

    public init(concurrencyType: NSManagedObjectContextConcurrencyType) {
        givenConcurrencyType = concurrencyType
        isConfined = concurrencyType.rawValue == 0
        queue = ContextQueue(concurrencyType == .mainQueueConcurrencyType ? .mainQueue : .privateQueue)
        super.init()
        registry.belong(to: self)
    }

    @available(*, deprecated, message: "use init(concurrencyType:)")
    public convenience override init() { self.init(concurrencyType: .confinementConcurrencyType) }

    // A convenience initialiser delegates through the vtable, so the symbol makes a context of a class that is known only
    // at run time.
    @_silgen_name("tarn_context_init")
    convenience init(dynamicType: NSManagedObjectContextConcurrencyType) { self.init(concurrencyType: dynamicType) }

    @_silgen_name("tarn_context_init")
    static func dynamicInit(_ concurrencyType: NSManagedObjectContextConcurrencyType) -> NSManagedObjectContext

    public convenience init(_ type: ConcurrencyType) {
        self.init(concurrencyType: type == .mainQueue ? .mainQueueConcurrencyType : .privateQueueConcurrencyType)
    }

    deinit {
        registry.outlive()
        if let checkpoints { NotificationCenter.default.removeObserver(checkpoints) }
    }

    open var hasChanges: Bool { !pending.isEmpty }

    open var insertedObjects: Set<NSManagedObject> { Set(pending.filter { $0.isMarkedInserted && !$0.isMarkedDeleted }) }
    open var updatedObjects: Set<NSManagedObject> { Set(pending.filter { $0.isMarkedUpdated && !$0.isMarkedDeleted }) }
    open var deletedObjects: Set<NSManagedObject> { Set(pending.filter(\.isMarkedDeleted)) }
    open var registeredObjects: Set<NSManagedObject> { Set(registry.objects) }

    /// Called when a fault is fired whose row is gone.
    ///
    /// - Parameter property: The property that was read, where that is known.
    /// - Returns: Whether the object becomes a deleted one with empty properties. Otherwise the process ends.
    open func shouldHandleInaccessibleFault(
        _ fault: NSManagedObject, for objectID: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
    ) -> Bool { shouldDeleteInaccessibleFaults }

    // MARK: Objects by identity

    /// Never reads, and is never nil: a fault whose row may turn out to be missing.
    open func object(with objectID: NSManagedObjectID) -> NSManagedObject {
        preconditionIsCurrent()
        return object(for: localKey(of: objectID))
    }

    /// - Returns: nil for an object that this context has not met.
    open func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
        preconditionIsCurrent()
        return registry[localKey(of: objectID)]
    }

    /// Reads if needed.
    ///
    /// - Throws: ``CocoaError`` 133000 if there is no such row.
    open func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
        preconditionIsCurrent()
        let key = localKey(of: objectID)
        if let known = registry[key], !known.isMarkedFault, !known.isMarkedDeleted { return known }
        let isDeletedHere = registry[key].map { $0.isMarkedDeleted && !$0.flags.contains(.detached) } ?? false
        guard !isDeletedHere, let row = try sourceRow(key) else {
            throw CocoaError(
                .managedObjectReferentialIntegrity,
                sentence: "There is no \(objectID.entity.name ?? "object") with the ID \(objectID.uriRepresentation().absoluteString).")
        }
        let object = register(row)
        object.willRead()
        return object
    }

    // MARK: What subclasses may override
    //
    // Swift overrides only what a class declares in its body. These call the implementations in the extensions.

    /// Writes everything that is pending: one transaction per store, history included.
    ///
    /// - Throws: a validation error (1550–1680), or 1560 with several; 133010 when objects of different stores are
    ///   related; 133020 with `NSMergeConflict`s when somebody else changed the same rows and the merge policy is
    ///   `error`; or a file error. Nothing was written then, and what was pending still is. With several stores some
    ///   may be saved before another refuses: 134040 names that one and the objects that still wait.
    open func save() throws { try saveImplementation() }

    /// Adds a new object. Its defaults are set; `awakeFromInsert` runs.
    ///
    /// An object of this context that waits for its deletion is kept instead; others are here already.
    open func insert(_ object: NSManagedObject) { insertImplementation(object) }

    /// Marks an object for deletion. Delete rules are applied when changes are processed, at the latest by the save.
    ///
    /// Deleting an object that is gone already has no effect.
    open func delete(_ object: NSManagedObject) { deleteImplementation(object) }

    /// Applies delete rules and posts one notification about everything that changed since the last.
    open func processPendingChanges() { processPendingChangesImplementation() }

    /// Forgets every unsaved change. Inserted objects leave the context.
    open func rollback() { rollbackImplementation() }

    /// Lets go of every object. Objects that the app still holds are of no use afterwards.
    open func reset() { resetImplementation() }

    /// Reads an object anew.
    ///
    /// - Parameter mergeChanges: Whether unsaved changes stay, on top of what the store holds now. Otherwise they are
    ///   forgotten and the object becomes a fault; one that is only inserted stays as it is.
    open func refresh(_ object: NSManagedObject, mergeChanges: Bool) { refreshImplementation(object, mergeChanges: mergeChanges) }

    /// Reads every object anew; unsaved changes stay on top.
    open func refreshAllObjects() { refreshAllObjectsImplementation() }

    /// Gives inserted objects the IDs they will have after the save.
    open func obtainPermanentIDs(for objects: [NSManagedObject]) throws { try obtainPermanentIDsImplementation(for: objects) }

    /// Says which store a new object goes to.
    open func assign(_ object: Any, to store: NSPersistentStore) { assignImplementation(object, to: store) }

    /// Brings another context's save into this one. Unsaved changes here stay on top; what was deleted there is
    /// deleted here.
    ///
    /// - Parameter notification: A did-save notification, or what
    ///   ``NSPersistentHistoryTransaction/objectIDNotification()`` makes.
    open func mergeChanges(fromContextDidSave notification: Notification) { mergeChangesImplementation(fromContextDidSave: notification) }

    /// Brings a save that is known by its objects' IDs, or their addresses, into several contexts.
    ///
    /// - Parameter changeNotificationData: The keys of a did-save notification, with arrays or sets of IDs, addresses
    ///   or objects.
    open class func mergeChanges(
        fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]
    ) { mergeChangesImplementation(fromRemoteContextSave: changeNotificationData, into: contexts) }

    /// Takes back the last group of changes that were not taken back yet, those since the last notification included.
    open func undo() { undoImplementation() }

    /// Does again what was undone last.
    open func redo() { redoImplementation() }

    /// Makes the next save check that nobody else changed the object's row, whether or not it changes here.
    ///
    /// The check is made just before the save writes.
    open func detectConflicts(for object: NSManagedObject) { detectConflictsImplementation(for: object) }

    /// Carries out a request: a fetch, an asynchronous fetch, a batch request, or one for history.
    ///
    /// - Throws: What the request throws, or ``CocoaError`` 134091 for a kind of request that contexts do not take,
    ///   such as one that saves.
    @discardableResult
    open func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult { try executeImplementation(request) }

    /// Pins what this context reads: fetches and faults come from one state of the stores, whoever writes. Saving, and
    /// merging another context's save, move the context on to the newest state; registered objects keep their values
    /// until they are refreshed.
    ///
    /// Stores in memory stay unpinned without a word, as does a child context.
    ///
    /// - Parameter generation: ``NSQueryGenerationToken/current``, another context's token, or nil for what is there
    ///   at each read.
    /// - Throws: ``CocoaError`` 134060 when no context is pinned to the token's state any more.
    open func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws { try setQueryGenerationFromImplementation(generation) }

    /// Runs a block on the context's queue, later. Changes are announced when it ends.
    open func perform(_ block: @escaping @Sendable () -> Void) { performImplementation(block) }

    /// Runs a block on the context's queue before it returns; in place when the caller is there already, also through
    /// `performAndWait` of other contexts.
    open func performAndWait(_ block: () -> Void) { performAndWaitImplementation(block) }

    /// Fetches without a type of results. The typed `fetch` of a subclass's contexts calls this one.
    ///
    /// - Throws: What the typed `fetch` throws.
    open func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] { try results(of: request.parameters) }

    /// Counts what a fetch would give. The typed `count` of a subclass's contexts calls this one.
    ///
    /// - Throws: What `fetch` throws.
    open func count(for request: NSFetchRequest<any NSFetchRequestResult>) throws -> Int { try countChecked(request.parameters) }

    /// The state that the context is pinned to; nil when it reads what is there, when no store keeps states, and in a
    /// child context, which reads what its parent sees.
    ///
    /// Differs: asking pins a context that waits for its first read.
    open var queryGenerationToken: NSQueryGenerationToken? { pinnedToken }

    /// Whether this is the class itself, so that no method has an override.
    @inline(__always)
    final var isPlain: Bool { type(of: self) == NSManagedObjectContext.self }

    package func object(for key: RowKey) -> NSManagedObject {
        if let known = registry[key] { return known }
        let made = NSManagedObject.make(key, layout: requireCoordinator().layouts[key.entityIndex], in: self)
        if !prefetched.isEmpty { prefetched.keep(made) }
        return made
    }

    /// - Returns: The entity in this context's model whose class is given; nil when there is none.
    func description(for type: NSManagedObject.Type) -> NSEntityDescription? {
        if let lastClass, lastClass.type == type { return lastClass.entity }
        guard let entity = persistentStoreCoordinator?.layouts.first(where: { $0.managedClass == type })?.description else { return nil }
        lastClass = (type, entity)
        return entity
    }

    /// Whether the context's model has the layout, or one that is equal.
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

    /// An object for a row that was just read. A registered object with values keeps them.
    func register(_ row: Row) -> NSManagedObject {
        let object = object(for: row.key)
        if object.flags.contains(.detached) { object.revive() }
        if object.flags.contains(.fault), !object.flags.contains(.hasRow) || object.version < row.version || parent != nil { object.take(row) }
        return object
    }

    /// The ID's key as this context's coordinator numbers its stores.
    func localKey(of id: NSManagedObjectID) -> RowKey {
        if id.isTemporaryID { return aliases[id.key] ?? id.key }
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
    /// Differs: such a context has a private queue of its own, so that `perform` works too. Its uses are not checked.
    @available(*, deprecated, message: "use .privateQueueConcurrencyType or .mainQueueConcurrencyType")
    case confinementConcurrencyType = 0
    case privateQueueConcurrencyType = 1
    case mainQueueConcurrencyType = 2
}
