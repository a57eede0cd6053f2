// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Containers.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import Foundation
import Testing

@Suite struct ContainersSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("CKContainer.ApplicationPermissions.userDiscoverability", CKContainer.ApplicationPermissions.userDiscoverability, 1)
        expectDocumented("CKContainer.ApplicationPermissionStatus.initialState", CKContainer.ApplicationPermissionStatus.initialState, 0)
        expectDocumented("CKContainer.ApplicationPermissionStatus.couldNotComplete", CKContainer.ApplicationPermissionStatus.couldNotComplete, 1)
        expectDocumented("CKContainer.ApplicationPermissionStatus.denied", CKContainer.ApplicationPermissionStatus.denied, 2)
        expectDocumented("CKContainer.ApplicationPermissionStatus.granted", CKContainer.ApplicationPermissionStatus.granted, 3)
        expectDocumented("CKAccountStatus.couldNotDetermine", CKAccountStatus.couldNotDetermine, 0)
        expectDocumented("CKAccountStatus.available", CKAccountStatus.available, 1)
        expectDocumented("CKAccountStatus.restricted", CKAccountStatus.restricted, 2)
        expectDocumented("CKAccountStatus.noAccount", CKAccountStatus.noAccount, 3)
        expectDocumented("CKAccountStatus.temporarilyUnavailable", CKAccountStatus.temporarilyUnavailable, 4)
        expectDocumented("CKDatabase.Scope.public", CKDatabase.Scope.`public`, 1)
        expectDocumented("CKDatabase.Scope.private", CKDatabase.Scope.`private`, 2)
        expectDocumented("CKDatabase.Scope.shared", CKDatabase.Scope.shared, 3)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesCKContainer()
        Self.usesCKContainerApplicationPermissions()
        Self.usesCKContainerApplicationPermissionStatus()
        Self.usesCKAccountStatus()
        Self.usesNotificationNameExtension()
        Self.usesNSNotificationNameExtension()
        Self.usesCKDatabase()
        Self.usesCKDatabaseScope()
        Self.usesCKDatabaseDatabaseChangeModification()
        Self.usesCKDatabaseDatabaseChangeDeletion()
        Self.usesCKDatabaseDatabaseChangeDeletionReason()
        Self.usesCKDatabaseRecordZoneChangeModification()
        Self.usesCKDatabaseRecordZoneChangeDeletion()
    }

    private static func usesCKContainer() {
        _ = { (x: CKContainer) -> NSObject in x }
        _ = { (x: CKContainer) -> any Sendable in x }
        _ = { () -> CKContainer in CKContainer.`default`() }
        _ = { (a0: String) -> CKContainer in CKContainer(identifier: a0) }
        let _: KeyPath<CKContainer, String?> = \.containerIdentifier
        let _: KeyPath<CKContainer, CKDatabase> = \.privateCloudDatabase
        let _: KeyPath<CKContainer, CKDatabase> = \.publicCloudDatabase
        let _: KeyPath<CKContainer, CKDatabase> = \.sharedCloudDatabase
        _ = { (x: CKContainer, a0: CKDatabase.Scope) -> CKDatabase in x.database(with: a0) }
        _ = { (x: CKContainer, a0: CKOperation) -> Void in x.add(a0) }
        _ = { (x: CKContainer, a0: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) -> Void in x.accountStatus(completionHandler: a0) }
        _ = { (x: CKContainer) async throws -> CKAccountStatus in try await x.accountStatus() }
        _ = { (x: CKContainer, a0: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) -> Void in x.fetchUserRecordID(completionHandler: a0) }
        _ = { (x: CKContainer) async throws -> CKRecord.ID in try await x.userRecordID() }
        _ = { (x: CKContainer, a0: URL, a1: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void) -> Void in x.fetchShareMetadata(with: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: URL) async throws -> CKShare.Metadata in try await x.shareMetadata(for: a0) }
        _ = { (x: CKContainer, a0: [URL], a1: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void) -> Void in x.fetchShareMetadatas(for: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] in try await x.shareMetadatas(for: a0) }
        _ = { (x: CKContainer, a0: CKShare.Metadata, a1: @escaping @Sendable (CKShare?, (any Error)?) -> Void) -> Void in x.accept(a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: CKShare.Metadata) async throws -> CKShare in try await x.accept(a0) }
        _ = { (x: CKContainer, a0: [CKShare.Metadata], a1: @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void) -> Void in x.accept(a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [CKShare.Metadata]) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] in try await x.accept(a0) }
        _ = { (x: CKContainer, a0: String, a1: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void) -> Void in x.fetchShareParticipant(withEmailAddress: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: String, a1: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void) -> Void in x.fetchShareParticipant(withPhoneNumber: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: CKRecord.ID, a1: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void) -> Void in x.fetchShareParticipant(withUserRecordID: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: String) async throws -> CKShare.Participant in try await x.shareParticipant(forEmailAddress: a0) }
        _ = { (x: CKContainer, a0: String) async throws -> CKShare.Participant in try await x.shareParticipant(forPhoneNumber: a0) }
        _ = { (x: CKContainer, a0: CKRecord.ID) async throws -> CKShare.Participant in try await x.shareParticipant(forUserRecordID: a0) }
        _ = { (x: CKContainer, a0: [String], a1: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void) -> Void in x.fetchShareParticipants(forEmailAddresses: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [String], a1: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void) -> Void in x.fetchShareParticipants(forPhoneNumbers: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [CKRecord.ID], a1: @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void) -> Void in x.fetchShareParticipants(forUserRecordIDs: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [String]) async throws -> [String: Result<CKShare.Participant, any Error>] in try await x.shareParticipants(forEmailAddresses: a0) }
        _ = { (x: CKContainer, a0: [String]) async throws -> [String: Result<CKShare.Participant, any Error>] in try await x.shareParticipants(forPhoneNumbers: a0) }
        _ = { (x: CKContainer, a0: [CKRecord.ID]) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] in try await x.shareParticipants(forUserRecordIDs: a0) }
        _ = { (x: CKContainer, a0: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void) -> Void in x.fetchAllLongLivedOperationIDs(completionHandler: a0) }
        _ = { (x: CKContainer, a0: CKOperation.ID, a1: @escaping @Sendable (CKOperation?, (any Error)?) -> Void) -> Void in x.fetchLongLivedOperation(withID: a0, completionHandler: a1) }
        _ = { (x: CKContainer) async throws -> [CKOperation.ID] in try await x.allLongLivedOperationIDs() }
        _ = { (x: CKContainer, a0: CKOperation.ID) async throws -> CKOperation? in try await x.longLivedOperation(for: a0) }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKContainer() {
        _ = { (x: CKContainer, a0: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void) -> Void in x.discoverAllIdentities(completionHandler: a0) }
        _ = { (x: CKContainer) async throws -> [CKUserIdentity] in try await x.allUserIdentitiesFromContacts() }
        _ = { (x: CKContainer, a0: String, a1: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void) -> Void in x.discoverUserIdentity(withEmailAddress: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: String, a1: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void) -> Void in x.discoverUserIdentity(withPhoneNumber: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: CKRecord.ID, a1: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void) -> Void in x.discoverUserIdentity(withUserRecordID: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: String) async throws -> CKUserIdentity? in try await x.userIdentity(forEmailAddress: a0) }
        _ = { (x: CKContainer, a0: String) async throws -> CKUserIdentity? in try await x.userIdentity(forPhoneNumber: a0) }
        _ = { (x: CKContainer, a0: CKRecord.ID) async throws -> CKUserIdentity? in try await x.userIdentity(forUserRecordID: a0) }
        _ = { (x: CKContainer, a0: [String], a1: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void) -> Void in x.discoverUserIdentities(forEmailAddresses: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [String], a1: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void) -> Void in x.discoverUserIdentities(forPhoneNumbers: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [CKRecord.ID], a1: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void) -> Void in x.discoverUserIdentities(forUserRecordIDs: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: [String]) async throws -> [String: CKUserIdentity] in try await x.userIdentities(forEmailAddresses: a0) }
        _ = { (x: CKContainer, a0: [String]) async throws -> [String: CKUserIdentity] in try await x.userIdentities(forPhoneNumbers: a0) }
        _ = { (x: CKContainer, a0: [CKRecord.ID]) async throws -> [CKRecord.ID: CKUserIdentity] in try await x.userIdentities(forUserRecordIDs: a0) }
        _ = { (x: CKContainer, a0: CKContainer.ApplicationPermissions, a1: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void) -> Void in x.requestApplicationPermission(a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: CKContainer.ApplicationPermissions) async throws -> CKContainer.ApplicationPermissionStatus in try await x.requestApplicationPermission(a0) }
        _ = { (x: CKContainer, a0: CKContainer.ApplicationPermissions, a1: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void) -> Void in x.status(forApplicationPermission: a0, completionHandler: a1) }
        _ = { (x: CKContainer, a0: CKContainer.ApplicationPermissions) async throws -> CKContainer.ApplicationPermissionStatus in try await x.applicationPermissionStatus(for: a0) }
        _ = { (x: [CKContainer.Application.PermissionBlock]) -> [CKContainer.ApplicationPermissionBlock] in x }
        _ = { (x: [CKContainer.Application.Permissions]) -> [CKContainer.ApplicationPermissions] in x }
        _ = { (x: [CKContainer.Application.PermissionStatus]) -> [CKContainer.ApplicationPermissionStatus] in x }
    }

    private static func usesCKContainerApplicationPermissions() {
        _ = { (x: CKContainer.ApplicationPermissions) -> any OptionSet in x }
        _ = { () -> CKContainer.ApplicationPermissions in CKContainer.ApplicationPermissions.userDiscoverability }
    }

    private static func usesCKContainerApplicationPermissionStatus() {
        _ = CKContainer.ApplicationPermissionStatus.self
        _ = { () -> CKContainer.ApplicationPermissionStatus in .initialState }
        _ = { () -> CKContainer.ApplicationPermissionStatus in .couldNotComplete }
        _ = { () -> CKContainer.ApplicationPermissionStatus in .denied }
        _ = { () -> CKContainer.ApplicationPermissionStatus in .granted }
    }

    private static func usesCKAccountStatus() {
        _ = CKAccountStatus.self
        _ = { () -> CKAccountStatus in .couldNotDetermine }
        _ = { () -> CKAccountStatus in .available }
        _ = { () -> CKAccountStatus in .restricted }
        _ = { () -> CKAccountStatus in .noAccount }
        _ = { () -> CKAccountStatus in .temporarilyUnavailable }
    }

    private static func usesNotificationNameExtension() {
        _ = { () -> Notification.Name in Notification.Name.CKAccountChanged }
    }

    private static func usesNSNotificationNameExtension() {
        _ = { () -> NSNotification.Name in NSNotification.Name.CKAccountChanged }
    }

    private static func usesCKDatabase() {
        _ = { (x: CKDatabase) -> NSObject in x }
        _ = { (x: CKDatabase) -> any Sendable in x }
        let _: KeyPath<CKDatabase, CKDatabase.Scope> = \.databaseScope
        _ = { (x: CKDatabase, a0: CKDatabaseOperation) -> Void in x.add(a0) }
        _ = { (x: CKDatabase, a0: CKRecord.ID, a1: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) -> Void in x.fetch(withRecordID: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKRecord.ID) async throws -> CKRecord in try await x.record(for: a0) }
        _ = { (x: CKDatabase, a0: CKRecord, a1: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) -> Void in x.save(a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKRecord) async throws -> CKRecord in try await x.save(a0) }
        _ = { (x: CKDatabase, a0: CKRecord.ID, a1: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) -> Void in x.delete(withRecordID: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKRecord.ID) async throws -> CKRecord.ID in try await x.deleteRecord(withID: a0) }
        _ = { (x: CKDatabase, a0: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) -> Void in x.fetchAllRecordZones(completionHandler: a0) }
        _ = { (x: CKDatabase) async throws -> [CKRecordZone] in try await x.allRecordZones() }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID, a1: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) -> Void in x.fetch(withRecordZoneID: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID) async throws -> CKRecordZone in try await x.recordZone(for: a0) }
        _ = { (x: CKDatabase, a0: CKRecordZone, a1: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) -> Void in x.save(a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKRecordZone) async throws -> CKRecordZone in try await x.save(a0) }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID, a1: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void) -> Void in x.delete(withRecordZoneID: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID) async throws -> CKRecordZone.ID in try await x.deleteRecordZone(withID: a0) }
        _ = { (x: CKDatabase, a0: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void) -> Void in x.fetchAllSubscriptions(completionHandler: a0) }
        _ = { (x: CKDatabase) async throws -> [CKSubscription] in try await x.allSubscriptions() }
        _ = { (x: CKDatabase, a0: CKSubscription.ID, a1: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void) -> Void in x.fetch(withSubscriptionID: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKSubscription.ID) async throws -> CKSubscription in try await x.subscription(for: a0) }
        _ = { (x: CKDatabase, a0: CKSubscription, a1: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void) -> Void in x.save(a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKSubscription) async throws -> CKSubscription in try await x.save(a0) }
        _ = { (x: CKDatabase, a0: CKSubscription.ID, a1: @escaping @Sendable (String?, (any Error)?) -> Void) -> Void in x.delete(withSubscriptionID: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: CKSubscription.ID) async throws -> CKSubscription.ID in try await x.deleteSubscription(withID: a0) }
        _ = { (x: CKDatabase, a0: [CKRecord.ID], a1: [CKRecord.FieldKey]?) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] in try await x.records(for: a0, desiredKeys: a1) }
        _ = { (x: CKDatabase, a0: [CKRecord.ID]) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] in try await x.records(for: a0) }
        _ = { (x: CKDatabase, a0: [CKRecord.ID], a1: [CKRecord.FieldKey]?, a2: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void) -> Void in x.fetch(withRecordIDs: a0, desiredKeys: a1, completionHandler: a2) }
        _ = { (x: CKDatabase, a0: [CKRecord.ID], a2: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void) -> Void in x.fetch(withRecordIDs: a0, completionHandler: a2) }
        _ = { (x: CKDatabase, a0: CKQuery, a1: CKRecordZone.ID?, a2: [CKRecord.FieldKey]?, a3: Int) async throws -> (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?) in try await x.records(matching: a0, inZoneWith: a1, desiredKeys: a2, resultsLimit: a3) }
        _ = { (x: CKDatabase, a0: CKQuery) async throws -> (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?) in try await x.records(matching: a0) }
        _ = { (x: CKDatabase, a0: CKQueryOperation.Cursor, a1: [CKRecord.FieldKey]?, a2: Int) async throws -> (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?) in try await x.records(continuingMatchFrom: a0, desiredKeys: a1, resultsLimit: a2) }
        _ = { (x: CKDatabase, a0: CKQueryOperation.Cursor) async throws -> (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?) in try await x.records(continuingMatchFrom: a0) }
        _ = { (x: CKDatabase, a0: CKQuery, a1: CKRecordZone.ID?, a2: [CKRecord.FieldKey]?, a3: Int, a4: @escaping @Sendable (Result<(matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error>) -> Void) -> Void in x.fetch(withQuery: a0, inZoneWith: a1, desiredKeys: a2, resultsLimit: a3, completionHandler: a4) }
        _ = { (x: CKDatabase, a0: CKQuery, a4: @escaping @Sendable (Result<(matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error>) -> Void) -> Void in x.fetch(withQuery: a0, completionHandler: a4) }
        _ = { (x: CKDatabase, a0: CKQueryOperation.Cursor, a1: [CKRecord.FieldKey]?, a2: Int, a3: @escaping @Sendable (Result<(matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error>) -> Void) -> Void in x.fetch(withCursor: a0, desiredKeys: a1, resultsLimit: a2, completionHandler: a3) }
        _ = { (x: CKDatabase, a0: CKQueryOperation.Cursor, a3: @escaping @Sendable (Result<(matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error>) -> Void) -> Void in x.fetch(withCursor: a0, completionHandler: a3) }
        _ = { (x: CKDatabase, a0: [CKRecord], a1: [CKRecord.ID], a2: CKModifyRecordsOperation.RecordSavePolicy, a3: Bool) async throws -> (saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]) in try await x.modifyRecords(saving: a0, deleting: a1, savePolicy: a2, atomically: a3) }
        _ = { (x: CKDatabase, a0: [CKRecord], a1: [CKRecord.ID]) async throws -> (saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]) in try await x.modifyRecords(saving: a0, deleting: a1) }
        _ = { (x: CKDatabase, a0: [CKRecord], a1: [CKRecord.ID], a2: CKModifyRecordsOperation.RecordSavePolicy, a3: Bool, a4: @escaping @Sendable (Result<(saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]), any Error>) -> Void) -> Void in x.modifyRecords(saving: a0, deleting: a1, savePolicy: a2, atomically: a3, completionHandler: a4) }
        _ = { (x: CKDatabase, a0: [CKRecord], a1: [CKRecord.ID], a4: @escaping @Sendable (Result<(saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]), any Error>) -> Void) -> Void in x.modifyRecords(saving: a0, deleting: a1, completionHandler: a4) }
        _ = { (x: CKDatabase, a0: [CKRecordZone.ID]) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] in try await x.recordZones(for: a0) }
        _ = { (x: CKDatabase, a0: [CKRecordZone.ID], a1: @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void) -> Void in x.fetch(withRecordZoneIDs: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: [CKRecordZone], a1: [CKRecordZone.ID]) async throws -> (saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>], deleteResults: [CKRecordZone.ID: Result<Void, any Error>]) in try await x.modifyRecordZones(saving: a0, deleting: a1) }
        _ = { (x: CKDatabase, a0: [CKRecordZone], a1: [CKRecordZone.ID], a2: @escaping @Sendable (Result<(saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>], deleteResults: [CKRecordZone.ID: Result<Void, any Error>]), any Error>) -> Void) -> Void in x.modifyRecordZones(saving: a0, deleting: a1, completionHandler: a2) }
        _ = { (x: CKDatabase, a0: [CKSubscription.ID]) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] in try await x.subscriptions(for: a0) }
        _ = { (x: CKDatabase, a0: [CKSubscription.ID], a1: @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void) -> Void in x.fetch(withSubscriptionIDs: a0, completionHandler: a1) }
        _ = { (x: CKDatabase, a0: [CKSubscription], a1: [CKSubscription.ID]) async throws -> (saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>], deleteResults: [CKSubscription.ID: Result<Void, any Error>]) in try await x.modifySubscriptions(saving: a0, deleting: a1) }
        _ = { (x: CKDatabase, a0: [CKSubscription], a1: [CKSubscription.ID], a2: @escaping @Sendable (Result<(saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>], deleteResults: [CKSubscription.ID: Result<Void, any Error>]), any Error>) -> Void) -> Void in x.modifySubscriptions(saving: a0, deleting: a1, completionHandler: a2) }
        _ = { (x: CKDatabase, a0: CKServerChangeToken?, a1: Int?) async throws -> (modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool) in try await x.databaseChanges(since: a0, resultsLimit: a1) }
        _ = { (x: CKDatabase, a0: CKServerChangeToken?) async throws -> (modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool) in try await x.databaseChanges(since: a0) }
        _ = { (x: CKDatabase, a0: CKServerChangeToken?, a1: Int?, a2: @escaping @Sendable (Result<(modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void) -> Void in x.fetchDatabaseChanges(since: a0, resultsLimit: a1, completionHandler: a2) }
        _ = { (x: CKDatabase, a0: CKServerChangeToken?, a2: @escaping @Sendable (Result<(modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void) -> Void in x.fetchDatabaseChanges(since: a0, completionHandler: a2) }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID, a1: CKServerChangeToken?, a2: [CKRecord.FieldKey]?, a3: Int?) async throws -> (modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>], deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool) in try await x.recordZoneChanges(inZoneWith: a0, since: a1, desiredKeys: a2, resultsLimit: a3) }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID, a1: CKServerChangeToken?) async throws -> (modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>], deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool) in try await x.recordZoneChanges(inZoneWith: a0, since: a1) }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID, a1: CKServerChangeToken?, a2: [CKRecord.FieldKey]?, a3: Int?, a4: @escaping @Sendable (Result<(modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>], deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void) -> Void in x.fetchRecordZoneChanges(inZoneWith: a0, since: a1, desiredKeys: a2, resultsLimit: a3, completionHandler: a4) }
        _ = { (x: CKDatabase, a0: CKRecordZone.ID, a1: CKServerChangeToken?, a4: @escaping @Sendable (Result<(modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>], deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void) -> Void in x.fetchRecordZoneChanges(inZoneWith: a0, since: a1, completionHandler: a4) }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKDatabase() {
        _ = { (x: CKDatabase, a0: CKQuery, a1: CKRecordZone.ID?, a2: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void) -> Void in x.perform(a0, inZoneWith: a1, completionHandler: a2) }
        _ = { (x: CKDatabase, a0: CKQuery, a1: CKRecordZone.ID?) async throws -> [CKRecord] in try await x.perform(a0, inZoneWith: a1) }
        _ = { (x: CKDatabase, a0: CKQuery, a1: CKRecordZone.ID?) async throws -> [CKRecord] in try await x.records(matching: a0, inZoneWith: a1) }
    }

    private static func usesCKDatabaseScope() {
        _ = CKDatabase.Scope.self
        _ = { () -> CKDatabase.Scope in .`public` }
        _ = { () -> CKDatabase.Scope in .`private` }
        _ = { () -> CKDatabase.Scope in .shared }
    }

    private static func usesCKDatabaseDatabaseChangeModification() {
        _ = { (x: CKDatabase.DatabaseChange.Modification) -> any Sendable in x }
        let _: KeyPath<CKDatabase.DatabaseChange.Modification, CKRecordZone.ID> = \.zoneID
    }

    private static func usesCKDatabaseDatabaseChangeDeletion() {
        _ = { (x: CKDatabase.DatabaseChange.Deletion) -> any Sendable in x }
        let _: KeyPath<CKDatabase.DatabaseChange.Deletion, CKRecordZone.ID> = \.zoneID
        let _: KeyPath<CKDatabase.DatabaseChange.Deletion, CKDatabase.DatabaseChange.Deletion.Reason> = \.reason
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKDatabaseDatabaseChangeDeletion() {
        let _: KeyPath<CKDatabase.DatabaseChange.Deletion, Bool> = \.purged
    }

    private static func usesCKDatabaseDatabaseChangeDeletionReason() {
        _ = CKDatabase.DatabaseChange.Deletion.Reason.self
        _ = { () -> CKDatabase.DatabaseChange.Deletion.Reason in .deleted }
        _ = { () -> CKDatabase.DatabaseChange.Deletion.Reason in .purged }
        _ = { () -> CKDatabase.DatabaseChange.Deletion.Reason in .encryptedDataReset }
    }

    private static func usesCKDatabaseRecordZoneChangeModification() {
        _ = { (x: CKDatabase.RecordZoneChange.Modification) -> any Sendable in x }
        let _: KeyPath<CKDatabase.RecordZoneChange.Modification, CKRecord> = \.record
    }

    private static func usesCKDatabaseRecordZoneChangeDeletion() {
        _ = { (x: CKDatabase.RecordZoneChange.Deletion) -> any Sendable in x }
        let _: KeyPath<CKDatabase.RecordZoneChange.Deletion, CKRecord.ID> = \.recordID
        let _: KeyPath<CKDatabase.RecordZoneChange.Deletion, CKRecord.RecordType> = \.recordType
    }

    static var propertiesOfCKContainer: [(name: String, path: PartialKeyPath<CKContainer>)] {
        [
            ("containerIdentifier", \.containerIdentifier),
            ("privateCloudDatabase", \.privateCloudDatabase),
            ("publicCloudDatabase", \.publicCloudDatabase),
            ("sharedCloudDatabase", \.sharedCloudDatabase),
        ]
    }

    static var propertiesOfCKDatabase: [(name: String, path: PartialKeyPath<CKDatabase>)] {
        [
            ("databaseScope", \.databaseScope),
        ]
    }
}
