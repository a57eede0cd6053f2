// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Synchronization

/// Hands notifications from requests that wrote to the devices of the same user that listen, inside one process.
///
/// A device that is slow holds one notification for each subscription: news of the same subscription takes the place
/// of the pending one. That loses no change, since a notification only announces changes.
package final class PushHub: FollowingPushBus {
    /// Listeners of one user at most; one more closes the oldest, and its device listens again.
    static let listenersPerAudience = 64
    /// The same for a public database.
    static let listenersPerPublicDatabase = 100_000
    /// Polled mailboxes of the devices of one account at most, with any container; one more closes the oldest. Web sessions and keys
    /// name only containers that have tokens or keys.
    package static let mailboxesPerAccount = 8 * listenersPerAudience

    private struct State {
        var audiences: [PushAudience: PushListeners] = [:]
        /// Mailboxes of devices that poll, and the heartbeats since their last poll.
        var polled: [Poller: (mailbox: PushMailbox, idleBeats: Int)] = [:]
        /// Those of each account, by the numbers of their mailboxes.
        private var pollers: [Int64: [Int: Poller]] = [:]
        var isClosed = false
        private var mailboxes = 0

        mutating func makeMailbox(
            _ deviceID: String, _ credential: CredentialReference?, began: Int64, wantsChanges: Bool = false,
            closesWithItsReader: Bool = true
        ) -> PushMailbox {
            mailboxes += 1
            return PushMailbox(
                deviceID: deviceID, credential: credential, number: mailboxes, began: began, wantsChanges: wantsChanges,
                closesWithItsReader: closesWithItsReader)
        }

        mutating func add(_ mailbox: PushMailbox, of poller: Poller) {
            audiences[poller.audience, default: PushListeners()].add(mailbox)
            polled[poller] = (mailbox, 0)
            if let account = poller.account { pollers[account, default: [:]][mailbox.number] = poller }
        }

        /// - Returns: `false` if the device has another mailbox, or none.
        @discardableResult
        mutating func removePoller(_ poller: Poller, with mailbox: PushMailbox) -> Bool {
            guard polled[poller]?.mailbox === mailbox else { return false }
            polled[poller] = nil
            if let account = poller.account {
                pollers[account]?[mailbox.number] = nil
                if pollers[account]?.isEmpty == true { pollers[account] = nil }
            }
            return true
        }

        mutating func remove(_ mailbox: PushMailbox, from audience: PushAudience) {
            audiences[audience]?.remove(mailbox)
            if audiences[audience]?.count == 0 { audiences[audience] = nil }
        }

        /// Removes the oldest mailbox of an audience that has too many.
        mutating func takeOldest(of audience: PushAudience) -> PushMailbox? {
            guard let oldest = audiences[audience]?.takeOldest(beyond: PushHub.listenersPerAudience) else { return nil }
            removePoller(Poller(audience: audience, deviceID: oldest.deviceID, credential: oldest.credential), with: oldest)
            return oldest
        }

        /// Removes the oldest polled mailbox of an account that has too many.
        mutating func takeOldest(ofAccount account: Int64) -> PushMailbox? {
            guard let held = pollers[account], held.count > PushHub.mailboxesPerAccount, let number = held.keys.min(),
                let poller = held[number], let mailbox = polled[poller]?.mailbox
            else { return nil }
            removePoller(poller, with: mailbox)
            remove(mailbox, from: poller.audience)
            return mailbox
        }

        mutating func removeAll() {
            audiences = [:]
            polled = [:]
            pollers = [:]
        }
    }

    private let state = Mutex(State())

    /// Delivers in registration order, so that runs are deterministic.
    private static func inOrder(_ mailboxes: [PushMailbox]) -> [PushMailbox] { mailboxes.sorted { $0.number < $1.number } }

    private struct Poller: Hashable {
        var audience: PushAudience
        var deviceID: String
        /// Apart for each: a client that chooses another's name neither takes its notifications nor ends its wait.
        var credential: CredentialReference?

        /// Nil for a web session and a key.
        var account: Int64? { if case .device(let account, _)? = credential { account } else { nil } }
    }

    /// Heartbeats for which notifications are kept for a device that does not ask.
    static let idleBeatsMax = 20
    /// Heartbeats that a device waits.
    private static let waitingBeats = 3

    private let now: @Sendable () -> Int64

    /// - Parameter now: Milliseconds since 1970 UTC, for lists of the connected devices.
    package init(now: @escaping @Sendable () -> Int64 = { 0 }) { self.now = now }

    /// A hub alone knows of no other process.
    package func followOtherProcesses() async {}

    package func publish(
        _ notifications: [PushNotification], to audience: PushAudience, exceptDevice deviceID: String
    ) {
        let mailboxes = state.withLock { $0.audiences[audience]?.mailboxes ?? [] }
        // Devices of different users may have one name.
        for mailbox in mailboxes where audience.isPublic || mailbox.deviceID != deviceID {
            for notification in notifications { mailbox.put(notification) }
        }
    }

    package func isFollowed(_ audience: PushAudience, exceptDevice deviceID: String) -> Bool {
        state.withLock { state in
            state.audiences[audience]?.contains { $0.wantsChanges && $0.deviceID != deviceID } == true
        }
    }

    package func listen(
        _ audiences: [PushAudience], deviceID: String, credential: CredentialReference?, wantsChanges: Bool
    ) -> PushListener {
        let began = now()
        let (mailbox, isClosed, ended) = state.withLock { state -> (PushMailbox, Bool, [PushMailbox]) in
            let mailbox = state.makeMailbox(deviceID, credential, began: began, wantsChanges: wantsChanges)
            guard !state.isClosed else { return (mailbox, true, []) }
            var ended: [PushMailbox] = []
            for audience in audiences {
                let most = audience.isPublic ? Self.listenersPerPublicDatabase : Self.listenersPerAudience
                state.audiences[audience, default: PushListeners()].add(mailbox)
                if let oldest = state.audiences[audience]?.takeOldest(beyond: most) { ended.append(oldest) }
            }
            return (mailbox, false, ended)
        }
        if isClosed { mailbox.close() }
        for mailbox in ended { mailbox.close() }
        let close: @Sendable () -> Void = { [weak self] in
            mailbox.close()
            for audience in audiences { self?.remove(mailbox, from: audience) }
        }
        return PushListener(events: AsyncStream(unfolding: { await mailbox.next() }, onCancel: close), close: close)
    }

    package func expectPolls(_ audience: PushAudience, deviceID: String, credential: CredentialReference? = nil) {
        _ = mailbox(of: Poller(audience: audience, deviceID: deviceID, credential: credential))
    }

    /// The mailbox of a device that asks for each notification; nil once the hub is closed.
    private func mailbox(of poller: Poller) -> PushMailbox? {
        let began = now()
        let (mailbox, ended) = state.withLock { state -> (PushMailbox?, [PushMailbox]) in
            guard !state.isClosed else { return (nil, []) }
            if let known = state.polled[poller] {
                state.polled[poller]?.idleBeats = 0
                return (known.mailbox, [])
            }
            let mailbox = state.makeMailbox(poller.deviceID, poller.credential, began: began, closesWithItsReader: false)
            state.add(mailbox, of: poller)
            var ended: [PushMailbox] = []
            if let oldest = state.takeOldest(of: poller.audience) { ended.append(oldest) }
            if let account = poller.account, let oldest = state.takeOldest(ofAccount: account) { ended.append(oldest) }
            return (mailbox, ended)
        }
        for mailbox in ended { mailbox.close() }
        return mailbox
    }

    package func poll(_ audience: PushAudience, deviceID: String, credential: CredentialReference? = nil) async -> PushNotification? {
        let poller = Poller(audience: audience, deviceID: deviceID, credential: credential)
        guard let mailbox = mailbox(of: poller) else { return nil }
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
            if state.removePoller(poller, with: mailbox) { state.remove(mailbox, from: poller.audience) }
        }
    }

    /// Lets every listener's connection show that it is alive. Called by a clock.
    package func beat() {
        let (mailboxes, idle) = state.withLock { state in
            for poller in state.polled.keys { state.polled[poller]?.idleBeats += 1 }
            let idle = state.polled.filter { $0.value.idleBeats > Self.idleBeatsMax }
            return (state.audiences.values.flatMap(\.mailboxes), idle.map { ($0.key, $0.value.mailbox) })
        }
        for mailbox in Self.inOrder(mailboxes) { mailbox.beat() }
        for (poller, mailbox) in idle.sorted(by: { $0.1.number < $1.1.number }) {
            mailbox.close()
            forget(poller, mailbox)
        }
    }

    package func endListeners(where isRevoked: @Sendable (PushAudience, CredentialReference) async -> Bool) async {
        let bound = state.withLock { state in
            state.audiences.flatMap { audience, listeners in
                listeners.mailboxes.compactMap { mailbox in
                    mailbox.credential.map { (audience: audience, credential: $0, mailbox: mailbox) }
                }
            }
        }
        // One question for each user and credential, however many streams it holds.
        var verdicts: [PushAudience: [CredentialReference: Bool]] = [:]
        for (audience, credential, mailbox) in bound.sorted(by: { $0.mailbox.number < $1.mailbox.number }) {
            let known = verdicts[audience]?[credential]
            let isEnded = if let known { known } else { await isRevoked(audience, credential) }
            verdicts[audience, default: [:]][credential] = isEnded
            guard isEnded else { continue }
            mailbox.close()
            forget(Poller(audience: audience, deviceID: mailbox.deviceID, credential: credential), mailbox)
            remove(mailbox, from: audience)
        }
    }

    /// Ends all streams, and those that are asked for later.
    package func close() {
        let mailboxes = state.withLock { state in
            state.isClosed = true
            defer { state.removeAll() }
            return state.audiences.values.flatMap(\.mailboxes)
        }
        for mailbox in Self.inOrder(mailboxes) { mailbox.close() }
    }

    /// How many wait for their next event now.
    package var waiting: Int {
        state.withLock { state in state.audiences.values.flatMap(\.mailboxes) }.count { $0.hasWaiter }
    }

    /// Audiences with listeners.
    package var audiences: [PushAudience] { state.withLock { Array($0.audiences.keys) } }

    /// How many listen.
    package var listeners: Int {
        state.withLock { state in Set(state.audiences.values.flatMap { $0.mailboxes.map(ObjectIdentifier.init) }).count }
    }

    /// The devices that listen or poll now, newest first. A device that listens to a user's database and the public one is listed once.
    package var connections: [PushConnection] {
        PushConnection.all(of: state.withLock { $0.audiences.map { (audience: $0.key, mailboxes: $0.value.mailboxes) } })
    }

    private func remove(_ mailbox: PushMailbox, from audience: PushAudience) {
        state.withLock { $0.remove(mailbox, from: audience) }
    }
}
