// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Notifications of the subscriptions that fire when custom zones change.
///
/// Database subscriptions fire once for each request, zone subscriptions for their zone.
struct ZoneNotifications {
    private let view: any PartitionReader
    private let call: Call

    init(_ view: any PartitionReader, _ call: Call) {
        self.view = view
        self.call = call
    }

    /// - Parameter subscriptions: Those of the partition, where they are known.
    func ofChanges(in zoneNames: Set<String>, subscriptions: [Subscription]? = nil) throws -> [PushNotification] {
        guard !zoneNames.isEmpty else { return [] }
        return try (subscriptions ?? view.changeSubscriptions()).compactMap { subscription in
            let subject: PushNotification.Subject
            switch subscription.kind {
            case .database:
                subject = .database(call.partition.scope)
            case .zone(let zoneID):
                guard zoneNames.contains(zoneID.zoneName) else { return nil }
                subject = .zone(
                    ZoneID(zoneName: zoneID.zoneName, ownerRecordName: call.partition.owner), call.partition.scope)
            case .query:
                return nil
            }
            var notification = PushNotification(
                notificationID: call.makeIdentifier(), containerIdentifier: call.partition.containerIdentifier,
                subscriptionID: subscription.subscriptionID, subject: subject, userRecordName: call.partition.owner)
            notification.alert = PushNotification.Alert(ofChanges: subscription.notification)
            return notification
        }
    }
}
