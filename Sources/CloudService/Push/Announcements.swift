// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// Announces changes to devices after their commit.
package struct Announcements: ServiceSubject {
    let core: ServiceCore

    /// Notifies the listening devices of the owner, and updates the participants' lists of shared zones.
    ///
    /// It runs after the commit. ``deliverPending()`` delivers updates that fail here.
    func tell(_ notifications: [PushNotification], _ news: [ShareNews], _ call: Call) async {
        // Subscriptions of several users can fire for one change.
        let byUser = Dictionary(grouping: notifications) { $0.userRecordName ?? call.caller.userRecordName }
        for (user, notifications) in byUser.sorted(by: { $0.key < $1.key }) {
            var audience = PushAudience(of: call)
            audience.userRecordName = user
            // Devices of different users may have one name.
            push.publish(notifications, to: audience, exceptDevice: user == call.caller.userRecordName ? call.caller.deviceID : "")
        }
        try? await deliver(news, of: call.partition, exceptDevice: call.caller.deviceID)
    }

    private func deliver(_ news: [ShareNews], of partition: Partition, exceptDevice deviceID: String) async throws {
        guard !news.isEmpty else { return }
        let engine = engine
        for item in news {
            var target = partition
            target.scope = .shared
            target.owner = item.user
            let call = core.call(target, Caller(userRecordName: item.user, deviceID: deviceID), baseURL: "")
            let notifications = try await storage.write(target) {
                try engine.sharedZones.apply(item, ofOwner: partition.owner, in: $0, call)
            }
            if !notifications.isEmpty {
                push.publish(notifications, to: PushAudience(of: call), exceptDevice: deviceID)
            }
        }
        try await storage.write(partition) { try $0.removeNews(news) }
    }

    /// Delivers news that a server left behind that ended too early. To be called at start and now and then.
    package func deliverPending() async throws {
        while true {
            let pending = try await storage.pendingNews(limit: 200)
            guard !pending.isEmpty else { return }
            for item in pending { try await deliver([item.news], of: item.partition, exceptDevice: "") }
        }
    }

    /// Notifies listeners of the public database, without a subscription.
    func tellEverybody(_ call: Call) {
        let everybody = PushAudience.public(
            containerIdentifier: call.partition.containerIdentifier, environment: call.partition.environment)
        let notification = PushNotification(
            notificationID: call.makeIdentifier(), containerIdentifier: call.partition.containerIdentifier,
            subscriptionID: Capability.publicChanges.rawValue, subject: .database(.public))
        push.publish([notification], to: everybody, exceptDevice: "")
    }

    /// Processor time of the query subscriptions of one request, in addition to the limit of their work.
    private static let evaluationMilliseconds = 1000

    /// Evaluates query subscriptions on a reader, never on the writer, and accounts in turn. A failure costs notifications: the request has been carried out.
    func evaluate(_ rounds: [SubscriptionRound]) async -> [PushNotification] {
        var notifications: [PushNotification] = []
        let engine = engine
        for round in rounds {
            let partition = round.call.partition
            let terms = WorkTerms(
                requester: round.call.requester, milliseconds: min(Self.evaluationMilliseconds, engine.limits.readMilliseconds),
                isBackground: true)
            guard let fired = try? await storage.read(partition, terms, { try engine.firing.evaluate(round, in: $0) }) else { continue }
            notifications += fired.notifications
            guard !fired.retired.isEmpty else { continue }
            try? await core.write(round.call) { try engine.firing.retire(fired.retired, in: $0, partition) }
        }
        return notifications
    }

    /// Sends a notification of a subscription to the listening devices of its owner, with an alert that calls it a test.
    ///
    /// - Returns: The audience that was notified.
    package func sendTest(of subscription: Subscription, _ call: Call) -> PushAudience {
        let subject: PushNotification.Subject =
            switch subscription.kind {
            case .zone(let zoneID): .zone(zoneID, call.partition.scope)
            // A match would require a record.
            case .database, .query: .database(call.partition.scope)
            }
        var notification = PushNotification(
            notificationID: call.makeIdentifier(), containerIdentifier: call.partition.containerIdentifier,
            subscriptionID: subscription.subscriptionID, subject: subject)
        var alert = PushNotification.Alert()
        alert.body = "Test of the subscription \(subscription.subscriptionID)"
        notification.alert = alert
        let audience = PushAudience(of: call)
        push.publish([notification], to: audience, exceptDevice: "")
        return audience
    }
}

extension PushAudience {
    /// The devices of the caller, or of the owner of the database.
    init(of call: Call) {
        self.init(
            containerIdentifier: call.partition.containerIdentifier, environment: call.partition.environment,
            // A participant's change is news for the owner of the zone, too.
            userRecordName: call.partition.scope == .public ? call.caller.userRecordName : call.partition.owner)
    }
}
