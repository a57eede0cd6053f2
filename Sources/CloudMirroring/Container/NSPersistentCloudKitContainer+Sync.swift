// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import MirroringCore
public import ObjectGraph
import Synchronization

extension NSPersistentCloudKitContainer {
    /// Syncs all stores now, and returns when both directions of every one are idle: what was saved before the call is on the server, and
    /// what was on the server is here.
    ///
    ///     try await container.sync(timeout: .seconds(30))
    ///
    /// The stores sync independently: what stands in the way of one doesn't keep the others from being synced before the call throws.
    /// A store that is signed out fails the call only if something waits to be sent from it, or if no other store was synced: an app
    /// with a public and a private store can wait for the public one while nobody is signed in.
    ///
    /// Objects that the server rejects permanently don't hold it up: see ``rejectedChanges(in:)``. Calls share their rounds, so that
    /// calling it often costs little more than calling it once.
    ///
    /// - Parameter timeout: How long to wait. Syncing goes on after it.
    /// - Throws: ``CKError`` with what stands in the way of a store: once all others are idle when nothing will happen by itself (nobody is
    ///   signed in, the configuration is wrong, syncing is paused), else when the time is over. `CancellationError` when the task is
    ///   cancelled.
    ///
    /// Differs: Apple's container cannot be asked.
    public func sync(timeout: Duration) async throws {
        let mirrors = allMirrors
        try await sync(mirrors, timeout: timeout) { failures in
            let isAnySynced = failures.contains { $0 == nil }
            for (mirror, failure) in zip(mirrors, failures) {
                guard let failure else { continue }
                if isAnySynced, failure.code == .notAuthenticated, status(of: mirror).pendingCount == 0 { continue }
                return failure
            }
            return nil
        }
    }

    /// Syncs one store now, and returns when both its directions are idle. A store of the public database is asked for changes at once,
    /// whenever it would have been polled next.
    ///
    /// - Throws: As ``sync(timeout:)``; ``CocoaError`` for a store that isn't synced by this container.
    public func sync(_ store: NSPersistentStore, timeout: Duration) async throws {
        try await sync([try synced(store)], timeout: timeout) { $0.first ?? nil }
    }

    /// What syncing does now in one store; idle for a store that isn't synced by this container.
    public func syncStatus(of store: NSPersistentStore) -> SyncStatus {
        mirror(of: store).map { status(of: $0) } ?? SyncStatus(activity: .idle, pendingCount: 0)
    }

    /// The present status of one store and each later one, until the container is deallocated. A slow reader misses those in between.
    public func syncStatusUpdates(of store: NSPersistentStore) -> AsyncStream<SyncStatus> { updates(of: store.number) }

    /// - Parameter obstacle: What is thrown, of what stands in the way of each mirror; nil for those that are idle.
    private func sync(_ mirrors: [Mirror], timeout: Duration, _ obstacle: ([CloudFailure?]) -> CloudFailure?) async throws {
        let failures = try await withThrowingTaskGroup(of: [CloudFailure?]?.self) { [surroundings] group in
            group.addTask { try await Self.failures(of: mirrors) }
            group.addTask {
                try await surroundings.sleep(timeout.seconds)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        guard let failures else { throw CKError(lastObstacle(of: mirrors)) }
        let obstacles = zip(mirrors, failures).map { $1 ?? missingAccount(of: $0) }
        if let failure = obstacle(obstacles) { throw CKError(failure) }
    }

    /// A public store is idle without an account, though what waits in it is not sent.
    private func missingAccount(of mirror: Mirror) -> CloudFailure? {
        guard mirror.permissions.isSignedOut, status(of: mirror).pendingCount > 0 else { return nil }
        return CloudFailure(.notAuthenticated, Mirror.nobodyIsSignedIn)
    }

    /// Waits for all, also when one has failed.
    private static func failures(of mirrors: [Mirror]) async throws -> [CloudFailure?] {
        try await withThrowingTaskGroup(of: (Int, CloudFailure?).self) { group in
            for (index, mirror) in mirrors.enumerated() {
                group.addTask {
                    do {
                        try await mirror.becomeQuiet()
                        return (index, nil)
                    } catch let failure as CloudFailure {
                        return (index, failure)
                    }
                }
            }
            var failures = [CloudFailure?](repeating: nil, count: mirrors.count)
            for try await (index, failure) in group { failures[index] = failure }
            return failures
        }
    }

    /// Why the time was over.
    private func lastObstacle(of mirrors: [Mirror]) -> CloudFailure {
        let statuses = mirrors.map { (mirror: $0, activity: status(of: $0).activity) }
        for (mirror, activity) in statuses {
            guard case .error(let reason) = activity else { continue }
            return mirror.lastFailure.withLock { $0?.reason == reason ? $0 : nil } ?? CloudFailure(.serviceUnavailable, reason)
        }
        for (mirror, activity) in statuses where activity == .offline {
            // Why: the server doesn't answer, or a certificate isn't trusted.
            return CloudFailure(.networkUnavailable, mirror.lastFailure.withLock { $0?.reason } ?? "the server cannot be reached")
        }
        return CloudFailure(.operationCancelled, "syncing took longer than it was given")
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
