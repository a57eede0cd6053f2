// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Notifications.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import Foundation
import Testing

@Suite struct NotificationsSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("CKSubscription.SubscriptionType.query", CKSubscription.SubscriptionType.query, 1)
        expectDocumented("CKSubscription.SubscriptionType.recordZone", CKSubscription.SubscriptionType.recordZone, 2)
        expectDocumented("CKSubscription.SubscriptionType.database", CKSubscription.SubscriptionType.database, 3)
        expectDocumented("CKQuerySubscription.Options.firesOnRecordCreation", CKQuerySubscription.Options.firesOnRecordCreation, 1)
        expectDocumented("CKQuerySubscription.Options.firesOnRecordUpdate", CKQuerySubscription.Options.firesOnRecordUpdate, 2)
        expectDocumented("CKQuerySubscription.Options.firesOnRecordDeletion", CKQuerySubscription.Options.firesOnRecordDeletion, 4)
        expectDocumented("CKQuerySubscription.Options.firesOnce", CKQuerySubscription.Options.firesOnce, 8)
        expectDocumented("CKNotification.NotificationType.query", CKNotification.NotificationType.query, 1)
        expectDocumented("CKNotification.NotificationType.recordZone", CKNotification.NotificationType.recordZone, 2)
        expectDocumented("CKNotification.NotificationType.readNotification", CKNotification.NotificationType.readNotification, 3)
        expectDocumented("CKNotification.NotificationType.database", CKNotification.NotificationType.database, 4)
        expectDocumented("CKQueryNotification.Reason.recordCreated", CKQueryNotification.Reason.recordCreated, 1)
        expectDocumented("CKQueryNotification.Reason.recordUpdated", CKQueryNotification.Reason.recordUpdated, 2)
        expectDocumented("CKQueryNotification.Reason.recordDeleted", CKQueryNotification.Reason.recordDeleted, 3)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesCKSubscription()
        Self.usesCKSubscriptionSubscriptionType()
        Self.usesCKQuerySubscription()
        Self.usesCKQuerySubscriptionOptions()
        Self.usesCKRecordZoneSubscription()
        Self.usesCKDatabaseSubscription()
        Self.usesCKSubscriptionNotificationInfo()
        Self.usesCKNotification()
        Self.usesCKNotificationID()
        Self.usesCKNotificationNotificationType()
        Self.usesCKQueryNotification()
        Self.usesCKQueryNotificationReason()
        Self.usesCKRecordZoneNotification()
        Self.usesCKDatabaseNotification()
    }

    private static func usesCKSubscription() {
        _ = { (x: CKSubscription) -> NSObject in x }
        _ = { (x: CKSubscription) -> any NSSecureCoding in x }
        _ = { (x: CKSubscription) -> any NSCopying in x }
        _ = { (x: [CKSubscription.ID]) -> [String] in x }
        let _: KeyPath<CKSubscription, CKSubscription.ID> = \.subscriptionID
        let _: KeyPath<CKSubscription, CKSubscription.SubscriptionType> = \.subscriptionType
        let _: ReferenceWritableKeyPath<CKSubscription, CKSubscription.NotificationInfo?> = \.notificationInfo
    }

    private static func usesCKSubscriptionSubscriptionType() {
        _ = CKSubscription.SubscriptionType.self
        _ = { () -> CKSubscription.SubscriptionType in .query }
        _ = { () -> CKSubscription.SubscriptionType in .recordZone }
        _ = { () -> CKSubscription.SubscriptionType in .database }
    }

    private static func usesCKQuerySubscription() {
        _ = { (x: CKQuerySubscription) -> CKSubscription in x }
        _ = { (a0: CKRecord.RecordType, a1: NSPredicate, a2: CKSubscription.ID, a3: CKQuerySubscription.Options) -> CKQuerySubscription in CKQuerySubscription(recordType: a0, predicate: a1, subscriptionID: a2, options: a3) }
        _ = { (a0: CKRecord.RecordType, a1: NSPredicate, a2: CKSubscription.ID) -> CKQuerySubscription in CKQuerySubscription(recordType: a0, predicate: a1, subscriptionID: a2) }
        _ = { (a0: NSCoder) -> CKQuerySubscription? in CKQuerySubscription(coder: a0) }
        let _: KeyPath<CKQuerySubscription, CKRecord.RecordType?> = \.recordType
        let _: KeyPath<CKQuerySubscription, NSPredicate> = \.predicate
        let _: ReferenceWritableKeyPath<CKQuerySubscription, CKRecordZone.ID?> = \.zoneID
        let _: KeyPath<CKQuerySubscription, CKQuerySubscription.Options> = \.querySubscriptionOptions
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKQuerySubscription() {
        _ = { (a0: CKRecord.RecordType, a1: NSPredicate, a2: CKQuerySubscription.Options) -> CKQuerySubscription in CKQuerySubscription(recordType: a0, predicate: a1, options: a2) }
    }

    private static func usesCKQuerySubscriptionOptions() {
        _ = { (x: CKQuerySubscription.Options) -> any OptionSet in x }
        _ = { (x: CKQuerySubscription.Options) -> any Sendable in x }
        _ = { () -> CKQuerySubscription.Options in CKQuerySubscription.Options.firesOnRecordCreation }
        _ = { () -> CKQuerySubscription.Options in CKQuerySubscription.Options.firesOnRecordUpdate }
        _ = { () -> CKQuerySubscription.Options in CKQuerySubscription.Options.firesOnRecordDeletion }
        _ = { () -> CKQuerySubscription.Options in CKQuerySubscription.Options.firesOnce }
    }

    private static func usesCKRecordZoneSubscription() {
        _ = { (x: CKRecordZoneSubscription) -> CKSubscription in x }
        _ = { (a0: CKRecordZone.ID, a1: CKSubscription.ID) -> CKRecordZoneSubscription in CKRecordZoneSubscription(zoneID: a0, subscriptionID: a1) }
        _ = { (a0: NSCoder) -> CKRecordZoneSubscription? in CKRecordZoneSubscription(coder: a0) }
        let _: KeyPath<CKRecordZoneSubscription, CKRecordZone.ID> = \.zoneID
        let _: ReferenceWritableKeyPath<CKRecordZoneSubscription, CKRecord.RecordType?> = \.recordType
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKRecordZoneSubscription() {
        _ = { (a0: CKRecordZone.ID) -> CKRecordZoneSubscription in CKRecordZoneSubscription(zoneID: a0) }
    }

    private static func usesCKDatabaseSubscription() {
        _ = { (x: CKDatabaseSubscription) -> CKSubscription in x }
        _ = { (a0: CKSubscription.ID) -> CKDatabaseSubscription in CKDatabaseSubscription(subscriptionID: a0) }
        _ = { (a0: NSCoder) -> CKDatabaseSubscription? in CKDatabaseSubscription(coder: a0) }
        let _: ReferenceWritableKeyPath<CKDatabaseSubscription, CKRecord.RecordType?> = \.recordType
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKDatabaseSubscription() {
        _ = { () -> CKDatabaseSubscription in CKDatabaseSubscription() }
    }

    private static func usesCKSubscriptionNotificationInfo() {
        _ = { (x: CKSubscription.NotificationInfo) -> NSObject in x }
        _ = { (x: CKSubscription.NotificationInfo) -> any NSSecureCoding in x }
        _ = { (x: CKSubscription.NotificationInfo) -> any NSCopying in x }
        _ = { () -> CKSubscription.NotificationInfo in CKSubscription.NotificationInfo() }
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.alertBody
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.alertLocalizationKey
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, [CKRecord.FieldKey]?> = \.alertLocalizationArgs
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.title
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.titleLocalizationKey
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, [CKRecord.FieldKey]?> = \.titleLocalizationArgs
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.subtitle
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.subtitleLocalizationKey
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, [CKRecord.FieldKey]?> = \.subtitleLocalizationArgs
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.alertActionLocalizationKey
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.alertLaunchImage
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.soundName
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, [CKRecord.FieldKey]?> = \.desiredKeys
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, Bool> = \.shouldBadge
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, Bool> = \.shouldSendContentAvailable
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, Bool> = \.shouldSendMutableContent
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.category
        let _: ReferenceWritableKeyPath<CKSubscription.NotificationInfo, String?> = \.collapseIDKey
    }

    private static func usesCKNotification() {
        _ = { (x: CKNotification) -> NSObject in x }
        _ = { (a0: [AnyHashable: Any]) -> CKNotification? in CKNotification(fromRemoteNotificationDictionary: a0) }
        let _: KeyPath<CKNotification, CKNotification.NotificationType> = \.notificationType
        let _: KeyPath<CKNotification, CKNotification.ID?> = \.notificationID
        let _: KeyPath<CKNotification, String?> = \.containerIdentifier
        let _: KeyPath<CKNotification, CKSubscription.ID?> = \.subscriptionID
        let _: KeyPath<CKNotification, CKRecord.ID?> = \.subscriptionOwnerUserRecordID
        let _: KeyPath<CKNotification, Bool> = \.isPruned
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKNotification() {
        let _: KeyPath<CKNotification, String?> = \.alertBody
        let _: KeyPath<CKNotification, String?> = \.alertLocalizationKey
        let _: KeyPath<CKNotification, [String]?> = \.alertLocalizationArgs
        let _: KeyPath<CKNotification, String?> = \.title
        let _: KeyPath<CKNotification, String?> = \.titleLocalizationKey
        let _: KeyPath<CKNotification, [String]?> = \.titleLocalizationArgs
        let _: KeyPath<CKNotification, String?> = \.subtitle
        let _: KeyPath<CKNotification, String?> = \.subtitleLocalizationKey
        let _: KeyPath<CKNotification, [String]?> = \.subtitleLocalizationArgs
        let _: KeyPath<CKNotification, String?> = \.alertActionLocalizationKey
        let _: KeyPath<CKNotification, String?> = \.alertLaunchImage
        let _: KeyPath<CKNotification, NSNumber?> = \.badge
        let _: KeyPath<CKNotification, String?> = \.soundName
        let _: KeyPath<CKNotification, String?> = \.category
    }

    private static func usesCKNotificationID() {
        _ = { (x: CKNotification.ID) -> NSObject in x }
        _ = { (x: CKNotification.ID) -> any NSSecureCoding in x }
        _ = { (x: CKNotification.ID) -> any NSCopying in x }
    }

    private static func usesCKNotificationNotificationType() {
        _ = CKNotification.NotificationType.self
        _ = { () -> CKNotification.NotificationType in .query }
        _ = { () -> CKNotification.NotificationType in .recordZone }
        _ = { () -> CKNotification.NotificationType in .readNotification }
        _ = { () -> CKNotification.NotificationType in .database }
    }

    private static func usesCKQueryNotification() {
        _ = { (x: CKQueryNotification) -> CKNotification in x }
        let _: KeyPath<CKQueryNotification, CKQueryNotification.Reason> = \.queryNotificationReason
        let _: KeyPath<CKQueryNotification, [String: Any]?> = \.recordFields
        let _: KeyPath<CKQueryNotification, CKRecord.ID?> = \.recordID
        let _: KeyPath<CKQueryNotification, CKDatabase.Scope> = \.databaseScope
    }

    private static func usesCKQueryNotificationReason() {
        _ = CKQueryNotification.Reason.self
        _ = { () -> CKQueryNotification.Reason in .recordCreated }
        _ = { () -> CKQueryNotification.Reason in .recordUpdated }
        _ = { () -> CKQueryNotification.Reason in .recordDeleted }
    }

    private static func usesCKRecordZoneNotification() {
        _ = { (x: CKRecordZoneNotification) -> CKNotification in x }
        let _: KeyPath<CKRecordZoneNotification, CKRecordZone.ID?> = \.recordZoneID
        let _: KeyPath<CKRecordZoneNotification, CKDatabase.Scope> = \.databaseScope
    }

    private static func usesCKDatabaseNotification() {
        _ = { (x: CKDatabaseNotification) -> CKNotification in x }
        let _: KeyPath<CKDatabaseNotification, CKDatabase.Scope> = \.databaseScope
    }

    @available(*, deprecated)
    private static func usesCKFetchNotificationChangesOperation() {
        _ = { (x: CKFetchNotificationChangesOperation) -> CKOperation in x }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchNotificationChangesOperation() {
        _ = { () -> CKFetchNotificationChangesOperation in CKFetchNotificationChangesOperation() }
        _ = { (a0: CKServerChangeToken?) -> CKFetchNotificationChangesOperation in CKFetchNotificationChangesOperation(previousServerChangeToken: a0) }
        let _: ReferenceWritableKeyPath<CKFetchNotificationChangesOperation, CKServerChangeToken?> = \.previousServerChangeToken
        let _: ReferenceWritableKeyPath<CKFetchNotificationChangesOperation, Int> = \.resultsLimit
        let _: KeyPath<CKFetchNotificationChangesOperation, Bool> = \.moreComing
        _ = { (x: CKFetchNotificationChangesOperation) in x.notificationChangedBlock = { (_: CKNotification) -> Void in } }
        _ = { (x: CKFetchNotificationChangesOperation) in x.notificationChangedBlock = nil }
        _ = { (x: CKFetchNotificationChangesOperation) in x.fetchNotificationChangesCompletionBlock = { (_: CKServerChangeToken?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchNotificationChangesOperation) in x.fetchNotificationChangesCompletionBlock = nil }
    }

    @available(*, deprecated)
    private static func usesCKMarkNotificationsReadOperation() {
        _ = { (x: CKMarkNotificationsReadOperation) -> CKOperation in x }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKMarkNotificationsReadOperation() {
        _ = { () -> CKMarkNotificationsReadOperation in CKMarkNotificationsReadOperation() }
        _ = { (a0: [CKNotification.ID]) -> CKMarkNotificationsReadOperation in CKMarkNotificationsReadOperation(notificationIDsToMarkRead: a0) }
        let _: ReferenceWritableKeyPath<CKMarkNotificationsReadOperation, [CKNotification.ID]> = \.notificationIDs
        _ = { (x: CKMarkNotificationsReadOperation) in x.markNotificationsReadCompletionBlock = { (_: [CKNotification.ID]?, _: (any Error)?) -> Void in } }
        _ = { (x: CKMarkNotificationsReadOperation) in x.markNotificationsReadCompletionBlock = nil }
    }

    @available(*, deprecated)
    private static func usesCKModifyBadgeOperation() {
        _ = { (x: CKModifyBadgeOperation) -> CKOperation in x }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKModifyBadgeOperation() {
        _ = { () -> CKModifyBadgeOperation in CKModifyBadgeOperation() }
        _ = { (a0: Int) -> CKModifyBadgeOperation in CKModifyBadgeOperation(badgeValue: a0) }
        let _: ReferenceWritableKeyPath<CKModifyBadgeOperation, Int> = \.badgeValue
        _ = { (x: CKModifyBadgeOperation) in x.modifyBadgeCompletionBlock = { (_: (any Error)?) -> Void in } }
        _ = { (x: CKModifyBadgeOperation) in x.modifyBadgeCompletionBlock = nil }
    }

    static var propertiesOfCKSubscription: [(name: String, path: PartialKeyPath<CKSubscription>)] {
        [
            ("subscriptionID", \.subscriptionID),
            ("subscriptionType", \.subscriptionType),
            ("notificationInfo", \.notificationInfo),
        ]
    }

    static var propertiesOfCKQuerySubscription: [(name: String, path: PartialKeyPath<CKQuerySubscription>)] {
        [
            ("recordType", \.recordType),
            ("predicate", \.predicate),
            ("zoneID", \.zoneID),
            ("querySubscriptionOptions", \.querySubscriptionOptions),
        ]
    }

    static var propertiesOfCKRecordZoneSubscription: [(name: String, path: PartialKeyPath<CKRecordZoneSubscription>)] {
        [
            ("zoneID", \.zoneID),
            ("recordType", \.recordType),
        ]
    }

    static var propertiesOfCKDatabaseSubscription: [(name: String, path: PartialKeyPath<CKDatabaseSubscription>)] {
        [
            ("recordType", \.recordType),
        ]
    }

    static var propertiesOfCKSubscriptionNotificationInfo: [(name: String, path: PartialKeyPath<CKSubscription.NotificationInfo>)] {
        [
            ("alertBody", \.alertBody),
            ("alertLocalizationKey", \.alertLocalizationKey),
            ("alertLocalizationArgs", \.alertLocalizationArgs),
            ("title", \.title),
            ("titleLocalizationKey", \.titleLocalizationKey),
            ("titleLocalizationArgs", \.titleLocalizationArgs),
            ("subtitle", \.subtitle),
            ("subtitleLocalizationKey", \.subtitleLocalizationKey),
            ("subtitleLocalizationArgs", \.subtitleLocalizationArgs),
            ("alertActionLocalizationKey", \.alertActionLocalizationKey),
            ("alertLaunchImage", \.alertLaunchImage),
            ("soundName", \.soundName),
            ("desiredKeys", \.desiredKeys),
            ("shouldBadge", \.shouldBadge),
            ("shouldSendContentAvailable", \.shouldSendContentAvailable),
            ("shouldSendMutableContent", \.shouldSendMutableContent),
            ("category", \.category),
            ("collapseIDKey", \.collapseIDKey),
        ]
    }

    static var propertiesOfCKNotification: [(name: String, path: PartialKeyPath<CKNotification>)] {
        [
            ("notificationType", \.notificationType),
            ("notificationID", \.notificationID),
            ("containerIdentifier", \.containerIdentifier),
            ("subscriptionID", \.subscriptionID),
            ("subscriptionOwnerUserRecordID", \.subscriptionOwnerUserRecordID),
            ("isPruned", \.isPruned),
        ]
    }

    static var propertiesOfCKQueryNotification: [(name: String, path: PartialKeyPath<CKQueryNotification>)] {
        [
            ("queryNotificationReason", \.queryNotificationReason),
            ("recordFields", \.recordFields),
            ("recordID", \.recordID),
            ("databaseScope", \.databaseScope),
        ]
    }

    static var propertiesOfCKRecordZoneNotification: [(name: String, path: PartialKeyPath<CKRecordZoneNotification>)] {
        [
            ("recordZoneID", \.recordZoneID),
            ("databaseScope", \.databaseScope),
        ]
    }

    static var propertiesOfCKDatabaseNotification: [(name: String, path: PartialKeyPath<CKDatabaseNotification>)] {
        [
            ("databaseScope", \.databaseScope),
        ]
    }
}
