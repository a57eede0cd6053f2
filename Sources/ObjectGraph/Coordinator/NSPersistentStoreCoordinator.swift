// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import SQLiteStore
import Synchronization

/// Stores under one model, and the contexts over them.
///
/// Safe to use from any thread.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator
open class NSPersistentStoreCoordinator: NSObject, @unchecked Sendable {
    // Unchecked: all mutable state is behind `state`.
    private struct State: @unchecked Sendable {
        // Unchecked: weak references to contexts, whose own state stays on their queues.
        var stores: [NSPersistentStore] = []
        var contexts: [WeakContext] = []
    }

    private struct WeakContext {
        private let registry: IdentityMap
        var context: NSManagedObjectContext? { registry.context }
        init(context: NSManagedObjectContext) { registry = context.registry }
    }

    open var managedObjectModel: NSManagedObjectModel { givenModel }
    private let givenModel: NSManagedObjectModel
    open var name: String?
    private let frozen: Result<NSManagedObjectModel.Frozen, any Error>
    private let state = Mutex(State())
    let directory = StoreDirectory()
    /// Rises whenever a store comes or goes.
    let storeChanges = StoreChangeCount()
    let work = CoordinatorQueue()

    private static let storeNumbers = Mutex<UInt16>(0)

    /// The model cannot be changed afterwards. If it is not valid, adding a store says why.
    public init(managedObjectModel: NSManagedObjectModel) {
        givenModel = managedObjectModel
        frozen = Result { try managedObjectModel.freeze() }
        super.init()
        if case .success(let frozen) = frozen { ManagedClassEntities.remember(frozen.layouts) }
    }

    @_silgen_name("tarn_coordinator_init")
    convenience init(dynamicModel: NSManagedObjectModel) { self.init(managedObjectModel: dynamicModel) }

    @_silgen_name("tarn_coordinator_init")
    static func dynamicInit(_ model: __owned NSManagedObjectModel) -> NSPersistentStoreCoordinator

    package var layouts: [EntityLayout] { (try? frozen.get())?.layouts ?? [] }
    package var model: ResolvedModel? { (try? frozen.get())?.resolved }

    func layout(named name: String) -> EntityLayout? { model?.entity(named: name).map { layouts[$0.index] } }

    /// Whether objects of a layout fit the stores: it is of this model, or of an equal one that was loaded again.
    func describes(_ layout: EntityLayout) -> Bool {
        guard layouts.indices.contains(layout.index) else { return false }
        let own = layouts[layout.index]
        return own === layout || (own.name == layout.name && own.entity.slots == layout.entity.slots && own.entity.toMany == layout.entity.toMany)
    }

    func isKind(_ entity: Int, of ancestor: Int) -> Bool { layouts[ancestor].entity.hierarchy.contains(entity) }

    // MARK: Stores

    open var persistentStores: [NSPersistentStore] { state.withLock { $0.stores } }

    open func persistentStore(for url: URL) -> NSPersistentStore? {
        persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
    }

    package func store(numbered number: UInt16) -> NSPersistentStore? { persistentStores.first { $0.number == number } }

    /// - Returns: The address of a store; `/dev/null` for one in memory.
    open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

    /// - Returns: nil when no added store has the address's UUID, or the address names no entity of the model.
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

    // MARK: What subclasses may override
    //
    // Swift overrides only what a class declares in its body. These call the implementations in the extensions.

    /// Opens, or makes, the store that a description names.
    ///
    /// - Parameter block: Called once, before this returns unless the description asks for another thread, with an
    ///   error (``CocoaError``) if the store could not be opened; nothing was added then.
    open func addPersistentStore(
        with description: NSPersistentStoreDescription,
        completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
    ) { addPersistentStoreImplementation(with: description, completionHandler: block) }

    /// Opens, or makes, a store.
    ///
    /// - Parameters:
    ///   - configuration: A configuration of the model; nil for all its entities.
    ///   - url: The file; nil for a store in memory.
    ///   - options: Keys such as ``NSReadOnlyPersistentStoreOption`` and ``NSPersistentHistoryTrackingKey``. A store of
    ///     an older model is brought up to date only with ``NSMigratePersistentStoresAutomaticallyOption`` and
    ///     ``NSInferMappingModelAutomaticallyOption``.
    /// - Throws: ``CocoaError`` whose description is one sentence; nothing was added then.
    @discardableResult
    open func addPersistentStore(
        ofType storeType: String, configurationName configuration: String?, at url: URL?, options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore { try addPersistentStoreImplementation(ofType: storeType, configurationName: configuration, at: url, options: options) }

    /// Closes a store and takes it away. Its objects leave their contexts and are of no use any more.
    open func remove(_ store: NSPersistentStore) throws { try removeImplementation(store) }

    /// Makes a class the one for stores of a type; nil takes the type away.
    ///
    /// - Precondition: The class is a subclass of ``NSAtomicStore`` or ``NSIncrementalStore``.
    open class func registerStoreClass(_ storeClass: AnyClass?, forStoreType storeType: String) { registerStoreClassImplementation(storeClass, forStoreType: storeType) }

    /// What is kept with a store, its UUID and type included.
    open func metadata(for store: NSPersistentStore) -> [String: Any] { metadataImplementation(for: store) }

    /// Replaces what is kept with a store. It reaches the file with the next save of a context.
    ///
    /// - Parameter metadata: What a property list can hold. The store's UUID, type and version stay when it has none.
    open func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) { setMetadataImplementation(metadata, for: store) }

    /// Reads what is kept with a store that need not be open. No model is needed.
    ///
    /// - Throws: ``CocoaError`` for a file that is not there, or is no store of that type.
    open class func metadataForPersistentStore(
        ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> [String: Any] { try metadataForPersistentStoreImplementation(ofType: storeType, at: url, options: options) }

    /// Replaces what is kept with a store that need not be open.
    open class func setMetadata(
        _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws { try setMetadataImplementation(metadata, forPersistentStoreOfType: storeType, at: url, options: options) }

    /// Empties a store's file; whoever else has it open finds no rows. A file that does not exist is none the less gone.
    ///
    /// A store that this coordinator has open is removed from it first.
    ///
    /// - Parameter options: As for adding the store; ``NSPersistentStoreForceDestroyOption`` also empties a file that
    ///   cannot be read.
    /// - Throws: ``CocoaError``, also for a read-only store.
    open func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws { try destroyPersistentStoreImplementation(at: url, ofType: storeType, options: options) }

    /// Copies a store's file over another's, UUID included. The destination need not exist; a store that this
    /// coordinator has open there is removed from it first.
    ///
    /// - Throws: ``CocoaError`` when there is no such source. The destination is as it was then.
    open func replacePersistentStore(
        at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil, withPersistentStoreFrom sourceURL: URL,
        sourceOptions: [AnyHashable: Any]? = nil, ofType storeType: String
    ) throws { try replacePersistentStoreImplementation(at: destinationURL, destinationOptions: destinationOptions, withPersistentStoreFrom: sourceURL, sourceOptions: sourceOptions, ofType: storeType) }

    /// Lets a store live at another address. An atomic store is written there with its next save; of the others there
    /// must be a store at the address, which takes the place of the open one.
    ///
    /// No context may be busy with the store meanwhile.
    ///
    /// - Returns: Whether the store is at the address now.
    open func setURL(_ url: URL, for store: NSPersistentStore) -> Bool { setURLImplementation(url, for: store) }

    /// Writes all objects of a store into a new one and removes the old one from this coordinator; its file stays.
    ///
    /// Objects get new IDs; those of the old store that contexts hold are of no use any more. Neither validation nor
    /// `willSave` runs.
    ///
    /// - Throws: ``CocoaError``; the old store is still there then.
    @discardableResult
    open func migratePersistentStore(
        _ store: NSPersistentStore, to URL: URL, options: [AnyHashable: Any]? = nil, withType storeType: String
    ) throws -> NSPersistentStore { try migratePersistentStoreImplementation(store, to: URL, options: options, withType: storeType) }

    /// Runs a block on the coordinator's queue, later.
    open func perform(_ block: @escaping @Sendable () -> Void) { performImplementation(block) }

    /// Runs a request over the coordinator's stores on behalf of a context.
    ///
    /// - Parameter context: One of this coordinator's, on whose queue the call is made.
    /// - Returns: An array of results for a fetch request, else what ``NSManagedObjectContext/execute(_:)`` returns.
    /// - Throws: What the context's `fetch` and `execute` throw.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator/execute(_:with:)
    @discardableResult
    open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any { try executeImplementation(request, with: context) }

    /// Ends what deferred migrations of all stores left to do.
    ///
    /// - Throws: ``CocoaError``; what was not done is still to be done then.
    open func finishDeferredLightweightMigration() throws { try finishDeferredLightweightMigrationImplementation() }

    /// Ends one part of what deferred migrations left to do: one column or table.
    open func finishDeferredLightweightMigrationTask() throws { try finishDeferredLightweightMigrationTaskImplementation() }

    /// The newest point of the history of some stores; all of them for nil and for none.
    ///
    /// - Returns: nil when none of them tracks history.
    open func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? { currentPersistentHistoryTokenImplementation(fromStores: stores) }

    /// Runs a block on the coordinator's queue before it returns; in place when the caller is there already.
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

    /// - Throws: ``CocoaError`` 134020 for a model that cannot be used.
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

    /// Tells every context that merges by itself, and whoever listens for remote changes.
    ///
    /// - Parameters:
    ///   - saver: The context that saved, which knows already; nil for imports.
    ///   - merging: Whether contexts take the changes over.
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

    /// Whether what the store holds in a conflict's row was written by a context of this coordinator.
    func hasWritten(_ conflict: RowConflict) -> Bool { recentCommits.withLock { $0.contain(conflict.key) } }

    private let commitObservers = Mutex<[@Sendable ([StoreCommit]) -> Void]>([])

    /// Calls a function after each commit through this coordinator, on the committing thread. It must return at once.
    package func observeCommits(_ observer: @escaping @Sendable ([StoreCommit]) -> Void) {
        commitObservers.withLock { $0.append(observer) }
    }
}
