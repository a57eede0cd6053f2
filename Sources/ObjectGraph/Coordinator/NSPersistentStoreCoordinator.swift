// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import SQLiteStore
import Synchronization

/// The stores of one model, and the registry of the contexts that use them.
///
/// Safe to use from any thread.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
    // Unchecked: all mutable state is behind `state`.
    private struct State: @unchecked Sendable {
        // Unchecked: weak references to contexts, which guard their own state by their queues.
        var stores: [NSPersistentStore] = []
        var contexts: [WeakContext] = []
    }

    private struct WeakContext {
        private let registry: IdentityMap
        var context: NSManagedObjectContext? { registry.context }
        init(context: NSManagedObjectContext) { registry = context.registry }
    }

    /// The model of the coordinator's stores.
    open var managedObjectModel: NSManagedObjectModel { givenModel }
    private let givenModel: NSManagedObjectModel
    /// A name for debugging.
    open var name: String?
    private let frozen: Result<NSManagedObjectModel.Frozen, any Error>
    /// By entity index; empty for an invalid model.
    package let layouts: [EntityLayout]
    private let state = Mutex(State())
    let directory = StoreDirectory()
    /// Incremented whenever a store is added or removed.
    let storeChanges = StoreChangeCount()
    let work = CoordinatorQueue()

    private static let storeNumbers = Mutex<UInt16>(0)

    /// Creates a coordinator, after which the model is immutable. Adding a store reports an invalid model.
    public init(managedObjectModel: NSManagedObjectModel) {
        givenModel = managedObjectModel
        frozen = Result { try managedObjectModel.freeze() }
        layouts = (try? frozen.get())?.layouts ?? []
        super.init()
        if case .success(let frozen) = frozen { ManagedClassEntities.remember(frozen.layouts) }
    }

    @_silgen_name("tarn_coordinator_init")
    convenience init(dynamicModel: NSManagedObjectModel) { self.init(managedObjectModel: dynamicModel) }

    @_silgen_name("tarn_coordinator_init")
    static func dynamicInit(_ model: __owned NSManagedObjectModel) -> NSPersistentStoreCoordinator

    package var model: ResolvedModel? { (try? frozen.get())?.resolved }

    func layout(named name: String) -> EntityLayout? { model?.entity(named: name).map { layouts[$0.index] } }

    /// Whether objects of a layout fit the stores: the layout is of this model, or of an equal one loaded again.
    func describes(_ layout: EntityLayout) -> Bool {
        guard layouts.indices.contains(layout.index) else { return false }
        let own = layouts[layout.index]
        return own === layout
            || (own.name == layout.name && own.entity.slots == layout.entity.slots && own.entity.toMany == layout.entity.toMany)
    }

    func isKind(_ entity: Int, of ancestor: Int) -> Bool { layouts[ancestor].entity.hierarchy.contains(entity) }

    // MARK: Stores

    /// The open stores, in the order they were added.
    open var persistentStores: [NSPersistentStore] { state.withLock { $0.stores } }

    /// Returns the store at a URL; nil if no added store is there.
    open func persistentStore(for url: URL) -> NSPersistentStore? {
        persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
    }

    package func store(numbered number: UInt16) -> NSPersistentStore? { persistentStores.first { $0.number == number } }

    /// - Returns: The URL of a store; `/dev/null` for an in-memory store.
    open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

    /// Returns the object ID for a URI.
    ///
    /// - Returns: nil if no added store has the URI's UUID, or the model has no such entity.
    open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
        let path = url.pathComponents
        guard url.scheme == "x-coredata", let host = url.host, path.count >= 3, let layout = layout(named: path[1]),
            let store = persistentStores.first(where: { $0.identifier.caseInsensitiveCompare(host) == .orderedSame })
        else { return nil }
        let text = path[2...].joined(separator: "/")
        guard text.hasPrefix("p"), let primaryKey = store.primaryKey(of: String(text.dropFirst()), layout) else { return nil }
        let key = RowKey(store: store.number, entity: layout.index, primaryKey: primaryKey)
        return NSManagedObjectID(key: key, layout: layout, store: store)
    }

    // MARK: Methods subclasses may override
    //
    // Swift overrides only methods declared in a class's body. These call the implementations in the extensions.

    /// Opens or creates the store of a description.
    ///
    /// - Parameter block: Called once, before this method returns unless the description asks for another thread, with an
    ///   error (`CocoaError`) if the store could not be opened; nothing was added then.
    open func addPersistentStore(
        with description: NSPersistentStoreDescription,
        completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
    ) { addPersistentStoreImplementation(with: description, completionHandler: block) }

    /// Opens or creates a store.
    ///
    /// - Parameters:
    ///   - configuration: A configuration of the model; nil for all its entities.
    ///   - url: The file; nil for an in-memory store.
    ///   - options: Keys such as ``NSReadOnlyPersistentStoreOption`` and ``NSPersistentHistoryTrackingKey``. A store of
    ///     an older model is migrated only with ``NSMigratePersistentStoresAutomaticallyOption`` and
    ///     ``NSInferMappingModelAutomaticallyOption``.
    /// - Throws: `CocoaError`; nothing was added then.
    @discardableResult
    open func addPersistentStore(
        ofType storeType: String, configurationName configuration: String?, at url: URL?, options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore {
        try addPersistentStoreImplementation(ofType: storeType, configurationName: configuration, at: url, options: options)
    }

    /// Closes a store and removes it. Its objects leave their contexts and are invalid afterwards.
    ///
    /// - Throws: `CocoaError` 134070 if the store isn't one of the coordinator's; nothing was removed then.
    open func remove(_ store: NSPersistentStore) throws { try removeImplementation(store) }

    /// Registers the class for a type of store; nil unregisters the type.
    ///
    /// - Precondition: The class is a subclass of ``NSAtomicStore`` or ``NSIncrementalStore``.
    open class func registerStoreClass(_ storeClass: AnyClass?, forStoreType storeType: String) {
        registerStoreClassImplementation(storeClass, forStoreType: storeType)
    }

    /// The metadata of a store, its UUID and type included.
    open func metadata(for store: NSPersistentStore) -> [String: Any] { metadataImplementation(for: store) }

    /// Replaces the metadata of a store. It reaches the file with the next save of a context.
    ///
    /// - Parameter metadata: Property-list values. The store's UUID, type and version stay when the metadata lacks them.
    open func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) { setMetadataImplementation(metadata, for: store) }

    /// Reads the metadata of a store that need not be open. Needs no model.
    ///
    /// - Throws: `CocoaError` for a missing file, a file of another type, or a type without a registered class.
    open class func metadataForPersistentStore(
        ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] { try metadataForPersistentStoreImplementation(ofType: storeType, at: url, options: options) }

    /// Replaces the metadata of a store that need not be open.
    ///
    /// - Throws: `CocoaError` for a missing or read-only file, or a type without a registered class. The metadata is
    ///   unchanged then.
    open class func setMetadata(
        _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws { try setMetadataImplementation(metadata, forPersistentStoreOfType: storeType, at: url, options: options) }

    /// Empties a store's file; other processes that have it open find no rows. Succeeds for a file that does not exist.
    ///
    /// A store that this coordinator has open is removed from it first.
    ///
    /// - Parameter options: As for adding the store; ``NSPersistentStoreForceDestroyOption`` also empties a file that
    ///   cannot be read.
    /// - Throws: `CocoaError`, also for a read-only store.
    open func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
        try destroyPersistentStoreImplementation(at: url, ofType: storeType, options: options)
    }

    /// Copies a store's file over another's, UUID included. The destination need not exist; a store that this coordinator
    /// has open there is removed from it first.
    ///
    /// - Throws: `CocoaError` when the source does not exist. The destination is unchanged then.
    open func replacePersistentStore(
        at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
        sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
    ) throws {
        try replacePersistentStoreImplementation(
            at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL, sourceOptions: sourceOptions,
            ofType: storeType)
    }

    /// Sets the URL of a store. An atomic store is written there with its next save; for others there must be a store at
    /// the URL, which replaces the open one.
    ///
    /// No context may use the store concurrently.
    ///
    /// - Returns: Whether the store is at the URL now.
    open func setURL(_ url: URL, for store: NSPersistentStore) -> Bool { setURLImplementation(url, for: store) }

    /// Copies all objects of a store into a new one and removes the old one from this coordinator; its file stays.
    ///
    /// Objects get new IDs; contexts' objects of the old store are invalid afterwards. Neither validation nor `willSave`
    /// runs.
    ///
    /// - Throws: `CocoaError`; the old store is still added then.
    @discardableResult
    open func migratePersistentStore(
        _ store: NSPersistentStore, to URL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
    ) throws -> NSPersistentStore { try migratePersistentStoreImplementation(store, to: URL, options: options, withType: storeType) }

    /// Enqueues a block on the coordinator's queue.
    open func perform(_ block: @escaping @Sendable () -> Void) { performImplementation(block) }

    /// Executes a request on the coordinator's stores for a context.
    ///
    /// - Parameter context: One of this coordinator's, on whose queue the call is made.
    /// - Returns: An array of results for a fetch request, else the result of ``NSManagedObjectContext/execute(_:)``.
    /// - Throws: The errors of the context's `fetch` and `execute`.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator/execute(_:with:)
    @discardableResult
    open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any {
        try executeImplementation(request, with: context)
    }

    /// Finishes the deferred migrations of all stores.
    ///
    /// - Throws: `CocoaError`; unfinished steps are still deferred then.
    open func finishDeferredLightweightMigration() throws { try finishDeferredLightweightMigrationImplementation() }

    /// Executes one step of the deferred migrations: one column or table.
    ///
    /// - Throws: `CocoaError`; the step is still deferred then.
    open func finishDeferredLightweightMigrationTask() throws { try finishDeferredLightweightMigrationTaskImplementation() }

    /// Returns the newest point of the history of some stores; of all stores for nil and an empty array.
    ///
    /// - Returns: nil when none of them tracks history.
    open func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
        currentPersistentHistoryTokenImplementation(fromStores: stores)
    }

    /// Runs a block on the coordinator's queue before it returns; in place if the caller is on the queue.
    open func performAndWait(_ block: () -> Void) { performAndWaitImplementation(block) }

    package func objectID(for key: RowKey) -> NSManagedObjectID {
        NSManagedObjectID(key: key, layout: layouts[key.entityIndex], ticket: directory.ticket(numbered: key.store))
    }

    static func nextStoreNumber() -> UInt16 {
        storeNumbers.withLock { number in
            number = number == RowKey.temporaryStore - 1 ? 1 : number + 1
            return number
        }
    }

    /// - Throws: `CocoaError` 134020 for an invalid model.
    func requireModel() throws -> NSManagedObjectModel.Frozen { try frozen.get() }

    func attach(_ store: NSPersistentStore) {
        store.persistentStoreCoordinator = self
        directory.add(store)
        state.withLock { $0.stores.append(store) }
        storeChanges.rise()
        store.didAdd(to: self)
    }

    func detach(_ store: NSPersistentStore) {
        state.withLock { $0.stores.removeAll { $0 === store } }
        storeChanges.rise()
    }

    // MARK: Contexts

    var liveContexts: [NSManagedObjectContext] { state.withLock { $0.contexts.compactMap(\.context) } }

    func register(_ context: NSManagedObjectContext) {
        state.withLock { state in
            state.contexts.removeAll { $0.context == nil }
            state.contexts.append(WeakContext(context: context))
        }
    }

    func unregister(_ context: NSManagedObjectContext) {
        state.withLock { $0.contexts.removeAll { $0.context == nil || $0.context === context } }
    }

    /// Notifies contexts that merge automatically, and listeners of remote changes.
    ///
    /// - Parameters:
    ///   - saver: The context that saved, which needs no merge; nil for imports.
    ///   - merging: Whether contexts merge the changes.
    package func didCommit(_ commits: [StoreCommit], by saver: NSManagedObjectContext?, merging: Bool = true) {
        let commits = commits.filter { !$0.isEmpty }
        guard !commits.isEmpty else { return }
        if saver != nil { recentCommits.withLock { $0.add(commits) } }
        for context in state.withLock({ $0.contexts.compactMap(\.context) })
        where merging && context !== saver && context.automaticallyMergesChangesFromParent {
            context.queue.queue.async { context.merge(commits) }
        }
        for commit in commits {
            guard let store = store(numbered: commit.store) else { continue }
            postRemoteChange(of: store)
        }
        for observer in commitObservers.withLock({ $0 }) { observer(commits) }
    }

    var hasCommitObservers: Bool { commitObservers.withLock { !$0.isEmpty } }

    private let recentCommits = Mutex(RecentCommits())

    /// Whether a context of this coordinator wrote the row of a conflict.
    func hasWritten(_ conflict: RowConflict) -> Bool { recentCommits.withLock { $0.contain(conflict.key) } }

    private let commitObservers = Mutex<[@Sendable ([StoreCommit]) -> Void]>([])

    /// Calls a function after each commit through this coordinator, on the committing thread. It must return promptly.
    package func observeCommits(_ observer: @escaping @Sendable ([StoreCommit]) -> Void) {
        commitObservers.withLock { $0.append(observer) }
    }
}
