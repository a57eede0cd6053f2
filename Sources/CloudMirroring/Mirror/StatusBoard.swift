// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Synchronization

/// The latest status of each mirror of a container, and those who want to see it.
final class StatusBoard: Sendable {
    private struct State {
        /// Stores that are mirrored; what is said of others comes too late.
        var stores: Set<UInt16> = []
        var statuses: [UInt16: SyncStatus] = [:]
        var watchers: [Int: AsyncStream<NSPersistentCloudKitContainer.SyncStatus>.Continuation] = [:]
        var nextWatcher = 0
        var isClosed = false

        var combined: NSPersistentCloudKitContainer.SyncStatus {
            .init(combining: statuses.sorted { $0.key < $1.key }.map(\.value))
        }

        /// Yielding under the lock keeps the order; a stream runs nobody's code when it is given a value.
        func tell() {
            let combined = combined
            for watcher in watchers.values { watcher.yield(combined) }
        }
    }

    private let state = Mutex(State())

    var current: NSPersistentCloudKitContainer.SyncStatus { state.withLock { $0.combined } }

    func status(of store: UInt16) -> NSPersistentCloudKitContainer.SyncStatus {
        state.withLock { .init(combining: $0.statuses[store].map { [$0] } ?? []) }
    }

    func add(_ store: UInt16) { _ = state.withLock { $0.stores.insert(store) } }

    /// What stood in a store's way is nobody's concern once the store is gone.
    func remove(_ store: UInt16) {
        state.withLock { state in
            state.stores.remove(store)
            if state.statuses.removeValue(forKey: store) != nil { state.tell() }
        }
    }

    func put(_ status: SyncStatus, of store: UInt16) {
        state.withLock { state in
            guard state.stores.contains(store) else { return }
            state.statuses[store] = status
            state.tell()
        }
    }

    /// The present status, then each later one; a slow reader sees only the newest.
    func updates() -> AsyncStream<NSPersistentCloudKitContainer.SyncStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NSPersistentCloudKitContainer.SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            continuation.yield(state.combined)
            if state.isClosed { return nil }
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = continuation
            return state.nextWatcher
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            // On a later turn: a stream may end while the lock is held.
            Task { self?.forget(number) }
        }
        return stream
    }

    private func forget(_ number: Int) { _ = state.withLock { $0.watchers.removeValue(forKey: number) } }

    func close() {
        let watchers = state.withLock { state in
            state.isClosed = true
            defer { state.watchers = [:] }
            return state.watchers
        }
        for watcher in watchers.values { watcher.finish() }
    }
}
