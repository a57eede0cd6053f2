// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData
import Foundation
import MirroringCore

/// Syncs a store of an `NSPersistentContainer` with a Tarn server, through Core Data's public API alone.
///
/// `NSPersistentCloudKitContainer` of Apple's Core Data syncs with iCloud and no other server. A mirror is an object next to a
/// container instead: it reads the store's persistent history, sends the changes, and saves the changes of other devices by a context of
/// its own.
/// The records are those of `NSPersistentCloudKitContainer`, so that devices with either sync with each other.
///
///     let description = NSPersistentStoreDescription(url: url)
///     description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
///     description.setOption(NSNumber(value: true), forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
///     container.persistentStoreDescriptions = [description]
///     container.loadPersistentStores { … }
///
///     let mirror = try TarnMirror(container: container, options: TarnMirror.Options(
///         containerIdentifier: "iCloud.org.example.notes", server: "https://cloud.example.org", token: token))
///     mirror.start()
///     try await mirror.sync(timeout: .seconds(30))
///
/// Sync metadata are in a store of its own, in a file next to the app's store. A process that ends between the writes to both files loses
/// nothing: see the guide *Apps on Apple's platforms*.
public final class TarnMirror: Sendable {
    let session: MirrorSession

    /// Creates a mirror, which does nothing before ``start()``.
    ///
    /// One mirror syncs a store: a second one of the same process or another one would send changes twice.
    ///
    /// - Parameters:
    ///   - container: A container with loaded stores. It must not be an `NSPersistentCloudKitContainer` that syncs the store itself.
    ///   - store: The store to sync; nil for the container's only one.
    ///   - options: The server and the account.
    /// - Throws: ``Failure`` with `.unsupportedStore` for a store that isn't an SQLite store with history tracking and remote change
    ///   notifications, or that another mirror of this process syncs, `.unsupportedModel` for a model that can't be mirrored,
    ///   `.invalidOptions`, and `.metadata` if the file of the sync metadata can't be opened.
    public convenience init(container: NSPersistentContainer, store: NSPersistentStore? = nil, options: Options) throws {
        let transport = try URLSessionTransport(options)
        try self.init(container: container, store: store, options: options, transport: transport, environment: .live)
    }

    /// - Parameters:
    ///   - transport: The connection to the server.
    ///   - environment: Clock, delays and randomness.
    package init(
        container: NSPersistentContainer, store: NSPersistentStore?, options: Options, transport: any MirrorTransport,
        environment: MirrorEnvironment
    ) throws {
        try options.check()
        let store = try StoreRequirements.store(store, of: container)
        let mapping = try ModelReader.mapping(of: container.managedObjectModel, configuration: store.configurationName)
        let metadata = try MetadataFile(beside: store, at: options.metadataURL)
        let mirrored = MirroredStore(
            container: container, store: store, mapping: mapping, metadata: metadata, containerIdentifier: options.containerIdentifier,
            environment: environment)
        var client = MirrorClient(
            containerIdentifier: options.containerIdentifier, environment: options.environment.wire, transport: transport)
        client.deviceID = options.deviceIdentifier
        client.limits = environment.limits
        session = MirrorSession(mirrored, client: client, environment: environment, pollInterval: options.pollInterval)
    }

    deinit { session.cancel() }

    /// Begins to sync: now, after each save, and at every ``Options/pollInterval``. A second call has no effect.
    public func start() { session.start() }

    /// Ends syncing, and returns once the mirror no longer uses the store. A stopped mirror can't be started again: create another one.
    public func stop() async { await session.stop() }

    /// Syncs now, and returns when import and export are idle: earlier saves are on the server, and earlier changes of the server are in the
    /// store.
    ///
    /// Call it when the app becomes active, and in a background task. Changes that the server rejected permanently don't fail the call: see
    /// ``Status/rejectedCount``.
    ///
    /// - Parameter timeout: The time to wait. Syncing continues after it.
    /// - Throws: ``Failure`` if sync needs an action of the app or the user (signed out, wrong configuration); after the timeout, the failure
    ///   of the last attempt. `CancellationError` if the task is cancelled.
    public func sync(timeout: Duration) async throws { try await session.sync(timeout: timeout) }

    /// The present state of syncing.
    public var status: Status { session.status.current }

    /// The present state and each later one, until the mirror is deallocated. A slow reader receives only the latest.
    public var statusUpdates: AsyncStream<Status> { session.status.updates() }

    /// Returns the name of an object's record on the server; nil for an object that was neither exported nor imported.
    ///
    /// - Throws: ``Failure`` with `.metadata` if the file can't be read, and `.operationCancelled` after ``stop()``.
    public func recordName(for objectID: NSManagedObjectID) async throws -> String? {
        try await onMetadata { try $0.recordName(of: objectID) }
    }

    /// - Throws: ``Failure`` alone.
    func onMetadata<T: Sendable>(_ body: @escaping @Sendable (MirroredStore) throws -> T) async throws -> T {
        do {
            return try await session.onFile { [mirrored = session.mirrored, session] in
                // On the queue, behind which the file is closed.
                if session.isStopped { throw Failure(.operationCancelled, "the mirror was stopped; create another one") }
                return try body(mirrored)
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.metadata, "the sync metadata can't be read or written; \(CloudFailure(error).reason)")
        }
    }
}
