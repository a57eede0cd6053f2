// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A push notification of a change. A hint only: fetch the changes to learn their content.
///
/// Source: Apple's documentation of `CKNotification` and its subclasses; keys of the dictionary as CloudKit JS reads them.
public class CKNotification: NSObject, @unchecked Sendable {  // Nothing changes after it was notification.
    /// The kinds of notifications.
    public enum NotificationType: Int, Sendable {
        /// Of a query subscription.
        case query = 1
        /// Of a zone subscription.
        case recordZone = 2
        /// Of a notification that was read. Not used by Tarn.
        case readNotification = 3
        /// Of a database subscription.
        case database = 4
    }

    /// The type of a notification's identifier.
    public typealias ID = CKNotificationID

    /// The kind of this notification.
    public let notificationType: NotificationType
    /// The identifier of this notification.
    public let notificationID: ID?
    /// The container with the change.
    public let containerIdentifier: String?
    /// The subscription that caused the notification.
    public let subscriptionID: CKSubscription.ID?
    /// The owner of the subscription.
    public let subscriptionOwnerUserRecordID: CKRecord.ID?
    /// Whether fields were omitted to fit the maximum size.
    public let isPruned: Bool
    let alert: PushAlert

    init(_ push: PushDictionary, _ type: NotificationType) {
        notificationType = type
        notificationID = push.text("nid").map { ID($0) }
        containerIdentifier = push.text("cid")
        subscriptionID = push.subject?["sid"] as? String
        subscriptionOwnerUserRecordID = push.text("ckuserid").map { CKRecord.ID(recordName: $0) }
        isPruned = (push.ck["p"] as? NSNumber)?.boolValue ?? false
        alert = push.alert
    }

    /// Creates a notification from the dictionary of a push, as an instance of the subclass for its kind.
    ///
    /// - Returns: `nil` if the push isn't CloudKit's.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        self.init(notificationDictionary)
    }

    static func make(_ push: PushDictionary) -> CKNotification? {
        if let query = push.part("qry") { return CKQueryNotification(push, query) }
        if let zone = push.part("fet") { return CKRecordZoneNotification(push, zone) }
        if let database = push.part("met") { return CKDatabaseNotification(push, database) }
        return nil
    }
}

/// The identifier of a notification.
///
/// The name is that of the Objective-C class, since archives on Linux cannot contain nested classes.
public final class CKNotificationID: NSObject, NSCopying, NSSecureCoding, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    /// Returns whether an object is an equal identifier.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.text == text }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { text.hashValue }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived identifier. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "id") else { return nil }
        self.text = text as String
    }

    /// Encodes the identifier.
    public func encode(with coder: NSCoder) { coder.encode(text as NSString, forKey: "id") }
}

/// Lets an initializer return an instance of a subclass, as Apple's does.
public protocol _NotificationFactory {}

extension _NotificationFactory {
    fileprivate init?(_ dictionary: [AnyHashable: Any]) {
        guard let push = PushDictionary(dictionary), let notification = CKNotification.make(push) as? Self else { return nil }
        self = notification
    }
}

extension CKNotification: _NotificationFactory {}

/// A notification of a record that was created, updated or deleted and matches a query subscription.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {  // As its superclass.
    /// The kinds of changes.
    public enum Reason: Int, Sendable {
        /// A record was created.
        case recordCreated = 1
        /// A record was updated.
        case recordUpdated = 2
        /// A record was deleted.
        case recordDeleted = 3
    }

    /// Whether the record was created, updated or deleted.
    public let queryNotificationReason: Reason
    /// The subscription's desired keys with their values.
    public let recordFields: [String: Any]?
    /// The changed record.
    public let recordID: CKRecord.ID?
    /// The database with the record.
    public let databaseScope: CKDatabase.Scope

    init(_ push: PushDictionary, _ query: [String: Any]) {
        queryNotificationReason = PushDictionary.number(query["fo"]).flatMap { Reason(rawValue: $0) } ?? .recordUpdated
        recordFields = query["af"] as? [String: Any]
        databaseScope = PushDictionary.scope(query)
        let zoneID = PushDictionary.zoneID(query, databaseScope) ?? .default
        recordID = (query["rid"] as? String).map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        super.init(push, .query)
    }

    /// - Returns: `nil` if the push isn't CloudKit's, or is of another kind.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        self.init(notificationDictionary)
    }
}

/// A notification of a change in a zone.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {  // As its superclass.
    /// The changed zone.
    public let recordZoneID: CKRecordZone.ID?
    /// The database with the zone.
    public let databaseScope: CKDatabase.Scope

    init(_ push: PushDictionary, _ zone: [String: Any]) {
        databaseScope = PushDictionary.scope(zone)
        recordZoneID = PushDictionary.zoneID(zone, databaseScope)
        super.init(push, .recordZone)
    }

    /// - Returns: `nil` if the push isn't CloudKit's, or is of another kind.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        self.init(notificationDictionary)
    }
}

/// A notification of a change in a database.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {  // As its superclass.
    /// The changed database.
    public let databaseScope: CKDatabase.Scope

    init(_ push: PushDictionary, _ database: [String: Any]) {
        databaseScope = PushDictionary.scope(database)
        super.init(push, .database)
    }

    /// - Returns: `nil` if the push isn't CloudKit's, or is of another kind.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        self.init(notificationDictionary)
    }
}

extension CKNotification {
    /// The text of the alert.
    public var alertBody: String? { alert.body }
    /// The key of the alert's text in the app's localization.
    public var alertLocalizationKey: String? { alert.localizationKey }
    /// The arguments of the localized text.
    public var alertLocalizationArgs: [String]? { alert.localizationArguments }
    /// The title of the alert.
    public var title: String? { alert.title }
    /// The key of the title in the app's localization.
    public var titleLocalizationKey: String? { alert.titleLocalizationKey }
    /// The arguments of the localized title.
    public var titleLocalizationArgs: [String]? { alert.titleLocalizationArguments }
    /// The subtitle of the alert.
    public var subtitle: String? { alert.subtitle }
    /// The key of the subtitle in the app's localization.
    public var subtitleLocalizationKey: String? { alert.subtitleLocalizationKey }
    /// The arguments of the localized subtitle.
    public var subtitleLocalizationArgs: [String]? { alert.subtitleLocalizationArguments }
    /// The key of the action button's title in the app's localization.
    public var alertActionLocalizationKey: String? { alert.actionLocalizationKey }
    /// The image of the launch screen.
    public var alertLaunchImage: String? { alert.launchImage }
    /// The number for the app's icon.
    public var badge: NSNumber? { alert.badge.map { NSNumber(value: $0) } }
    /// The sound of the alert.
    public var soundName: String? { alert.sound }
    /// The category of the alert's actions.
    public var category: String? { alert.category }
}
