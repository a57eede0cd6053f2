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

    public let managedObjectModel: NSManagedObjectModel
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
