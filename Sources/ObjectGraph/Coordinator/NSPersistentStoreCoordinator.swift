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

    private struct WeakContext { weak var context: NSManagedObjectContext? }

    public let managedObjectModel: NSManagedObjectModel
    open var name: String?
    private let frozen: Result<NSManagedObjectModel.Frozen, any Error>
    private let state = Mutex(State())
    let directory = StoreDirectory()
    /// Rises whenever a store comes or goes.
    let storeChanges = Atomic<Int>(0)

    private static let storeNumbers = Mutex<UInt16>(0)

    /// The model cannot be changed afterwards. If it is not valid, adding a store says why.
    public init(managedObjectModel: NSManagedObjectModel) {
        self.managedObjectModel = managedObjectModel
        frozen = Result { try managedObjectModel.freeze() }
        super.init()
        if case .success(let frozen) = frozen { ManagedClassEntities.remember(frozen.layouts) }
    }

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

    /// Opens, or makes, the store that a description names.
    ///
    /// - Parameter block: Called once, before this returns unless the description asks for another thread, with an
    ///   error (``CocoaError``) if the store could not be opened; nothing was added then.
    open func addPersistentStore(
        with description: NSPersistentStoreDescription,
        completionHandler block: @escaping @Sendable (NSPersistentStoreDescription, (any Error)?) -> Void
    ) {
        let add: @Sendable () -> Void = {
            do {
                _ = try self.add(description)
                block(description, nil)
            } catch {
                block(description, error)
            }
        }
        if description.shouldAddStoreAsynchronously { DispatchQueue.global(qos: .userInitiated).async(execute: add) } else { add() }
    }

    package func add(_ description: NSPersistentStoreDescription) throws -> NSPersistentStore {
        let frozen = try frozen.get()
        guard description.type == NSSQLiteStoreType || description.type == NSInMemoryStoreType else {
            throw CocoaError(
                .persistentStoreInvalidType, sentence: "Stores of type '\(description.type)' are not supported; use NSSQLiteStoreType.")
        }
        guard let entities = frozen.resolved.entities(inConfiguration: description.configuration) else {
            throw CocoaError(
                .persistentStoreOpen, sentence: "The model has no configuration named '\(description.configuration ?? "")'.")
        }
        try ModelSupport.check(entities, of: frozen.resolved)
        let storage: SQLiteStore
        do {
            storage = try SQLiteStore(
                url: description.type == NSInMemoryStoreType ? nil : description.url, model: frozen.resolved,
                configuration: description.configuration, number: Self.nextStoreNumber(), options: storeOptions(description))
        } catch {
            throw CocoaError(error)
        }
        let store = NSPersistentStore(storage, description: description, entities: Set(entities.map(\.index)),
            isReadOnly: try description.isReadOnly || needsHistory(storage, description))
        store.persistentStoreCoordinator = self
        try watchIfWanted(store)
        directory.add(store)
        state.withLock { $0.stores.append(store) }
        storeChanges.add(1, ordering: .relaxed)
        NotificationCenter.default.post(
            name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: [NSAddedPersistentStoresKey: [store]])
        return store
    }

    /// Opens, or makes, a store.
    ///
    /// - Parameters:
    ///   - configuration: A configuration of the model; nil for all its entities.
    ///   - url: The file; nil for a store in memory.
    ///   - options: Keys such as ``NSReadOnlyPersistentStoreOption`` and ``NSPersistentHistoryTrackingKey``.
    /// - Throws: ``CocoaError`` whose description is one sentence; nothing was added then.
    @discardableResult
    open func addPersistentStore(
        ofType storeType: String, configurationName configuration: String?, at url: URL?, options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore {
        guard url != nil || storeType != NSSQLiteStoreType else {
            throw CocoaError(.persistentStoreOpen, sentence: "A SQLite store needs the address of a file.")
        }
        let description = NSPersistentStoreDescription()
        description.type = storeType
        description.configuration = configuration
        description.url = url
        description.take(options ?? [:])
        return try add(description)
    }

    @discardableResult
    public final func addPersistentStore(
        type: NSPersistentStore.StoreType, configuration: String? = nil, at url: URL, options: [AnyHashable: Any]? = nil
    ) throws -> NSPersistentStore {
        try addPersistentStore(ofType: type.rawValue, configurationName: configuration, at: url, options: options)
    }

    /// Deletes a store's file with its log. A file that does not exist is none the less gone.
    ///
    /// A store that this coordinator has open is removed from it first.
    ///
    /// Differs: Apple empties the file, so that other coordinators that have it open go on with no rows.
    ///
    /// - Throws: The error of the file system.
    open func destroyPersistentStore(at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil) throws {
        if let store = persistentStore(for: url) { try remove(store) }
        // The lock file stays: another process may hold it.
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: url.path + suffix) {
            try FileManager.default.removeItem(atPath: url.path + suffix)
        }
    }

    public final func destroyPersistentStore(
        at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
    ) throws {
        try destroyPersistentStore(at: url, ofType: type.rawValue, options: options)
    }

    /// - Returns: The address of a store; `/dev/null` for one in memory.
    open func url(for store: NSPersistentStore) -> URL { store.url ?? URL(fileURLWithPath: "/dev/null") }

    /// What is kept with a store, its UUID and type included; empty when it cannot be read.
    open func metadata(for store: NSPersistentStore) -> [String: Any] { store.metadata }

    /// Closes a store and takes it away. Its objects become useless.
    open func remove(_ store: NSPersistentStore) throws {
        state.withLock { $0.stores.removeAll { $0 === store } }
        storeChanges.add(1, ordering: .relaxed)
        store.storage.close()
        NotificationCenter.default.post(
            name: .NSPersistentStoreCoordinatorStoresDidChange, object: self, userInfo: [NSRemovedPersistentStoresKey: [store]])
    }

    /// - Returns: nil when no added store has the address's UUID, or the address names no entity of the model.
    open func managedObjectID(forURIRepresentation url: URL) -> NSManagedObjectID? {
        let path = url.pathComponents
        guard url.scheme == "x-coredata", let host = url.host, path.count == 3, path[2].hasPrefix("p"),
            let primaryKey = Int64(path[2].dropFirst()), let layout = layout(named: path[1]),
            let store = persistentStores.first(where: { $0.identifier.caseInsensitiveCompare(host) == .orderedSame })
        else { return nil }
        let key = RowKey(store: store.number, entity: layout.index, primaryKey: primaryKey)
        return NSManagedObjectID(key: key, layout: layout, ticket: directory.ticket(numbered: key.store))
    }

    package func objectID(for key: RowKey) -> NSManagedObjectID {
        NSManagedObjectID(key: key, layout: layouts[key.entityIndex], ticket: directory.ticket(numbered: key.store))
    }

    private static func nextStoreNumber() -> UInt16 {
        storeNumbers.withLock { number in
            number = number == RowKey.temporaryStore - 1 ? 1 : number + 1
            return number
        }
    }

    private func storeOptions(_ description: NSPersistentStoreDescription) -> SQLiteStore.Options {
        var options = SQLiteStore.Options(
            clock: { Date().timeIntervalSinceReferenceDate }, makeIdentifier: { UUID() })
        options.processID = "\(ProcessInfo.processInfo.processIdentifier)"
        options.bundleID = ProcessInfo.processInfo.processName
        options.isReadOnly = description.isReadOnly
        options.isHistoryEnabled = description.isHistoryTracked
        options.busyTimeout = .seconds(description.timeout)
        return options
    }

    // MARK: Contexts

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

    private let commitObservers = Mutex<[@Sendable ([StoreCommit]) -> Void]>([])

    /// Calls a function after each commit through this coordinator, on the committing thread. It must return at once.
    package func observeCommits(_ observer: @escaping @Sendable ([StoreCommit]) -> Void) {
        commitObservers.withLock { $0.append(observer) }
    }
}
