// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Synchronization

/// The latest status of each synced store of a container, and the streams that observe it.
final class StatusBoard: Sendable {
    private struct State {
        /// Stores that sync. A status of another store is late and ignored.
        var stores: Set<UInt16> = []
        var statuses: [UInt16: SyncStatus] = [:]
        var watchers: [Int: Watcher] = [:]
        var nextWatcher = 0
        var isClosed = false

        var combined: NSPersistentCloudKitContainer.SyncStatus {
            .init(combining: statuses.sorted { $0.key < $1.key }.map(\.value))
        }

        func status(of store: UInt16?) -> NSPersistentCloudKitContainer.SyncStatus {
            guard let store else { return combined }
            return .init(combining: statuses[store].map { [$0] } ?? [])
        }

        /// Yielding inside the lock keeps the order. A stream does not run its reader's code.
        ///
        /// - Parameter store: The store with the new status.
        func tell(_ store: UInt16) {
            for watcher in watchers.values where watcher.store == nil || watcher.store == store {
                watcher.continuation.yield(status(of: watcher.store))
            }
        }
    }

    private struct Watcher {
        /// nil for the status of all stores.
        var store: UInt16?
        var continuation: AsyncStream<NSPersistentCloudKitContainer.SyncStatus>.Continuation
    }

    private let state = Mutex(State())

    var current: NSPersistentCloudKitContainer.SyncStatus { state.withLock { $0.combined } }

    func status(of store: UInt16) -> NSPersistentCloudKitContainer.SyncStatus {
        state.withLock { $0.status(of: store) }
    }

    func add(_ store: UInt16) { _ = state.withLock { $0.stores.insert(store) } }

    /// The status of a removed store no longer counts.
    func remove(_ store: UInt16) {
        state.withLock { state in
            state.stores.remove(store)
            if state.statuses.removeValue(forKey: store) != nil { state.tell(store) }
        }
    }

    func put(_ status: SyncStatus, of store: UInt16) {
        state.withLock { state in
            guard state.stores.contains(store) else { return }
            state.statuses[store] = status
            state.tell(store)
        }
    }

    /// Returns the present status and each later one. A slow reader receives only the latest.
    ///
    /// - Parameter store: nil for the status of all stores.
    func updates(of store: UInt16? = nil) -> AsyncStream<NSPersistentCloudKitContainer.SyncStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NSPersistentCloudKitContainer.SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            continuation.yield(state.status(of: store))
            if state.isClosed { return nil }
            state.nextWatcher += 1
            state.watchers[state.nextWatcher] = Watcher(store: store, continuation: continuation)
            return state.nextWatcher
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            // In a task: a stream may end inside the lock.
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
        for watcher in watchers.values { watcher.continuation.finish() }
    }
}
