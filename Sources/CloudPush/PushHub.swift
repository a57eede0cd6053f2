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

    /// Those who listen to one audience, by the order in which they came. To come and to go costs the same however many
    /// there are: when a network breaks, all of them go at once.
    private struct Listeners {
        private(set) var mailboxes: [Int: PushMailbox] = [:]
        private var next = 0
        private var oldest = 0

        mutating func add(_ mailbox: PushMailbox) -> Int {
            defer { next += 1 }
            mailboxes[next] = mailbox
            return next
        }

        mutating func remove(_ mailbox: PushMailbox, number: Int) {
            if mailboxes[number] === mailbox { mailboxes[number] = nil }
        }

        /// Takes the oldest out, if there are more than `most`.
        mutating func takeOldest(beyond most: Int) -> PushMailbox? {
            guard mailboxes.count > most else { return nil }
            while mailboxes[oldest] == nil { oldest += 1 }
            return mailboxes.removeValue(forKey: oldest)
        }
    }

    private struct State {
        var audiences: [PushAudience: Listeners] = [:]
        /// Mailboxes of devices that ask for each notification anew, with their numbers, and the heartbeats since they last did.
        var polled: [Poller: (mailbox: PushMailbox, number: Int, idleBeats: Int)] = [:]
        var isClosed = false
        private var mailboxes = 0

        mutating func makeMailbox(_ deviceID: String, closesWithItsReader: Bool = true) -> PushMailbox {
            mailboxes += 1
            return PushMailbox(deviceID: deviceID, number: mailboxes, closesWithItsReader: closesWithItsReader)
        }
    }

    private let state = Mutex(State())

    /// Whoever came first is told first: what happens is the same each time, whatever a dictionary's order.
    private static func inOrder(_ mailboxes: [PushMailbox]) -> [PushMailbox] { mailboxes.sorted { $0.number < $1.number } }

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
        let mailboxes = Self.inOrder(state.withLock { $0.audiences[audience]?.mailboxes.values.map(\.self) ?? [] })
        // Devices of different users may have one name.
        for mailbox in mailboxes where audience.isPublic || mailbox.deviceID != deviceID {
            for notification in notifications { mailbox.put(notification) }
        }
    }

    package func listen(_ audiences: [PushAudience], deviceID: String) -> PushListener {
        let (mailbox, isClosed, ended, numbers) = state.withLock { state -> (PushMailbox, Bool, [PushMailbox], [Int]) in
            let mailbox = state.makeMailbox(deviceID)
            guard !state.isClosed else { return (mailbox, true, [], []) }
            var ended: [PushMailbox] = []
            var numbers: [Int] = []
            for audience in audiences {
                let most = audience.isPublic ? Self.listenersPerPublicDatabase : Self.listenersPerAudience
                numbers.append(state.audiences[audience, default: Listeners()].add(mailbox))
                if let oldest = state.audiences[audience]?.takeOldest(beyond: most) { ended.append(oldest) }
            }
            return (mailbox, false, ended, numbers)
        }
        if isClosed { mailbox.close() }
        for mailbox in ended { mailbox.close() }
        let close: @Sendable () -> Void = { [weak self] in
            mailbox.close()
            for (audience, number) in zip(audiences, numbers) { self?.remove(mailbox, number, from: audience) }
        }
        return PushListener(events: AsyncStream(unfolding: { await mailbox.next() }, onCancel: close), close: close)
    }

    package func poll(_ audience: PushAudience, deviceID: String) async -> PushNotification? {
        let poller = Poller(audience: audience, deviceID: deviceID)
        let mailbox: PushMailbox? = state.withLock { state in
            guard !state.isClosed else { return nil }
            if let known = state.polled[poller] {
                state.polled[poller]?.idleBeats = 0
                return known.mailbox
            }
            let mailbox = state.makeMailbox(deviceID, closesWithItsReader: false)
            state.polled[poller] = (mailbox, state.audiences[audience, default: Listeners()].add(mailbox), 0)
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
        let number = state.withLock { state -> Int? in
            guard let known = state.polled[poller], known.mailbox === mailbox else { return nil }
            state.polled[poller] = nil
            return known.number
        }
        if let number { remove(mailbox, number, from: poller.audience) }
    }

    /// Lets every listener's connection show that it is alive. Called by a clock.
    package func beat() {
        let (mailboxes, idle) = state.withLock { state in
            for poller in state.polled.keys { state.polled[poller]?.idleBeats += 1 }
            let idle = state.polled.filter { $0.value.idleBeats > Self.idleBeatsMax }
            return (state.audiences.values.flatMap(\.mailboxes.values), idle.map { ($0.key, $0.value.mailbox) })
        }
        for mailbox in Self.inOrder(mailboxes) { mailbox.beat() }
        for (poller, mailbox) in idle.sorted(by: { $0.1.number < $1.1.number }) {
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
            return state.audiences.values.flatMap(\.mailboxes.values)
        }
        for mailbox in Self.inOrder(mailboxes) { mailbox.close() }
    }

    /// How many wait for their next event now.
    package var waiting: Int {
        state.withLock { state in state.audiences.values.flatMap(\.mailboxes.values) }.count { $0.hasWaiter }
    }

    /// How many listen.
    package var listeners: Int {
        state.withLock { state in Set(state.audiences.values.flatMap { $0.mailboxes.values.map(ObjectIdentifier.init) }).count }
    }

    private func remove(_ mailbox: PushMailbox, _ number: Int, from audience: PushAudience) {
        state.withLock { state in
            state.audiences[audience]?.remove(mailbox, number: number)
            if state.audiences[audience]?.mailboxes.isEmpty == true { state.audiences[audience] = nil }
        }
    }
}
