// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import TestBasics
import Testing

private let garden = CKRecordZone(zoneName: "Garden")
private let sage = CKRecord.ID(recordName: "sage", zoneID: garden.zoneID)

/// A cloud with two devices of one account that both know a plant.
private func twoDevices() async throws -> (cloud: TestCloud, phone: TestDevice, tablet: TestDevice) {
    let cloud = try TestCloud()
    let phone = try await cloud.device("phone", account: "mia")
    let tablet = try await cloud.device("tablet", account: "mia")
    try await phone.container.privateCloudDatabase.save(garden)
    let plant = CKRecord(recordType: "Plant", recordID: sage)
    plant["count"] = 1
    try await phone.container.privateCloudDatabase.save(plant)
    return (cloud, phone, tablet)
}

@Suite struct TwoDevicesTests {
    @Test func twoDevicesThatChangeTheSameRecordAreInConflict() async throws {
        let (_, phone, tablet) = try await twoDevices()
        let here = try await phone.container.privateCloudDatabase.record(for: sage)
        let there = try await tablet.container.privateCloudDatabase.record(for: sage)
        here["count"] = 2
        try await phone.container.privateCloudDatabase.save(here)
        there["count"] = 3
        let error = await error { try await tablet.container.privateCloudDatabase.save(there) }
        #expect(error?.code == .serverRecordChanged)
        let server = try #require(error?.serverRecord)
        #expect(server["count"] == 2)
        #expect(error?.ancestorRecord?["count"] == 1)
        server["count"] = 3
        try await tablet.container.privateCloudDatabase.save(server)
        #expect(try await phone.container.privateCloudDatabase.record(for: sage)["count"] == 3)
    }

    @Test func aRecordThatWasSavedCanBeChangedAndSavedAgain() async throws {
        let (_, phone, _) = try await twoDevices()
        let record = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: "mint", zoneID: garden.zoneID))
        record["count"] = 1
        let saved = try await phone.container.privateCloudDatabase.save(record)
        #expect(saved !== record)
        #expect(record.recordChangeTag == saved.recordChangeTag)
        #expect(record.changedKeys().isEmpty)
        record["count"] = 2
        let repeated = try await phone.container.privateCloudDatabase.save(record)
        #expect(repeated["count"] == 2)
    }

    @Test func thePictureShowsEverything() async throws {
        let (cloud, phone, _) = try await twoDevices()
        let record = try await phone.container.privateCloudDatabase.record(for: sage)
        record["name"] = "Sage"
        record.encryptedValues["secret"] = "x"
        try await phone.container.privateCloudDatabase.save(record)
        let picture = try await cloud.picture()
        for part in ["mia _", "zone Garden", "Plant sage [", "count = 1", #"name = "Sage""#, #"secret = "x" (encrypted)"#] {
            #expect(picture.contains(part), "\(part) is missing in\n\(picture)")
        }
        let repeated = try await cloud.picture()
        #expect(picture == repeated)
    }

    @Test func thePictureShowsDefaultZonesThePublicDatabaseAndSharedZones() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia").container
        let tablet = try await cloud.device("tablet", account: "ben").container
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1"))
        note["text"] = "plain"
        try await phone.privateCloudDatabase.save(note)
        let news = CKRecord(recordType: "News", recordID: CKRecord.ID(recordName: "w1"))
        news["headline"] = "It rains"
        try await phone.publicCloudDatabase.save(news)
        let zone = try await phone.privateCloudDatabase.save(garden)
        let share = CKShare(recordZoneID: zone.zoneID)
        share.publicPermission = .readOnly
        let saved = try await phone.privateCloudDatabase.save(share)
        let url = try #require((saved as? CKShare)?.url)
        try await tablet.accept(try await tablet.shareMetadata(for: url))
        let picture = try await cloud.picture()
        let lines = picture.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        for part in [
            "public", "zone _defaultZone", "Note n1 [", #"text = "plain""#, "News w1 [", #"headline = "It rains""#,
            "shared zone Garden of _",
            "cloudkit.share cloudkit.zoneshare",
        ] {
            #expect(lines.contains { $0.hasPrefix(part) }, "\(part) is missing in\n\(picture)")
        }
        #expect(picture.components(separatedBy: "It rains").count == 2, "public records are in no private database")
    }
}

@Suite struct FaultTests {
    @Test(arguments: [
        (TestFault.unreachable, CKError.Code.networkUnavailable), (.requestLost, .networkFailure),
        (.answerLost, .serverResponseLost), (.throttled(retryAfter: 7), .requestRateLimited),
        (.unavailable(retryAfter: 3), .serviceUnavailable), (.quotaExceeded, .quotaExceeded), (.signedOut, .notAuthenticated),
        (.webPage, .networkFailure), (.halfAnswer, .networkFailure),
    ])
    func aFaultIsAnError(_ fault: TestFault, _ code: CKError.Code) async throws {
        let (_, phone, _) = try await twoDevices()
        let record = try await phone.container.privateCloudDatabase.record(for: sage)
        record["count"] = 5
        phone.fail(fault, operation: "records/modify")
        let failure = await error { try await phone.container.privateCloudDatabase.save(record) }
        #expect(failure?.code == code)
        if case .throttled(let seconds) = fault { #expect(failure?.retryAfterSeconds == seconds) }
    }

    @Test func aConflictIsMadeWithoutASecondDevice() async throws {
        let (_, phone, tablet) = try await twoDevices()
        let record = try await phone.container.privateCloudDatabase.record(for: sage)
        record["count"] = 5
        phone.fail(.conflict, operation: "records/modify")
        let failure = await error { try await phone.container.privateCloudDatabase.save(record) }
        #expect(failure?.code == .serverRecordChanged)
        let server = try #require(failure?.serverRecord)
        #expect(server["count"] == 1)
        server["count"] = 5
        try await phone.container.privateCloudDatabase.save(server)
        #expect(try await tablet.container.privateCloudDatabase.record(for: sage)["count"] == 5)
    }

    @Test func aSlowAnswerTakesTimeOfTheClockOnly() async throws {
        let (cloud, phone, _) = try await twoDevices()
        let before = cloud.clock.now
        phone.fail(.slow(.seconds(3600)))
        #expect(try await phone.container.privateCloudDatabase.record(for: sage)["count"] == 1)
        #expect(cloud.clock.now == before.addingTimeInterval(3600))

        cloud.clock.skipsWaits = false
        phone.fail(.slow(.seconds(60)))
        let fetched = Task { try await phone.container.privateCloudDatabase.record(for: sage) }
        try await until { cloud.clock.waits != 0 }
        #expect(cloud.clock.now == before.addingTimeInterval(3600))
        cloud.clock.advance(by: .seconds(60))
        #expect(try await fetched.value["count"] == 1)
    }

    @Test func aStoppedServerRestartsWithItsData() async throws {
        let (cloud, phone, _) = try await twoDevices()
        try cloud.stop()
        let failure = await error { try await phone.container.privateCloudDatabase.record(for: sage) }
        #expect(failure?.code == .networkUnavailable)
        try cloud.start()
        #expect(try await phone.container.privateCloudDatabase.record(for: sage)["count"] == 1)
    }

    @Test func aDeviceIsCutOffAndSignedInToAnotherAccount() async throws {
        let (cloud, phone, _) = try await twoDevices()
        phone.goOffline()
        #expect(phone.isOffline)
        let failure = await error { try await phone.container.privateCloudDatabase.record(for: sage) }
        #expect(failure?.code == .networkUnavailable)
        try await phone.signIn(to: "ben")
        #expect(phone.isOffline, "signing in does not connect the device")
        phone.goOnline()
        #expect(phone.account == "ben")
        #expect(cloud.accounts == ["mia", "ben"])
        #expect(try await phone.container.privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
        await #expect(throws: CKError.self) { try await cloud.device("phone") }
    }

    @Test func aClientRespectsRetryAfter() async throws {
        let (cloud, phone, _) = try await twoDevices()
        phone.fail(.throttled(retryAfter: 30))
        _ = await error { try await phone.container.privateCloudDatabase.record(for: sage) }
        let requested = phone.requests.count
        let failure = await error { try await phone.container.privateCloudDatabase.record(for: sage) }
        #expect(failure?.code == .requestRateLimited)
        #expect(failure?.retryAfterSeconds == 30)
        #expect(phone.requests.count == requested)
        cloud.clock.advance(by: .seconds(30))
        #expect(try await phone.container.privateCloudDatabase.record(for: sage)["count"] == 1)
    }

    @Test(arguments: [TestFault.throttled(retryAfter: 0.1), .unavailable(retryAfter: 0.1)])
    func aThrottledStoreRetriesAutomatically(_ fault: TestFault) async throws {
        let cloud = try TestCloud()
        let device = try await cloud.device("phone", account: "mia")
        let phone = try makeContainer(on: device)
        let tablet = try makeContainer(on: try await cloud.device("tablet", account: "mia"))
        try await phone.sync(timeout: .seconds(600))
        let before = cloud.clock.now
        device.fail(fault, count: 2, operation: "records/modify")
        try await phone.write("Milk")
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))
        #expect(try await tablet.texts() == ["Milk"])
        #expect(device.requests.filter { $0 == "records/modify" }.count >= 3)
        #expect(cloud.clock.now == before)
    }

    @Test func aDiscretionaryOperationRetriesAndSavesOnce() async throws {
        let (cloud, phone, _) = try await twoDevices()
        let record = CKRecord(recordType: "Plant", recordID: CKRecord.ID(recordName: "mint", zoneID: garden.zoneID))
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.configuration.qualityOfService = .utility
        let before = cloud.clock.now
        phone.fail(.throttled(retryAfter: 60))
        phone.fail(.answerLost)
        phone.fail(.unreachable)
        let result = await outcome(of: operation, on: phone)
        #expect(throws: Never.self) { try result.get() }
        #expect(cloud.clock.now >= before.addingTimeInterval(60))
        #expect(phone.requests.filter { $0 == "records/modify" }.count >= 3)
    }

    @Test func aRetryEndsAtTheResourceTimeout() async throws {
        let (_, phone, _) = try await twoDevices()
        let operation = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "Plant", recordID: sage)])
        operation.configuration.qualityOfService = .background
        operation.configuration.timeoutIntervalForResource = 100
        phone.goOffline()
        let result = await outcome(of: operation, on: phone)
        #expect(throws: CKError.self) { try result.get() }
    }

    @Test func anExpiredTokenIsAnErrorOfItsZone() async throws {
        let (_, phone, _) = try await twoDevices()
        let database = phone.container.privateCloudDatabase
        let changes = try await database.recordZoneChanges(inZoneWith: garden.zoneID, since: nil)
        phone.fail(.tokenExpired, count: 2)
        let failure = await error {
            try await database.recordZoneChanges(inZoneWith: garden.zoneID, since: changes.changeToken)
        }
        #expect(failure?.code == .changeTokenExpired)
        let repeated = try await database.recordZoneChanges(inZoneWith: garden.zoneID, since: nil)
        #expect(repeated.modificationResultsByID.count == 1)
    }

    @Test func anAccountChangeIsPosted() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: nil)
        #expect(try await phone.container.accountStatus() == .noAccount)
        try await confirmation(expectedCount: 2) { told in
            let observer = NotificationCenter.default.addObserver(
                forName: .CKAccountChanged, object: phone.container, queue: nil
            ) { _ in told() }
            try await phone.signIn(to: "mia")
            phone.signOut()
            NotificationCenter.default.removeObserver(observer)
        }
        let failure = await error { try await phone.container.privateCloudDatabase.allRecordZones() }
        #expect(failure?.code == .notAuthenticated)
    }

    @Test func thePublicDatabaseIsReadWithoutAnAccountAndWrittenWithOne() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia")
        let kiosk = try await cloud.device("kiosk", account: nil)
        let news = CKRecord(recordType: "News", recordID: CKRecord.ID(recordName: "w1"))
        news["headline"] = "It rains"
        try await phone.container.publicCloudDatabase.save(news)
        phone.signOut()
        for device in [phone, kiosk] {
            let read = try await device.container.publicCloudDatabase.record(for: news.recordID)
            #expect(read["headline"] == "It rains")
            read["headline"] = "It snows"
            #expect(await error { try await device.container.publicCloudDatabase.save(read) }?.code == .notAuthenticated)
            #expect(try await device.container.accountStatus() == .noAccount)
            device.goOffline()
            #expect(await error { try await device.container.publicCloudDatabase.record(for: news.recordID) }?.code == .networkUnavailable)
            device.goOnline()
            device.fail(.unavailable(retryAfter: 3))
            #expect(await error { try await device.container.publicCloudDatabase.record(for: news.recordID) }?.code == .serviceUnavailable)
        }
    }

    @Test func aStoreOfThePublicDatabaseIsReadWithoutAnAccount() async throws {
        let cloud = try TestCloud()
        let phone = try await cloud.device("phone", account: "mia")
        let writer = try makeContainer(on: phone, scopes: [.public])
        let reader = try makeContainer(on: try await cloud.device("kiosk", account: nil), scopes: [.public])
        func mayWrite(_ container: NSPersistentCloudKitContainer) throws -> Bool {
            container.canModifyManagedObjects(in: try #require(container.persistentStoreCoordinator.persistentStores.first))
        }
        try await writer.write("Market on Friday")
        try await writer.sync(timeout: .seconds(600))
        try await reader.sync(timeout: .seconds(600))
        #expect(try await reader.texts() == ["Market on Friday"])
        #expect(try mayWrite(writer))
        #expect(try !mayWrite(reader))
        phone.signOut()
        try await writer.sync(timeout: .seconds(600))
        #expect(try await writer.texts() == ["Market on Friday"])
        #expect(try !mayWrite(writer))
        let own = try #require(try await writer.notes().first)
        #expect(!writer.canUpdateRecord(forManagedObjectWith: own))
        #expect(!writer.canDeleteRecord(forManagedObjectWith: own))
    }

    private func outcome(of operation: CKModifyRecordsOperation, on device: TestDevice) async -> Result<Void, any Error> {
        await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
            device.container.privateCloudDatabase.add(operation)
        }
    }
}

/// Runs something that must fail with a CKError.
func error<Value>(_ body: () async throws -> Value) async -> CKError? {
    do {
        _ = try await body()
        Issue.record("no error was thrown")
        return nil
    } catch {
        return error as? CKError
    }
}
