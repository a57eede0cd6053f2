// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph
import Synchronization

/// A container that syncs its stores with a server.
///
///     let container = NSPersistentCloudKitContainer(name: "Posts")
///     container.loadPersistentStores { _, error in … }
///     container.viewContext.automaticallyMergesChangesFromParent = true
///
/// Each store with ``NSPersistentStoreDescription/cloudKitContainerOptions`` in its description is mirrored into a database of that
/// container. A save never waits for sync and never fails because of it: without a network, a server or an account the stores work locally.
/// The configuration of `CKContainer` has the server's address and the account.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer; the talk *Using Core Data With
/// CloudKit* (2019).
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {
    // Unchecked, like its superclass: properties without a lock are set before the stores are loaded.
    private let mirrors = Mutex<[StoreSync]>([])
    private let board = StatusBoard()
    private let eventQueue = DispatchQueue(label: "tarn.mirror.events", target: .global(qos: .utility))
    private let hasDefaultOptions = Mutex(false)
    /// Replaced by tests, before the stores are loaded.
    package var environment = SyncEnvironment.live

    /// Restorations that stores finish when they are loaded, by the URL of the store.
    let restorations = Mutex<[URL: StoreRestoration]>([:])
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

    /// The state of syncing; of several stores, the state that needs most attention.
    open var syncStatus: SyncStatus { board.current }

    func status(of mirror: StoreSync) -> SyncStatus { board.status(of: mirror.store.number) }

    /// The present status and each later one, until the container is deallocated. A slow reader receives only the latest.
    open var syncStatusUpdates: AsyncStream<SyncStatus> { board.updates() }

    func updates(of store: UInt16) -> AsyncStream<SyncStatus> { board.updates(of: store) }

    /// Pauses syncing until ``resumeSyncing()``. Saves during the pause are sent after it.
    open func pauseSyncing() { for mirror in mirrors.withLock({ $0 }) { mirror.send(.paused) } }

    /// Resumes syncing after ``pauseSyncing()``.
    open func resumeSyncing() { for mirror in mirrors.withLock({ $0 }) { mirror.send(.resumed) } }

    /// Ends syncing, and returns once no task uses the stores any more.
    package func stopSyncing() async { for mirror in mirrors.withLock({ $0 }) { await mirror.stop() } }

    var allMirrors: [StoreSync] { mirrors.withLock { $0 } }

    func mirror(of store: NSPersistentStore?) -> StoreSync? { mirrors.withLock { $0.first { $0.store === store } } }

    // MARK: Loading

    /// Opens each described store that is not open yet, and begins to sync those with cloud options.
    ///
    /// - Parameter block: Called once per store, with a `CocoaError` if the store could not be opened. A store with a model that cannot
    ///   be mirrored is not opened: error 134060 names all violations. An unreachable server isn't an error. A store at `/dev/null` is
    ///   opened and does not sync.
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
        // Sync starts after all stores are loaded: apps observe events from then on.
        let loaded = Mutex<[StoreSync]?>([])
        super.loadPersistentStores { [weak self] description, error in
            if error == nil, let mirror = self?.mirror(description) {
                let waits = loaded.withLock { loaded in
                    loaded?.append(mirror)
                    return loaded != nil
                }
                // A store that is added on another thread may arrive after all others have started.
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

    /// Checks a description.
    ///
    /// - Throws: `CocoaError` with one sentence that names all violations.
    private func prepare(_ description: NSPersistentStoreDescription) throws {
        guard let options = description.cloudKitContainerOptions else { return }
        func refuse(_ sentence: String) -> CocoaError {
            CocoaError(.coreData, sentence: sentence, userInfo: [NSLocalizedFailureReasonErrorKey: sentence])
        }
        guard description.type == NSSQLiteStoreType, description.url != nil, !description.isReadOnly else {
            throw refuse(
                "Only a SQLite file that can be written can be mirrored; give the store a file, or remove its cloudKitContainerOptions.")
        }
        let twin = persistentStoreDescriptions.first {
            $0 !== description && $0.cloudKitContainerOptions?.containerIdentifier == options.containerIdentifier
                && $0.cloudKitContainerOptions?.databaseScope == options.databaseScope
        }
        if twin != nil {
            throw refuse(
                "Two stores are to be mirrored into the same database of \(options.containerIdentifier); give one another container.")
        }
        if let model = persistentStoreCoordinator.model {
            let violations = CloudModelRules.violations(
                of: model, configuration: description.configuration, isPublic: options.databaseScope == .public,
                allowing: options.modelExtensions.core, lenses: options.lenses(in: model))
            if !violations.isEmpty {
                throw refuse("The model cannot be mirrored: \(violations.map(\.description).joined(separator: "; ")).")
            }
        }
        // Sync reads changes from the store's history.
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
    }

    /// The path of a store in memory, which previews and unit tests use.
    private static let noFile = "/dev/null"

    /// Creates the sync of a store, which begins when it is started.
    ///
    /// - Returns: nil for a store without cloud options, and for a store in memory.
    private func mirror(_ description: NSPersistentStoreDescription) -> StoreSync? {
        guard let options = description.cloudKitContainerOptions, let url = description.url, url.path != Self.noFile,
            let model = persistentStoreCoordinator.model, let store = persistentStoreCoordinator.persistentStore(for: url)
        else { return nil }
        let identifier = options.containerIdentifier
        let scope = options.databaseScope
        var environment = environment
        if let container = options.container {
            environment.connect = { _, scope in try container.syncingClient(for: scope) }
            environment.container = { _ in container }
        }
        let mapping = RecordMapping(
            model: model, configuration: description.configuration, allowing: options.modelExtensions.core,
            lenses: options.lenses(in: model), resolver: options.resolver)
        let file = MirrorFile(
            store: store.storage, mapping: mapping, containerIdentifier: identifier, scope: scope,
            accountRules: options.accountRules, pollSeconds: options.publicPollInterval.seconds, surroundings: environment)
        // The app reads values of later attributes from the first fetch on. A file that cannot be written fails when sync opens it, too,
        // and that failure is in the status.
        try? file.lensValues.fill()
        let number = store.number
        // Several devices may sign in with one token, and a store's file may be copied: each launch has its own device name, so that push
        // excludes only the client that made a change.
        let device = environment.makeName()
        let mirror = StoreSync(
            store: store, file: file, coordinator: persistentStoreCoordinator,
            cloud: CloudAccess(
                connect: { [connect = environment.connect, required = mapping.capabilities] in
                    var client = try connect(identifier, scope)
                    client.deviceID = device
                    client.required = required
                    return client
                },
                mapping: mapping,
                sealer: RecordSealer(
                    keys: EncryptionKeyRing(options.encryptionKeys, container: identifier), container: identifier),
                limits: environment.limits),
            observer: StoreSync.Observer(
                status: { [board] status in board.put(status, of: number) }, event: { [weak self] in self?.post($0) }),
            restoration: restorations.withLock { $0[url] })
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

    /// Cancels the sync of a store that is removed from the coordinator: the store is closed. The app may load it again.
    private func stopWhenRemoved(_ mirror: StoreSync) {
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

    /// Identifies the account again when it may have changed, before data of two users are mixed.
    ///
    /// Simulations ignore the process-wide notification, and inject their own.
    private func followAccount(of mirror: StoreSync) {
        guard !environment.isDeterministic else { return }
        let token = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { [weak mirror] _ in
            mirror?.accountMayHaveChanged()
        }
        observers.withLock { $0.append(Observation(token)) }
    }

    // MARK: Records

    /// Returns the server's record of an object as this device last received it, with its system fields. Without a request to the server;
    /// the record may be older than the object. Assets have no file.
    ///
    ///     let me = try await CKContainer.default().userRecordID()
    ///     let isMine = container.record(for: post.objectID)?.creatorUserRecordID == me
    ///
    /// Records that a version before format 11 of the sync metadata stored have no `creationDate`, `parent` and `share` until a later
    /// response contains them.
    ///
    /// - Returns: nil until the object was exported or imported.
    open func record(for managedObjectID: NSManagedObjectID) -> CKRecord? {
        storedRecord(for: managedObjectID)
    }

    /// Returns the server's records of objects, as ``record(for:)`` does; objects without a record have no entry.
    open func records(for managedObjectIDs: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord] {
        var records: [NSManagedObjectID: CKRecord] = [:]
        for id in managedObjectIDs { records[id] = record(for: id) }
        return records
    }

    /// Returns the identifier of an object's record, without a request to the server.
    ///
    /// - Returns: nil until the object was exported or imported.
    open func recordID(for managedObjectID: NSManagedObjectID) -> CKRecord.ID? {
        storedRecordID(for: managedObjectID)
    }

    /// Returns the identifiers of objects' records, as ``recordID(for:)`` does; objects without a record have no entry.
    open func recordIDs(for managedObjectIDs: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord.ID] {
        var ids: [NSManagedObjectID: CKRecord.ID] = [:]
        for id in managedObjectIDs { ids[id] = recordID(for: id) }
        return ids
    }

    // MARK: Permissions

    /// Whether the server permits the user to change an object.
    ///
    /// - Returns: true for unsaved objects, for stores that do not sync, and for the private database. In the public database, for a
    ///   signed-in user: for an object that is not on the server, if the user may create such records; for another one, if the schema's roles
    ///   permit it, as they do for the creator by default. In the shared database, if the share permits writing, or if the object isn't part
    ///   of a share yet.
    open func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        mayUpdateRecord(of: objectID)
    }

    /// Whether the user may delete an object, and the deletion reaches all other devices.
    ///
    /// - Returns: The same as ``canUpdateRecord(forManagedObjectWith:)``, but false for an object in the public database of a server
    ///   without a change feed, where deletions do not reach other devices: set a flag instead, and exclude flagged objects by a predicate.
    ///   An object that never reached the server can be deleted.
    open func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        mayDeleteRecord(of: objectID)
    }

    /// Whether the user may change any object of a store. False for a public store of a signed-out user or of one without any permission,
    /// for a shared store without a writable share, and for a store that was opened read-only.
    open func canModifyManagedObjects(in store: NSPersistentStore) -> Bool {
        mayModifyObjects(in: store)
    }

    // MARK: Schema

    /// Adds every record type and field of the model to the server's schema: saves a sample record of each type with all fields, and
    /// deletes it.
    ///
    /// For development only: a production schema does not grow by use. In the private database the samples are saved to a separate zone,
    /// which devices do not import. Stores of one container and scope with different models add up.
    ///
    /// The call blocks its thread until the server responds; do not make it from a task.
    ///
    /// - Precondition: The stores are loaded.
    /// - Throws: `CocoaError` 134060 without a loaded store that syncs, in production, or with the server's error as underlying error. A
    ///   part of the schema may have been added then.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer/initializecloudkitschema(options:)
    open func initializeCloudKitSchema(options: NSPersistentCloudKitContainerSchemaInitializationOptions = []) throws {
        try initializeSchema(options)
    }

    // MARK: Sharing

    /// Shares objects, and all objects that relationships connect with them: they are relocated to a zone of their own. Set title and
    /// participants of the returned share, and save it with ``persistUpdatedShare(_:in:)``.
    ///
    /// An object that is connected with a shared one later is relocated as well. The call returns after the server created zone and share;
    /// the next exports relocate the objects.
    ///
    /// - Parameters:
    ///   - managedObjects: Saved objects of one store of the private database.
    ///   - share: The share to add them to; nil creates one.
    /// - Returns: IDs of all objects that are in the share now, the share, and its container.
    /// - Throws: `CocoaError` 134070 for objects that were not saved, or of another store; `CKError` with `.alreadyShared`
    ///   if one of them, or one that is connected with them, is in another share; `.badDatabase` for a store of another
    ///   scope; the server's error. Nothing has changed then.
    nonisolated(nonsending) open func share(
        _ managedObjects: [NSManagedObject], to share: CKShare?
    ) async throws -> (Set<NSManagedObjectID>, CKShare, CKContainer) {
        try await shareObjects(managedObjects.map(\.objectID), to: share)
    }

    /// Calls a completion instead of suspending; see ``share(_:to:)``.
    open func share(
        _ managedObjects: [NSManagedObject], to share: CKShare?,
        completion: @escaping @Sendable (Set<NSManagedObjectID>?, CKShare?, CKContainer?, (any Error)?) -> Void
    ) {
        let ids = managedObjects.map(\.objectID)
        Task {
            do {
                let (shared, share, container) = try await shareObjects(ids, to: share)
                completion(shared, share, container, nil)
            } catch {
                completion(nil, nil, nil, error)
            }
        }
    }

    /// Saves a changed share on the server and in the store. Imports bring the changes of other devices.
    ///
    /// - Throws: `CKError`, with `.serverRecordChanged` for a concurrent change.
    @discardableResult
    open func persistUpdatedShare(_ share: CKShare, in persistentStore: NSPersistentStore) async throws -> CKShare {
        try await saveShare(share, in: persistentStore)
    }

    /// Calls a completion instead of suspending; see ``persistUpdatedShare(_:in:)``.
    open func persistUpdatedShare(
        _ share: CKShare, in persistentStore: NSPersistentStore,
        completion: (@Sendable (CKShare?, (any Error)?) -> Void)? = nil
    ) {
        complete(completion) { try await self.persistUpdatedShare(share, in: persistentStore) }
    }

    /// Joins shares. The next imports bring their objects.
    ///
    /// - Parameter persistentStore: A store of the shared database.
    /// - Throws: The `CKError` of the first invitation that could not be accepted. Others may have been accepted.
    @discardableResult
    open func acceptShareInvitations(
        from metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Metadata] {
        try await acceptInvitations(metadata, into: persistentStore)
    }

    /// Calls a completion instead of suspending; see ``acceptShareInvitations(from:into:)``.
    open func acceptShareInvitations(
        from metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore,
        completion: (@Sendable ([CKShare.Metadata]?, (any Error)?) -> Void)? = nil
    ) {
        complete(completion) { try await self.acceptShareInvitations(from: metadata, into: persistentStore) }
    }

    /// Looks up users to invite, for `CKShare.addParticipant(_:)`.
    ///
    /// - Throws: `CKError` with `.unknownItem` for a user that does not exist, or is not discoverable.
    open func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Participant] {
        try await findParticipants(lookupInfos, into: persistentStore)
    }

    /// Calls a completion instead of suspending; see ``fetchParticipants(matching:into:)``.
    open func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore,
        completion: @escaping @Sendable ([CKShare.Participant]?, (any Error)?) -> Void
    ) {
        complete(completion) { try await self.fetchParticipants(matching: lookupInfos, into: persistentStore) }
    }

    /// Returns the shares that a store has imported or saved, without a request to the server.
    ///
    /// - Parameter persistentStore: nil for all stores that sync.
    /// - Throws: `CocoaError` for a store that does not sync, or for a file that cannot be read.
    open func fetchShares(in persistentStore: NSPersistentStore? = nil) throws -> [CKShare] {
        try storedShares(in: persistentStore)
    }

    /// Returns the shares of objects, without a request to the server; objects without a share have no entry.
    ///
    /// - Throws: `CocoaError` for a file that cannot be read.
    open func fetchShares(matching objectIDs: [NSManagedObjectID]) throws -> [NSManagedObjectID: CKShare] {
        try storedShares(of: objectIDs)
    }

    /// Deletes a zone with all its records and objects: a zone of the user for all participants, a zone of another user only for this user,
    /// who leaves its share. A participant whose access was removed has no objects of the zone any more, and leaves the share, too.
    ///
    /// - Parameter persistentStore: nil for all stores with the zone.
    /// - Throws: `CKError` if the server could not be reached, or rejected the request; then nothing has changed.
    @discardableResult
    open func purgeObjectsAndRecordsInZone(
        with zoneID: CKRecordZone.ID, in persistentStore: NSPersistentStore?
    ) async throws -> CKRecordZone.ID {
        try await purge(zoneID, in: persistentStore)
    }

    /// Calls a completion, once for each store, instead of suspending; see ``purgeObjectsAndRecordsInZone(with:in:)``.
    open func purgeObjectsAndRecordsInZone(
        with zoneID: CKRecordZone.ID, in persistentStore: NSPersistentStore?,
        completion: (@Sendable (CKRecordZone.ID?, (any Error)?) -> Void)? = nil
    ) {
        let stores = persistentStore.map { [$0] } ?? allMirrors.filter { $0.file.scope != .public }.map(\.store)
        for store in stores {
            complete(completion) { try await self.purgeObjectsAndRecordsInZone(with: zoneID, in: store) }
        }
    }

    private func complete<Value: Sendable>(
        _ completion: (@Sendable (Value?, (any Error)?) -> Void)?, _ body: @escaping @Sendable () async throws -> Value
    ) {
        Task {
            do {
                let value = try await body()
                completion?(value, nil)
            } catch {
                completion?(nil, error)
            }
        }
    }
}

/// A registration with the notification centre.
private struct Observation: @unchecked Sendable {
    // Unchecked: the token is only passed to the notification centre, which is thread-safe.
    private let token: any NSObjectProtocol

    init(_ token: any NSObjectProtocol) { self.token = token }

    func end() { NotificationCenter.default.removeObserver(token) }
}
