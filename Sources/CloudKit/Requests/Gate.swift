// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Admits one task at a time, in order of arrival.
final class Gate: Sendable {
    private struct Waiter {
        var number: Int
        /// Resumed with whether the task is admitted.
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var isTaken = false
        var nextNumber = 0
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    /// Waits until all earlier tasks have left, also in a cancelled task. The caller is inside until ``leave()``.
    func enter() async {
        let number = nextNumber()
        _ = await withCheckedContinuation { register($0, number) }
    }

    /// Waits as ``enter()`` does, until the task is cancelled.
    ///
    /// - Throws: `CancellationError` if the task was cancelled before it was admitted.
    func enterUnlessCancelled() async throws {
        try Task.checkCancellation()
        let number = nextNumber()
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                register(continuation, number)
                // A cancellation before the registration found no waiter.
                if Task.isCancelled { drop(number) }
            }
        } onCancel: {
            drop(number)
        }
        guard isAdmitted else { throw CancellationError() }
    }

    /// Admits the next task.
    func leave() {
        let next = state.withLock { state in
            state.isTaken = !state.waiters.isEmpty
            return state.waiters.isEmpty ? nil : state.waiters.removeFirst()
        }
        next?.continuation.resume(returning: true)
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
    }

    private func register(_ continuation: CheckedContinuation<Bool, Never>, _ number: Int) {
        let isFree = state.withLock { state in
            if state.isTaken { state.waiters.append(Waiter(number: number, continuation: continuation)) }
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { continuation.resume(returning: true) }
    }

    private func drop(_ number: Int) {
        let dropped = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        dropped?.continuation.resume(returning: false)
    }
}
