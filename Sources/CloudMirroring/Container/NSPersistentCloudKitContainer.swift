// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
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

    /// What mirrors of stores that are being loaded finish first, by the address of the store.
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

    /// What syncing does now; of several stores what most deserves attention.
    open var syncStatus: SyncStatus { board.current }

    func status(of mirror: Mirror) -> SyncStatus { board.status(of: mirror.store.number) }

    /// The present status and each later one, until the container goes. A slow reader misses those in between.
    open var syncStatusUpdates: AsyncStream<SyncStatus> { board.updates() }

    func updates(of store: UInt16) -> AsyncStream<SyncStatus> { board.updates(of: store) }

    /// Stops syncing until ``resumeSyncing()``; what is saved meanwhile is sent then.
    open func pauseSyncing() { for mirror in mirrors.withLock({ $0 }) { mirror.send(.paused) } }

    open func resumeSyncing() { for mirror in mirrors.withLock({ $0 }) { mirror.send(.resumed) } }

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
            accountRules: options.accountRules, pollSeconds: options.publicPollInterval.seconds, surroundings: surroundings)
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
                    keys: EncryptionKeyRing(options.encryptionKeys, container: identifier), container: identifier),
                limits: surroundings.limits),
            observer: Mirror.Observer(
                status: { [board] status in board.put(status, of: number) }, event: { [weak self] in self?.post($0) }))
        mirror.restoration.withLock { $0 = restorations.withLock { $0[url] } }
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

    // MARK: Records

    /// The server's record of an object as this device last saw it, with its system fields. Nothing is fetched; it may be older
    /// than the object. Assets have no file.
    ///
    ///     let me = try await CKContainer.default().userRecordID()
    ///     let isMine = container.record(for: post.objectID)?.creatorUserRecordID == me
    ///
    /// Records that a version before format 11 of the sync metadata stored have no `creationDate`, `parent` and `share` until a
    /// response of the server holds them again.
    ///
    /// - Returns: nil until the object was exported or imported.
    open func record(for managedObjectID: NSManagedObjectID) -> CKRecord? {
        storedRecord(for: managedObjectID)
    }

    open func records(for managedObjectIDs: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord] {
        var records: [NSManagedObjectID: CKRecord] = [:]
        for id in managedObjectIDs { records[id] = record(for: id) }
        return records
    }

    /// - Returns: nil until the object was exported or imported.
    open func recordID(for managedObjectID: NSManagedObjectID) -> CKRecord.ID? {
        storedRecordID(for: managedObjectID)
    }

    open func recordIDs(for managedObjectIDs: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord.ID] {
        var ids: [NSManagedObjectID: CKRecord.ID] = [:]
        for id in managedObjectIDs { ids[id] = recordID(for: id) }
        return ids
    }

    // MARK: Permissions

    /// Whether the user may change an object, as far as the server is concerned.
    ///
    /// - Returns: true for objects that were not saved yet, of stores that are not synced, and of the private database. In
    ///   the public database, if somebody is signed in: for what is not on the server yet, if they may create such records;
    ///   for what is, if the roles of the server's schema let them write it, as they do by default for who made it. Of what
    ///   others share if the share lets the user write, or the object belongs to no share yet.
    open func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        mayUpdateRecord(of: objectID)
    }

    /// Whether the user may delete an object, and the deletion reaches everybody who has it.
    ///
    /// - Returns: What ``canUpdateRecord(forManagedObjectWith:)`` does, but false for what is in the public database of a
    ///   server without a change feed, where a deletion does not reach those who have the object: set a flag instead, and
    ///   leave flagged objects out by a predicate. What never reached the server can be deleted.
    open func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool {
        mayDeleteRecord(of: objectID)
    }

    /// Whether the user may change any objects of a store: always, but for a store of the public database while nobody is
    /// signed in, or whose user's roles allow nothing, one of shared data while no share lets the user write, and one that
    /// was opened for reading only.
    open func canModifyManagedObjects(in store: NSPersistentStore) -> Bool {
        mayModifyObjects(in: store)
    }

    // MARK: Schema

    /// Makes every record type and field of the model known to the server: a sample record of each type, with all of its
    /// fields, is saved and removed again.
    ///
    /// For development only: a server's schema for production does not grow by use. Private data go into a zone of their
    /// own, which no device imports. Stores of one container and scope whose models differ add up.
    ///
    /// The call blocks its thread until the server has answered; do not make it from a task.
    ///
    /// - Precondition: The stores are loaded.
    /// - Throws: ``CocoaError`` 134060 with what the server said as underlying error, if no synced store is loaded, or in
    ///   production.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer/initializecloudkitschema(options:)
    open func initializeCloudKitSchema(options: NSPersistentCloudKitContainerSchemaInitializationOptions = []) throws {
        try initializeSchema(options)
    }

    // MARK: Sharing

    /// Shares objects, and everything they are connected with by relationships: all of it goes to a zone of its own, whose
    /// share is returned. Set its title and its participants, and save it with ``persistUpdatedShare(_:in:)``.
    ///
    /// What is connected with a shared object later goes to its zone, too. The server is asked to make zone and share; the
    /// objects follow by and by.
    ///
    /// - Parameters:
    ///   - managedObjects: Saved objects of one store of the private database.
    ///   - share: The share to add them to; nil makes one.
    /// - Returns: IDs of all objects that are in the share now, the share, and its container.
    /// - Throws: ``CocoaError`` 134070 for objects that were not saved, or of another store; ``CKError`` with `.alreadyShared`
    ///   if one of them, or one that is connected with them, is in another share; `.badDatabase` for a store of another
    ///   scope; what the server says. Nothing has changed then.
    nonisolated(nonsending) open func share(
        _ managedObjects: [NSManagedObject], to share: CKShare?
    ) async throws -> (Set<NSManagedObjectID>, CKShare, CKContainer) {
        try await shareObjects(managedObjects.map(\.objectID), to: share)
    }

    /// As ``share(_:to:)`` that is waited for.
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

    /// Saves a share that was changed, and keeps it. Shares that were changed elsewhere come by themselves.
    ///
    /// - Throws: ``CKError``, with `.serverRecordChanged` if somebody else changed it meanwhile.
    @discardableResult
    open func persistUpdatedShare(_ share: CKShare, in persistentStore: NSPersistentStore) async throws -> CKShare {
        try await saveShare(share, in: persistentStore)
    }

    /// As ``persistUpdatedShare(_:in:)`` that is waited for.
    open func persistUpdatedShare(
        _ share: CKShare, in persistentStore: NSPersistentStore,
        completion: (@Sendable (CKShare?, (any Error)?) -> Void)? = nil
    ) {
        complete(completion) { try await self.persistUpdatedShare(share, in: persistentStore) }
    }

    /// Joins shares; their objects come into the store by themselves.
    ///
    /// - Parameter persistentStore: One of the shared database.
    /// - Throws: ``CKError``, of the first invitation that could not be accepted; others may have been.
    @discardableResult
    open func acceptShareInvitations(
        from metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Metadata] {
        try await acceptInvitations(metadata, into: persistentStore)
    }

    /// As ``acceptShareInvitations(from:into:)`` that is waited for.
    open func acceptShareInvitations(
        from metadata: [CKShare.Metadata], into persistentStore: NSPersistentStore,
        completion: (@Sendable ([CKShare.Metadata]?, (any Error)?) -> Void)? = nil
    ) {
        complete(completion) { try await self.acceptShareInvitations(from: metadata, into: persistentStore) }
    }

    /// People to invite, for ``CKShare/addParticipant(_:)``.
    ///
    /// - Throws: ``CKError`` with `.unknownItem` if somebody is not found, or does not want to be.
    open func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore
    ) async throws -> [CKShare.Participant] {
        try await findParticipants(lookupInfos, into: persistentStore)
    }

    /// As ``fetchParticipants(matching:into:)`` that is waited for.
    open func fetchParticipants(
        matching lookupInfos: [CKUserIdentity.LookupInfo], into persistentStore: NSPersistentStore,
        completion: @escaping @Sendable ([CKShare.Participant]?, (any Error)?) -> Void
    ) {
        complete(completion) { try await self.fetchParticipants(matching: lookupInfos, into: persistentStore) }
    }

    /// The shares of a store, as far as they have come to this device. Nothing is fetched.
    ///
    /// - Parameter persistentStore: nil for all synced stores.
    open func fetchShares(in persistentStore: NSPersistentStore? = nil) throws -> [CKShare] {
        try storedShares(in: persistentStore)
    }

    /// The shares that objects belong to; objects that are not shared have no entry. Nothing is fetched.
    open func fetchShares(matching objectIDs: [NSManagedObjectID]) throws -> [NSManagedObjectID: CKShare] {
        try storedShares(of: objectIDs)
    }

    /// Removes a zone with everything in it, on the server and here: the owner's zone for everybody, a zone of somebody else
    /// for this user, who leaves its share.
    ///
    /// - Parameter persistentStore: nil for all synced stores that have the zone.
    /// - Throws: ``CKError`` if the server could not be asked; then nothing has changed.
    @discardableResult
    open func purgeObjectsAndRecordsInZone(
        with zoneID: CKRecordZone.ID, in persistentStore: NSPersistentStore?
    ) async throws -> CKRecordZone.ID {
        try await purge(zoneID, in: persistentStore)
    }

    /// As ``purgeObjectsAndRecordsInZone(with:in:)`` that is waited for. Called once for each store.
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
    // Unchecked: the token is only handed back to the notification centre, which may be done from any thread.
    private let token: any NSObjectProtocol

    init(_ token: any NSObjectProtocol) { self.token = token }

    func end() { NotificationCenter.default.removeObserver(token) }
}
