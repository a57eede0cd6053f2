// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Synchronization

/// Those who wait for a mirror to be quiet.
final class Asks: Sendable {
    private struct State {
        var waiting: [SyncMachine.AskID: CheckedContinuation<Void, any Error>] = [:]
        var last = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// - Parameter ask: Tells the mirror; called once, before the wait.
    func wait(_ ask: (SyncMachine.AskID) -> Void) async throws {
        let id = state.withLock { state in
            state.last += 1
            return SyncMachine.AskID(number: state.last)
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isOpen = state.withLock { state in
                    if !state.isClosed { state.waiting[id] = continuation }
                    return !state.isClosed
                }
                guard isOpen else { return continuation.resume(throwing: Self.ended) }
                ask(id)
                // A cancellation between the look and the entry found nobody to wake.
                if Task.isCancelled { end(id, CancellationError()) }
            }
        } onCancel: {
            end(id, CancellationError())
        }
    }

    func answer(_ ids: [SyncMachine.AskID], _ failure: CloudFailure?) { for id in ids { end(id, failure) } }

    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume(throwing: Self.ended) }
    }

    private static var ended: CloudFailure { CloudFailure(.operationCancelled, "syncing ended") }

    private func end(_ id: SyncMachine.AskID, _ error: (any Error)?) {
        guard let continuation = state.withLock({ $0.waiting.removeValue(forKey: id) }) else { return }
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
    }
}
