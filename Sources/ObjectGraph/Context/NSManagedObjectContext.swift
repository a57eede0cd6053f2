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

    public let concurrencyType: NSManagedObjectContextConcurrencyType
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
        self.concurrencyType = concurrencyType
        queue = ContextQueue(concurrencyType == .mainQueueConcurrencyType ? .mainQueue : .privateQueue)
        super.init()
        registry.belong(to: self)
    }

    public convenience init(_ type: ConcurrencyType) {
        self.init(concurrencyType: type == .mainQueue ? .mainQueueConcurrencyType : .privateQueueConcurrencyType)
    }

    deinit {
        registry.outlive()
        if let checkpoints { NotificationCenter.default.removeObserver(checkpoints) }
    }

    open var hasChanges: Bool { !pending.isEmpty }

    open var insertedObjects: Set<NSManagedObject> { Set(pending.filter { $0.isInserted && !$0.isDeleted }) }
    open var updatedObjects: Set<NSManagedObject> { Set(pending.filter { $0.isUpdated && !$0.isDeleted }) }
    open var deletedObjects: Set<NSManagedObject> { Set(pending.filter(\.isDeleted)) }
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
        if let known = registry[key], !known.isFault, !known.isDeleted { return known }
        let isDeletedHere = registry[key].map { $0.isDeleted && !$0.flags.contains(.detached) } ?? false
        guard !isDeletedHere, let row = try sourceRow(key) else {
            throw CocoaError(
                .managedObjectReferentialIntegrity,
                sentence: "There is no \(objectID.entity.name ?? "object") with the ID \(objectID.uriRepresentation().absoluteString).")
        }
        let object = register(row)
        object.willRead()
        return object
    }

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

    func preconditionIsCurrent() {
        precondition(queue.isCurrent, "a context or object was used off the context's queue; wrap the call in perform")
    }
}

/// Raw values are Apple's. The confinement type (0) is not supported.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
    case privateQueueConcurrencyType = 1
    case mainQueueConcurrencyType = 2
}
