// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

/// The forms with completion handlers, as code of all years calls them.
@Suite struct HandlerTests {
    /// Waits for a handler that is called once.
    private func answer<Value: Sendable>(_ start: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
        await withCheckedContinuation { continuation in start { continuation.resume(returning: $0) } }
    }

    @Test func recordsAreSavedFetchedAndDeleted() async throws {
        let (database, zoneID) = try await garden()
        let sage = plant("sage", in: zoneID)
        sage["count"] = 1
        let saved: CKRecord? = await answer { done in
            database.save(sage) { record, error in done(error == nil ? record : nil) }
        }
        #expect(saved?.recordID == sage.recordID)
        #expect(saved?.recordChangeTag != nil)
        let fetched: CKRecord? = await answer { done in
            database.fetch(withRecordID: sage.recordID) { record, error in done(error == nil ? record : nil) }
        }
        #expect(fetched?["count"] == 1)
        let many: Int? = await answer { done in
            database.fetch(withRecordIDs: [sage.recordID, CKRecord.ID(recordName: "no", zoneID: zoneID)], desiredKeys: []) { result in
                done((try? result.get())?.count)
            }
        }
        #expect(many == 2)
        let deleted: CKRecord.ID? = await answer { done in
            database.delete(withRecordID: sage.recordID) { id, error in done(error == nil ? id : nil) }
        }
        #expect(deleted == sage.recordID)
        let removed: CKError? = await answer { done in
            database.fetch(withRecordID: sage.recordID) { _, error in done(error as? CKError) }
        }
        #expect(removed?.code == .unknownItem)
    }

    @Test func itemsAreModifiedInOneCall() async throws {
        let (database, zoneID) = try await garden()
        let (a, b) = (plant("a", in: zoneID), plant("b", in: zoneID))
        let counts: [Int]? = await answer { done in
            database.modifyRecords(saving: [a, b], deleting: []) { result in
                done((try? result.get()).map { [$0.saveResults.count, $0.deleteResults.count] })
            }
        }
        #expect(counts == [2, 0])
        let policies: [Int]? = await answer { done in
            database.modifyRecords(saving: [a], deleting: [b.recordID], savePolicy: .allKeys, atomically: false) { result in
                done((try? result.get()).map { [$0.saveResults.count, $0.deleteResults.count] })
            }
        }
        #expect(policies == [1, 1])
    }

    @Test func zonesAreMadeFoundAndDeleted() async throws {
        let database = try await testContainer().privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Shed")
        let saved: CKRecordZone? = await answer { done in database.save(zone) { zone, _ in done(zone) } }
        #expect(saved?.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
        let match: CKRecordZone? = await answer { done in
            database.fetch(withRecordZoneID: zone.zoneID) { zone, _ in done(zone) }
        }
        #expect(match?.zoneID == zone.zoneID)
        let all: [String]? = await answer { done in
            database.fetchAllRecordZones { zones, _ in done(zones?.map(\.zoneID.zoneName).sorted()) }
        }
        #expect(all == ["Shed", CKRecordZone.ID.defaultZoneName])
        let some: Int? = await answer { done in
            database.fetch(withRecordZoneIDs: [zone.zoneID]) { result in done((try? result.get())?.count) }
        }
        #expect(some == 1)
        let modified: [Int]? = await answer { done in
            database.modifyRecordZones(saving: [CKRecordZone(zoneName: "Attic")], deleting: [zone.zoneID]) { result in
                done((try? result.get()).map { [$0.saveResults.count, $0.deleteResults.count] })
            }
        }
        #expect(modified == [1, 1])
        let deleted: CKRecordZone.ID? = await answer { done in
            database.delete(withRecordZoneID: CKRecordZone.ID(zoneName: "Attic")) { id, _ in done(id) }
        }
        #expect(deleted?.zoneName == "Attic")
        let missing: CKError? = await answer { done in
            database.fetch(withRecordZoneID: zone.zoneID) { _, error in done(error as? CKError) }
        }
        #expect(missing?.code == .zoneNotFound)
    }

    @Test func subscriptionsAreMadeFoundAndDeleted() async throws {
        let database = try await testContainer().privateCloudDatabase
        let subscription = CKDatabaseSubscription(subscriptionID: "all")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        let saved: CKSubscription? = await answer { done in
            database.save(subscription) { subscription, _ in done(subscription) }
        }
        #expect(saved?.subscriptionID == "all")
        #expect(saved?.subscriptionType == .database)
        #expect(saved?.notificationInfo?.shouldSendContentAvailable == true)
        let match: CKSubscription? = await answer { done in
            database.fetch(withSubscriptionID: "all") { subscription, _ in done(subscription) }
        }
        #expect(match?.subscriptionID == "all")
        let all: [String]? = await answer { done in
            database.fetchAllSubscriptions { subscriptions, _ in done(subscriptions?.map(\.subscriptionID)) }
        }
        #expect(all == ["all"])
        let some: Int? = await answer { done in
            database.fetch(withSubscriptionIDs: ["all"]) { result in done((try? result.get())?.count) }
        }
        #expect(some == 1)
        let modified: [Int]? = await answer { done in
            database.modifySubscriptions(saving: [CKDatabaseSubscription(subscriptionID: "more")], deleting: ["all"]) { result in
                done((try? result.get()).map { [$0.saveResults.count, $0.deleteResults.count] })
            }
        }
        #expect(modified == [1, 1])
        let deleted: String? = await answer { done in database.delete(withSubscriptionID: "more") { id, _ in done(id) } }
        #expect(deleted == "more")
    }

    @Test func changesAreFetched() async throws {
        let (database, zoneID) = try await garden()
        try await database.save(plant("sage", in: zoneID))
        let zones: [String]? = await answer { done in
            database.fetchDatabaseChanges(since: nil) { result in
                done((try? result.get())?.modifications.map(\.zoneID.zoneName))
            }
        }
        #expect(zones == ["Garden"])
        let token: CKServerChangeToken? = await answer { done in
            database.fetchRecordZoneChanges(inZoneWith: zoneID, since: nil) { result in
                let page = try? result.get()
                done(page?.modificationResultsByID.count == 1 ? page?.changeToken : nil)
            }
        }
        let stored = try #require(token)
        #expect(try archived(stored) == stored)
        try await database.deleteRecord(withID: CKRecord.ID(recordName: "sage", zoneID: zoneID))
        let removed: [String]? = await answer { done in
            database.fetchRecordZoneChanges(inZoneWith: zoneID, since: stored, desiredKeys: [], resultsLimit: 10) { result in
                done((try? result.get())?.deletions.map(\.recordID.recordName))
            }
        }
        #expect(removed == ["sage"])
    }

    @Test func usersAndAccountsAreLookedUp() async throws {
        let (owner, guest) = try await twoAccounts()
        let status: CKAccountStatus = await answer { done in owner.accountStatus { status, _ in done(status) } }
        #expect(status == .available)
        let user: CKRecord.ID? = await answer { done in guest.fetchUserRecordID { id, _ in done(id) } }
        let guestID = try #require(user)
        #expect(guestID.recordName.hasPrefix("_"))
        #expect(try await guest.userRecordID() == guestID)
        let byAddress: CKUserIdentity? = await answer { done in
            owner.discoverUserIdentity(withEmailAddress: guestAddress) { identity, _ in done(identity) }
        }
        #expect(byAddress?.userRecordID == guestID)
        let byNumber: Bool = await answer { done in
            owner.discoverUserIdentity(withPhoneNumber: "+49 89 1") { identity, error in done(identity == nil && error == nil) }
        }
        #expect(byNumber)
        let many: [String: CKUserIdentity]? = await answer { done in
            owner.discoverUserIdentities(forEmailAddresses: [guestAddress, "no@example.org"]) { done(try? $0.get()) }
        }
        #expect(many?.keys.sorted() == [guestAddress])
        #expect(try await owner.userIdentities(forUserRecordIDs: [guestID])[guestID]?.userRecordID == guestID)
        #expect(try await owner.userIdentities(forPhoneNumbers: ["+49 89 1"]).isEmpty)
        let participants: Int? = await answer { done in
            owner.fetchShareParticipants(forUserRecordIDs: [guestID]) { result in
                done((try? result.get())?.values.count { (try? $0.get()) != nil })
            }
        }
        #expect(participants == 1)
        let contacts: Int? = await answer { done in owner.discoverAllIdentities { identities, _ in done(identities?.count) } }
        #expect(contacts == 0)
    }

    /// Differs: Apple's framework knows the status from the system and needs no network.
    @Test func theStatusOfAnAccountComesFromTheServer() async throws {
        let container = try await offlineContainer()
        #expect(await failure { try await container.accountStatus() }?.code == .networkUnavailable)
        let (status, code) = await withCheckedContinuation { continuation in
            container.accountStatus { continuation.resume(returning: ($0, ($1 as? CKError)?.code)) }
        }
        #expect(status == .couldNotDetermine)
        #expect(code == .networkUnavailable)
    }
}
