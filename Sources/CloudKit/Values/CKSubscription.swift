// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A standing wish to be told about changes.
///
/// Source: Apple's documentation of `CKSubscription` and its subclasses. Query subscriptions are not offered yet.
public class CKSubscription: NSObject, @unchecked Sendable {  // Mutable state is behind the lock of `stored`.
    public typealias ID = String

    public enum SubscriptionType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case database = 3
    }

    /// How a notification shows itself.
    public final class NotificationInfo: NSObject, NSCopying, @unchecked Sendable {  // As above.
        private let stored: Locked<NotificationWish>

        public override convenience init() { self.init(NotificationWish()) }

        init(_ wish: NotificationWish) { stored = Locked(wish) }

        public var alertBody: String? {
            get { stored.value.alertBody }
            set { stored.update { $0.alertBody = newValue } }
        }
        public var alertLocalizationKey: String? {
            get { stored.value.alertLocalizationKey }
            set { stored.update { $0.alertLocalizationKey = newValue } }
        }
        public var alertLocalizationArgs: [CKRecord.FieldKey]? {
            get { stored.value.alertLocalizationArgs }
            set { stored.update { $0.alertLocalizationArgs = newValue } }
        }
        public var soundName: String? {
            get { stored.value.soundName }
            set { stored.update { $0.soundName = newValue } }
        }
        public var category: String? {
            get { stored.value.category }
            set { stored.update { $0.category = newValue } }
        }
        public var shouldBadge: Bool {
            get { stored.value.shouldBadge }
            set { stored.update { $0.shouldBadge = newValue } }
        }
        public var shouldSendContentAvailable: Bool {
            get { stored.value.shouldSendContentAvailable }
            set { stored.update { $0.shouldSendContentAvailable = newValue } }
        }
        public var desiredKeys: [CKRecord.FieldKey]? {
            get { stored.value.additionalFields }
            set { stored.update { $0.additionalFields = newValue } }
        }

        var wire: NotificationWish { stored.value }

        public func copy(with zone: NSZone? = nil) -> Any { NotificationInfo(stored.value) }
    }

    public let subscriptionID: ID
    public let subscriptionType: SubscriptionType
    private let stored: Locked<NotificationWish?>

    fileprivate init(_ subscriptionID: ID, _ type: SubscriptionType, _ notification: NotificationWish?) {
        self.subscriptionID = subscriptionID
        subscriptionType = type
        stored = Locked(notification)
    }

    /// Changing what was read has no effect before it is set again.
    public var notificationInfo: NotificationInfo? {
        get { stored.value.map { NotificationInfo($0) } }
        set { stored.update { $0 = newValue?.wire } }
    }

    fileprivate var kind: Subscription.Kind { .database }

    final var wire: Subscription {
        Subscription(subscriptionID: subscriptionID, kind: kind, notification: stored.value ?? NotificationWish())
    }

    /// - Returns: Nil for kinds that are not offered yet.
    static func make(_ subscription: Subscription, scope: CKDatabase.Scope) -> CKSubscription? {
        let notification = subscription.notification == NotificationWish() ? nil : subscription.notification
        switch subscription.kind {
        case .database: return CKDatabaseSubscription(subscription.subscriptionID, .database, notification)
        case .zone(let zoneID):
            return CKRecordZoneSubscription(
                subscription.subscriptionID, CKRecordZone.ID(zoneID, scope: scope), notification)
        case .query: return nil
        }
    }
}

/// Tells of any change in the custom zones of a private or shared database.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {  // As its superclass.
    public convenience init(subscriptionID: CKSubscription.ID) {
        self.init(subscriptionID, .database, nil)
    }

    fileprivate override init(_ subscriptionID: ID, _ type: SubscriptionType, _ notification: NotificationWish?) {
        super.init(subscriptionID, type, notification)
    }
}

/// Tells of any change in one custom zone of the private database.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {  // As its superclass.
    public let zoneID: CKRecordZone.ID

    public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID = UUID().uuidString) {
        self.init(subscriptionID, zoneID, nil)
    }

    fileprivate init(_ subscriptionID: ID, _ zoneID: CKRecordZone.ID, _ notification: NotificationWish?) {
        self.zoneID = zoneID
        super.init(subscriptionID, .recordZone, notification)
    }

    fileprivate override var kind: Subscription.Kind { .zone(zoneID.wire) }
}
