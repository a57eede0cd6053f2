// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph
import Synchronization

/// A container whose stores are kept in step with a server by themselves.
///
///     let container = NSPersistentCloudKitContainer(name: "Posts")
///     container.loadPersistentStores { _, error in … }
///     container.viewContext.automaticallyMergesChangesFromParent = true
///
/// Each store whose description has ``NSPersistentStoreDescription/cloudKitContainerOptions`` is mirrored into a database of
/// that container. Saving never waits for it and never fails because of it: without a network,
/// without a server, without an account the stores work as they are. Where the server is and who is signed in comes
/// from the configuration of `CKContainer`.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer; the talk *Using Core Data With
/// CloudKit* (2019).
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {
    // Unchecked, like its superclass: what is not behind a lock is set before loading.
    private let mirrors = Mutex<[Mirror]>([])
    private let board = StatusBoard()
    private let eventQueue = DispatchQueue(label: "tarn.mirror.events", target: .global(qos: .utility))
    private let hasDefaultOptions = Mutex(false)
    /// Set before loading, by tests.
    package var surroundings = MirrorSurroundings.live

    private let observers = Mutex<[Observation]>([])

    deinit {
        for observer in observers.withLock({ $0 }) { observer.end() }
        for mirror in mirrors.withLock({ $0 }) { mirror.cancel() }
        board.close()
    }

    /// The first description of a new container is mirrored into the default container of `CKContainer`.
    ///
    /// Differs: Apple takes the identifier from the app's entitlements.
    open override var persistentStoreDescriptions: [NSPersistentStoreDescription] {
        get {
            let isFirst = hasDefaultOptions.withLock { isDone in
                defer { isDone = true }
                return !isDone
            }
            if isFirst, let identifier = CKContainer.default().containerIdentifier {
                super.persistentStoreDescriptions.first?.cloudKitContainerOptions =
                    NSPersistentCloudKitContainerOptions(containerIdentifier: identifier)
            }
            return super.persistentStoreDescriptions
        }
        set {
            hasDefaultOptions.withLock { $0 = true }
            super.persistentStoreDescriptions = newValue
        }
    }

    // MARK: Status

    /// What syncing does now; of several stores what most deserves attention.
    public var syncStatus: SyncStatus { board.current }

    func status(of mirror: Mirror) -> SyncStatus { board.status(of: mirror.store.number) }

    /// The present status and each later one, until the container goes. A slow reader misses those in between.
    public var syncStatusUpdates: AsyncStream<SyncStatus> { board.updates() }

    /// Stops syncing until ``resumeSyncing()``; what is saved meanwhile is sent then.
    public func pauseSyncing() { for mirror in mirrors.withLock({ $0 }) { mirror.send(.paused) } }

    public func resumeSyncing() { for mirror in mirrors.withLock({ $0 }) { mirror.send(.resumed) } }

    /// Ends syncing for good and waits until nothing of it touches the stores any more.
    package func stopSyncing() async { for mirror in mirrors.withLock({ $0 }) { await mirror.stop() } }

    var allMirrors: [Mirror] { mirrors.withLock { $0 } }

    func mirror(of store: NSPersistentStore?) -> Mirror? { mirrors.withLock { $0.first { $0.store === store } } }

    // MARK: Loading

    /// Opens each store that is described and not open yet, and begins to mirror those that are to be.
    ///
    /// - Parameter block: Called once per store, with an error (``CocoaError``) whose description is one sentence if
    ///   that store could not be opened. A store whose model cannot be mirrored is not opened: error 134060 names all
    ///   violations. That the server cannot be reached is no error. A store at `/dev/null` is opened and not mirrored.
    open override func loadPersistentStores(
        completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
    ) {
        let all = persistentStoreDescriptions
        var refused: [(NSPersistentStoreDescription, any Error)] = []
        for description in all where !isLoaded(description) {
            do { try prepare(description) } catch { refused.append((description, error)) }
        }
        for (description, error) in refused { block(description, error) }
        super.persistentStoreDescriptions = all.filter { description in !refused.contains { $0.0 === description } }
        // Apps ask to be told of events once their stores are loaded; the first ones are not over before that.
        let loaded = Mutex<[Mirror]?>([])
        super.loadPersistentStores { [weak self] description, error in
            if error == nil, let mirror = self?.mirror(description) {
                let waits = loaded.withLock { loaded in
                    loaded?.append(mirror)
                    return loaded != nil
                }
                // A store that is added on another thread may come after all others have begun.
                if !waits { mirror.start() }
            }
            block(description, error)
        }
        super.persistentStoreDescriptions = all
        let mirrors = loaded.withLock { loaded in
            defer { loaded = nil }
            return loaded ?? []
        }
        for mirror in mirrors { mirror.start() }
    }

    private func isLoaded(_ description: NSPersistentStoreDescription) -> Bool {
        description.url.flatMap { persistentStoreCoordinator.persistentStore(for: $0) } != nil
    }

    /// Refuses what cannot be mirrored, with one sentence that names everything that is wrong.
    private func prepare(_ description: NSPersistentStoreDescription) throws {
        guard let options = description.cloudKitContainerOptions else { return }
        func refuse(_ sentence: String) -> CocoaError {
            CocoaError(.coreData, sentence: sentence, userInfo: [NSLocalizedFailureReasonErrorKey: sentence])
        }
        guard description.type == NSSQLiteStoreType, description.url != nil, !description.isReadOnly else {
            throw refuse("Only a SQLite file that can be written can be mirrored; give the store a file, or remove its cloudKitContainerOptions.")
        }
        let twin = persistentStoreDescriptions.first {
            $0 !== description && $0.cloudKitContainerOptions?.containerIdentifier == options.containerIdentifier
                && $0.cloudKitContainerOptions?.databaseScope == options.databaseScope
        }
        if twin != nil {
            throw refuse("Two stores are to be mirrored into the same database of \(options.containerIdentifier); give one another container.")
        }
        if let model = persistentStoreCoordinator.model {
            let violations = CloudModelRules.violations(
                of: model, configuration: description.configuration, isPublic: options.databaseScope == .public,
                allowing: options.modelExtensions.core)
            if !violations.isEmpty {
                throw refuse("The model cannot be mirrored: \(violations.map(\.description).joined(separator: "; ")).")
            }
        }
        // History is what tells the mirror of changes.
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
    }

    /// Address of a store in memory, which previews and unit tests of apps have in place of the app's own.
    private static let noFile = "/dev/null"

    /// Makes what mirrors a store, which begins when it is started.
    ///
    /// - Returns: nil for a store that is not to be mirrored, or has no file to be in step with anything.
    private func mirror(_ description: NSPersistentStoreDescription) -> Mirror? {
        guard let options = description.cloudKitContainerOptions, let url = description.url, url.path != Self.noFile,
            let model = persistentStoreCoordinator.model, let store = persistentStoreCoordinator.persistentStore(for: url)
        else { return nil }
        let identifier = options.containerIdentifier
        let scope = options.databaseScope
        var surroundings = surroundings
        if let container = options.container {
            surroundings.connect = { _, scope in try container.syncingClient(for: scope) }
            surroundings.container = { _ in container }
        }
        var mapping = RecordMapping(model: model, configuration: description.configuration, allowing: options.modelExtensions.core)
        mapping.resolver = options.resolver
        let file = MirrorFile(
            store: store.storage, mapping: mapping, containerIdentifier: identifier, scope: scope,
            accountChangePolicy: options.accountChangePolicy, pollSeconds: options.publicPollInterval.seconds, surroundings: surroundings)
        let number = store.number
        // Several devices may sign in with one token, and a store's file may be copied: what speaks is named anew
        // each time, so that push leaves out nobody but the one that made a change.
        let device = surroundings.makeName()
        let mirror = Mirror(
            store: store, file: file, coordinator: persistentStoreCoordinator,
            cloud: CloudAccess(
                connect: { [connect = surroundings.connect, required = mapping.capabilities] in
                    var client = try connect(identifier, scope)
                    client.deviceID = device
                    client.required = required
                    return client
                },
                mapping: mapping,
                sealer: RecordSealer(
                    keys: EncryptionKeyRing(options.encryptionKeys, container: identifier), container: identifier)),
            observer: Mirror.Observer(
                status: { [board] status in board.put(status, of: number) }, event: { [weak self] in self?.post($0) }))
        board.add(number)
        mirrors.withLock { $0.append(mirror) }
        stopWhenRemoved(mirror)
        followAccount(of: mirror)
        return mirror
    }

    private func post(_ event: Event) {
        eventQueue.async { [weak self] in
            guard let self else { return }
            NotificationCenter.default.post(
                name: Self.eventChangedNotification, object: self, userInfo: [Self.eventNotificationUserInfoKey: event])
        }
    }

    /// A store that is taken from the coordinator is closed: nothing may touch it any more, and nobody waits for it. The app may
    /// load it again.
    private func stopWhenRemoved(_ mirror: Mirror) {
        let token = NotificationCenter.default.addObserver(
            forName: .NSPersistentStoreCoordinatorStoresDidChange, object: persistentStoreCoordinator, queue: nil
        ) { [weak self, weak mirror] notification in
            let removed = notification.userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore]
            guard let mirror, removed?.contains(where: { $0 === mirror.store }) == true else { return }
            mirror.cancel()
            self?.mirrors.withLock { $0.removeAll { $0 === mirror } }
            self?.board.remove(mirror.store.number)
        }
        observers.withLock { $0.append(Observation(token)) }
    }

    /// Another user's data are not to be mixed with those that are here, nor these to go to the other's database.
    ///
    /// The process says it to all that is in it; what a simulation does is decided by nobody else.
    private func followAccount(of mirror: Mirror) {
        guard surroundings.executor == nil else { return }
        let token = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { [weak mirror] _ in
            mirror?.accountMayHaveChanged()
        }
        observers.withLock { $0.append(Observation(token)) }
    }
}

/// A registration with the notification centre.
private struct Observation: @unchecked Sendable {
    // Unchecked: the token is only handed back to the notification centre, which may be done from any thread.
    private let token: any NSObjectProtocol

    init(_ token: any NSObjectProtocol) { self.token = token }

    func end() { NotificationCenter.default.removeObserver(token) }
}
