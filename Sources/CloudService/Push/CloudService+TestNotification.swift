// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

extension CloudService {
    /// Sends a notification of a subscription to the listening devices of its owner, with an alert that calls it a test.
    ///
    /// - Returns: The audience that was notified.
    package func sendTestNotification(of subscription: Subscription, _ call: Call) -> PushAudience {
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
        let audience = audience(of: call)
        push.publish([notification], to: audience, exceptDevice: "")
        return audience
    }

    /// See `FeedTokens.present(of:in:_:)`.
    package func presentToken(of zoneID: ZoneID, _ call: Call) async throws -> String {
        let engine = engine
        return try await read(call, isBrief: true) { try engine.tokens.present(of: zoneID, in: $0, call) }
    }
}
