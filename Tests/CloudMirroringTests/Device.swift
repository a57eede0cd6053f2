// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation
import ManagedModel
import Synchronization
import TestBasics
import Testing

/// A device of a user: a container on a file, on a real server in this process, with timers that are moved by hand.
///
/// The test's scope closes it, and removes the folder of its file.
final class Device: Sendable {
    static let containerIdentifier = "iCloud.org.example.posts"

    let name: String
    let container: NSPersistentCloudKitContainer
    let transport: InProcessTransport
    let timers: HandDrivenTimers
    let file: URL

    /// - Parameters:
    ///   - wire: What requests go through on their way to the transport, for faults.
    ///   - file: nil for a new one.
    ///   - describe: Changes the description of the store before it is loaded.
    init(
        _ name: String, _ transport: InProcessTransport, over wire: (any CloudTransport)? = nil, file: URL? = nil,
        model: Model = Posts.model, beside others: [NSPersistentStoreDescription] = [],
        describe: (NSPersistentStoreDescription) throws -> Void = { _ in },
        configure: (inout SyncEnvironment) -> Void = { _ in }
    ) throws {
        self.name = name
        self.transport = transport
        let timers = HandDrivenTimers()
        self.timers = timers
        let file = file ?? TestScope.temporaryFolder().appendingPathComponent("Posts.sqlite")
        self.file = file
        TestScope.remove(file.deletingLastPathComponent())
        container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(model))
        var environment = SyncEnvironment(
            now: { Date() }, sleep: { try await timers.sleep($0 / .seconds(1)) }, random: { 0.5 }, makeName: { UUID().uuidString })
        let wire = wire ?? transport
        environment.connect = { identifier, scope in
            CloudDatabaseClient(containerIdentifier: identifier, environment: .development, scope: scope.wire, transport: wire)
        }
        configure(&environment)
        container.environment = environment
        let description = Self.description(of: file)
        try describe(description)
        container.persistentStoreDescriptions = [description] + others
        // Several devices may use one connection: it is looked at when all are closed.
        TestScope.close(transport) {
            await Self.waitForTheEnd { transport.openStreams == 0 }
            return transport.openStreams == 0 ? [] : ["\(transport.openStreams) push streams of \(name)"]
        }
        TestScope.close(self) { try await self.close() }
        try container.load()
    }

    static func description(of file: URL) -> NSPersistentStoreDescription {
        let description = NSPersistentStoreDescription(url: file)
        description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(containerIdentifier: containerIdentifier)
        return description
    }

    /// Ends the device as a power cut would, as far as the file is concerned, and gives the file to the next one.
    func kill() async throws {
        await container.stopSyncing()
        for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
        TestScope.release(self)
    }

    /// Stops sync and closes the stores, as the test's scope does. A killed device is closed already.
    ///
    /// - Returns: Leftovers: timers, and rows in the queues of stores that were idle.
    func close() async throws -> [String] {
        await container.stopSyncing()
        var leftovers = try await SyncQueues.rows(of: container)
        await Self.waitForTheEnd { timers.sleeperCount == 0 }
        if timers.sleeperCount > 0 { leftovers.append("\(timers.sleeperCount) timers") }
        try await kill()
        return leftovers.map { "\($0) of \(name)" }
    }

    /// A cancelled task that nothing waits for ends a little later.
    private static func waitForTheEnd(_ hasEnded: () -> Bool) async {
        for _ in 0..<10_000 where !hasEnded() { await Task.yield() }
    }

    /// Closes the device in the middle of a test, and removes its files.
    func discard() async throws {
        for leftover in try await close() { Issue.record("left over: \(leftover)") }
        try FileManager.default.removeItem(at: file.deletingLastPathComponent())
    }

    // MARK: Objects

    /// Changes objects and saves, as an app does.
    func edit(_ body: @Sendable (NSManagedObjectContext) throws -> Void) throws {
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

    /// All objects in a form that does not depend on the device.
    var dump: String {
        get throws {
            try read { context in
                var lines: [String] = []
                for entity in ["Post", "Tag", "Attachment", "ImageData"] {
                    for object in try context.all(entity) { lines.append(Posts.line(object)) }
                }
                return lines.sorted().joined(separator: "\n")
            }
        }
    }

    // MARK: Waiting

    /// Returns when a condition holds; it is looked at after each change of the sync status.
    func until(_ condition: @Sendable (NSPersistentCloudKitContainer.SyncStatus) throws -> Bool) async throws {
        for await status in container.syncStatusUpdates { if try condition(status) { return } }
    }

    /// Returns when one of the devices has another status than it had.
    static func anyOf(_ devices: [Device], leaves before: [NSPersistentCloudKitContainer.SyncStatus]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (device, status) in zip(devices, before) { group.addTask { try await device.until { $0 != status } } }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Returns when nothing is left to be done and a condition holds.
    func settles(_ condition: @Sendable () throws -> Bool = { true }) async throws {
        try await until { try $0.activity == .idle && $0.pendingCount == 0 && $0.lastSuccess != nil && condition() }
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

/// Sleepers that wake when time is moved.
final class HandDrivenTimers: Sendable {
    private struct Sleeper {
        var due: Double
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = 0.0
        var sleepers: [Int: Sleeper] = [:]
        var watchers: [(longest: Double, continuation: CheckedContinuation<Void, Never>)] = []
        var next = 0
        /// Delays of so many seconds at most end at once.
        var freeSeconds: Double?
    }

    private let state = Mutex(State())

    func sleep(_ seconds: Double) async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isCancelled = Task.isCancelled
                state.withLock { state in
                    if let free = state.freeSeconds, seconds <= free {
                        continuation.resume()
                    } else if isCancelled {
                        continuation.resume(throwing: CancellationError())
                    } else {
                        state.sleepers[number] = Sleeper(due: state.now + seconds, continuation: continuation)
                        for watcher in state.watchers where seconds <= watcher.longest { watcher.continuation.resume() }
                        state.watchers.removeAll { seconds <= $0.longest }
                    }
                }
                // A cancellation between the check and the registration found no sleeper.
                if Task.isCancelled { wake(number) }
            }
        } onCancel: {
            wake(number)
        }
    }

    private func wake(_ number: Int) {
        state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume(throwing: CancellationError())
    }

    /// Returns when a sleeper is due within so many seconds.
    func asleep(within seconds: Double) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                let isThere = state.sleepers.values.contains { $0.due <= state.now + seconds }
                if isThere { continuation.resume() } else { state.watchers.append((seconds, continuation)) }
            }
        }
    }

    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    func advance(by seconds: Double) {
        wake { state in
            state.now += seconds
            return state.now
        }
    }

    /// Ends delays from now on. A loop that polls would never pause without the limit.
    ///
    /// - Parameter longest: The longest delay that ends, in seconds.
    func runFreely(upTo longest: Double = .infinity) {
        wake { state in
            state.freeSeconds = longest
            return state.now + longest
        }
    }

    /// Wakes sleepers that are due until the time that `change` returns.
    private func wake(_ change: (inout State) -> Double) {
        let woken = state.withLock { state in
            let last = change(&state)
            let woken = state.sleepers.filter { $0.value.due <= last }
            for number in woken.keys { state.sleepers[number] = nil }
            return woken.values.sorted { $0.due < $1.due }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }
}
