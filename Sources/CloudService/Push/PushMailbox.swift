// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Synchronization

/// What waits for one listening device: at most one notification for each subscription, and a heartbeat.
final class PushMailbox: Sendable {
    private typealias Waiter = CheckedContinuation<PushEvent?, Never>

    private struct State {
        /// In the order in which the subscriptions first fired.
        var pending: [PushNotification] = []
        /// The first event shows a new listener that it is registered.
        var beats = true
        var isClosed = false
        var waiter: Waiter?

        mutating func take() -> PushEvent? {
            if !pending.isEmpty { return .notification(pending.removeFirst()) }
            guard beats else { return nil }
            beats = false
            return .heartbeat
        }
    }

    let deviceID: String
    /// The credential with which the listener ends; nil for an anonymous client.
    let credential: CredentialReference?
    /// Later mailboxes of a hub have greater ones.
    let number: Int
    /// Milliseconds since 1970 UTC.
    let began: Int64
    /// Whether notifications are to bring what changed.
    let wantsChanges: Bool
    private let state = Mutex(State())

    /// Whether a reader that gives up closes the mailbox: the reader of a held connection does, one that asks for each
    /// polls does not.
    private let closesWithItsReader: Bool

    init(
        deviceID: String, credential: CredentialReference?, number: Int, began: Int64, wantsChanges: Bool, closesWithItsReader: Bool
    ) {
        self.began = began
        self.deviceID = deviceID
        self.credential = credential
        self.number = number
        self.wantsChanges = wantsChanges
        self.closesWithItsReader = closesWithItsReader
    }

    var hasWaiter: Bool { state.withLock { $0.waiter != nil } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func put(_ told: PushNotification) {
        var notification = told
        if !wantsChanges { notification.changes = nil }
        change { state in
            if let index = state.pending.firstIndex(where: { $0.subscriptionID == notification.subscriptionID }) {
                // The replaced notification's changes are missing, so both have to be fetched.
                notification.changes = nil
                state.pending[index] = notification
            } else {
                state.pending.append(notification)
            }
        }
    }

    func beat() { change { $0.beats = true } }

    func close() { change { $0.isClosed = true } }

    /// The next event, or nil once the mailbox is closed, the caller is cancelled, or another caller has come after it.
    func next() async -> PushEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (event, isAnswered, earlier) = state.withLock { state -> (PushEvent?, Bool, Waiter?) in
                    if state.isClosed || Task.isCancelled { return (nil, true, nil) }
                    if let event = state.take() { return (event, true, nil) }
                    defer { state.waiter = continuation }
                    return (nil, false, state.waiter)
                }
                earlier?.resume(returning: nil)
                if isAnswered { continuation.resume(returning: event) }
            }
        } onCancel: {
            if closesWithItsReader { return close() }
            state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }?.resume(returning: nil)
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let (waiter, event) = state.withLock { state -> (Waiter?, PushEvent?) in
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
