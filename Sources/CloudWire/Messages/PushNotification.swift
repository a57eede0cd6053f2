// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A notification for a device: a subscription fired. A hint only; fetch the changes to learn their content.
///
/// Source: keys under `ck` as CloudKit JS reads them; no specification exists.
package struct PushNotification: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// `ck.met`
        case database(DatabaseScope)
        /// `ck.fet`
        case zone(ZoneID, DatabaseScope)
        /// `ck.qry`
        case query(Match)
    }

    package enum Reason: Int, Hashable, Sendable, CaseIterable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    /// The record for which a query subscription fired.
    package struct Match: Hashable, Sendable {
        package var recordName: String
        package var zoneID: ZoneID
        package var scope: DatabaseScope
        package var reason: Reason
        /// `af`: the fields that the subscription requested. Times are numbers, as on the wire.
        package var fields: [String: FieldValue] = [:]

        package init(recordName: String, zoneID: ZoneID, scope: DatabaseScope, reason: Reason) {
            self.recordName = recordName
            self.zoneID = zoneID
            self.scope = scope
            self.reason = reason
        }
    }

    /// `aps.alert`, `sound`, `category`: the alert that the system shows. `nil` wakes the app only.
    package struct Alert: Hashable, Sendable {
        package var body: String?
        package var localizationKey: String?
        package var localizationArgs: [String]?
        package var title: String?
        package var titleLocalizationKey: String?
        package var titleLocalizationArgs: [String]?
        package var subtitle: String?
        package var subtitleLocalizationKey: String?
        package var subtitleLocalizationArgs: [String]?
        package var actionLocalizationKey: String?
        package var launchImage: String?
        package var soundName: String?
        package var category: String?

        package init() {}

        /// - Parameter argument: Returns the value of a field as text.
        package init?(_ wish: NotificationWish, argument: (String) -> String) {
            body = wish.alertBody
            localizationKey = wish.alertLocalizationKey
            localizationArgs = wish.alertLocalizationArgs.map { $0.map(argument) }
            title = wish.title
            titleLocalizationKey = wish.titleLocalizationKey
            titleLocalizationArgs = wish.titleLocalizationArgs.map { $0.map(argument) }
            subtitle = wish.subtitle
            subtitleLocalizationKey = wish.subtitleLocalizationKey
            subtitleLocalizationArgs = wish.subtitleLocalizationArgs.map { $0.map(argument) }
            actionLocalizationKey = wish.alertActionLocalizationKey
            launchImage = wish.alertLaunchImage
            soundName = wish.soundName
            category = wish.category
            guard self != Alert() else { return nil }
        }

        /// The alert of a subscription to a zone or database, which names no record: arguments of localized texts are empty.
        package init?(ofChanges wish: NotificationWish) { self.init(wish) { _ in "" } }
    }

    package var alert: Alert?
    /// `ck.nid`: the identifier of this notification; a repeated one may be dropped.
    package var notificationID: String
    /// `ck.cid`
    package var containerIdentifier: String
    package var subscriptionID: String
    package var subject: Subject
    /// `ck.ckuserid`: the owner of the subscription.
    package var userRecordName: String?
    /// `aps.content-available`
    package var isContentAvailable: Bool
    /// `ck.p`: fields were omitted to fit the maximum size.
    package var isPruned: Bool
    /// The changes, for clients that request ``Capability/pushedChanges``, if they are small.
    package var changes: PushedChanges?

    package init(
        notificationID: String, containerIdentifier: String, subscriptionID: String, subject: Subject,
        userRecordName: String? = nil, isContentAvailable: Bool = true, isPruned: Bool = false
    ) {
        self.notificationID = notificationID
        self.containerIdentifier = containerIdentifier
        self.subscriptionID = subscriptionID
        self.subject = subject
        self.userRecordName = userRecordName
        self.isContentAvailable = isContentAvailable
        self.isPruned = isPruned
    }
}

extension DatabaseScope {
    /// The number of a database in notifications, and in `CKDatabase.Scope`.
    package var number: Int {
        switch self {
        case .public: 1
        case .private: 2
        case .shared: 3
        }
    }

    package init?(number: Int) {
        switch number {
        case 1: self = .public
        case 2: self = .private
        case 3: self = .shared
        default: return nil
        }
    }
}
