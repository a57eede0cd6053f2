// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The response to a request that wrote, and the effects to carry out once it is durable.
package struct Outcome<Response: Sendable>: Sendable {
    package var response: Response
    package var notifications: [PushNotification]
    /// For the partitions of others.
    package var news: [ShareNews]
    /// Changes for query subscriptions, which are evaluated after the commit; see ``SubscriptionFiring/evaluate(_:in:)``.
    package var rounds: [SubscriptionRound] = []
    /// Whether listeners of the public database are notified.
    package var changesPublicDatabase = false
    /// Keys of deleted zones with contents for further units of work to remove.
    package var zonesToEmpty: [Int64] = []

    package init(_ response: Response, notifications: [PushNotification] = [], news: [ShareNews] = []) {
        self.response = response
        self.notifications = notifications
        self.news = news
    }
}
