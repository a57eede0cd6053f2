// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Synchronization
import Testing

private let garden = CKRecordZone.ID(zoneName: "Garden")

private func fetched(_ name: String, tag: String, _ fields: [String: Field] = [:]) -> CKRecord {
    CKRecord(Record(recordName: name, recordType: "Plant", recordChangeTag: tag, fields: fields), in: garden, scope: .private)
}

@Suite struct DatabaseTests {
    @Test func aNewRecordIsCreatedAndAFetchedOneUpdated() async throws {
        let new = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: "p1", zoneID: garden))
        new["name"] = "Sage"
        let old = fetched("p2", tag: "a", ["name": Field(.string("Mint")), "note": Field(.string("x"))])
        old["note"] = nil
        let transport = RecordingTransport(
            .ok(
                ModifyRecordsResponse(results: [
                    .record(Record(recordName: "p1", recordType: "Plant", recordChangeTag: "b", fields: ["name": Field(.string("Sage"))])),
                    .record(Record(recordName: "p2", recordType: "Plant", recordChangeTag: "c")),
                    .record(Record(recordName: "p3", isDeleted: true)),
                ])))
        let results = try await container(transport).privateCloudDatabase.modifyRecords(
            saving: [new, old], deleting: [CKRecord.ID(recordName: "p3", zoneID: garden)])
        #expect(
            try transport.body(0)
                == ModifyRecordsRequest(
                    operations: [
                        RecordOperation(.create, Record(recordName: "p1", recordType: "Plant", fields: ["name": Field(.string("Sage"))])),
                        RecordOperation(
                            .update, Record(recordName: "p2", recordType: "Plant", recordChangeTag: "a", fields: ["note": Field(nil)])),
                        RecordOperation(.forceDelete, Record(recordName: "p3")),
                    ], zoneID: ZoneID(zoneName: "Garden"), atomic: true))
        let saved = try #require(try results.saveResults[new.recordID]?.get())
        #expect(saved.recordChangeTag == "b")
        #expect(saved["name"] as? String == "Sage")
        #expect(saved.changedKeys().isEmpty)
        #expect(results.deleteResults.count == 1)
    }

    @Test func savePoliciesDecideTheSentFields() async throws {
        let old = fetched("p", tag: "a", ["x": Field(.int64(1), isEncrypted: true), "y": Field(.int64(2))])
        old["y"] = 3
        let saved = ModifyRecordsResponse(results: [.record(Record(recordName: "p"))])
        let transport = RecordingTransport(.ok(saved), .ok(saved))
        let database = container(transport).privateCloudDatabase
        _ = try await database.modifyRecords(saving: [old], deleting: [], savePolicy: .changedKeys, atomically: false)
        _ = try await database.modifyRecords(saving: [old], deleting: [], savePolicy: .allKeys)
        let changed: ModifyRecordsRequest = try transport.body(0)
        #expect(
            changed.operations == [
                RecordOperation(.forceUpdate, Record(recordName: "p", recordType: "Plant", fields: ["y": Field(.int64(3))]))
            ])
        #expect(!changed.atomic)
        let all: ModifyRecordsRequest = try transport.body(1)
        #expect(all.operations.first?.record.fields == ["x": Field(.int64(1), isEncrypted: true), "y": Field(.int64(3))])
        #expect(transport.requests[0].headers["X-Tarn-Idempotency-Key"] != transport.requests[1].headers["X-Tarn-Idempotency-Key"])
    }

    @Test func aConflictBringsAllThreeRecords() async throws {
        let old = fetched("p", tag: "a", ["x": Field(.int64(1))])
        old["x"] = 2
        let server = Record(recordName: "p", recordType: "Plant", recordChangeTag: "b", fields: ["x": Field(.int64(3))])
        let transport = RecordingTransport(
            .ok(ModifyRecordsResponse(results: [.failure(recordName: "p", WireError(.conflict, "stale"), serverRecord: server)])))
        let error = await failure { try await container(transport).privateCloudDatabase.save(old) }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.serverRecord?["x"] as Int? == 3)
        #expect(error?.serverRecord?.recordChangeTag == "b")
        #expect(error?.clientRecord === old)
        #expect(error?.ancestorRecord?["x"] as Int? == 1)
    }

    @Test func zonesAreSentOneByOneAndTheDefaultZoneIsNeverAtomic() async throws {
        let first = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "a", zoneID: garden))
        let second = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "b"))
        let third = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "c", zoneID: garden))
        let transport = RecordingTransport(
            .ok(#"{"records":[{"recordName":"a"},{"recordName":"c"}]}"#),
            .ok(#"{"records":[{"recordName":"b","serverErrorCode":"ACCESS_DENIED","reason":"no"}]}"#))
        let results = try await container(transport).privateCloudDatabase
            .modifyRecords(saving: [first, second, third], deleting: [])
        let requests: [ModifyRecordsRequest] = [try transport.body(0), try transport.body(1)]
        #expect(requests.map(\.zoneID.zoneName) == ["Garden", "_defaultZone"])
        #expect(requests.map(\.atomic) == [true, false])
        #expect(results.saveResults.count == 3)
        #expect(await failure { try results.saveResults[second.recordID]?.get() }?.code == .permissionFailure)
    }

    @Test func tooManyRecordsAreNotSent() async {
        let transport = RecordingTransport()
        let ids = (0...Limits().operationsPerRequest).map { CKRecord.ID(recordName: "\($0)", zoneID: garden) }
        let error = await failure { try await container(transport).privateCloudDatabase.modifyRecords(saving: [], deleting: ids) }
        #expect(error?.code == .limitExceeded)
        #expect(transport.requests.isEmpty)
    }

    @Test func fetchedRecordsComeWithTheFilesOfTheirAssets() async throws {
        let asset = AssetValue(fileChecksum: "x", size: 5, downloadURL: "/a/1")
        let transport = RecordingTransport(
            .ok(
                LookupRecordsResponse(results: [.record(Record(recordName: "p", recordType: "T", fields: ["photo": Field(.asset(asset))]))])
            ),
            .pieces(status: 200, [Array("hello".utf8)], endless: false))
        let record = try await container(transport).privateCloudDatabase.record(for: CKRecord.ID(recordName: "p"))
        let file = try #require((record["photo"] as? CKAsset)?.fileURL)
        #expect(try String(contentsOf: file, encoding: .utf8) == "hello")
        try FileManager.default.removeItem(at: file)
    }

    @Test func aMissingRecordIsAnUnknownItem() async {
        let transport = RecordingTransport(
            .ok(LookupRecordsResponse(results: [.failure(recordName: "p", WireError(.notFound, "no such record"), serverRecord: nil)])))
        let error = await failure { try await container(transport).privateCloudDatabase.record(for: CKRecord.ID(recordName: "p")) }
        #expect(error?.code == .unknownItem)
    }

    @Test func newAssetsAreSentBeforeTheirRecord() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("photo")
        try Data("hello".utf8).write(to: file)
        let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: "p", zoneID: garden))
        record["photo"] = CKAsset(fileURL: file)
        let value = AssetValue(fileChecksum: "AQ", size: 5, receipt: "r")
        let transport = RecordingTransport(
            .ok(AssetUploadResponse(results: [.address(AssetUploadAddress(recordName: "p", fieldName: "photo", url: "/u/1"))])),
            .ok(AssetUploadReceipt(asset: value)),
            .ok(
                ModifyRecordsResponse(results: [.record(Record(recordName: "p", recordType: "T", fields: ["photo": Field(.asset(value))]))])
            ))
        let saved = try await container(transport).privateCloudDatabase.save(record)
        let request: ModifyRecordsRequest = try transport.body(2)
        #expect(request.operations.first?.record.fields == ["photo": Field(.asset(value))])
        #expect((saved["photo"] as? CKAsset)?.fileURL == file)
    }

    @Test func changesOfADatabaseAreZones() async throws {
        let transport = RecordingTransport(
            .ok(
                DatabaseChangesResponse(
                    zones: [
                        ZoneChange(zoneID: ZoneID(zoneName: "Garden", ownerRecordName: "_7a1c"), syncToken: "F"),
                        ZoneChange(zoneID: ZoneID(zoneName: "Old"), isDeleted: true),
                    ], syncToken: "t2", moreComing: true)))
        let changes = try await container(transport).privateCloudDatabase
            .databaseChanges(since: CKServerChangeToken("t1"), resultsLimit: 9)
        #expect(try transport.body(0) == DatabaseChangesRequest(syncToken: "t1", resultsLimit: 9))
        #expect(changes.modifications.map(\.zoneID) == [garden])
        #expect(changes.deletions.map(\.zoneID.zoneName) == ["Old"])
        #expect(changes.changeToken == CKServerChangeToken("t2"))
        #expect(changes.moreComing)
    }

    @Test func changesOfAZoneAreRecordsAndDeletions() async throws {
        let transport = RecordingTransport(
            .ok(
                ZoneChangesResponse(zones: [
                    .changes(
                        ZoneChanges(
                            zoneID: ZoneID(zoneName: "Garden"),
                            records: [
                                Record(recordName: "a", recordType: "Plant", fields: ["n": Field(.string("Sage"))]),
                                Record(recordName: "b", recordType: "Plant", isDeleted: true),
                            ], syncToken: "K", moreComing: false))
                ])),
            .ok(
                ZoneChangesResponse(zones: [
                    .failure(ZoneID(zoneName: "Garden"), WireError(.badRequest, "old", nativeCode: .changeTokenExpired))
                ])))
        let database = container(transport).privateCloudDatabase
        let changes = try await database.recordZoneChanges(inZoneWith: garden, since: nil)
        let a = try #require(try changes.modificationResultsByID[CKRecord.ID(recordName: "a", zoneID: garden)]?.get())
        #expect(a.record["n"] as? String == "Sage")
        #expect(changes.deletions.map(\.recordType) == ["Plant"])
        #expect(changes.changeToken.text == "K")
        let error = await failure { try await database.recordZoneChanges(inZoneWith: garden, since: changes.changeToken) }
        #expect(error?.code == .changeTokenExpired)
    }

    private func run(_ operation: CKDatabaseOperation, on database: CKDatabase) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
        }
    }

    /// A zone with a record, and a server that cannot send the asset of the record.
    private func zoneWithoutAsset(_ status: Int) -> RecordingTransport {
        let asset = AssetValue(fileChecksum: "x", size: 5, downloadURL: "/a/1")
        let photo = Record(recordName: "p", recordType: "T", recordChangeTag: "a", fields: ["photo": Field(.asset(asset))])
        let page = ZoneChanges(zoneID: ZoneID(zoneName: "Garden"), records: [photo], syncToken: "K", moreComing: false)
        return RecordingTransport(
            .ok(ZoneChangesResponse(zones: [.changes(page)])), .response(TransportResponse(status: status)))
    }

    /// Those blocks receive no error of a record: with the next token, the app would never receive the record.
    @Test func aRecordThatCannotBeFetchedNowKeepsTheTokenOfOlderBlocks() async {
        let log = Mutex<[String]>([])
        @Sendable func token(_ token: CKServerChangeToken?, _ error: (any Error)?) -> String {
            "\(token?.text ?? "-") \((error as? CKError)?.code.rawValue ?? 0)"
        }
        for status in [503, 404] {
            let zones = CKFetchRecordZoneChangesOperation(recordZoneIDs: [garden], configurationsByRecordZoneID: nil)
            zones.recordChangedBlock = { _ in log.withLock { $0.append("record") } }
            zones.recordZoneFetchCompletionBlock = { _, reached, _, _, error in log.withLock { $0.append(token(reached, error)) } }
            await run(zones, on: container(zoneWithoutAsset(status)).privateCloudDatabase)
            let records = CKFetchRecordChangesOperation(recordZoneID: garden, previousServerChangeToken: nil)
            records.recordChangedBlock = { _ in log.withLock { $0.append("record") } }
            records.fetchRecordChangesCompletionBlock = { reached, _, error in log.withLock { $0.append(token(reached, error)) } }
            await run(records, on: container(zoneWithoutAsset(status)).privateCloudDatabase)
        }
        #expect(log.withLock { $0 } == ["- 6", "- 6", "K 0", "K 0"])
    }

    @Test func aRecordThatCannotBeFetchedNowIsReportedWithItsError() async {
        let log = Mutex<[String]>([])
        let zones = CKFetchRecordZoneChangesOperation(recordZoneIDs: [garden], configurationsByRecordZoneID: nil)
        zones.recordWasChangedBlock = { id, result in
            let code = if case .failure(let error as CKError) = result { error.code.rawValue } else { 0 }
            log.withLock { $0.append("\(id.recordName) \(code)") }
        }
        zones.recordZoneFetchCompletionBlock = { _, token, _, _, _ in log.withLock { $0.append(token?.text ?? "-") } }
        await run(zones, on: container(zoneWithoutAsset(503)).privateCloudDatabase)
        #expect(log.withLock { $0 } == ["p 6", "K"])
    }

    @Test func aLimitOfZeroLetsTheServerChoose() async throws {
        let changes = ZoneChanges(zoneID: ZoneID(zoneName: "Garden"), records: [], syncToken: "K", moreComing: false)
        let transport = RecordingTransport(
            .ok(DatabaseChangesResponse(zones: [], syncToken: "t", moreComing: false)),
            .ok(ZoneChangesResponse(zones: [.changes(changes)])))
        let database = container(transport).privateCloudDatabase
        _ = try await database.databaseChanges(since: nil, resultsLimit: 0)
        _ = try await database.recordZoneChanges(inZoneWith: garden, since: nil, resultsLimit: 0)
        #expect(try transport.body(0, as: DatabaseChangesRequest.self).resultsLimit == nil)
        #expect(try transport.body(1, as: ZoneChangesRequest.self).zones.map(\.resultsLimit) == [nil])
    }

    @Test func zonesAndSubscriptionsAreSavedAndDeleted() async throws {
        let transport = RecordingTransport(
            .ok(
                ZonesResponse(zones: [
                    .zone(Zone(zoneID: ZoneID(zoneName: "Garden", ownerRecordName: "_7a1c"))), .deleted(ZoneID(zoneName: "Old")),
                ])),
            .ok(
                SubscriptionsResponse(subscriptions: [
                    .subscription(Subscription(subscriptionID: "s", kind: .database, notification: .silent)), .deleted(subscriptionID: "o"),
                ])))
        let database = container(transport).privateCloudDatabase
        let zones = try await database.modifyRecordZones(
            saving: [CKRecordZone(zoneID: garden)], deleting: [CKRecordZone.ID(zoneName: "Old")])
        #expect(try zones.saveResults[garden]?.get().capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
        let wish = CKSubscription.NotificationInfo()
        wish.shouldSendContentAvailable = true
        let subscription = CKDatabaseSubscription(subscriptionID: "s")
        subscription.notificationInfo = wish
        let saved = try await database.modifySubscriptions(saving: [subscription], deleting: ["o"])
        #expect(
            try transport.body(1)
                == SubscriptionsModifyRequest(operations: [
                    .create(Subscription(subscriptionID: "s", kind: .database, notification: .silent)),
                    .delete(subscriptionID: "o"),
                ]))
        #expect(try saved.saveResults["s"]?.get().subscriptionType == .database)
        #expect(saved.deleteResults.count == 1)
    }
}
