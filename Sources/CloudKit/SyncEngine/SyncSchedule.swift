// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Synchronization
import SystemSupport

/// Fetches and sends automatically: after pushes, pending changes and account changes, and as retries of transient
/// failures.
final class SyncSchedule: Sendable {
    private struct State {
        var listener: Task<Void, Never>?
        var worker: Task<Void, Never>?
        var wantsFetch = false
        var wantsSend = false
        var isStopped = false
        var tellsState = false
    }

    private struct Token: @unchecked Sendable {  // The observer is only passed back.
        let observer: any NSObjectProtocol
    }

    private static let backoff = Backoff(firstSeconds: 1, longestSeconds: 300)

    private let state = Mutex(State())
    private let observation = Mutex<Token?>(nil)

    func start(_ engine: CKSyncEngine) {
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            [weak engine] _ in
            guard let engine else { return }
            // The open stream belongs to the previous account.
            engine.schedule.listen(for: engine)
            engine.schedule.want(fetch: true, send: true, engine)
        }
        observation.withLock { $0 = Token(observer: observer) }
        listen(for: engine)
        want(fetch: true, send: true, engine)
    }

    /// Keeps a push stream open from now on.
    private func listen(for engine: CKSyncEngine) {
        let listener = Task { [weak engine] in
            var attempts = PushAttempts()
            while !Task.isCancelled, let clock = engine?.database.container.clock {
                attempts.begin()
                let failure = await Self.listen(engine) { attempts.connected(at: clock.now()) }
                try? await clock.idle(attempts.delay(after: failure, at: clock.now(), jitter: clock.jitter()))
            }
        }
        let previous = state.withLock { state in
            defer { state.listener = listener }
            return state.isStopped ? listener : state.listener
        }
        previous?.cancel()
    }

    func stop() {
        let tasks = state.withLock { state in
            state.isStopped = true
            return [state.listener, state.worker]
        }
        for task in tasks { task?.cancel() }
        if let token = observation.withLock({ $0 }) { NotificationCenter.default.removeObserver(token.observer) }
    }

    /// Called after the app added or removed changes: reports the new state to the delegate, and sends.
    func stateChanged(_ engine: CKSyncEngine) {
        let isFirst = state.withLock { state in
            defer { state.tellsState = true }
            return !state.tellsState
        }
        if isFirst {
            Task { [weak engine] in
                guard let engine else { return }
                self.state.withLock { $0.tellsState = false }
                await engine.postState()
            }
        }
        if engine.configuration.automaticallySync { want(fetch: false, send: true, engine) }
    }

    /// Schedules a fetch or send, and starts it unless one is running.
    func want(fetch: Bool, send: Bool, _ engine: CKSyncEngine) {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.wantsFetch = state.wantsFetch || fetch
            state.wantsSend = state.wantsSend || send
            guard state.worker == nil else { return }
            state.worker = Task { [weak engine] in await self.work(engine) }
        }
    }

    private func work(_ engine: CKSyncEngine?) async {
        weak let engine = engine
        var failures = 0
        while let wish = next() {
            do {
                try await engine?.runScheduled(fetch: wish.fetch, send: wish.send)
                failures = 0
            } catch {
                let error = CKError(transportFailure: error)
                guard error.mayPass, !Task.isCancelled, let clock = engine?.database.container.clock else { continue }
                state.withLock { state in
                    state.wantsFetch = state.wantsFetch || wish.fetch
                    state.wantsSend = state.wantsSend || wish.send
                }
                failures += 1
                let backoff = Self.backoff.delay(attempt: failures, jitter: clock.jitter())
                try? await clock.idle(max(backoff, error.retryAfterSeconds.map { .clamped(seconds: $0) } ?? .zero))
            }
        }
    }

    private func next() -> (fetch: Bool, send: Bool)? {
        state.withLock { state in
            guard state.wantsFetch || state.wantsSend, !state.isStopped, !Task.isCancelled else {
                state.worker = nil
                return nil
            }
            defer { (state.wantsFetch, state.wantsSend) = (false, false) }
            return (state.wantsFetch, state.wantsSend)
        }
    }

    // MARK: Push

    /// Reads a push stream until it ends.
    ///
    /// - Returns: Why it ended; nil if the engine was deallocated. The stream is opened again after a delay; then changes are fetched.
    private static func listen(_ engine: CKSyncEngine?, _ connected: () -> Void) async -> CKError? {
        do {
            guard let stream = try await engine?.pushes() else { return nil }
            weak let engine = engine
            for try await event in stream {
                guard let engine else { return nil }
                switch event {
                case .heartbeat: continue
                case .connected: connected()
                case .notification(let notification): guard engine.isConcerned(by: notification) else { continue }
                }
                engine.schedule.want(fetch: true, send: false, engine)
            }
            return nil
        } catch {
            return CKError(transportFailure: error)
        }
    }
}

extension CKSyncEngine {
    fileprivate func runScheduled(fetch wantsFetch: Bool, send wantsSend: Bool) async throws {
        try await run { database in
            if wantsFetch { try await self.fetch(FetchChangesOptions(), .scheduled, from: database) }
            let hasChanges =
                !self.state.pendingDatabaseChanges.isEmpty || !self.state.pendingRecordZoneChanges.isEmpty
                || self.state.hasPendingUntrackedChanges
            if wantsSend, hasChanges { try await self.send(SendChangesOptions(), .scheduled, to: database) }
        }
    }

    /// Opens the push stream, with a subscription that makes the server send on it.
    fileprivate func pushes() async throws -> AsyncThrowingStream<PushStreamEvent, any Error> {
        let subscriptions = try await database.allSubscriptions()
        let isThere = subscriptions.contains { subscription in
            configuration.subscriptionID.map { $0 == subscription.subscriptionID } ?? (subscription.subscriptionType == .database)
        }
        if !isThere {
            let subscription = CKDatabaseSubscription(
                subscriptionID: configuration.subscriptionID ?? "CKSyncEngine-\(database.databaseScope.rawValue)")
            let wish = CKSubscription.NotificationInfo()
            wish.shouldSendContentAvailable = true
            subscription.notificationInfo = wish
            try await database.save(subscription)
        }
        return try database.client().pushStream(pace: database.container.clock)
    }

    fileprivate func isConcerned(by notification: PushNotification) -> Bool {
        switch notification.subject {
        case .database(let scope), .zone(_, let scope): CKDatabase.Scope(scope) == database.databaseScope
        case .query(let match): CKDatabase.Scope(match.scope) == database.databaseScope
        }
    }
}
