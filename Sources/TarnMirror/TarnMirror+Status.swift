// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import MirroringCore
import Synchronization

extension TarnMirror {
    /// The state of syncing, for people.
    public struct Status: Hashable, Sendable {
        /// The present operation of a mirror.
        public enum Activity: Hashable, Sendable {
            /// Import and export are complete.
            case idle
            /// The set-up of account and zone runs.
            case starting
            /// An import runs.
            ///
            /// - Parameters:
            ///   - done: Records so far.
            ///   - total: Records of the whole import; nil if the server does not count them.
            case importing(done: Int, total: Int?)
            /// An export runs.
            ///
            /// - Parameters:
            ///   - done: Records that the server has.
            ///   - total: Records of the whole export.
            case exporting(done: Int, total: Int)
            /// The server cannot be reached; the mirror retries with backoff.
            case offline
            /// The mirror was not started, or was stopped.
            case stopped
            /// Sync failed, and retries or needs an action. Saves are kept and sent later.
            ///
            /// - Parameter reason: A sentence for people.
            case error(reason: String)
        }

        /// The present operation.
        public var activity: Activity
        /// Objects, and links between objects, that are not on the server.
        public var pendingCount: Int
        /// When import and export were last complete, since the mirror was started.
        public var lastSuccess: Date?
        /// Changes that the server rejected permanently. They are sent once more after the next change of their objects, and after the next
        /// start.
        public var rejectedCount = 0
        /// Entries of the conflict log: see ``TarnMirror/conflicts()``. 0 before the first sync.
        public var conflictCount = 0
        /// Objects with values in assets that the server does not have: see ``TarnMirror/unreadableValues()``. 0 before the first sync.
        public var unreadableCount = 0
    }
}

extension TarnMirror.Status {
    init(_ status: SyncStatus) {
        activity =
            switch status.activity {
            case .idle: .idle
            case .starting: .starting
            case .importing(let done, let total): .importing(done: done, total: total)
            case .exporting(let done, let total): .exporting(done: done, total: total)
            case .offline: .offline
            case .paused: .stopped
            case .error(let reason): .error(reason: reason)
            }
        pendingCount = status.pendingCount
        lastSuccess = status.lastSuccess
        rejectedCount = status.rejectedCount
    }
}

/// The latest status, and its readers.
final class StatusBoard: Sendable {
    private struct State {
        var current = TarnMirror.Status(activity: .stopped, pendingCount: 0)
        var readers: [Int: AsyncStream<TarnMirror.Status>.Continuation] = [:]
        var lastReader = 0
        var isEnded = false
    }

    private let state = Mutex(State())

    deinit { for reader in state.withLock({ $0.readers.values.map { $0 } }) { reader.finish() } }

    var current: TarnMirror.Status { state.withLock { $0.current } }

    func post(_ status: TarnMirror.Status) { post(status, isLast: false) }

    /// Posts the last status: a report that is still on its way is ignored.
    func end(with status: TarnMirror.Status) { post(status, isLast: true) }

    private func post(_ status: TarnMirror.Status, isLast: Bool) {
        state.withLock { state in
            if state.isEnded { return }
            (state.current, state.isEnded) = (status, isLast)
            // Inside the lock, to keep the order. A stream does not run its reader's code.
            for reader in state.readers.values { reader.yield(status) }
        }
    }

    func updates() -> AsyncStream<TarnMirror.Status> {
        let (stream, continuation) = AsyncStream.makeStream(of: TarnMirror.Status.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.lastReader += 1
            state.readers[state.lastReader] = continuation
            continuation.yield(state.current)
            return state.lastReader
        }
        continuation.onTermination = { [weak self] _ in
            // In a task: a stream may end inside the lock.
            Task { self?.forget(number) }
        }
        return stream
    }

    private func forget(_ number: Int) { _ = state.withLock { $0.readers.removeValue(forKey: number) } }
}
