// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A request for notifications of changes, stored by the server and identified by user, database and `subscriptionID`.
///
/// Source: *CloudKit Web Services Reference*, "Subscription Dictionary". The documents define query and zone
/// subscriptions; the wire value `database` follows the naming of CloudKit JS.
package struct Subscription: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Any change in any custom zone of the database.
        case database
        case zone(ZoneID)
        case query(QuerySubscription)
    }

    package var subscriptionID: String
    package var kind: Kind
    package var notification: NotificationWish

    package init(subscriptionID: String, kind: Kind, notification: NotificationWish = NotificationWish()) {
        self.subscriptionID = subscriptionID
        self.kind = kind
        self.notification = notification
    }
}

/// The part of a subscription that only query subscriptions have.
package struct QuerySubscription: Hashable, Sendable {
    package enum Event: String, Hashable, Sendable, CaseIterable { case create, update, delete }

    package var query: Query
    /// In the order of `Event.allCases` on the wire.
    package var firesOn: Set<Event>
    /// Whether the subscription is deleted after its first notification.
    package var firesOnce: Bool
    /// `nil` means all zones, which is `zoneWide` on the wire.
    package var zoneID: ZoneID?

    package init(query: Query, firesOn: Set<Event>, firesOnce: Bool = false, zoneID: ZoneID? = nil) {
        self.query = query
        self.firesOn = firesOn
        self.firesOnce = firesOnce
        self.zoneID = zoneID
    }
}

/// The appearance of a notification. If empty, the notification only wakes the app.
///
/// Source: *CloudKit Web Services Reference*, "Notification Info Dictionary"; title, subtitle, mutable content and
/// collapse key are Tarn's addition, named as in the framework.
package struct NotificationWish: Hashable, Sendable {
    package var alertBody: String?
    package var alertLocalizationKey: String?
    package var alertLocalizationArgs: [String]?
    package var title: String?
    package var titleLocalizationKey: String?
    package var titleLocalizationArgs: [String]?
    package var subtitle: String?
    package var subtitleLocalizationKey: String?
    package var subtitleLocalizationArgs: [String]?
    package var alertActionLocalizationKey: String?
    package var alertLaunchImage: String?
    package var soundName: String?
    package var category: String?
    package var shouldBadge = false
    package var shouldSendContentAvailable = false
    package var shouldSendMutableContent = false
    package var collapseIDKey: String?
    /// The fields to send in the notification.
    package var additionalFields: [String]?

    package init() {}

    /// Silent notifications, for a program that fetches changes and shows nothing.
    package static var silent: NotificationWish {
        var wish = NotificationWish()
        wish.shouldSendContentAvailable = true
        return wish
    }
}

package enum SubscriptionOperation: Hashable, Sendable {
    /// Creating an existing subscription with the same content is not an error.
    case create(Subscription)
    case update(Subscription)
    case delete(subscriptionID: String)

    package var subscriptionID: String {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.subscriptionID
        case .delete(let subscriptionID): subscriptionID
        }
    }
}

/// Body of `POST {database}/subscriptions/modify`. The operations are independent.
///
/// Source: *CloudKit Web Services Reference*, "Modifying Subscriptions".
package struct SubscriptionsModifyRequest: Hashable, Sendable {
    package var operations: [SubscriptionOperation]

    package init(operations: [SubscriptionOperation]) {
        self.operations = operations
    }
}

/// Body of `POST {database}/subscriptions/lookup`.
package struct SubscriptionsLookupRequest: Hashable, Sendable {
    package var subscriptionIDs: [String]

    package init(subscriptionIDs: [String]) {
        self.subscriptionIDs = subscriptionIDs
    }
}

package enum SubscriptionResult: Hashable, Sendable {
    case subscription(Subscription)
    /// Result of a deletion: the identifier only.
    case deleted(subscriptionID: String)
    case failure(subscriptionID: String, WireError)

    package var subscriptionID: String {
        switch self {
        case .subscription(let subscription): subscription.subscriptionID
        case .deleted(let subscriptionID), .failure(let subscriptionID, _): subscriptionID
        }
    }
}

/// Response of `subscriptions/list`, `lookup` and `modify`; the latter two have one result for each item, in order.
package struct SubscriptionsResponse: Hashable, Sendable {
    package var subscriptions: [SubscriptionResult]

    package init(subscriptions: [SubscriptionResult]) {
        self.subscriptions = subscriptions
    }
}
