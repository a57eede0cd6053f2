// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import Testing

@Suite struct FetchTests {
    @Test func recordsAreFetchedOneByOne() async throws {
        let (database, zoneID) = try await garden()
        try await database.save(plant("a", in: zoneID))
        let ids = ["a", "missing"].map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        let log = CallbackLog()
        let final = Mutex<CKError?>(nil)
        let operation = CKFetchRecordsOperation(recordIDs: ids)
        operation.perRecordProgressBlock = { id, part in log.add("progress \(id.recordName) \(part)") }
        operation.perRecordResultBlock = { id, result in
            switch result {
            case .success(let record): log.add("got \(record.recordID.recordName)")
            case .failure(let error): log.add("no \(id.recordName) \((error as? CKError)?.errorCode ?? 0)")
            }
        }
        operation.fetchRecordsResultBlock = { result in
            if case .failure(let error) = result { final.withLock { $0 = error as? CKError } }
        }
        await finish(operation, on: database)
        #expect(log.all == ["progress a 1.0", "got a", "no missing 11"])
        let error = try #require(final.withLock { $0 })
        #expect(error.code == .partialFailure)
        #expect((error.partialErrorsByItemID?[ids[1]] as? CKError)?.code == .unknownItem)
        let results = try await database.records(for: ids)
        #expect(results.count == 2)
        #expect(try results[ids[0]]?.get().recordID == ids[0])
    }

    @Test func theOlderFetchBlocksSayTheSame() async throws {
        let (database, zoneID) = try await garden()
        try await database.save(plant("a", in: zoneID))
        let log = CallbackLog()
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a", zoneID: zoneID)])
        operation.perRecordCompletionBlock = { record, id, error in
            log.add("\(record != nil) \(id?.recordName ?? "") \(error == nil)")
        }
        operation.fetchRecordsCompletionBlock = { records, error in log.add("\(records?.count ?? 0) \(error == nil)") }
        await finish(operation, on: database)
        #expect(log.all == ["true a true", "1 true"])
    }

    @Test func desiredKeysExcludeOtherFields() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("a", in: zoneID)
        record["x"] = 1
        record["y"] = 2
        try await database.save(record)
        let some = try await database.records(for: [record.recordID], desiredKeys: ["x"])
        #expect(try some[record.recordID]?.get().allKeys() == ["x"])
        let none = try await database.records(for: [record.recordID], desiredKeys: [])
        #expect(try none[record.recordID]?.get().allKeys() == [])
        let all = try await database.records(for: [record.recordID])
        #expect(try all[record.recordID]?.get().allKeys().count == 2)
    }

    /// Apps tell a cancellation from other errors by the framework's code.
    @Test func aCancelledTaskThrowsTheFrameworksError() async throws {
        let (database, zoneID) = try await garden()
        let record = plant("sage", in: zoneID)
        let task = Task { () -> [CKError.Code?] in
            withUnsafeCurrentTask { current -> Void in current?.cancel() }
            let fetch = await failure { try await database.records(for: [record.recordID]) }
            let save = await failure { try await database.save(record) }
            let changes = await failure { try await database.recordZoneChanges(inZoneWith: zoneID, since: nil) }
            return [fetch?.code, save?.code, changes?.code]
        }
        #expect(await task.value == [.operationCancelled, .operationCancelled, .operationCancelled])
    }

    @Test func zonesAreCreatedAndDeleted() async throws {
        let (database, zoneID) = try await garden()
        let zone = try await database.recordZone(for: zoneID)
        #expect(zone.zoneID == zoneID)
        #expect(zone.capabilities.contains(.fetchChanges))
        #expect(zone.capabilities.contains(.atomic))
        let zones = try await database.allRecordZones()
        #expect(Set(zones.map(\.zoneID.zoneName)) == ["Garden", "_defaultZone"])
        let repeated = try await database.save(CKRecordZone(zoneID: zoneID))
        #expect(repeated.zoneID == zoneID)
        let results = try await database.modifyRecordZones(
            saving: [CKRecordZone(zoneName: "Other")], deleting: [zoneID])
        #expect(results.saveResults.count == 1)
        #expect(results.deleteResults.count == 1)
        let error = await failure { try await database.recordZone(for: zoneID) }
        #expect(error?.code == .zoneNotFound)
        let fetched = try await database.recordZones(for: [zoneID, CKRecordZone.ID(zoneName: "Other")])
        #expect(fetched.count == 2)
        #expect(try fetched[CKRecordZone.ID(zoneName: "Other")]?.get().zoneID.zoneName == "Other")
        let deleted = try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "Other"))
        #expect(deleted.zoneName == "Other")
    }

    @Test func zoneOperationsReportEachZone() async throws {
        let database = try await testContainer().privateCloudDatabase
        let log = CallbackLog()
        let modify = CKModifyRecordZonesOperation(
            recordZonesToSave: [CKRecordZone(zoneName: "A"), CKRecordZone(zoneName: "B")], recordZoneIDsToDelete: nil)
        modify.perRecordZoneSaveBlock = { id, result in
            if case .success = result { log.add("saved \(id.zoneName)") }
        }
        modify.modifyRecordZonesResultBlock = { _ in log.add("result") }
        modify.modifyRecordZonesCompletionBlock = { zones, ids, error in
            log.add("\(zones?.count ?? 0) \(ids?.count ?? 0) \(error == nil)")
        }
        await finish(modify, on: database)
        #expect(log.all == ["saved A", "saved B", "result", "2 0 true"])
        let zones = Mutex<Set<String>>([])
        let fetch = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        fetch.perRecordZoneResultBlock = { id, _ in zones.withLock { _ = $0.insert(id.zoneName) } }
        fetch.fetchRecordZonesCompletionBlock = { zones, _ in log.add("\(zones?.count ?? 0)") }
        await finish(fetch, on: database)
        #expect(zones.withLock { $0 } == ["A", "B", "_defaultZone"])
        #expect(log.all.last == "3")
    }

    @Test func subscriptionsAreCreatedAndDeleted() async throws {
        let (database, zoneID) = try await garden()
        let wish = CKSubscription.NotificationInfo()
        wish.shouldSendContentAvailable = true
        let all = CKDatabaseSubscription(subscriptionID: "all")
        all.notificationInfo = wish
        let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone")
        zone.notificationInfo = wish
        let saved = try await database.modifySubscriptions(saving: [all, zone], deleting: [])
        #expect(saved.saveResults.count == 2)
        let fetched = try await database.subscription(for: "zone")
        #expect((fetched as? CKRecordZoneSubscription)?.zoneID == zoneID)
        #expect(fetched.notificationInfo?.shouldSendContentAvailable == true)
        #expect(Set(try await database.allSubscriptions().map(\.subscriptionID)) == ["all", "zone"])
        #expect(try await database.deleteSubscription(withID: "all") == "all")
        let error = await failure { try await database.subscription(for: "all") }
        #expect(error?.code == .unknownItem)
        let log = CallbackLog()
        let operation = CKModifySubscriptionsOperation(subscriptionsToSave: [all], subscriptionIDsToDelete: ["zone"])
        operation.perSubscriptionSaveBlock = { id, _ in log.add("saved \(id)") }
        operation.perSubscriptionDeleteBlock = { id, _ in log.add("deleted \(id)") }
        operation.modifySubscriptionsResultBlock = { _ in log.add("result") }
        operation.modifySubscriptionsCompletionBlock = { saved, deleted, error in
            log.add("\(saved?.count ?? 0) \(deleted ?? []) \(error == nil)")
        }
        await finish(operation, on: database)
        #expect(log.all == ["saved all", "deleted zone", "result", #"1 ["zone"] true"#])
        let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: ["all", "zone"])
        let errors = Mutex<CKError?>(nil)
        fetch.fetchSubscriptionCompletionBlock = { subscriptions, error in
            log.add("\(subscriptions?.keys.sorted() ?? [])")
            errors.withLock { $0 = error as? CKError }
        }
        await finish(fetch, on: database)
        #expect(log.all.last == #"["all"]"#)
        #expect(errors.withLock { $0 }?.code == .partialFailure)
    }
}

@Suite struct ChangeTests {
    @Test func databaseChangesNameZones() async throws {
        let (database, zoneID) = try await garden()
        let first = try await database.databaseChanges(since: nil)
        #expect(first.modifications.map(\.zoneID) == [zoneID])
        #expect(first.deletions.isEmpty)
        #expect(!first.moreComing)
        try await database.save(CKRecordZone(zoneName: "Other"))
        try await database.deleteRecordZone(withID: zoneID)
        let second = try await database.databaseChanges(since: first.changeToken)
        #expect(second.modifications.map(\.zoneID.zoneName) == ["Other"])
        #expect(second.deletions.map(\.zoneID) == [zoneID])
        let log = CallbackLog()
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: first.changeToken)
        operation.recordZoneWithIDChangedBlock = { log.add("changed \($0.zoneName)") }
        operation.recordZoneWithIDWasDeletedBlock = { log.add("deleted \($0.zoneName)") }
        operation.changeTokenUpdatedBlock = { _ in log.add("token") }
        operation.fetchDatabaseChangesResultBlock = { result in
            if case .success(let answer) = result { log.add("result \(answer.moreComing)") }
        }
        operation.fetchDatabaseChangesCompletionBlock = { token, moreComing, error in
            log.add("\(token != nil) \(moreComing) \(error == nil)")
        }
        await finish(operation, on: database)
        #expect(log.all == ["changed Other", "deleted Garden", "token", "result false", "true false true"])
    }

    @Test func zoneChangesAreDeliveredInOrder() async throws {
        let (database, zoneID) = try await garden()
        try await database.save(plant("a", in: zoneID))
        try await database.save(plant("b", in: zoneID))
        let first = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(first.modificationResultsByID.count == 2)
        try await database.deleteRecord(withID: CKRecord.ID(recordName: "a", zoneID: zoneID))
        let log = CallbackLog()
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.previousServerChangeToken = first.changeToken
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
        operation.recordWasChangedBlock = { id, _ in log.add("changed \(id.recordName)") }
        operation.recordWithIDWasDeletedBlock = { id, type in log.add("deleted \(id.recordName) \(type)") }
        operation.recordZoneFetchResultBlock = { id, result in
            if case .success(let answer) = result { log.add("zone \(id.zoneName) \(answer.moreComing)") }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            if case .success = result { log.add("result") }
        }
        await finish(operation, on: database)
        #expect(log.all == ["deleted a Plant", "zone Garden false", "result"])
    }

    @Test func pagesAreFetchedUnlessOneIsEnough() async throws {
        let (database, zoneID) = try await garden()
        for name in ["a", "b", "c"] { try await database.save(plant(name, in: zoneID)) }
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        #expect(configuration.resultsLimit == 0)
        configuration.resultsLimit = 2
        let stored = try archived(configuration)
        #expect(stored?.resultsLimit == 2)
        #expect(stored?.previousServerChangeToken == nil)
        let log = CallbackLog()
        let all = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
        all.recordChangedBlock = { log.add($0.recordID.recordName) }
        all.recordZoneChangeTokensUpdatedBlock = { _, token, _ in log.add("token \(token != nil)") }
        all.recordZoneFetchCompletionBlock = { _, token, _, moreComing, error in
            log.add("zone \(token != nil) \(moreComing) \(error == nil)")
        }
        all.fetchRecordZoneChangesCompletionBlock = { error in log.add("done \(error == nil)") }
        await finish(all, on: database)
        #expect(log.all == ["a", "b", "token true", "c", "zone true false true", "done true"])
        let one = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
        one.fetchAllChanges = false
        let page = CallbackLog()
        one.recordChangedBlock = { page.add($0.recordID.recordName) }
        one.recordZoneFetchCompletionBlock = { _, _, _, moreComing, _ in page.add("more \(moreComing)") }
        await finish(one, on: database)
        #expect(page.all == ["a", "b", "more true"])
        let first = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil, resultsLimit: 2)
        #expect(first.moreComing)
        let second = try await database.recordZoneChanges(inZoneWith: zoneID, since: first.changeToken)
        #expect(second.modificationResultsByID.count == 1)
    }

    @Test func aMissingZoneIsAPartialFailure() async throws {
        let (database, zoneID) = try await garden()
        let lost = CKRecordZone.ID(zoneName: "Lost")
        let log = CallbackLog()
        let final = Mutex<CKError?>(nil)
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [lost, zoneID])
        operation.recordZoneFetchResultBlock = { id, result in
            switch result {
            case .success: log.add("\(id.zoneName)")
            case .failure(let error): log.add("\(id.zoneName) \((error as? CKError)?.errorCode ?? 0)")
            }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            if case .failure(let error) = result { final.withLock { $0 = error as? CKError } }
        }
        await finish(operation, on: database)
        #expect(Set(log.all) == ["Lost 26", "Garden"])
        #expect(final.withLock { $0 }?.code == .partialFailure)
        #expect(final.withLock { $0 }?.partialErrorsByItemID?[lost] != nil)
        let error = await failure { try await database.recordZoneChanges(inZoneWith: lost, since: nil) }
        #expect(error?.code == .zoneNotFound)
    }
}
