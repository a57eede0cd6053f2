// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire
import Synchronization

/// Hands notifications from requests that wrote to the devices of the same user that listen, inside one process.
///
/// A device that is slow holds one notification for each subscription: news of the same subscription takes the place
/// of what is still waiting. Nothing is lost by that, since a notification only says that there are changes.
package final class PushHub: PushBus {
    /// Listeners of one user at most; one more ends the oldest, whose device then listens again.
    static let listenersPerAudience = 64

    private struct State {
        var audiences: [PushAudience: [PushMailbox]] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    package init() {}

    package func publish(
        _ notifications: [PushNotification], to audience: PushAudience, exceptDevice deviceID: String
    ) {
        let mailboxes = state.withLock { $0.audiences[audience] ?? [] }
        for mailbox in mailboxes where mailbox.deviceID != deviceID {
            for notification in notifications { mailbox.put(notification) }
        }
    }

    package func listen(_ audience: PushAudience, deviceID: String) -> PushListener {
        let mailbox = PushMailbox(deviceID: deviceID)
        let (isClosed, ended) = state.withLock { state -> (Bool, PushMailbox?) in
            guard !state.isClosed else { return (true, nil) }
            state.audiences[audience, default: []].append(mailbox)
            guard let count = state.audiences[audience]?.count, count > Self.listenersPerAudience else { return (false, nil) }
            return (false, state.audiences[audience]?.removeFirst())
        }
        if isClosed { mailbox.close() }
        ended?.close()
        let close: @Sendable () -> Void = { [weak self] in
            mailbox.close()
            self?.remove(mailbox, from: audience)
        }
        return PushListener(events: AsyncStream(unfolding: { await mailbox.next() }, onCancel: close), close: close)
    }

    /// Lets every listener's connection show that it is alive. Called by a clock.
    package func beat() {
        let mailboxes = state.withLock { $0.audiences.values.flatMap { $0 } }
        for mailbox in mailboxes { mailbox.beat() }
    }

    /// Ends all streams, and those that are asked for later.
    package func close() {
        let mailboxes = state.withLock { state in
            state.isClosed = true
            defer { state.audiences = [:] }
            return state.audiences.values.flatMap { $0 }
        }
        for mailbox in mailboxes { mailbox.close() }
    }

    /// How many listen.
    package var listeners: Int { state.withLock { $0.audiences.values.reduce(0) { $0 + $1.count } } }

    private func remove(_ mailbox: PushMailbox, from audience: PushAudience) {
        state.withLock { state in
            state.audiences[audience]?.removeAll { $0 === mailbox }
            if state.audiences[audience]?.isEmpty == true { state.audiences[audience] = nil }
        }
    }
}
