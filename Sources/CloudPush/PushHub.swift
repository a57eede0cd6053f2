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
    /// The same for a public database.
    static let listenersPerPublicDatabase = 100_000

    private struct State {
        var audiences: [PushAudience: [PushMailbox]] = [:]
        /// Mailboxes of devices that ask for each notification anew, with the heartbeats since they last did.
        var polled: [Poller: (mailbox: PushMailbox, idleBeats: Int)] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    private struct Poller: Hashable {
        var audience: PushAudience
        var deviceID: String
    }

    /// Heartbeats for which notifications are kept for a device that does not ask.
    static let idleBeatsMax = 20
    /// Heartbeats that a device waits.
    private static let waitingBeats = 3

    package init() {}

    package func publish(
        _ notifications: [PushNotification], to audience: PushAudience, exceptDevice deviceID: String
    ) {
        let mailboxes = state.withLock { $0.audiences[audience] ?? [] }
        // Devices of different users may have one name.
        for mailbox in mailboxes where audience.isPublic || mailbox.deviceID != deviceID {
            for notification in notifications { mailbox.put(notification) }
        }
    }

    package func listen(_ audiences: [PushAudience], deviceID: String) -> PushListener {
        let mailbox = PushMailbox(deviceID: deviceID)
        let (isClosed, ended) = state.withLock { state -> (Bool, [PushMailbox]) in
            guard !state.isClosed else { return (true, []) }
            var ended: [PushMailbox] = []
            for audience in audiences {
                state.audiences[audience, default: []].append(mailbox)
                let most = audience.isPublic ? Self.listenersPerPublicDatabase : Self.listenersPerAudience
                if let count = state.audiences[audience]?.count, count > most, let oldest = state.audiences[audience]?.removeFirst() {
                    ended.append(oldest)
                }
            }
            return (false, ended)
        }
        if isClosed { mailbox.close() }
        for mailbox in ended { mailbox.close() }
        let close: @Sendable () -> Void = { [weak self] in
            mailbox.close()
            for audience in audiences { self?.remove(mailbox, from: audience) }
        }
        return PushListener(events: AsyncStream(unfolding: { await mailbox.next() }, onCancel: close), close: close)
    }

    package func poll(_ audience: PushAudience, deviceID: String) async -> PushNotification? {
        let poller = Poller(audience: audience, deviceID: deviceID)
        let mailbox: PushMailbox? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let known = state.polled[poller]?.mailbox
            let mailbox = known ?? PushMailbox(deviceID: deviceID, closesWithItsReader: false)
            if known == nil { state.audiences[audience, default: []].append(mailbox) }
            state.polled[poller] = (mailbox, 0)
            return mailbox
        }
        guard let mailbox else { return nil }
        for _ in 0..<Self.waitingBeats {
            switch await mailbox.next() {
            case .notification(let notification): return notification
            case .heartbeat: continue
            case nil:
                if mailbox.isClosed { forget(poller, mailbox) }
                return nil
            }
        }
        return nil
    }

    private func forget(_ poller: Poller, _ mailbox: PushMailbox) {
        state.withLock { state in
            if state.polled[poller]?.mailbox === mailbox { state.polled[poller] = nil }
        }
        remove(mailbox, from: poller.audience)
    }

    /// Lets every listener's connection show that it is alive. Called by a clock.
    package func beat() {
        let (mailboxes, idle) = state.withLock { state in
            for poller in state.polled.keys { state.polled[poller]?.idleBeats += 1 }
            let idle = state.polled.filter { $0.value.idleBeats > Self.idleBeatsMax }
            return (state.audiences.values.flatMap { $0 }, idle.map { ($0.key, $0.value.mailbox) })
        }
        for mailbox in mailboxes { mailbox.beat() }
        for (poller, mailbox) in idle {
            mailbox.close()
            forget(poller, mailbox)
        }
    }

    /// Ends all streams, and those that are asked for later.
    package func close() {
        let mailboxes = state.withLock { state in
            state.isClosed = true
            defer {
                state.audiences = [:]
                state.polled = [:]
            }
            return state.audiences.values.flatMap { $0 }
        }
        for mailbox in mailboxes { mailbox.close() }
    }

    /// How many listen.
    package var listeners: Int {
        state.withLock { state in Set(state.audiences.values.flatMap { $0.map(ObjectIdentifier.init) }).count }
    }

    private func remove(_ mailbox: PushMailbox, from audience: PushAudience) {
        state.withLock { state in
            state.audiences[audience]?.removeAll { $0 === mailbox }
            if state.audiences[audience]?.isEmpty == true { state.audiences[audience] = nil }
        }
    }
}
