// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// More code written for Apple's framework, as it stands.
@Suite struct SnippetTests {
    @Test func modelsAreRoundTrippedWithTheirSystemFields() async throws {
        let cloud = try TestCloud()
        let database = try await cloud.device("phone").container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Trips"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("cover-\(UUID().uuidString)")
        try Data("cover".utf8).write(to: file, options: .atomic)
        defer { try? FileManager.default.removeItem(at: file) }
        var trip = Trip(id: CKRecord.ID(recordName: "alps", zoneID: zone.zoneID), title: "Alps")
        trip.places = ["Bern", "Chur"]
        trip.isDone = true
        trip.diary = "secret"
        trip.position = CLLocation(latitude: 46.9, longitude: 7.4)
        trip.cover = file
        let record = trip.makeRecord()
        #expect(describeChanges(of: record).contains("days = 3"))
        try await database.save(record)

        var fetched = try Trip(record: try await database.record(for: trip.id))
        #expect(fetched.title == "Alps")
        #expect(fetched.days == 3)
        #expect(fetched.budget == 99.5)
        #expect(fetched.isDone)
        #expect(fetched.places == ["Bern", "Chur"])
        #expect(fetched.starts == trip.starts)
        #expect(fetched.diary == "secret")
        #expect(fetched.position?.coordinate.latitude == 46.9)
        #expect(try fetched.cover.map { try Data(contentsOf: $0) } == Data("cover".utf8))

        // The archived system fields are enough to save a change.
        fetched.title = "High Alps"
        fetched.places = []
        fetched.cover = nil
        let again = fetched.makeRecord()
        #expect(again.recordChangeTag == record.recordChangeTag)
        try await database.save(again)
        let last = try await database.record(for: trip.id)
        #expect(last["title"] == "High Alps")
        #expect(last["places"] == nil)
        #expect(last["cover"] != nil)
        #expect(throws: ModelError.self) { try Trip(record: CKRecord(recordType: "Other")) }
        #expect(throws: ModelError.self) { try Trip(record: CKRecord(recordType: "Trip")) }
    }

    @Test func recordsAreCachedByTheirIdentifiers() async throws {
        let zones = ["A", "B"].map { CKRecordZone.ID(zoneName: $0, ownerName: CKCurrentUserDefaultName) }
        var cache = RecordCache()
        for zoneID in zones {
            for name in ["1", "2"] { cache.insert(CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))) }
        }
        #expect(cache.byZone.mapValues(\.count) == [zones[0]: 2, zones[1]: 2])
        #expect(cache.tags.isEmpty)
        cache.remove([CKRecord.ID(recordName: "1", zoneID: zones[0])])
        #expect(cache[CKRecord.ID(recordName: "1", zoneID: CKRecordZone.ID(zoneName: "A"))] == nil)
        #expect(cache[CKRecord.ID(recordName: "1", zoneID: zones[1])] != nil)
    }

    @Test func everyErrorCodeIsHandled() throws {
        let problems = CKError.Code.allCases.map { CloudProblem(CKError($0)) }
        #expect(problems.filter { if case .fatal = $0 { false } else { true } }.count == 16)
        let busy = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 4.5])
        #expect(CloudProblem(busy) == .retryLater(4.5))
        #expect((busy as Error).retryDelay == 4.5)
        #expect((busy as NSError as Error).retryDelay == 4.5)
        #expect((CocoaError(.fileNoSuchFile) as Error).retryDelay == nil)
        #expect((busy as Error).cloudCode == .zoneBusy)
        let errors: [AnyHashable: Error] = [
            CKRecord.ID(recordName: "a"): CKError(.batchRequestFailed), CKRecord.ID(recordName: "b"): CKError(.quotaExceeded),
        ]
        #expect(CloudProblem(CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: errors])) == .quota)
    }

    @Test func aSaverResolvesConflictsAndLimits() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone")
        let saver = Saver(phone.container.privateCloudDatabase)
        func save(_ records: [CKRecord]) async throws -> [CKRecord] {
            try await withCheckedThrowingContinuation { continuation in saver.save(records) { continuation.resume(with: $0) } }
        }
        let zoneID = CKRecordZone.ID(zoneName: "Trips")
        let record = CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: "alps", zoneID: zoneID))
        record["title"] = "Alps"
        #expect(try await save([record]).count == 1, "the zone was missing")

        let tablet = try await cloud.device("tablet").container.privateCloudDatabase
        let other = try await tablet.record(for: record.recordID)
        other["days"] = 5
        try await tablet.save(other)
        record["title"] = "High Alps"
        #expect(try await save([record]).count == 1, "another client was faster")
        let merged = try await tablet.record(for: record.recordID)
        #expect(merged["title"] == "High Alps")
        #expect(merged["days"] == 5)

        let many = (0..<450).map { CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: "\($0)", zoneID: zoneID)) }
        #expect(try await save(many).count == 450, "too many in one request")
        phone.fail(.quotaExceeded)
        await #expect(throws: CKError.self) { try await save([CKRecord(recordType: "Trip", recordID: CKRecord.ID(zoneID: zoneID))]) }
    }

    @Test func missingRecordsAreCreatedAndTransientFailuresRetried() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone")
        let database = phone.container.privateCloudDatabase
        let id = CKRecord.ID(recordName: "alps", zoneID: CKRecordZone.ID(zoneName: "Trips"))
        let first = try await fetchOrCreate(id, type: "Trip", in: database)
        #expect(first.isNew)
        #expect(try await fetchOrCreate(id, type: "Trip", in: database).isNew)
        phone.fail(.unavailable(retryAfter: 30))
        phone.fail(.requestLost)
        var waits: [TimeInterval] = []
        let saved = try await retrying {
            waits.append($0)
            cloud.clock.advance(by: .seconds($0))
        } _: {
            try await database.save(first.record)
        }
        #expect(saved.recordChangeTag != nil)
        #expect(waits == [30, 4])
        #expect(try await !fetchOrCreate(id, type: "Trip", in: database).isNew)
        phone.goOffline()
        await #expect(throws: CKError.self) { try await retrying(sleep: { _ in }) { try await database.record(for: id) } }
    }

    @Test func queriesInTheirOlderFormReturnRecords() async throws {
        let cloud = try TestCloud()
        let database = try await cloud.device("phone").container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Trips"))
        let record = CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: "alps", zoneID: zone.zoneID))
        record["title"] = "Alps"
        try await database.save(record)
        let query = CKQuery(recordType: "Trip", predicate: NSPredicate(format: "title == %@", "Alps"))
        let found: [CKRecord] = try await database.records(matching: query, inZoneWith: zone.zoneID)
        #expect(found.map(\.recordID) == [record.recordID])
        // Without a stated type, the form with results and a cursor is chosen.
        let page = try await database.records(matching: query, inZoneWith: zone.zoneID)
        #expect(page.matchResults.count == 1)
        #expect(page.queryCursor == nil)
    }

    @Test func changesAreFollowedPageByPage() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone").container
        let zone = try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Trips"))
        let records = (1...5).map { number -> CKRecord in
            let record = CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: "\(number)", zoneID: zone.zoneID))
            record["title"] = "Trip \(number)"
            record["rank"] = number
            return record
        }
        _ = try await phone.privateCloudDatabase.modifyRecords(saving: records, deleting: [])

        let suite = "org.example.zonesync.\(UUID().uuidString)"
        defer { UserDefaults.standard.removePersistentDomain(forName: suite) }
        let sync = ZoneSync(container: try await cloud.device("tablet").container, suite: suite)
        func fetch() async throws -> Int {
            try await withCheckedThrowingContinuation { continuation in sync.fetchDatabaseChanges { continuation.resume(with: $0) } }
        }
        #expect(try await fetch() == 5)
        #expect(sync.records.count == 5)
        #expect(sync.log == ["database more false", "page Trips", "page Trips"])
        try await phone.privateCloudDatabase.deleteRecord(withID: records[0].recordID)
        #expect(try await fetch() == 1)
        #expect(sync.log.last == "- Trip 1")
        #expect(try await fetch() == 0)

        let found = try await withCheckedThrowingContinuation { continuation in
            sync.fetchAll("Trip", pageSize: 2) { continuation.resume(with: $0) }
        }
        #expect(found.map { $0["title"] as? String } == ["Trip 5", "Trip 4", "Trip 3", "Trip 2"])
        #expect(found.allSatisfy { $0["rank"] == nil })
        try await phone.privateCloudDatabase.deleteRecordZone(withID: zone.zoneID)
        #expect(try await fetch() == 0)
        #expect(sync.records.isEmpty)
        #expect(sync.log.contains("deleted Trips"))
    }

    @Test func subscriptionsAndPushes() async throws {
        let cloud = try TestCloud()
        let sync = ZoneSync(container: try await cloud.device("phone").container, suite: "org.example.subscriptions")
        let record = CKRecord(recordType: "Trip")
        record["rank"] = 1
        record["title"] = "Alps"
        try await sync.database.save(record)
        let error = await withCheckedContinuation { continuation in sync.subscribe(to: "Trip") { continuation.resume(returning: $0) } }
        #expect(error == nil)
        #expect(sync.log.sorted() == ["subscribed all-changes 3", "subscribed new-Trip 1"])
        let kept = try await sync.database.allSubscriptions()
        let query = try #require(kept.compactMap { $0 as? CKQuerySubscription }.first)
        #expect(query.notificationInfo?.desiredKeys == ["title", "rank"])
        #expect(query.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnRecordUpdate])

        let push = Data(
            #"{"aps":{"content-available":1},"ck":{"cid":"iCloud.a","qry":{"rid":"alps","sid":"new-Trip","fo":1,"zid":"_defaultZone","dbs":2,"af":{"title":"Alps"}}}}"#
                .utf8)
        let userInfo = try #require(try JSONSerialization.jsonObject(with: push) as? [AnyHashable: Any])
        #expect(ZoneSync.describe(userInfo) == "created alps Alps")
        #expect(ZoneSync.describe(["ck": ["met": ["sid": "all-changes", "dbs": 2]]]) == "database 2 all-changes")
        #expect(ZoneSync.describe(["ck": ["fet": ["zid": "Trips", "dbs": 2]]]) == "zone Trips")
        #expect(ZoneSync.describe(["aps": ["alert": "hello"]]) == "not CloudKit")
    }

    @MainActor @Test func aListIsSharedWithAnotherUser() async throws {
        let cloud = try TestCloud()
        let mia = SharingController(container: try await cloud.device("phone", account: "mia").container)
        let tablet = try await cloud.device("tablet", account: "ben")
        let ben = SharingController(container: tablet.container)
        await mia.checkAccount()
        #expect(mia.state == .ready(userName: try await mia.container.userRecordID().recordName))
        let zone = try await mia.container.privateCloudDatabase.save(CKRecordZone(zoneName: "Lists"))
        let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list", zoneID: zone.zoneID))
        list["title"] = "Shopping"
        let share = try await mia.share(list, title: "Our list")
        #expect(try await mia.share(list, title: "Again").recordID == share.recordID)
        let invited = try await mia.invite(TestCloud.emailAddress(of: "ben"), to: share, permission: .readWrite)
        let url = try #require(invited)
        #expect(mia.people(in: share) == ["mia owns", "ben invited"])
        let joined = try await ben.join(url)
        #expect(joined.title == "Our list")
        #expect(joined.canWrite)
        #expect(joined.owner == "mia")
        await #expect(throws: CKError.self) { try await ben.join(url) }
        let zones = try await ben.container.sharedCloudDatabase.allRecordZones()
        #expect(zones.map(\.zoneID.zoneName) == ["Lists"])
        let theirs = try await ben.container.sharedCloudDatabase.record(
            for: CKRecord.ID(recordName: share.recordID.recordName, zoneID: zones[0].zoneID))
        try await ben.leave(try #require(theirs as? CKShare))
        #expect(try await ben.container.sharedCloudDatabase.allRecordZones().isEmpty)

        let before = ben.accountChanges
        tablet.signOut()
        while ben.accountChanges == before {
            try Task.checkCancellation()
            await Task.yield()
        }
        await ben.checkAccount()
        #expect(ben.state == .signedOut)
    }
}
