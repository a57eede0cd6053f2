// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
package import CloudWire
import Foundation
import Synchronization
import SystemSupport

/// Brings notifications to devices that listen at other processes of the same database.
///
/// ```
/// commit ─▶ local hub
///        └▶ pending hints ─ gathered for some milliseconds ─▶ NOTIFY ─▶ the hubs of the others
/// ```
///
/// A hint may get lost; the counters are the truth. Once a second each process compares those of the partitions that its devices listen to,
/// and notifies of changes that no hint announced.
package final class PostgresPushRelay: FollowingPushBus {
    /// PostgreSQL's limit of a payload is 8,000 bytes.
    private static let payloadBytesMax = 7_500
    private static let gatherMilliseconds = 3
    private static let channel = "tarn_push"
    /// Without a response for so long, the connection is made again: its reads are short.
    private static let answerSeconds = 10.0
    private static let backoff = Backoff(firstSeconds: 0.5, longestSeconds: 2)

    private struct State {
        var pending: [PushHint] = []
        var isSending = false
        /// Change numbers that notifications have announced since the last comparison.
        var announced: [Partition: Int64] = [:]

        mutating func announce(_ hint: PushHint) {
            for partition in PushCounters.partitions(of: hint.audience) {
                guard let counter = hint.counters[partition.scope] else { continue }
                announced[partition] = max(announced[partition] ?? .min, counter)
            }
        }
    }

    private let hub: PushHub
    private let store: PostgresServerStore
    private let process = UUID().uuidString
    private let state = Mutex(State())

    package init(hub: PushHub, store: PostgresServerStore) {
        self.hub = hub
        self.store = store
    }

    package func publish(_ notifications: [PushNotification], to audience: PushAudience, exceptDevice deviceID: String) {
        hub.publish(notifications, to: audience, exceptDevice: deviceID)
        guard !notifications.isEmpty else { return }
        let hint = PushHint(process: process, audience: audience, exceptDevice: deviceID, notifications: notifications)
        let starts = state.withLock { state in
            state.pending.append(hint)
            defer { state.isSending = true }
            return !state.isSending
        }
        if starts { Task { await send() } }
    }

    package func listen(
        _ audiences: [PushAudience], deviceID: String, credential: CredentialReference?, wantsChanges: Bool
    ) -> PushListener {
        hub.listen(audiences, deviceID: deviceID, credential: credential, wantsChanges: wantsChanges)
    }

    package func endListeners(where isRevoked: @Sendable (PushAudience, CredentialReference) async -> Bool) async {
        await hub.endListeners(where: isRevoked)
    }

    package func isFollowed(_ audience: PushAudience, exceptDevice deviceID: String) -> Bool {
        hub.isFollowed(audience, exceptDevice: deviceID)
    }

    package func expectPolls(_ audience: PushAudience, deviceID: String, credential: CredentialReference?) {
        hub.expectPolls(audience, deviceID: deviceID, credential: credential)
    }

    package func poll(_ audience: PushAudience, deviceID: String, credential: CredentialReference?) async -> PushNotification? {
        await hub.poll(audience, deviceID: deviceID, credential: credential)
    }

    /// Sends what gathers, until nothing is left.
    private func send() async {
        while true {
            try? await Task.sleep(for: .milliseconds(Self.gatherMilliseconds))
            let hints = state.withLock { state in
                defer { state.pending = [] }
                if state.pending.isEmpty { state.isSending = false }
                return state.pending
            }
            guard !hints.isEmpty else { return }
            // Lost hints are found by the counters.
            let sent = try? await store.writing { connection in
                let counters = try Self.counters(of: hints.flatMap { PushCounters.partitions(of: $0.audience) }, connection)
                return try hints.map { hint in
                    var hint = hint
                    for partition in PushCounters.partitions(of: hint.audience) {
                        hint.counters[partition.scope] = counters[PartitionKey(partition).part] ?? 0
                    }
                    for payload in hint.payloads(bytesMax: Self.payloadBytesMax) {
                        try connection.send("SELECT pg_notify($1, $2)", [Self.channel, payload])
                    }
                    return hint
                }
            }
            state.withLock { state in for hint in sent ?? [] { state.announce(hint) } }
        }
    }

    private static func counters(of partitions: [Partition], _ connection: PostgresConnection) throws -> [Int64: Int64] {
        let keys = partitions.map { String(PartitionKey($0).part) }
        let rows = try connection.query("SELECT part, counter FROM partitions WHERE part = ANY ($1::text[]::bigint[])", .texts(keys)).rows
        return Dictionary(rows.map { ($0[0] as Int64, $0[1] as Int64) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Other processes

    package func followOtherProcesses() async {
        let end = PostgresCancellation()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { [self] in
                    listen(until: end)
                    continuation.resume()
                }
            }
        } onCancel: {
            end.cancel()
        }
    }

    /// Runs on a thread of its own, with a connection of its own.
    private func listen(until end: PostgresCancellation) {
        var counters = PushCounters()
        var failures = 0
        while !end.isCancelled {
            do {
                let connection = try store.primary.connect()
                defer { connection.close() }
                connection.answerSeconds = Self.answerSeconds
                _ = try connection.query("LISTEN \(Self.channel)")
                try connection.synchronize()
                while !end.isCancelled {
                    let due = ContinuousClock.now + .seconds(1)
                    repeat {
                        let rest = (due - .now) / .seconds(1)
                        for payload in try connection.notifications(within: max(0.01, rest)) { take(payload) }
                    } while .now < due && !end.isCancelled
                    try compare(&counters, connection)
                    failures = 0
                }
            } catch {
                // The database restarts or has another leader: hints of this time are found by the counters.
                failures += 1
                Thread.sleep(forTimeInterval: Self.backoff.seconds(attempt: failures, jitter: Double.random(in: 0...1)))
            }
        }
    }

    private func take(_ payload: String) {
        guard let hint = PushHint(payload), hint.process != process else { return }
        state.withLock { $0.announce(hint) }
        hub.publish(hint.notifications, to: hint.audience, exceptDevice: hint.exceptDevice)
    }

    /// Notifies listeners of partitions that changed without a hint.
    private func compare(_ counters: inout PushCounters, _ connection: PostgresConnection) throws {
        let announced = state.withLock { state in
            defer { state.announced = [:] }
            return state.announced
        }
        let parts = hub.audiences.flatMap(PushCounters.partitions(of:))
        guard !parts.isEmpty else { return counters = PushCounters() }
        let present = try Self.counters(of: parts, connection)
        try connection.synchronize()
        let silent = counters.silentChanges(in: parts, present, announced: announced)
        for (partition, change) in silent {
            let unit = try PostgresUnit(
                partition, isWriting: false, exists: false, .maintenance, connection,
                firstEpoch: store.units.firstEpoch.load(ordering: .relaxed))
            let notifications = try unit.notifications(after: change)
            try connection.endReading(isExplicit: true)
            hub.publish(notifications, to: PushCounters.audience(of: partition), exceptDevice: "")
        }
    }
}

/// The change numbers that listeners have been notified of.
struct PushCounters {
    private var seen: [Partition: Int64] = [:]
    /// Changes that were new at the last comparison, `before` exclusively to `counter`: their notification may still be on its way.
    private var suspected: [Partition: (before: Int64, counter: Int64)] = [:]

    static func partitions(of audience: PushAudience) -> [Partition] {
        guard !audience.isPublic else { return [] }
        return [DatabaseScope.private, .shared].map {
            Partition(
                containerIdentifier: audience.containerIdentifier, environment: audience.environment, scope: $0,
                owner: audience.userRecordName)
        }
    }

    static func audience(of partition: Partition) -> PushAudience {
        PushAudience(
            containerIdentifier: partition.containerIdentifier, environment: partition.environment, userRecordName: partition.owner)
    }

    /// Partitions that changed before the last comparison without a notification since, each with the number before the change.
    ///
    /// - Parameter announced: Numbers up to which notifications have announced the changes since the last comparison.
    mutating func silentChanges(
        in partitions: [Partition], _ present: [Int64: Int64], announced: [Partition: Int64]
    ) -> [(partition: Partition, change: Int64)] {
        var silent: [(Partition, Int64)] = []
        var next = PushCounters()
        for partition in partitions {
            let counter = present[PartitionKey(partition).part] ?? 0
            // If devices have just begun to listen: the number that a notification announced, or else the present one.
            let known = seen[partition].map { max($0, announced[partition] ?? .min) } ?? announced[partition] ?? counter
            next.seen[partition] = counter
            if let suspect = suspected[partition], announced[partition] ?? .min < suspect.counter {
                silent.append((partition, suspect.before))
            } else if known < counter {
                next.suspected[partition] = (known, counter)
            }
        }
        self = next
        return silent
    }
}

extension PostgresUnit {
    /// Notifications of the subscriptions that fire for changes after a number.
    fileprivate func notifications(after change: Int64) throws -> [PushNotification] {
        let zones = Set(try zones(changedAfter: change, limit: 100).map(\.name))
        return try subscriptions().compactMap { subscription in
            let subject: PushNotification.Subject
            switch subscription.kind {
            case .database: subject = .database(partition.scope)
            case .zone(let zone):
                guard zones.contains(zone.zoneName) else { return nil }
                subject = .zone(ZoneID(zoneName: zone.zoneName, ownerRecordName: partition.owner), partition.scope)
            case .query: return nil
            }
            var notification = PushNotification(
                notificationID: UUID().uuidString, containerIdentifier: partition.containerIdentifier,
                subscriptionID: subscription.subscriptionID, subject: subject, userRecordName: partition.owner)
            notification.alert = PushNotification.Alert(ofChanges: subscription.notification)
            return notification
        }
    }
}
