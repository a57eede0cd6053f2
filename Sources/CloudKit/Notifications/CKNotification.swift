// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// News of a change, as a push brings it. A hint: what changed is learned by fetching changes.
///
/// Source: Apple's documentation of `CKNotification` and its subclasses; keys of the dictionary as CloudKit JS reads them.
public class CKNotification: NSObject, @unchecked Sendable {  // Nothing changes after it was made.
    public enum NotificationType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case readNotification = 3
        case database = 4
    }

    public typealias ID = CKNotificationID

    public let notificationType: NotificationType
    public let notificationID: ID?
    public let containerIdentifier: String?
    public let subscriptionID: CKSubscription.ID?
    public let subscriptionOwnerUserRecordID: CKRecord.ID?
    /// Whether something was left out to fit the size.
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

    /// Reads the dictionary of a push. The result is of the subclass for its kind.
    ///
    /// - Returns: Nil if the push is none of CloudKit's.
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

/// Names one notification.
///
/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
public final class CKNotificationID: NSObject, NSCopying, NSSecureCoding, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.text == text }
    public override var hash: Int { text.hashValue }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "id") else { return nil }
        self.text = text as String
    }

    public func encode(with coder: NSCoder) { coder.encode(text as NSString, forKey: "id") }
}

/// Lets an initialiser answer with an instance of a subclass, as Apple's does.
public protocol _NotificationFactory {}

extension _NotificationFactory {
    fileprivate init?(_ dictionary: [AnyHashable: Any]) {
        guard let push = PushDictionary(dictionary), let made = CKNotification.make(push) as? Self else { return nil }
        self = made
    }
}

extension CKNotification: _NotificationFactory {}

/// A record was created, updated or deleted that a query subscription looks for.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {  // As its superclass.
    public enum Reason: Int, Sendable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    public let queryNotificationReason: Reason
    /// The desired keys of the subscription with their values.
    public let recordFields: [String: Any]?
    public let recordID: CKRecord.ID?
    public let databaseScope: CKDatabase.Scope

    init(_ push: PushDictionary, _ query: [String: Any]) {
        queryNotificationReason = PushDictionary.number(query["fo"]).flatMap { Reason(rawValue: $0) } ?? .recordUpdated
        recordFields = query["af"] as? [String: Any]
        databaseScope = PushDictionary.scope(query)
        let zoneID = PushDictionary.zoneID(query, databaseScope) ?? .default
        recordID = (query["rid"] as? String).map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        super.init(push, .query)
    }

    /// - Returns: Nil if the push is none of CloudKit's, or of another kind.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        self.init(notificationDictionary)
    }
}

/// Something in a zone changed.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {  // As its superclass.
    public let recordZoneID: CKRecordZone.ID?
    public let databaseScope: CKDatabase.Scope

    init(_ push: PushDictionary, _ zone: [String: Any]) {
        databaseScope = PushDictionary.scope(zone)
        recordZoneID = PushDictionary.zoneID(zone, databaseScope)
        super.init(push, .recordZone)
    }

    /// - Returns: Nil if the push is none of CloudKit's, or of another kind.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        self.init(notificationDictionary)
    }
}

/// Something in a database changed.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {  // As its superclass.
    public let databaseScope: CKDatabase.Scope

    init(_ push: PushDictionary, _ database: [String: Any]) {
        databaseScope = PushDictionary.scope(database)
        super.init(push, .database)
    }

    /// - Returns: Nil if the push is none of CloudKit's, or of another kind.
    public convenience init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        self.init(notificationDictionary)
    }
}

extension CKNotification {
    public var alertBody: String? { alert.body }
    public var alertLocalizationKey: String? { alert.localizationKey }
    public var alertLocalizationArgs: [String]? { alert.localizationArguments }
    public var title: String? { alert.title }
    public var titleLocalizationKey: String? { alert.titleLocalizationKey }
    public var titleLocalizationArgs: [String]? { alert.titleLocalizationArguments }
    public var subtitle: String? { alert.subtitle }
    public var subtitleLocalizationKey: String? { alert.subtitleLocalizationKey }
    public var subtitleLocalizationArgs: [String]? { alert.subtitleLocalizationArguments }
    public var alertActionLocalizationKey: String? { alert.actionLocalizationKey }
    public var alertLaunchImage: String? { alert.launchImage }
    public var badge: NSNumber? { alert.badge.map { NSNumber(value: $0) } }
    public var soundName: String? { alert.sound }
    public var category: String? { alert.category }
}
