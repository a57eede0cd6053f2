// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Queries, change feeds, subscriptions, shares and the sync engine as apps write them.
@Suite struct FeedCornerTests {
    private func filled(_ count: Int) async throws -> (database: CKDatabase, zoneID: CKRecordZone.ID) {
        let (database, zoneID) = try await garden()
        let records = (0..<count).map { index in
            let record = plant("p\(index)", in: zoneID)
            record["index"] = index
            record["name"] = "plant \(index % 3)"
            record["tags"] = index % 2 == 0 ? ["even", "green"] : ["odd"]
            return record
        }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        return (database, zoneID)
    }

    @Test func aQueryOperationContinuesFromItsCursor() async throws {
        let (database, zoneID) = try await filled(25)
        let names = ReceivedValues<Int>()
        var cursor: CKQueryOperation.Cursor?
        var pages = 0
        repeat {
            let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: "index >= %d", 3))
            query.sortDescriptors = [NSSortDescriptor(key: "index", ascending: false)]
            let operation = cursor.map { CKQueryOperation(cursor: $0) } ?? CKQueryOperation(query: query)
            operation.zoneID = zoneID
            operation.resultsLimit = 10
            operation.desiredKeys = ["index"]
            operation.recordMatchedBlock = { _, result in
                if let record = try? result.get() {
                    names.add(record["index"] ?? -1)
                    if record.allKeys() != ["index"] { names.add(-2) }
                }
            }
            let next = ReceivedValues<CKQueryOperation.Cursor?>()
            operation.queryResultBlock = { result in next.add(try? result.get()) }
            await finish(operation, on: database)
            cursor = next.all.first ?? nil
            pages += 1
        } while cursor != nil && pages < 10
        #expect(names.all == Array((3..<25).reversed()))
        #expect(pages == 3)
    }

    @Test(arguments: [
        ("index < 3", [0, 1, 2]), ("index BETWEEN {3, 5}", [3, 4, 5]), ("index IN {1, 7, 99}", [1, 7]),
        ("NOT (index IN {0, 1, 2, 3, 4, 5})", [6, 7]),
        ("tags CONTAINS 'green' AND index > 3", [4, 6]), ("ANY tags == 'odd' AND index < 4", [1, 3]),
        ("name BEGINSWITH 'plant 1'", [1, 4, 7]),
        ("name == 'PLANT 2'", [2, 5]), ("TRUEPREDICATE", [0, 1, 2, 3, 4, 5, 6, 7]), ("index != 0 AND index <= 2", [1, 2]),
        ("self CONTAINS 'plant'", [0, 1, 2, 3, 4, 5, 6, 7]), ("name IN {'plant 0'}", [0, 3, 6]),
    ])
    func predicatesOfTheDocumentation(_ format: String, _ expected: [Int]) async throws {
        let device = try await TestCloud().device("phone")
        let database = device.container.privateCloudDatabase
        let zoneID = try await database.save(CKRecordZone(zoneName: "Garden")).zoneID
        let records = (0..<8).map { index in
            let record = plant("p\(index)", in: zoneID)
            record["index"] = index
            record["name"] = "plant \(index % 3)"
            record["tags"] = index % 2 == 0 ? ["even", "green"] : ["odd"]
            return record
        }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: format))
        query.sortDescriptors = [NSSortDescriptor(key: "index", ascending: true)]
        do {
            let (matches, cursor) = try await database.records(matching: query, inZoneWith: zoneID)
            #expect(matches.compactMap { try? $0.1.get()["index"] as? Int } == expected)
            #expect(cursor == nil)
        } catch let error as CKError where format == "TRUEPREDICATE" {
            // The record name has no index until the schema gives it one.
            #expect(error.code == .invalidArguments)
        }
    }

    @Test func unsupportedPredicatesAreNamed() async throws {
        let (database, zoneID) = try await filled(2)
        for format in [
            "index == 1 OR index == 2", "name CONTAINS 'x'", "ALL tags == 'odd'", "name LIKE 'p*'", "name MATCHES 'p.*'", "bed.name == 'x'",
            "missing == 3",
        ] {
            let query = CKQuery(recordType: "Plant", predicate: NSPredicate(format: format))
            let error = await failure { try await database.records(matching: query, inZoneWith: zoneID) }
            #expect(error?.code == .invalidArguments, "\(format)")
        }
        let unknown = CKQuery(recordType: "Nothing", predicate: NSPredicate(value: true))
        #expect(await failure { try await database.records(matching: unknown, inZoneWith: zoneID) }?.code == .unknownItem)
    }

    @Test func zoneChangesHaveConfigurationsOfTheirOwn() async throws {
        let (database, zoneID) = try await filled(5)
        let second = try await database.save(CKRecordZone(zoneName: "Second")).zoneID
        _ = try await database.save(plant("other", in: second))
        let start = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(start.modificationResultsByID.count == 5)
        _ = try await database.deleteRecord(withID: plant("p1", in: zoneID).recordID)
        let p2 = try await database.record(for: plant("p2", in: zoneID).recordID)
        p2["name"] = "renamed"
        _ = try await database.save(p2)
        let first = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: start.changeToken, resultsLimit: nil, desiredKeys: ["name"])
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID, second, CKRecordZone.ID(zoneName: "Gone")], configurationsByRecordZoneID: [zoneID: first])
        let log = ReceivedValues<String>()
        operation.recordWasChangedBlock = { id, result in
            let keys = (try? result.get().allKeys().sorted().joined(separator: ",")) ?? "?"
            log.add("changed \(id.recordName) \(keys)")
        }
        operation.recordWithIDWasDeletedBlock = { id, type in log.add("deleted \(id.recordName) \(type)") }
        operation.recordZoneFetchResultBlock = { id, result in
            switch result {
            case .success(let (_, data, more)): log.add("zone \(id.zoneName) \(data == nil) \(more)")
            case .failure(let error): log.add("zone \(id.zoneName) \((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            if case .failure(let error as CKError) = result { log.add("end \(error.code.rawValue)") } else { log.add("end") }
        }
        await finish(operation, on: database)
        #expect(log.all.last == "end 2")
        #expect(
            Set(log.all.dropLast()) == [
                "changed p2 name", "deleted p1 Plant", "zone Garden true false", "changed other ", "zone Second true false", "zone Gone 26",
            ])
    }

    @Test func databaseChangesTellOfZones() async throws {
        let database = try await testContainer().privateCloudDatabase
        let first = try await database.databaseChanges(since: nil)
        _ = try await database.modifyRecordZones(saving: [CKRecordZone(zoneName: "A"), CKRecordZone(zoneName: "B")], deleting: [])
        let second = try await database.databaseChanges(since: first.changeToken)
        #expect(Set(second.modifications.map(\.zoneID.zoneName)) == ["A", "B"])
        _ = try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "A"))
        let third = try await database.databaseChanges(since: second.changeToken)
        #expect(third.deletions.map(\.zoneID.zoneName) == ["A"])
        #expect(third.deletions.map(\.reason) == [.deleted])
        #expect(third.moreComing == false)
        let zones = try await database.allRecordZones()
        #expect(Set(zones.map(\.zoneID.zoneName)) == ["_defaultZone", "B"])
        let b = try #require(zones.first { $0.zoneID.zoneName == "B" })
        #expect(b.capabilities.isSuperset(of: [.fetchChanges, .atomic, .sharing, .zoneWideSharing]))
        // Saving an existing zone succeeds; deleting a missing one is an error.
        _ = try await database.save(CKRecordZone(zoneName: "B"))
        #expect(await failure { try await database.recordZone(for: CKRecordZone.ID(zoneName: "A")) }?.code == .zoneNotFound)
        #expect(await failure { try await database.recordZoneChanges(inZoneWith: CKRecordZone.default().zoneID, since: nil) } != nil)
    }

    @Test func subscriptionsAreReplacedListedAndDeleted() async throws {
        let (database, zoneID) = try await filled(1)
        let query = CKQuerySubscription(
            recordType: "Plant", predicate: NSPredicate(format: "index > 3"), subscriptionID: "tall",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        query.zoneID = zoneID
        let info = CKSubscription.NotificationInfo()
        info.alertBody = "grown"
        info.shouldSendContentAvailable = true
        info.desiredKeys = ["index"]
        query.notificationInfo = info
        let saved = try #require(try await database.save(query) as? CKQuerySubscription)
        #expect(saved.subscriptionID == "tall")
        #expect(saved.predicate.description == "index > 3")
        #expect(saved.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnRecordUpdate])
        _ = try await database.save(query)
        let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone")
        let whole = CKDatabaseSubscription(subscriptionID: "all")
        for subscription in [zone, whole] as [CKSubscription] {
            let info = CKSubscription.NotificationInfo()
            info.shouldSendContentAvailable = true
            subscription.notificationInfo = info
        }
        let (results, _) = try await database.modifySubscriptions(saving: [zone, whole], deleting: [])
        #expect(results.values.allSatisfy { (try? $0.get()) != nil })
        #expect(Set(try await database.allSubscriptions().map(\.subscriptionID)) == ["tall", "zone", "all"])
        let found = try await database.subscription(for: "tall") as? CKQuerySubscription
        #expect(found?.notificationInfo?.alertBody == "grown")
        #expect(found?.zoneID?.zoneName == zoneID.zoneName)
        #expect(try await database.deleteSubscription(withID: "tall") == "tall")
        #expect(await failure { try await database.subscription(for: "tall") }?.code == .unknownItem)
        #expect(await failure { try await database.deleteSubscription(withID: "tall") }?.code == .unknownItem)
    }

    @Test func aShareIsAcceptedAndLeft() async throws {
        let (owner, guest) = try await twoAccounts()
        let database = owner.privateCloudDatabase
        let zoneID = try await database.save(CKRecordZone(zoneName: "Garden")).zoneID
        let root = plant("root", in: zoneID)
        let child = plant("child", in: zoneID)
        child.setParent(root)
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "My garden"
        share.publicPermission = .readWrite
        #expect(share.url == nil)
        _ = try await database.modifyRecords(saving: [root, child, share], deleting: [])
        let url = try #require(share.url)
        let metadata = try await guest.shareMetadata(for: url)
        #expect(metadata.share[CKShare.SystemFieldKey.title] == "My garden")
        #expect(metadata.hierarchicalRootRecordID?.recordName == "root")
        #expect(metadata.participantStatus == .pending || metadata.participantStatus == .unknown)
        #expect(metadata.ownerIdentity.userRecordID != nil)
        let accepted = try await guest.accept(metadata)
        #expect(accepted.currentUserParticipant?.role == .publicUser)
        #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
        let shared = guest.sharedCloudDatabase
        let zones = try await shared.allRecordZones()
        #expect(zones.map(\.zoneID.zoneName) == ["Garden"])
        let theirs = try #require(zones.first?.zoneID)
        #expect(theirs.ownerName != CKCurrentUserDefaultName)
        let changes = try await shared.recordZoneChanges(inZoneWith: theirs, since: nil)
        #expect(Set(changes.modificationResultsByID.keys.map(\.recordName)).isSuperset(of: ["root", "child"]))
        let edit = try await shared.record(for: CKRecord.ID(recordName: "child", zoneID: theirs))
        edit["name"] = "edited"
        let saved = try await shared.save(edit)
        #expect(saved.lastModifiedUserRecordID != saved.creatorUserRecordID)
        #expect(try await database.record(for: child.recordID)["name"] == "edited")
        // Leaving: the guest deletes the share.
        _ = try await shared.deleteRecord(withID: accepted.recordID)
        #expect(try await shared.allRecordZones().isEmpty)
        let mine = try #require(try await database.record(for: share.recordID) as? CKShare)
        #expect(mine.participants.allSatisfy { $0.role == .owner || $0.acceptanceStatus != .accepted })
    }

    @Test func rightsOfASharesGuestsAreChecked() async throws {
        let (owner, guest) = try await twoAccounts()
        let database = owner.privateCloudDatabase
        let zoneID = try await database.save(CKRecordZone(zoneName: "Garden")).zoneID
        let share = CKShare(recordZoneID: zoneID)
        #expect(share.recordID.recordName == CKRecordNameZoneWideShare)
        let participant = try await owner.shareParticipant(forEmailAddress: guestAddress)
        participant.permission = .readOnly
        share.addParticipant(participant)
        _ = try await database.modifyRecords(saving: [plant("a", in: zoneID), share], deleting: [])
        let metadata = try await guest.shareMetadata(for: try #require(share.url))
        #expect(metadata.participantPermission == .readOnly)
        #expect(metadata.hierarchicalRootRecordID == nil)
        _ = try await guest.accept(metadata)
        let shared = guest.sharedCloudDatabase
        let theirs = try #require(try await shared.allRecordZones().first?.zoneID)
        let record = try await shared.record(for: CKRecord.ID(recordName: "a", zoneID: theirs))
        record["name"] = "x"
        #expect(await failure { try await shared.save(record) }?.code == .permissionFailure)
        #expect(await failure { try await guest.publicCloudDatabase.save(CKRecordZone(zoneName: "Mine")) } != nil)
        let duplicate = CKShare(recordZoneID: zoneID)
        #expect(await failure { try await database.save(duplicate) } != nil)
    }

    @Test func assetsAreFilesThatCanBeCopied() async throws {
        let (database, zoneID) = try await garden()
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let content = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        try content.write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let record = plant("picture", in: zoneID)
        record["file"] = CKAsset(fileURL: url)
        record["files"] = [CKAsset(fileURL: url), CKAsset(fileURL: url)]
        _ = try await database.save(record)
        let back = try await database.record(for: record.recordID)
        let asset = try #require(back["file"] as? CKAsset)
        #expect(try Data(contentsOf: try #require(asset.fileURL)) == content)
        #expect((back["files"] as? [CKAsset])?.count == 2)
        let without = try await database.records(for: [record.recordID], desiredKeys: [])
        #expect(try without[record.recordID]?.get().allKeys() == [])
        // An asset that is not touched stays, and one that is removed goes.
        back["name"] = "x"
        _ = try await database.save(back)
        back["file"] = nil
        _ = try await database.save(back)
        let end = try await database.record(for: record.recordID)
        #expect(end["file"] as? CKAsset == nil)
        #expect((end["files"] as? [CKAsset])?.count == 2)
    }

    final class Delegate: CKSyncEngineDelegate {
        let events = CallbackLog()
        let state = ReceivedValues<CKSyncEngine.State.Serialization>()
        let zoneID = CKRecordZone.ID(zoneName: "Engine")

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            switch event {
            case .stateUpdate(let update): state.add(update.stateSerialization)
            case .accountChange(let change):
                if case .signIn = change.changeType { events.add("signIn") }
            case .sentDatabaseChanges(let sent): events.add("zones \(sent.savedZones.count)")
            case .sentRecordZoneChanges(let sent):
                events.add("records \(sent.savedRecords.count) \(sent.failedRecordSaves.count) \(sent.deletedRecordIDs.count)")
            case .fetchedRecordZoneChanges(let fetched): events.add("fetched \(fetched.modifications.count) \(fetched.deletions.count)")
            case .fetchedDatabaseChanges(let fetched): events.add("database \(fetched.modifications.count)")
            default: break
            }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
            return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
                id.recordName == "vanished" ? nil : CKRecord(recordType: "Plant", recordID: id)
            }
        }
    }

    @Test func aSyncEngineSendsAndFetchesByHand() async throws {
        let (phone, tablet) = try await twoDevices()
        func engine(_ container: CKContainer) -> (CKSyncEngine, Delegate) {
            let delegate = Delegate()
            var configuration = CKSyncEngine.Configuration(
                database: container.privateCloudDatabase, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            return (CKSyncEngine(configuration), delegate)
        }
        let (sender, sent) = engine(phone)
        sender.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: sent.zoneID))])
        let ids = ["a", "b", "vanished"].map { CKRecord.ID(recordName: $0, zoneID: sent.zoneID) }
        sender.state.add(pendingRecordZoneChanges: ids.map { .saveRecord($0) })
        try await sender.sendChanges()
        #expect(sent.events.all.contains("zones 1"))
        #expect(sent.events.all.contains("records 2 0 0"))
        #expect(sender.state.pendingDatabaseChanges.isEmpty)
        sender.state.add(pendingRecordZoneChanges: [.deleteRecord(ids[0])])
        sender.state.add(pendingRecordZoneChanges: [.saveRecord(ids[0])])
        #expect(sender.state.pendingRecordZoneChanges.filter { $0 == .deleteRecord(ids[0]) }.isEmpty)
        sender.state.remove(pendingRecordZoneChanges: [.saveRecord(ids[0])])
        let (receiver, received) = engine(tablet)
        try await receiver.fetchChanges()
        #expect(received.events.all.contains("fetched 2 0"))
        #expect(received.state.all.isEmpty == false)
        let data = try JSONEncoder().encode(try #require(received.state.all.last))
        _ = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)
    }

    @Test func errorsOfAnOfflineDevice() async throws {
        let database = try await offlineContainer().privateCloudDatabase
        let error = try #require(await failure { try await database.save(CKRecord(recordType: "Plant")) })
        #expect([.networkUnavailable, .networkFailure].contains(error.code))
        #expect((error as NSError).domain == CKErrorDomain)
        #expect(CKError.Code(rawValue: (error as NSError).code) == error.code)
        #expect(error.partialErrorsByItemID == nil)
    }
}
