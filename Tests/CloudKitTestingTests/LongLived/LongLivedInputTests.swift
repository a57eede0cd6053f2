// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Foundation
import TestBasics
import Testing

private let garden = CKRecordZone(zoneName: "Garden")

/// An operation as the next process fetches it.
private func next<Kind: CKOperation>(_ operation: Kind, on device: TestDevice) async throws -> Kind {
    await device.run(operation.longLived().restarting(device))
    await device.finishLongLivedOperations()
    // Reported operations are forgotten, so that at most one is left.
    return try #require(try await device.kept() as? Kind)
}

/// The persisted inputs of each kind of operation.
@Suite(.closesFixtures) struct LongLivedInputTests {
    private func device() async throws -> TestDevice {
        let device = try await TestCloud().device("phone")
        try await device.database.save(garden)
        let plant = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: "sage", zoneID: garden.zoneID))
        plant["count"] = 3
        try await device.database.save(plant)
        return device
    }

    @Test func assetsSurviveThatTheAppRemovesItsFile() async throws {
        let device = try await TestCloud().device("phone")
        let file = TestScope.temporaryFolder("photo")
        try Data("a photo".utf8).write(to: file)
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "one"))
        record["content"] = CKAsset(fileURL: file)
        record["title"] = "Sage"
        record.encryptedValues["note"] = "mine"
        let operation = CKModifyRecordsOperation(recordsToSave: [record]).longLived()
        await device.run(operation.restarting(device) { try? FileManager.default.removeItem(at: file) })
        await device.finishLongLivedOperations()
        let saved = try await device.database.record(for: record.recordID)
        let content = try #require((saved["content"] as? CKAsset)?.fileURL)
        #expect(try String(contentsOf: content, encoding: .utf8) == "a photo")
        #expect(saved["title"] == "Sage")
        #expect(saved.encryptedValues["note"] == "mine")
    }

    @Test func theProcessThatAddedItMayRemoveItsFileToo() async throws {
        let device = try await TestCloud().device("phone")
        let file = TestScope.temporaryFolder("photo")
        try Data("a photo".utf8).write(to: file)
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "one"))
        record["content"] = CKAsset(fileURL: file)
        let callbacks = CallbackLog()
        let operation = CKModifyRecordsOperation(recordsToSave: [record]).longLived().logging(to: callbacks)
        operation.longLivedOperationWasPersistedBlock = { try? FileManager.default.removeItem(at: file) }
        await device.run(operation)
        #expect(callbacks.all == ["one ok", "end ok"])
    }

    @Test func aMissingFileIsTheErrorOfItsRecord() async throws {
        let device = try await TestCloud().device("phone")
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "one"))
        record["content"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/at-all"))
        let other = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "two"))
        let operation = CKModifyRecordsOperation(recordsToSave: [record, other])
        operation.isAtomic = false
        let callbacks = CallbackLog()
        let fetched = try await next(operation, on: device)
        #expect(!fetched.isAtomic)
        await device.run(fetched.logging(to: callbacks))
        #expect(callbacks.all == ["one assetFileNotFound", "two ok", "end partialFailure"])
    }

    @Test func fetchedResultsAreReplayedWithoutTheServer() async throws {
        let device = try await TestCloud().device("phone")
        let file = TestScope.temporaryFolder("photo")
        try Data("a photo".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "one"))
        record["content"] = CKAsset(fileURL: file)
        try await device.database.save(record)
        let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
        fetch.desiredKeys = ["content"]
        let fetched = try await next(fetch, on: device)
        #expect(fetched.recordIDs == [record.recordID])
        #expect(fetched.desiredKeys == ["content"])
        device.goOffline()
        let callbacks = CallbackLog()
        fetched.perRecordResultBlock = { _, result in
            let asset = (try? result.get())?["content"] as? CKAsset
            callbacks.add(asset?.fileURL.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? "nothing")
        }
        fetched.fetchRecordsResultBlock = { callbacks.add("end \(word($0))") }
        await device.run(fetched)
        #expect(callbacks.all == ["a photo", "end ok"])
    }

    @Test func queries() async throws {
        let device = try await device()
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "count > %d", 2))
        query.sortDescriptors = [NSSortDescriptor(key: "count", ascending: false)]
        let operation = CKQueryOperation(query: query)
        operation.zoneID = garden.zoneID
        operation.resultsLimit = 5
        let fetched = try await next(operation, on: device)
        #expect(fetched.query?.recordType == "Plant")
        #expect(fetched.zoneID == garden.zoneID)
        #expect(fetched.resultsLimit == 5)
        #expect(fetched.query?.sortDescriptors?.first?.key == "count")
        #expect(fetched.query?.sortDescriptors?.first?.ascending == false)
        let callbacks = CallbackLog()
        fetched.recordMatchedBlock = { id, result in callbacks.add("\(id.recordName) \(word(result))") }
        fetched.queryResultBlock = { callbacks.add("end \(word($0))") }
        await device.run(fetched)
        #expect(callbacks.all == ["sage ok", "end ok"])
    }

    @Test func anUnsupportedQueryFailsImmediately() async throws {
        let device = try await device()
        let callbacks = CallbackLog()
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "a = 1 OR b = 2"))
        let operation = CKQueryOperation(query: query).longLived()
        operation.longLivedOperationWasPersistedBlock = { callbacks.add("kept") }
        operation.queryResultBlock = { callbacks.add("end \(word($0))") }
        await device.run(operation)
        #expect(callbacks.all == ["end invalidArguments"])
    }

    @Test func zonesAndTheirChanges() async throws {
        let device = try await device()
        let save = try await next(
            CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneName: "House")], recordZoneIDsToDelete: [CKRecordZone.ID(zoneName: "Old")]),
            on: device)
        #expect(save.recordZonesToSave?.map(\.zoneID.zoneName) == ["House"])
        #expect(save.recordZoneIDsToDelete?.map(\.zoneName) == ["Old"])
        await device.run(save)

        let fetch = try await next(CKFetchRecordZonesOperation(recordZoneIDs: [garden.zoneID]), on: device)
        #expect(fetch.recordZoneIDs == [garden.zoneID])
        await device.run(fetch)
        let all = try await next(CKFetchRecordZonesOperation.fetchAllRecordZonesOperation(), on: device)
        #expect(all.recordZoneIDs == nil)
        await device.run(all)

        let database = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        database.resultsLimit = 1
        let changes = try await next(database, on: device)
        #expect(changes.previousServerChangeToken == nil)
        #expect(changes.resultsLimit == 1)
        #expect(changes.fetchAllChanges)
        let callbacks = CallbackLog()
        changes.recordZoneWithIDChangedBlock = { callbacks.add($0.zoneName) }
        changes.fetchDatabaseChangesResultBlock = { callbacks.add("end \(word($0))") }
        await device.run(changes)
        #expect(callbacks.all.contains("Garden"))
        #expect(callbacks.all.contains("House"))
        #expect(callbacks.all.last == "end ok")

        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: nil, resultsLimit: 2, desiredKeys: ["count"])
        let zone = try await next(
            CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [garden.zoneID], configurationsByRecordZoneID: [garden.zoneID: configuration]), on: device)
        #expect(zone.recordZoneIDs == [garden.zoneID])
        #expect(zone.configurationsByRecordZoneID?[garden.zoneID]?.desiredKeys == ["count"])
        #expect(zone.configurationsByRecordZoneID?[garden.zoneID]?.resultsLimit == 2)
        let records = CallbackLog()
        zone.recordWasChangedBlock = { id, result in records.add("\(id.recordName) \(word(result))") }
        zone.fetchRecordZoneChangesResultBlock = { records.add("end \(word($0))") }
        await device.run(zone)
        #expect(records.all == ["sage ok", "end ok"])
    }

    @Test func subscriptions() async throws {
        let device = try await device()
        let query = CKQuerySubscription(
            recordType: "Plant", predicate: NSPredicate(format: "count > %d", 1), subscriptionID: "many",
            options: [.firesOnRecordCreation])
        query.notificationInfo = CKSubscription.NotificationInfo()
        query.notificationInfo?.alertBody = "A plant"
        let zone = CKRecordZoneSubscription(zoneID: garden.zoneID, subscriptionID: "garden")
        zone.notificationInfo = CKSubscription.NotificationInfo()
        zone.notificationInfo?.shouldSendContentAvailable = true
        let save = try await next(
            CKModifySubscriptionsOperation(subscriptionsToSave: [query, zone], subscriptionIDsToDelete: ["old"]), on: device)
        #expect(save.subscriptionsToSave?.map(\.subscriptionID) == ["many", "garden"])
        #expect((save.subscriptionsToSave?.last as? CKRecordZoneSubscription)?.zoneID == garden.zoneID)
        #expect(save.subscriptionIDsToDelete == ["old"])
        await device.run(save)
        let fetch = try await next(CKFetchSubscriptionsOperation(subscriptionIDs: ["many"]), on: device)
        let callbacks = CallbackLog()
        fetch.perSubscriptionResultBlock = { id, result in callbacks.add("\(id) \(word(result))") }
        await device.run(fetch)
        #expect(callbacks.all == ["many ok"])
    }

    @Test func sharesAndPeople() async throws {
        let cloud = try TestCloud()
        let owner = try await cloud.device("phone", account: "mia")
        let guest = try await cloud.device("tablet", account: "eve")
        try await owner.database.save(garden)
        let root = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list", zoneID: garden.zoneID))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        let save = CKModifyRecordsOperation(recordsToSave: [root, share]).longLived().restarting(owner)
        await owner.run(save)
        await owner.finishLongLivedOperations()
        let callbacks = CallbackLog()
        let saved = try #require(try await owner.kept() as? CKModifyRecordsOperation)
        await owner.run(saved.logging(to: callbacks))
        let links = callbacks.records.compactMap { ($0 as? CKShare)?.url }
        let url = try #require(links.first)

        let ask = CKFetchShareMetadataOperation(shareURLs: [url])
        ask.shouldFetchRootRecord = true
        let metadata = try await next(ask, on: guest)
        #expect(metadata.shareURLs == [url])
        #expect(metadata.shouldFetchRootRecord)
        await guest.run(metadata)
        let accept = try await next(
            CKAcceptSharesOperation(shareMetadatas: [try await guest.container.shareMetadata(for: url)]), on: guest)
        let accepted = CallbackLog()
        accept.perShareResultBlock = { _, result in accepted.add(word(result)) }
        await guest.run(accept)
        #expect(accepted.all == ["ok"])

        let people = try await next(
            CKFetchShareParticipantsOperation(userIdentityLookupInfos: [
                CKUserIdentity.LookupInfo(emailAddress: TestCloud.emailAddress(of: "eve"))
            ]), on: owner)
        #expect(people.userIdentityLookupInfos?.first?.emailAddress == TestCloud.emailAddress(of: "eve"))
    }

    @Test func anAppsSubclassIsPersistedAsItsSuperclass() async throws {
        let device = try await device()
        let mine = OwnFetch(recordIDs: [CKRecord.ID(recordName: "sage", zoneID: garden.zoneID)]).longLived()
        mine.name = "plants"
        mine.configuration.timeoutIntervalForResource = 90
        mine.group = CKOperationGroup()
        mine.group?.name = "all plants"
        await device.run(mine.restarting(device))
        let fetched = try #require(try await device.kept())
        #expect(type(of: fetched) == CKFetchRecordsOperation.self)
        #expect(fetched.name == "plants")
        #expect(fetched.group?.name == "all plants")
        #expect(fetched.configuration.timeoutIntervalForResource == 90)
    }

    @Test func anOperationThatCannotBePersistedRunsOrdinarily() async throws {
        let device = try await device()
        let callbacks = CallbackLog()
        let operation = CKDiscoverAllUserIdentitiesOperation().longLived()
        operation.longLivedOperationWasPersistedBlock = { callbacks.add("kept") }
        operation.discoverAllUserIdentitiesResultBlock = { callbacks.add("end \(word($0))") }
        await device.run(operation)
        #expect(callbacks.all == ["end ok"])
    }
}

private final class OwnFetch: CKFetchRecordsOperation, @unchecked Sendable {}  // As its superclass.
