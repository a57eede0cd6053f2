// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudWire
import Testing

@Suite struct InProcessCloudTests {
    private static let container = "iCloud.org.example.notes"
    private static let garden = ZoneID(zoneName: "Garden")
    private static let sageOperation = RecordOperation(
        .create, Record(recordName: "p1", recordType: "Plant", fields: ["name": Field(.string("Sage"))]))

    private func client(_ transport: InProcessTransport) -> CloudDatabaseClient {
        CloudDatabaseClient(
            containerIdentifier: Self.container, environment: .development, scope: .private, transport: transport)
    }

    private func code(_ body: () async throws -> some Sendable) async -> CKError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    private let sage = ModifyRecordsRequest(operations: [sageOperation], zoneID: garden)

    /// A cloud with the devices of one user, and a zone and a subscription.
    private func devices() async throws -> (InProcessCloud, tablet: InProcessTransport, phone: InProcessTransport) {
        let cloud = try InProcessCloud()
        let tablet = try await cloud.addUser("mia", device: "tablet")
        let phone = try await cloud.addDevice("phone", of: "mia")
        _ = try await client(tablet).modifyZones(ZonesModifyRequest(operations: [.create(Self.garden)]))
        let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
        _ = try await client(tablet).modifySubscriptions(
            SubscriptionsModifyRequest(operations: [.create(subscription)]))
        return (cloud, tablet, phone)
    }

    @Test func devicesOfAUserSeeOneAnothersRecords() async throws {
        let (_, tablet, phone) = try await devices()
        _ = try await client(tablet).modifyRecords(sage, idempotencyKey: "k1")
        let seen = try await client(phone).lookupRecords(LookupRecordsRequest(recordNames: ["p1"], zoneID: Self.garden))
        guard case .record(let record) = seen.results[0] else {
            Issue.record("the other device does not see the record")
            return
        }
        #expect(record.modified?.deviceID == "tablet")
        #expect(tablet.log == ["zones/modify", "subscriptions/modify", "records/modify"])
        #expect(phone.log == ["records/lookup"])
    }

    @Test func anAnswerThatIsLostAfterTheCommitIsGivenAgain() async throws {
        let (_, tablet, _) = try await devices()
        tablet.loseNextAnswers()
        #expect(await code { try await client(tablet).modifyRecords(sage, idempotencyKey: "k1") } == .serverResponseLost)
        let again = try await client(tablet).modifyRecords(sage, idempotencyKey: "k1")
        #expect(again.results.map(\.recordName) == ["p1"])
        guard case .record = again.results[0] else {
            Issue.record("the retry met its own first attempt as a conflict")
            return
        }
    }

    @Test func aLostRequestAndAnOfflineDeviceChangeNothing() async throws {
        let (_, tablet, phone) = try await devices()
        tablet.loseNextRequests()
        #expect(await code { try await client(tablet).modifyRecords(sage, idempotencyKey: "k1") } == .networkFailure)
        tablet.goOffline()
        #expect(await code { try await client(tablet).modifyRecords(sage, idempotencyKey: "k2") } == .networkUnavailable)
        let changes = try await client(phone).zoneChanges(ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: Self.garden)]))
        guard case .changes(let page) = changes.zones[0] else {
            Issue.record("the zone could not be read")
            return
        }
        #expect(page.records.isEmpty)
        tablet.goOnline()
        #expect(await code { try await client(tablet).modifyRecords(sage, idempotencyKey: "k2") } == nil)
    }

    @Test func notificationsReachTheOtherDeviceUntilItIsOffline() async throws {
        let (cloud, tablet, phone) = try await devices()
        var events = client(phone).pushStream().makeAsyncIterator()
        #expect(try await events.next() == .connected)
        #expect(try await events.next() == .heartbeat)
        #expect(cloud.listeners == 1)
        _ = try await client(tablet).modifyRecords(sage, idempotencyKey: "k1")
        guard case .notification(let news) = try await events.next() else {
            Issue.record("no notification came")
            return
        }
        #expect(news.subject == .database(.private))
        phone.goOffline()
        await #expect(throws: CKError.self) { while try await events.next() != nil {} }
    }

    @Test func aStoppedServerIsUnreachableAndKeepsEverything() async throws {
        let (cloud, tablet, _) = try await devices()
        _ = try await client(tablet).modifyRecords(sage, idempotencyKey: "k1")
        try cloud.stop()
        #expect(await code { try await client(tablet).listZones() } == .networkUnavailable)
        try cloud.start()
        let seen = try await client(tablet).lookupRecords(LookupRecordsRequest(recordNames: ["p1"], zoneID: Self.garden))
        guard case .record = seen.results[0] else {
            Issue.record("the record is gone")
            return
        }
    }

    @Test func assetsGoUpAndComeDown() async throws {
        let (_, tablet, phone) = try await devices()
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let asset = try await client(tablet).uploadAsset(
            .bytes(bytes), recordType: "Plant", recordName: "p1", fieldName: "photo", zoneID: Self.garden)
        let record = Record(recordName: "p1", recordType: "Plant", fields: ["photo": Field(.asset(asset))])
        _ = try await client(tablet).modifyRecords(
            ModifyRecordsRequest(operations: [.init(.create, record)], zoneID: Self.garden), idempotencyKey: "k1")
        let seen = try await client(phone).lookupRecords(LookupRecordsRequest(recordNames: ["p1"], zoneID: Self.garden))
        guard case .record(let found) = seen.results[0], case .asset(let value) = found.fields["photo"]?.value else {
            Issue.record("the record has no asset")
            return
        }
        #expect(try await client(phone).downloadAsset(value) == bytes)
    }

    @Test func usersAreStrangersAndTheClockMovesByHand() async throws {
        let (cloud, tablet, _) = try await devices()
        let bo = try await cloud.addUser("bo", device: "tablet")
        #expect(try await client(bo).listZones().zones.count == 1)
        cloud.clock.advance(by: .seconds(60))
        let answer = try await client(tablet).modifyRecords(sage, idempotencyKey: "k1")
        guard case .record(let record) = answer.results[0] else {
            Issue.record("the record was refused")
            return
        }
        #expect(record.created?.timestamp == 1_900_000_060_000)
    }

    /// A caller whose sync token is in the backup may have saved after it.
    @Test(arguments: [false, true]) func aSaveThatARestoredServerLacksIsLostHistory(isSavedAfterTheBackup: Bool) async throws {
        let (cloud, tablet, _) = try await devices()
        let client = client(tablet)
        let start = try await changes(client, since: nil, saved: nil).get().syncToken
        let folder = ScratchFolder("backup")
        defer { folder.remove() }
        let backup = folder.url.appendingPathComponent("copy").path
        if isSavedAfterTheBackup { try await cloud.backUp(to: backup) }
        let saved = try await client.modifyRecords(
            encoded: sage.encoded(), operationCount: 1, idempotencyKey: "k1", asking: [.lostHistory]
        ).syncToken
        if !isSavedAfterTheBackup { try await cloud.backUp(to: backup) }
        try await cloud.restore(from: backup)
        #expect(try await changes(client, since: start, saved: nil).get().records.count == (isSavedAfterTheBackup ? 0 : 1))
        switch try await changes(client, since: start, saved: saved) {
        case .success(let page): #expect(!isSavedAfterTheBackup, "\(page.records.count) records")
        case .failure(let error): #expect(error.isHistoryLost == isSavedAfterTheBackup)
        }
    }

    /// Change tags up to that of the backup's last change are not lost. After a second restore of the backup, the tokens of the first one's
    /// history say which changes they have in common with it.
    @Test func aLostTokenComesWithTheLastChangeOfTheBackup() async throws {
        let (cloud, tablet, _) = try await devices()
        let client = client(tablet)
        let folder = ScratchFolder("backup")
        defer { folder.remove() }
        let backup = folder.url.appendingPathComponent("copy").path
        guard case .record(let known) = try await client.modifyRecords(sage, idempotencyKey: "k1").results[0] else {
            Issue.record("the record was rejected")
            return
        }
        try await cloud.backUp(to: backup)
        var mint = sage
        mint.operations[0].record.recordName = "p2"
        let first = try await changes(client, since: nil, saved: nil).get().syncToken
        var tokens = [first]
        for _ in 1...3 {
            _ = try await client.modifyRecords(mint, idempotencyKey: "k2")
            let token = try await changes(client, since: nil, saved: nil).get().syncToken
            try await cloud.restore(from: backup)
            // Tokens up to the last change of the backup stay valid, also those of earlier restores.
            for known in tokens { #expect(try await changes(client, since: known, saved: nil).get().records.isEmpty) }
            tokens.append(try await changes(client, since: first, saved: nil).get().syncToken)
            guard case .failure(let error) = try await changes(client, since: token, saved: nil) else {
                Issue.record("the token is of a history that the server lost")
                return
            }
            #expect(error.isHistoryLost)
            #expect(error.restoredChangeTag == known.recordChangeTag)
        }
    }

    /// Two backups of one history share the changes of the older one. A backup of a restored server belongs to another history.
    @Test func aTokenOfARestoredHistoryIsComparedWithOtherBackups() async throws {
        let (cloud, tablet, _) = try await devices()
        let client = client(tablet)
        let folder = ScratchFolder("backup")
        defer { folder.remove() }
        var tags: [String?] = [], paths: [String] = []
        for name in ["p1", "p2"] {
            var request = sage
            request.operations[0].record.recordName = name
            guard case .record(let record) = try await client.modifyRecords(request, idempotencyKey: name).results[0] else {
                Issue.record("the record was rejected")
                return
            }
            tags.append(record.recordChangeTag)
            paths.append(folder.url.appendingPathComponent(name).path)
            try await cloud.backUp(to: paths[paths.count - 1])
        }
        let oldest = try await changes(client, since: nil, saved: nil).get().syncToken
        func lostTag(after path: String, since token: String? = nil) async throws -> String? {
            let present = try await changes(client, since: nil, saved: nil).get().syncToken
            try await cloud.restore(from: path)
            guard case .failure(let error) = try await changes(client, since: token ?? present, saved: nil) else { return "known" }
            return error.restoredChangeTag
        }
        #expect(try await lostTag(after: paths[1]) == "known")
        #expect(try await lostTag(after: paths[0]) == tags[0])
        #expect(try await lostTag(after: paths[1]) == "known")
        let copy = folder.url.appendingPathComponent("copy").path
        try await cloud.backUp(to: copy)
        #expect(try await lostTag(after: copy) == "known")
        #expect(try await lostTag(after: copy, since: oldest) == nil)
    }

    /// A restored server lacks zones that it has not deleted.
    @Test func aLostTokenOfTheDatabaseIsToldFromAnExpiredOne() async throws {
        let (cloud, tablet, _) = try await devices()
        let client = client(tablet)
        let folder = ScratchFolder("backup")
        defer { folder.remove() }
        let backup = folder.url.appendingPathComponent("copy").path
        let known = try await client.databaseChanges(DatabaseChangesRequest()).syncToken
        try await cloud.backUp(to: backup)
        _ = try await client.modifyZones(ZonesModifyRequest(operations: [.create(ZoneID(zoneName: "orchard"))]))
        let lost = try await client.databaseChanges(DatabaseChangesRequest()).syncToken
        try await cloud.restore(from: backup)
        #expect(try await client.databaseChanges(DatabaseChangesRequest(syncToken: known), asking: [.lostHistory]).zones.isEmpty)
        for capabilities in [[Capability.lostHistory], []] as [Set<Capability>] {
            do {
                _ = try await client.databaseChanges(DatabaseChangesRequest(syncToken: lost), asking: capabilities)
                Issue.record("the token is of a history that the server lost")
            } catch {
                #expect(error.code == .changeTokenExpired)
                #expect((error.userInfo[CKError.historyLostKey] != nil) == !capabilities.isEmpty)
            }
        }
    }

    /// A copy of a request may arrive after a restore, and the restored server does not know that it was executed.
    @Test func aRequestForTheHistoryBeforeARestoreIsRejected() async throws {
        let (cloud, tablet, _) = try await devices()
        let client = client(tablet)
        let start = try await changes(client, since: nil, saved: nil).get().syncToken
        let folder = ScratchFolder("backup")
        defer { folder.remove() }
        let backup = folder.url.appendingPathComponent("copy").path
        try await cloud.backUp(to: backup)
        var request = sage
        request.historyToken = start
        _ = try await client.modifyRecords(request, idempotencyKey: "k1")
        try await cloud.restore(from: backup)
        let late = request
        #expect(await code { try await client.modifyRecords(late, idempotencyKey: "k1") } == .serverRecordChanged)
        // The token is in the backup: it stays valid for fetching, and the page has one of the new history.
        request.historyToken = try await changes(client, since: start, saved: nil).get().syncToken
        let answer = try await client.modifyRecords(request, idempotencyKey: "k2")
        guard case .record = answer.results[0] else {
            Issue.record("the record was rejected")
            return
        }
    }

    /// The user's database, and the name of the user, were made after the backup.
    @Test func aDatabaseThatABackupLacksHasAnotherHistoryAndTheSameOwner() async throws {
        let cloud = try InProcessCloud()
        let client = client(try await cloud.addUser("mia", device: "tablet"))
        let folder = ScratchFolder("backup")
        defer { folder.remove() }
        let backup = folder.url.appendingPathComponent("copy").path
        try await cloud.backUp(to: backup)
        func makeZone() async throws { _ = try await client.modifyZones(ZonesModifyRequest(operations: [.create(Self.garden)])) }
        let user = try await client.caller(asking: []).identity.userRecordName
        try await makeZone()
        let token = try await changes(client, since: nil, saved: nil).get().syncToken
        try await cloud.restore(from: backup)
        #expect(try await client.caller(asking: []).identity.userRecordName == user)
        try await makeZone()
        guard case .failure(let error) = try await changes(client, since: token, saved: nil) else {
            Issue.record("the token is of a history that the server lost")
            return
        }
        #expect(error.isHistoryLost)
        // No account takes the number, and with it the record name, of one that the backup lacks.
        let lost = try await self.client(try await cloud.addUser("bo", device: "bo's")).caller(asking: []).identity.userRecordName
        try await cloud.restore(from: backup)
        let other = try await self.client(try await cloud.addUser("eve", device: "eve's")).caller(asking: []).identity.userRecordName
        #expect(other != lost)
    }

    private func changes(_ client: CloudDatabaseClient, since token: String?, saved: String?) async throws -> Result<ZoneChanges, WireError>
    {
        var query = ZoneChangesQuery(zoneID: Self.garden, syncToken: token)
        query.savedSyncToken = saved
        switch try #require(try await client.zoneChanges(ZoneChangesRequest(zones: [query]), asking: [.lostHistory]).zones.first) {
        case .changes(let page): return .success(page)
        case .failure(_, let error): return .failure(error)
        }
    }
}
