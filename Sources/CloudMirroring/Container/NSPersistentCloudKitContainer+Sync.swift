// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
public import ObjectGraph
import Synchronization

extension NSPersistentCloudKitContainer {
    /// Syncs all stores now, and returns when import and export of each are idle: earlier saves are on the server, and earlier changes of
    /// the server are in the stores.
    ///
    ///     try await container.sync(timeout: .seconds(30))
    ///
    /// The stores sync independently: all others sync before the call throws the failure of one. A signed-out store fails the call only if
    /// it has pending changes, or if no other store was synced: an app with a public and a private store can wait for the public one while
    /// the user is signed out.
    ///
    /// Permanently rejected changes do not fail the call: see ``rejectedChanges(in:)``. Concurrent calls share one import and one export.
    ///
    /// - Parameter timeout: The time to wait. Sync continues after it.
    /// - Throws: The `CKError` of a store that needs an action (signed out, wrong configuration, paused), once all others are idle; after
    ///   the timeout, the error of the last attempt. `CancellationError` when the task is cancelled.
    ///
    /// Differs: Apple's container has no such call.
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

    /// Syncs one store now, and returns when its import and export are idle. A public database is read now, before its poll interval ends.
    ///
    /// - Throws: As ``sync(timeout:)``; `CocoaError` for a store that isn't synced by this container.
    public func sync(_ store: NSPersistentStore, timeout: Duration) async throws {
        try await sync([try synced(store)], timeout: timeout) { $0.first ?? nil }
    }

    /// Returns the state of one store's sync; idle for a store that this container does not sync.
    public func syncStatus(of store: NSPersistentStore) -> SyncStatus {
        mirror(of: store).map { status(of: $0) } ?? SyncStatus(activity: .idle, pendingCount: 0)
    }

    /// Returns the present status of one store and each later one, until the container is deallocated. A slow reader receives only the
    /// latest.
    public func syncStatusUpdates(of store: NSPersistentStore) -> AsyncStream<SyncStatus> { updates(of: store.number) }

    /// - Parameter obstacle: Returns the failure to throw, from the failures of all stores; nil for an idle store.
    private func sync(_ mirrors: [StoreSync], timeout: Duration, _ obstacle: ([CloudFailure?]) -> CloudFailure?) async throws {
        let failures = try await withThrowingTaskGroup(of: [CloudFailure?]?.self) { [environment] group in
            group.addTask { try await Self.failures(of: mirrors) }
            group.addTask {
                try await environment.sleep(timeout)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        guard let failures else { throw CKError(lastObstacle(of: mirrors)) }
        let obstacles = zip(mirrors, failures).map { $1 ?? missingAccount(of: $0) }
        if let failure = obstacle(obstacles) { throw CKError(failure) }
    }

    /// A public store is idle without an account, although its pending changes are not sent.
    private func missingAccount(of mirror: StoreSync) -> CloudFailure? {
        guard mirror.permissions.isSignedOut, status(of: mirror).pendingCount > 0 else { return nil }
        return CloudFailure(.notAuthenticated, Exporter.signedOutReason)
    }

    /// Waits for all stores, also after the failure of one.
    private static func failures(of mirrors: [StoreSync]) async throws -> [CloudFailure?] {
        try await withThrowingTaskGroup(of: (Int, CloudFailure?).self) { group in
            for (index, mirror) in mirrors.enumerated() {
                group.addTask {
                    do {
                        try await mirror.waitUntilIdle()
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

    /// Returns the failure that the call waited for until its timeout.
    private func lastObstacle(of mirrors: [StoreSync]) -> CloudFailure {
        let statuses = mirrors.map { (mirror: $0, activity: status(of: $0).activity) }
        for (mirror, activity) in statuses {
            guard case .error(let reason) = activity else { continue }
            if let last = mirror.state.withLock({ $0.details.lastFailure }), last.reason == reason { return last }
            return CloudFailure(.serviceUnavailable, reason)
        }
        for (mirror, activity) in statuses where activity == .offline {
            // Why: the server doesn't answer, or a certificate isn't trusted.
            return CloudFailure(
                .networkUnavailable, mirror.state.withLock { $0.details.lastFailure?.reason } ?? "the server cannot be reached")
        }
        return CloudFailure(.operationCancelled, "syncing took longer than it was given")
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
