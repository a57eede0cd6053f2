// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Logging
import MirroringCore
import Synchronization
import SystemSupport

/// Receives notifications of changes that other devices made, by a push stream; polls a public database.
struct PushListener: Sendable {
    let sync: StoreSync

    /// Keeps the push stream open until the task is cancelled.
    ///
    /// The set-up created the subscription. Only a stopped server can be restored from a backup, so that a stream that ended is the sign of a
    /// server that may lack it; the changes that the server did not announce meanwhile are fetched once it is there.
    func listen() async {
        let clock = sync.environment.pace
        var attempts = PushAttempts()
        var mayLackSubscription = false
        while !Task.isCancelled {
            attempts.begin()
            var failure: CloudFailure?
            do {
                let database = try sync.cloud.open()
                let capabilities: Set<Capability> = sync.file.scope == .private ? [.pushedChanges] : []
                for try await event in database.client.pushStream(asking: capabilities, pace: clock) {
                    switch event {
                    case .connected:
                        if mayLackSubscription, sync.file.scope != .public { try await database.subscribe() }
                        attempts.connected(at: clock.now())
                        mayLackSubscription = false
                        sync.send(.pushConnected)
                    case .notification(let notification):
                        guard notification.subscriptionID == database.subscriptionID else { continue }
                        keep(notification.changes, database)
                        sync.send(.pushArrived)
                    case .heartbeat: break
                    }
                }
            } catch {
                let reason = CloudFailure(error)
                sync.logger.debug("push connection ended", metadata: ["code": "\(reason.code)"])
                failure = reason
            }
            if Task.isCancelled { return }
            mayLackSubscription = true
            // A public database is polled, with or without a push stream.
            if sync.file.scope != .public { sync.send(.pushDisconnected) }
            let delay = attempts.delay(
                isRejected: failure.map(RetryPolicy.needsAction) == true, retryAfter: failure?.retryAfter, at: clock.now(),
                jitter: clock.jitter())
            do { try await clock.idle(delay) } catch { return }
        }
    }

    /// Stores the changes of a notification for the next import. Changes that cannot be decoded are fetched by it.
    private func keep(_ changes: PushedChanges?, _ database: SyncDatabase) {
        let page = changes.flatMap { try? database.page(pushed: $0) }
        sync.state.withLock { $0.importer.pushed.take(page) }
    }

    /// Schedules an import once per poll interval.
    ///
    /// Source: the talk *Sync a Core Data store with the CloudKit public database* (2020): at launch and after about every
    /// thirty minutes of use.
    func poll() async {
        while !Task.isCancelled {
            do { try await sync.environment.sleep(.clamped(seconds: sync.file.pollSeconds)) } catch { return }
            sync.send(.pushArrived)
        }
    }

    /// Opens a push stream for the public database while the server has a feed of it, and closes it otherwise.
    func followFeed(_ database: SyncDatabase) {
        let isAvailable = database.traits.hasPublicFeed
        let closed = sync.state.withLock { state -> Task<Void, Never>? in
            guard !state.tasks.isStopped, !isAvailable else { return nil }
            return state.tasks.feedListener.take()
        }
        closed?.cancel()
        sync.state.withLock { state in
            guard !state.tasks.isStopped, isAvailable, state.tasks.feedListener == nil else { return }
            state.tasks.feedListener = sync.begin { await listen() }
        }
    }
}
