// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import Synchronization

/// Continuations of ``TarnMirror/sync(timeout:)`` callers, resumed when import and export are idle.
final class SyncWaiters: Sendable {
    private struct State {
        var continuations: [SyncMachine.WaiterID: CheckedContinuation<Void, any Error>] = [:]
        var lastNumber = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Suspends the caller until ``resume(_:_:)`` names it.
    ///
    /// - Parameter request: Receives the waiter's identifier, once, before the wait.
    /// - Throws: `CloudFailure` if the sync failed or ended; `CancellationError` if the task was cancelled.
    func wait(_ request: (SyncMachine.WaiterID) -> Void) async throws {
        let id = state.withLock { state in
            state.lastNumber += 1
            return SyncMachine.WaiterID(number: state.lastNumber)
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isOpen = state.withLock { state in
                    if !state.isClosed { state.continuations[id] = continuation }
                    return !state.isClosed
                }
                guard isOpen else { return continuation.resume(throwing: Self.ended) }
                request(id)
                // The cancellation handler may have run before the continuation was stored.
                if Task.isCancelled { end(id, CancellationError()) }
            }
        } onCancel: {
            end(id, CancellationError())
        }
    }

    func resume(_ ids: [SyncMachine.WaiterID], _ failure: CloudFailure?) { for id in ids { end(id, failure) } }

    func close() {
        let continuations = state.withLock { state in
            state.isClosed = true
            defer { state.continuations = [:] }
            return state.continuations
        }
        for continuation in continuations.values { continuation.resume(throwing: Self.ended) }
    }

    private static var ended: CloudFailure { CloudFailure(.operationCancelled, "syncing ended") }

    private func end(_ id: SyncMachine.WaiterID, _ error: (any Error)?) {
        guard let continuation = state.withLock({ $0.continuations.removeValue(forKey: id) }) else { return }
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
    }
}
