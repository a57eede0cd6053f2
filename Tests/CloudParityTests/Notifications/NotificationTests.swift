// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

@Suite struct NotificationTests {
    @Test func aQueryPushNamesItsRecord() throws {
        let push: [AnyHashable: Any] = [
            "aps": [
                "alert": ["body": "New plant", "title": "Garden", "loc-key": "NEW", "loc-args": ["Sage"]], "badge": 2, "sound": "ping",
                "category": "c",
            ] as [String: Any],
            "ck": [
                "ce": 2, "cid": "iCloud.org.example", "nid": "n1", "ckuserid": "_me",
                "qry": ["sid": "s", "rid": "sage", "zid": "Garden", "zoid": "_owner", "dbs": 2, "fo": 1, "af": ["name": "Sage"]]
                    as [String: Any],
            ] as [String: Any],
        ]
        let notification = try #require(CKNotification(fromRemoteNotificationDictionary: push))
        #expect(notification.notificationType == .query)
        #expect(notification.containerIdentifier == "iCloud.org.example")
        #expect(notification.subscriptionID == "s")
        #expect(notification.notificationID != nil)
        #expect(notification.subscriptionOwnerUserRecordID?.recordName == "_me")
        #expect(!notification.isPruned)
        #expect(notification.alertBody == "New plant")
        #expect(notification.title == "Garden")
        #expect(notification.alertLocalizationKey == "NEW")
        #expect(notification.alertLocalizationArgs == ["Sage"])
        #expect(notification.badge == 2)
        #expect(notification.soundName == "ping")
        #expect(notification.category == "c")
        let query = try #require(notification as? CKQueryNotification)
        #expect(query.queryNotificationReason == .recordCreated)
        #expect(query.recordID?.recordName == "sage")
        #expect(query.recordID?.zoneID.zoneName == "Garden")
        #expect(query.databaseScope == .private)
        #expect(query.recordFields?["name"] as? String == "Sage")
    }

    @Test func zoneAndDatabasePushesSayWhere() throws {
        let zone: [AnyHashable: Any] = [
            "ck": ["cid": "c", "nid": "n", "p": 1, "fet": ["sid": "z", "zid": "Garden", "zoid": "_o", "dbs": 3] as [String: Any]]
                as [String: Any]
        ]
        let first = try #require(CKNotification(fromRemoteNotificationDictionary: zone) as? CKRecordZoneNotification)
        #expect(first.notificationType == .recordZone)
        #expect(first.recordZoneID == CKRecordZone.ID(zoneName: "Garden", ownerName: "_o"))
        #expect(first.databaseScope == .shared)
        #expect(first.isPruned)
        let database: [AnyHashable: Any] = ["ck": ["met": ["sid": "d", "dbs": 2] as [String: Any]] as [String: Any]]
        let second = try #require(CKNotification(fromRemoteNotificationDictionary: database) as? CKDatabaseNotification)
        #expect(second.notificationType == .database)
        #expect(second.databaseScope == .private)
        #expect(second.subscriptionID == "d")
        #expect(second.notificationID == nil)
    }

    @Test func aKindOfNotificationReadsItsOwnPushes() throws {
        let query: [AnyHashable: Any] = [
            "ck": ["nid": "n1", "qry": ["sid": "s", "rid": "sage", "dbs": 1, "fo": 3] as [String: Any]] as [String: Any]
        ]
        let zone: [AnyHashable: Any] = ["ck": ["fet": ["sid": "z", "zid": "Garden", "dbs": 2] as [String: Any]] as [String: Any]]
        let database: [AnyHashable: Any] = ["ck": ["met": ["sid": "d", "dbs": 3] as [String: Any]] as [String: Any]]
        let deletion = try #require(CKQueryNotification(fromRemoteNotificationDictionary: query))
        #expect(deletion.queryNotificationReason == .recordDeleted)
        #expect(deletion.recordID?.recordName == "sage")
        #expect(deletion.databaseScope == .public)
        #expect(CKRecordZoneNotification(fromRemoteNotificationDictionary: zone)?.recordZoneID?.zoneName == "Garden")
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: database)?.databaseScope == .shared)
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: [:]) == nil)
        for push in [zone, database] { #expect(CKQueryNotification(fromRemoteNotificationDictionary: push) == nil) }
        for push in [query, database] { #expect(CKRecordZoneNotification(fromRemoteNotificationDictionary: push) == nil) }
        for push in [query, zone] { #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: push) == nil) }
        let id = try #require(deletion.notificationID)
        #expect(try archived(id) == id)
    }

    @Test func otherPushesAreNotDecoded() {
        #expect(CKNotification(fromRemoteNotificationDictionary: [:]) == nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: ["aps": ["alert": "x"]]) == nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: ["ck": "x"]) == nil)
        #expect(CKNotification(fromRemoteNotificationDictionary: ["ck": ["cid": "c"]]) == nil)
    }
}

@Suite struct SubscriptionTests {
    @Test func notificationSettingsAreMutableInPlaceAndArchived() throws {
        let info = CKSubscription.NotificationInfo(alertBody: "New plant", soundName: "default", shouldBadge: true)
        let subscription = CKQuerySubscription(recordType: "Plant", predicate: NSPredicate(value: true), subscriptionID: "s")
        subscription.notificationInfo = info
        info.alertBody = "later"
        #expect(subscription.notificationInfo?.alertBody == "New plant", "the setter copies")
        subscription.notificationInfo?.shouldSendContentAvailable = true
        #expect(subscription.notificationInfo?.shouldSendContentAvailable == true)
        let copy = try #require(subscription.copy() as? CKQuerySubscription)
        copy.notificationInfo?.alertBody = "copied"
        copy.zoneID = CKRecordZone.ID(zoneName: "Shed")
        #expect(subscription.notificationInfo?.alertBody == "New plant")
        #expect(subscription.zoneID == nil)
        #expect(copy.subscriptionID == "s")
        #expect(copy.recordType == "Plant")
        let stored = try #require(try archived(info))
        #expect(stored.alertBody == "later")
        #expect(stored.soundName == "default")
        #expect(stored.shouldBadge)
        let all = CKDatabaseSubscription(subscriptionID: "all")
        all.notificationInfo = CKSubscription.NotificationInfo()
        all.notificationInfo?.shouldSendContentAvailable = true
        #expect((all.copy() as? CKDatabaseSubscription)?.notificationInfo?.shouldSendContentAvailable == true)
        let one = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Garden"), subscriptionID: "one")
        #expect((one.copy() as? CKRecordZoneSubscription)?.zoneID.zoneName == "Garden")
    }

    @Test func querySubscriptionsKeepTheirQuery() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("a", in: zoneID)
        record["count"] = 5
        try await database.save(record)
        let subscription = CKQuerySubscription(
            recordType: "Plant", predicate: NSPredicate(format: "count > 3"), subscriptionID: "many",
            options: [.firesOnRecordCreation, .firesOnce])
        subscription.zoneID = zoneID
        let wish = CKSubscription.NotificationInfo()
        wish.alertBody = "Many plants"
        wish.title = "Garden"
        wish.shouldBadge = true
        wish.desiredKeys = ["count"]
        subscription.notificationInfo = wish
        try await database.save(subscription)
        let fetched = try #require(try await database.subscription(for: "many") as? CKQuerySubscription)
        #expect(fetched.subscriptionType == .query)
        #expect(fetched.recordType == "Plant")
        #expect(fetched.predicate == NSPredicate(format: "count > 3"))
        #expect(fetched.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnce])
        #expect(fetched.zoneID == zoneID)
        #expect(fetched.notificationInfo?.alertBody == "Many plants")
        #expect(fetched.notificationInfo?.title == "Garden")
        #expect(fetched.notificationInfo?.shouldBadge == true)
        #expect(fetched.notificationInfo?.desiredKeys == ["count"])
    }

    @Test func anUnsupportedSubscriptionIsRejected() async throws {
        let (database, _) = try await garden()
        let subscription = CKQuerySubscription(
            recordType: "Plant", predicate: NSPredicate(format: "a == 1 OR b == 2"), subscriptionID: "or")
        let error = await failure { try await database.save(subscription) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func subscriptionsAreRoundTripped() throws {
        let all = CKDatabaseSubscription(subscriptionID: "all")
        all.recordType = "Plant"
        #expect(all.subscriptionType == .database)
        #expect(all.notificationInfo == nil)
        let restored = try #require(try archived(all))
        #expect(restored.subscriptionID == "all")
        #expect(restored.recordType == "Plant")
        let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Z"), subscriptionID: "z")
        #expect(try archived(zone)?.zoneID.zoneName == "Z")
        let query = CKQuerySubscription(recordType: "T", predicate: NSPredicate(value: true), subscriptionID: "q")
        #expect(query.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion])
        #expect(try archived(query)?.recordType == "T")
        let wish = CKSubscription.NotificationInfo(alertBody: "x", shouldBadge: true)
        #expect(wish.alertBody == "x")
        #expect(wish.shouldBadge)
        #expect(!wish.shouldSendContentAvailable)
        let copy = try #require(wish.copy() as? CKSubscription.NotificationInfo)
        copy.alertBody = "y"
        #expect(wish.alertBody == "x")
    }
}
