// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import MirroringCore
import SimulationKit
import Synchronization
import TarnMirror
import TestBasics
import Testing

/// A device of a user, with a store that syncs by one of the two mirrors.
protocol SyncingDevice: Sendable {
    var transport: InProcessTransport { get }
    var container: NSPersistentContainer { get }

    /// Syncs until import and export are idle.
    func sync() async throws
}

extension SyncingDevice {
    /// Changes objects and saves, as an app does. If an import changed the same objects meanwhile, it changes them again.
    func edit(_ body: @Sendable (NSManagedObjectContext) throws -> Void) throws {
        for _ in 0..<20 {
            do {
                return try editOnce(body)
            } catch let error as CocoaError where error.code.rawValue == NSManagedObjectMergeError {
                continue
            }
        }
        try editOnce(body)
    }

    private func editOnce(_ body: @Sendable (NSManagedObjectContext) throws -> Void) throws {
        let context = container.newBackgroundContext()
        try context.performAndWait {
            context.transactionAuthor = "app"
            try body(context)
            try context.save()
        }
    }

    func read<T: Sendable>(_ body: @Sendable (NSManagedObjectContext) throws -> T) throws -> T {
        let context = container.newBackgroundContext()
        return try context.performAndWait { try body(context) }
    }

    var dump: String { get throws { try read { try Library.dump($0) } } }
}

/// Two devices of one user on a server in this process: one with `NSPersistentCloudKitContainer`, one with `TarnMirror`.
struct Pair {
    static let containerIdentifier = "iCloud.org.example.library"

    let cloud: InProcessCloud
    let tablet: ContainerDevice
    let phone: MirrorDevice

    init(
        tabletModel: Model = Library.model, retries: Bool = false,
        reached: @escaping @Sendable (MirrorEnvironment.Step) throws -> Void = { _ in }
    ) async throws {
        cloud = try InProcessCloud()
        tablet = try ContainerDevice(try await cloud.addUser("mia", device: "tablet"), model: tabletModel)
        phone = try MirrorDevice(try await cloud.addDevice("phone", of: "mia"), retries: retries, reached: reached)
    }

    /// Syncs both until their objects are equal, and returns those.
    @discardableResult
    func converge(_ phone: MirrorDevice? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        try await Self.converge([tablet, phone ?? self.phone], sourceLocation: sourceLocation)
    }

    static func converge(_ devices: [any SyncingDevice], sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        var dumps: [String] = []
        for _ in 0..<6 {
            for device in devices { try await device.sync() }
            dumps = try devices.map { try $0.dump }
            if Set(dumps).count == 1 {
                // Once more, so that nothing is left to be exchanged.
                for device in devices { try await device.sync() }
                if try devices.map({ try $0.dump }) == dumps { return dumps[0] }
            }
        }
        Issue.record("the devices do not converge:\n\(dumps.joined(separator: "\n\n"))", sourceLocation: sourceLocation)
        return dumps.first ?? ""
    }

    func records(ofType type: String) async throws -> [Record] {
        try await cloud.databases(of: Self.containerIdentifier).flatMap(\.zones).flatMap(\.records).filter { $0.recordType == type }
    }
}

/// A container as apps for Tarn have it.
final class ContainerDevice: SyncingDevice {
    let transport: InProcessTransport
    let cloudContainer: NSPersistentCloudKitContainer
    var container: NSPersistentContainer { cloudContainer }

    init(_ transport: InProcessTransport, model: Model = Library.model) throws {
        self.transport = transport
        let file = TestScope.temporaryFolder().appendingPathComponent("Library.sqlite")
        cloudContainer = NSPersistentCloudKitContainer(name: "Library", managedObjectModel: NSManagedObjectModel(model))
        var environment = SyncEnvironment(
            now: { Date(timeIntervalSince1970: 1_900_000_000) }, sleep: { _ in try await Sleepers.untilCancelled() }, random: { 0.5 },
            makeName: { UUID().uuidString })
        environment.connect = { identifier, _ in
            CloudDatabaseClient(containerIdentifier: identifier, environment: .development, scope: .private, transport: transport)
        }
        environment.container = { identifier in
            CKContainer(identifier: identifier, connection: OwnConnection(Connection(environment: .development, transport: transport)))
        }
        cloudContainer.environment = environment
        let description = NSPersistentStoreDescription(url: file)
        description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(containerIdentifier: Pair.containerIdentifier)
        cloudContainer.persistentStoreDescriptions = [description]
        TestScope.close(self) { try await self.close() }
        try cloudContainer.load()
    }

    func sync() async throws { try await cloudContainer.sync(timeout: .seconds(60)) }

    private func close() async throws -> [String] {
        await cloudContainer.stopSyncing()
        let coordinator = cloudContainer.persistentStoreCoordinator
        for store in coordinator.persistentStores { try coordinator.remove(store) }
        return []
    }
}

/// A container of plain Core Data, with a mirror next to it.
final class MirrorDevice: SyncingDevice {
    let transport: InProcessTransport
    let container: NSPersistentContainer
    let mirror: TarnMirror
    let file: URL
    /// The delays that the mirror waited, or waits.
    let delays: Sleepers

    /// - Parameters:
    ///   - file: The store of an earlier device; nil for a new one.
    ///   - retries: Whether delays before retries take no time.
    ///   - reached: Called at each step; see ``MirrorEnvironment/reached``.
    ///   - faults: Responses instead of those of the server.
    ///   - assetBytesMax: See ``MirrorEnvironment/assetBytesMax``.
    ///   - prepare: Changes the store before the mirror exists.
    init(
        _ transport: InProcessTransport, file: URL? = nil, model: Model = Library.model, starts: Bool = true, retries: Bool = false,
        reached: @escaping @Sendable (MirrorEnvironment.Step) throws -> Void = { _ in },
        faults: Refusals = Refusals(), assetBytesMax: Int? = nil,
        describe: (NSPersistentStoreDescription) -> Void = { _ in },
        prepare: (NSManagedObjectContext) throws -> Void = { _ in }
    ) throws {
        self.transport = transport
        let file = file ?? TestScope.temporaryFolder().appendingPathComponent("Library.sqlite")
        self.file = file
        container = NSPersistentContainer(name: "Library", managedObjectModel: NSManagedObjectModel(model))
        let description = NSPersistentStoreDescription(url: file)
        for key in [NSPersistentHistoryTrackingKey, NSPersistentStoreRemoteChangeNotificationPostOptionKey] {
            description.setOption(NSNumber(value: true), forKey: key)
        }
        describe(description)
        container.persistentStoreDescriptions = [description]
        try container.load()
        let context = container.newBackgroundContext()
        try context.performAndWait { try prepare(context) }
        let delays = Sleepers(retries: retries)
        self.delays = delays
        var environment = MirrorEnvironment(
            now: { Date(timeIntervalSince1970: 1_900_000_000) }, sleep: { try await delays.sleep($0) }, random: { 0.5 },
            makeName: { UUID().uuidString })
        environment.reached = reached
        if let assetBytesMax { environment.assetBytesMax = assetBytesMax }
        var options = TarnMirror.Options(
            containerIdentifier: Pair.containerIdentifier, server: "https://tarn.invalid", token: "in process")
        options.environment = .development
        options.pollInterval = Sleepers.poll
        mirror = try TarnMirror(
            container: container, store: nil, options: options, transport: InProcessMirrorTransport(transport, faults),
            environment: environment)
        TestScope.close(self) { try await self.close() }
        if starts { mirror.start() }
    }

    func sync() async throws { try await mirror.sync(timeout: .seconds(60)) }

    /// Returns when the mirror's status fulfils a condition.
    func until(_ condition: (TarnMirror.Status) -> Bool) async {
        for await status in mirror.statusUpdates { if condition(status) { return } }
    }

    /// Ends the device as a crash would, as far as its files are concerned, and gives the files to the next one.
    func kill() async throws {
        _ = try await close()
        TestScope.release(self)
    }

    private func close() async throws -> [String] {
        await mirror.stop()
        for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
        return []
    }
}

extension NSPersistentContainer {
    /// Loads the stores; throws their errors.
    func load() throws {
        let failure = Mutex<(any Error)?>(nil)
        loadPersistentStores { _, error in if let error { failure.withLock { $0 = error } } }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}

/// The transport of a mirror over that of a device in process.
struct InProcessMirrorTransport: MirrorTransport {
    private let connection: MirrorConnection
    private let faults: Refusals

    init(_ transport: InProcessTransport, _ faults: Refusals) {
        connection = MirrorConnection(transport)
        self.faults = faults
    }

    func send(_ request: MirrorRequest) async throws -> MirrorResponse {
        if let refusal = faults.refusal(of: request) ?? faults.assetRefusal(of: request) { return refusal }
        let gatewayResponse = faults.gatewayResponse(to: request)
        let response = try await connection.send(request)
        return gatewayResponse ?? response
    }
}

/// Delays that end by cancellation, or when the test ends them.
final class Sleepers: Sendable {
    private let requested = Mutex<[Duration]>([])
    private let retries: Bool

    /// - Parameter retries: Whether delays shorter than those of polls and of callers end immediately.
    init(retries: Bool = false) {
        self.retries = retries
        (polls, pollSink) = AsyncStream.makeStream()
    }

    /// The delay between polls of a mirror: no other delay has this length.
    static let poll = Duration.seconds(61)
    private let polls: AsyncStream<Void>
    private let pollSink: AsyncStream<Void>.Continuation

    /// Ends the delay between two polls.
    func endPoll() { pollSink.yield() }

    /// The requested delays, in order.
    var all: [Duration] { requested.withLock { $0 } }

    func sleep(_ delay: Duration) async throws {
        requested.withLock { $0.append(delay) }
        if retries, delay < .seconds(60) { return await Task.yield() }
        if delay == Self.poll {
            for await _ in polls { return }
            throw CancellationError()
        }
        try await Self.untilCancelled()
    }

    static func untilCancelled() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in stream {}
        // The stream lives as long as its continuation.
        withExtendedLifetime(continuation) {}
        throw CancellationError()
    }
}
