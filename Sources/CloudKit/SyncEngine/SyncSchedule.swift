// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Synchronization
import SystemSupport

/// Fetches and sends without being asked: after pushes, after changes, after a change of account, and again after
/// failures that pass.
final class SyncSchedule: Sendable {
    private struct State {
        var listener: Task<Void, Never>?
        var worker: Task<Void, Never>?
        var wantsFetch = false
        var wantsSend = false
        var isStopped = false
        var tellsState = false
    }

    private struct Token: @unchecked Sendable {  // The observer is only handed back.
        let observer: any NSObjectProtocol
    }

    private static let backoff = Backoff(firstSeconds: 1, longestSeconds: 300)

    private let state = Mutex(State())
    private let observation = Mutex<Token?>(nil)

    func start(_ engine: CKSyncEngine) {
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            [weak engine] _ in
            guard let engine else { return }
            // The stream that is open tells of the account before.
            engine.schedule.listen(for: engine)
            engine.schedule.want(fetch: true, send: true, engine)
        }
        observation.withLock { $0 = Token(observer: observer) }
        listen(for: engine)
        want(fetch: true, send: true, engine)
    }

    /// Holds push streams from now on, one after the other.
    private func listen(for engine: CKSyncEngine) {
        let listener = Task { [weak engine] in
            while !Task.isCancelled, let pace = engine?.database.container.pace {
                await Self.listen(engine)
                try? await pace.idle(.seconds(5))
            }
        }
        let before = state.withLock { state in
            defer { state.listener = listener }
            return state.isStopped ? listener : state.listener
        }
        before?.cancel()
    }

    func stop() {
        let tasks = state.withLock { state in
            state.isStopped = true
            return [state.listener, state.worker]
        }
        for task in tasks { task?.cancel() }
        if let token = observation.withLock({ $0 }) { NotificationCenter.default.removeObserver(token.observer) }
    }

    /// The app added or removed changes: the delegate is told, and what is to be sent is.
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

    /// Notes what is to be done, and starts to do it unless that is under way.
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
                guard error.mayPass, !Task.isCancelled, let pace = engine?.database.container.pace else { continue }
                state.withLock { state in
                    state.wantsFetch = state.wantsFetch || wish.fetch
                    state.wantsSend = state.wantsSend || wish.send
                }
                failures += 1
                let backOff = Self.backoff.delay(attempt: failures, jitter: pace.jitter())
                try? await pace.idle(max(backOff, error.retryAfterSeconds.map { .clamped(seconds: $0) } ?? .zero))
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

    /// Holds a push stream until it breaks.
    private static func listen(_ engine: CKSyncEngine?) async {
        guard let stream = await engine?.pushes() else { return }
        do {
            weak let engine = engine
            for try await event in stream {
                guard let engine else { return }
                switch event {
                case .heartbeat: continue
                case .connected: break
                case .notification(let notification): guard engine.isConcerned(by: notification) else { continue }
                }
                engine.schedule.want(fetch: true, send: false, engine)
            }
        } catch {
            // The stream is opened again after a while; once it stands, changes are asked for.
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

    /// The push stream, with a subscription that makes the server send on it; nil if that cannot be had now.
    fileprivate func pushes() async -> AsyncThrowingStream<PushEvent, any Error>? {
        do {
            let known = try await database.allSubscriptions()
            let isThere = known.contains { subscription in
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
            return try database.client().pushStream()
        } catch {
            return nil
        }
    }

    fileprivate func isConcerned(by notification: PushNotification) -> Bool {
        switch notification.subject {
        case .database(let scope), .zone(_, let scope): CKDatabase.Scope(scope) == database.databaseScope
        case .query(let match): CKDatabase.Scope(match.scope) == database.databaseScope
        }
    }
}
