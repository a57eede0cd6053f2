// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Lets one request after another through, in the order in which they arrive.
final class RequestTurn: Sendable {
    private struct State {
        var isTaken = false
        var nextNumber = 0
        var waiters: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    }

    private let state = Mutex(State())

    /// Waits until all earlier requests are done. The caller owns the turn until ``release()``.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits; the turn is not taken then.
    func take() async throws {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isFree = state.withLock { state in
                    if state.isTaken { state.waiters.append((number, continuation)) }
                    defer { state.isTaken = true }
                    return !state.isTaken
                }
                if isFree { continuation.resume() }
                // A cancellation before the registration found no waiter.
                if !isFree, Task.isCancelled { drop(number) }
            }
        } onCancel: {
            drop(number)
        }
    }

    private func drop(_ number: Int) {
        let dropped = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        dropped?.continuation.resume(throwing: CancellationError())
    }

    func release() {
        let next = state.withLock { state in
            state.isTaken = !state.waiters.isEmpty
            return state.waiters.isEmpty ? nil : state.waiters.removeFirst()
        }
        next?.continuation.resume()
    }
}
