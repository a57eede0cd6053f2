// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Synchronization

/// What waits for one listening device: at most one notification for each subscription, and a heartbeat.
final class PushMailbox: Sendable {
    private struct State {
        /// In the order in which the subscriptions first fired.
        var pending: [PushNotification] = []
        /// The first event tells a new listener that it is heard.
        var beats = true
        var isClosed = false
        var waiter: CheckedContinuation<PushEvent?, Never>?

        mutating func take() -> PushEvent? {
            if !pending.isEmpty { return .notification(pending.removeFirst()) }
            guard beats else { return nil }
            beats = false
            return .heartbeat
        }
    }

    let deviceID: String
    private let state = Mutex(State())

    init(deviceID: String) {
        self.deviceID = deviceID
    }

    func put(_ notification: PushNotification) {
        change { state in
            if let index = state.pending.firstIndex(where: { $0.subscriptionID == notification.subscriptionID }) {
                state.pending[index] = notification
            } else {
                state.pending.append(notification)
            }
        }
    }

    func beat() { change { $0.beats = true } }

    func close() { change { $0.isClosed = true } }

    /// The next event, or nil once the mailbox is closed. One caller at a time.
    func next() async -> PushEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (event, isAnswered) = state.withLock { state -> (PushEvent?, Bool) in
                    if state.isClosed { return (nil, true) }
                    if let event = state.take() { return (event, true) }
                    precondition(state.waiter == nil, "a mailbox has one reader")
                    state.waiter = continuation
                    return (nil, false)
                }
                if isAnswered { continuation.resume(returning: event) }
            }
        } onCancel: {
            close()
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let (waiter, event) = state.withLock { state -> (CheckedContinuation<PushEvent?, Never>?, PushEvent?) in
            body(&state)
            guard let waiter = state.waiter else { return (nil, nil) }
            if state.isClosed {
                state.waiter = nil
                return (waiter, nil)
            }
            guard let event = state.take() else { return (nil, nil) }
            state.waiter = nil
            return (waiter, event)
        }
        waiter?.resume(returning: event)
    }
}
