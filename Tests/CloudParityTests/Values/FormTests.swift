// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Testing

/// Names, class names of archives, and requests without arguments.
@Suite struct FormTests {
    @Test(arguments: ["1st", "a b", "a.b", "", "a-b", "_hidden", String(repeating: "a", count: 300)])
    func malformedKeysAreRejected(_ key: String) async throws {
        let (database, zoneID) = try await garden()
        let sage = plant("sage", in: zoneID)
        sage[key] = "x"
        let error = await failure { try await database.save(sage) }
        #expect(error?.code == .invalidArguments, "\(key)")
        #expect(sage.recordChangeTag == nil)
    }

    @Test func aSaveBringsThePassedRecordUpToDate() async throws {
        let (database, zoneID) = try await garden()
        let sage = plant("sage", in: zoneID)
        sage["count"] = 1
        let saved = try await database.save(sage)
        #expect(sage.recordChangeTag == saved.recordChangeTag)
        #expect(sage.modificationDate == saved.modificationDate)
        #expect(sage.changedKeys().isEmpty)
        sage["count"] = 2
        try await database.save(sage)
        #expect(sage.recordChangeTag != saved.recordChangeTag || sage === saved)
    }

    @Test func recordsNameTheirUser() async throws {
        let container = try await testContainer()
        let user = try await container.userRecordID()
        let record = try await container.privateCloudDatabase.save(CKRecord(recordType: "Plant"))
        #expect(record.creatorUserRecordID == user)
        #expect(record.lastModifiedUserRecordID == user)
        #expect(user.recordName != CKCurrentUserDefaultName)
    }

    /// Nested names, such as `CKRecord.ID`, are not possible in archives.
    @Test func archivesNameTheDocumentedClasses() throws {
        func names(_ value: any NSObject & NSSecureCoding) throws -> String {
            let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
            let archive = try #require(
                try PropertyListSerialization.propertyList(from: data, options: [], format: nil) as? [String: Any])
            let objects = archive["$objects"] as? [Any] ?? []
            return objects.compactMap { ($0 as? [String: Any])?["$classname"] as? String }.joined(separator: " ")
        }
        let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Z"))
        let all = try names(CKRecord.Reference(recordID: id, action: .none))
        for name in ["CKReference", "CKRecordID", "CKRecordZoneID"] { #expect(all.contains(name), "\(all)") }
    }

    @Test func requestsForEverything() async throws {
        let (database, _) = try await garden()
        try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
        let log = CallbackLog()
        let subscriptions: CKFetchSubscriptionsOperation = .fetchAllSubscriptionsOperation()
        subscriptions.perSubscriptionResultBlock = { id, _ in log.add(id) }
        await finish(subscriptions, on: database)
        #expect(log.all == ["all"])
        let container = try await testContainer()
        let user: CKFetchRecordsOperation = .fetchCurrentUserRecordOperation()
        let fetched = ReceivedValues<CKRecord.ID>()
        user.perRecordResultBlock = { id, result in
            fetched.add(id)
            log.add("\((try? result.get())?.recordType ?? "none")")
        }
        await finish(user, on: container.publicCloudDatabase)
        #expect(log.all.last == CKRecord.SystemType.userRecord)
        // The private database has no user records.
        let own: CKFetchRecordsOperation = .fetchCurrentUserRecordOperation()
        own.perRecordResultBlock = { _, result in
            if case .failure(let error as CKError) = result { log.add("\(error.code == .unknownItem)") }
        }
        await finish(own, on: container.privateCloudDatabase)
        #expect(log.all.last == "true")
        #expect(try await container.allUserIdentitiesFromContacts().isEmpty)
    }
}

/// An app that fetches and sends from within its delegate.
private final class Impatient: CKSyncEngineDelegate {
    let codes = CallbackLog()

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .willFetchChanges = event else { return }
        for body in [{ try await syncEngine.fetchChanges() }, { try await syncEngine.sendChanges() }] as [() async throws -> Void] {
            do {
                try await body()
                codes.add("done")
            } catch { codes.add("\((error as? CKError)?.code == .invalidArguments)") }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}

@Suite(.timeLimit(.minutes(1))) struct SyncEngineDelegateTests {
    @Test func aDelegateThatFetchesOrSendsIsRefused() async throws {
        let delegate = Impatient()
        var configuration = CKSyncEngine.Configuration(
            database: try await testContainer().privateCloudDatabase, stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        try await engine.fetchChanges()
        #expect(delegate.codes.all == ["true", "true"])
    }
}
