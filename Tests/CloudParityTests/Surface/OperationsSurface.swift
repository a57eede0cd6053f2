// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Operations.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import Foundation
import Testing

@Suite struct OperationsSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("CKOperationGroup.TransferSize.unknown", CKOperationGroup.TransferSize.unknown, 0)
        expectDocumented("CKOperationGroup.TransferSize.kilobytes", CKOperationGroup.TransferSize.kilobytes, 1)
        expectDocumented("CKOperationGroup.TransferSize.megabytes", CKOperationGroup.TransferSize.megabytes, 2)
        expectDocumented("CKOperationGroup.TransferSize.tensOfMegabytes", CKOperationGroup.TransferSize.tensOfMegabytes, 3)
        expectDocumented("CKOperationGroup.TransferSize.hundredsOfMegabytes", CKOperationGroup.TransferSize.hundredsOfMegabytes, 4)
        expectDocumented("CKOperationGroup.TransferSize.gigabytes", CKOperationGroup.TransferSize.gigabytes, 5)
        expectDocumented("CKOperationGroup.TransferSize.tensOfGigabytes", CKOperationGroup.TransferSize.tensOfGigabytes, 6)
        expectDocumented("CKOperationGroup.TransferSize.hundredsOfGigabytes", CKOperationGroup.TransferSize.hundredsOfGigabytes, 7)
        expectDocumented("CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged", CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, 0)
        expectDocumented("CKModifyRecordsOperation.RecordSavePolicy.changedKeys", CKModifyRecordsOperation.RecordSavePolicy.changedKeys, 1)
        expectDocumented("CKModifyRecordsOperation.RecordSavePolicy.allKeys", CKModifyRecordsOperation.RecordSavePolicy.allKeys, 2)
        expectDocumented("CKQueryOperation.maximumResults", CKQueryOperation.maximumResults, 0)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesCKOperation()
        Self.usesCKOperationConfiguration()
        Self.usesCKOperationGroup()
        Self.usesCKOperationGroupTransferSize()
        Self.usesCKDatabaseOperation()
        Self.usesCKModifyRecordsOperation()
        Self.usesCKModifyRecordsOperationRecordSavePolicy()
        Self.usesCKFetchRecordsOperation()
        Self.usesCKQueryOperation()
        Self.usesCKQueryOperationCursor()
        Self.usesCKFetchDatabaseChangesOperation()
        Self.usesCKFetchRecordZoneChangesOperation()
        Self.usesCKFetchRecordZoneChangesOperationZoneConfiguration()
        Self.usesCKFetchRecordZonesOperation()
        Self.usesCKModifyRecordZonesOperation()
        Self.usesCKFetchSubscriptionsOperation()
        Self.usesCKModifySubscriptionsOperation()
        Self.usesCKFetchWebAuthTokenOperation()
    }

    private static func usesCKOperation() {
        _ = { (x: CKOperation) -> Operation in x }
        _ = { (x: [CKOperation.ID]) -> [String] in x }
        _ = { () -> CKOperation in CKOperation() }
        let _: KeyPath<CKOperation, CKOperation.ID> = \.operationID
        let _: ReferenceWritableKeyPath<CKOperation, CKOperation.Configuration?> = \.configuration
        let _: ReferenceWritableKeyPath<CKOperation, CKOperationGroup?> = \.group
        _ = { (x: CKOperation) in x.longLivedOperationWasPersistedBlock = { () -> Void in } }
        _ = { (x: CKOperation) in x.longLivedOperationWasPersistedBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKOperation() {
        let _: ReferenceWritableKeyPath<CKOperation, CKContainer?> = \.container
        let _: ReferenceWritableKeyPath<CKOperation, Bool> = \.allowsCellularAccess
        let _: ReferenceWritableKeyPath<CKOperation, Bool> = \.isLongLived
        let _: ReferenceWritableKeyPath<CKOperation, TimeInterval> = \.timeoutIntervalForRequest
        let _: ReferenceWritableKeyPath<CKOperation, TimeInterval> = \.timeoutIntervalForResource
    }

    private static func usesCKOperationConfiguration() {
        _ = { (x: CKOperation.Configuration) -> NSObject in x }
        _ = { (x: CKOperation.Configuration) -> any NSCopying in x }
        _ = { () -> CKOperation.Configuration in CKOperation.Configuration() }
        let _: ReferenceWritableKeyPath<CKOperation.Configuration, CKContainer?> = \.container
        let _: ReferenceWritableKeyPath<CKOperation.Configuration, QualityOfService> = \.qualityOfService
        let _: ReferenceWritableKeyPath<CKOperation.Configuration, Bool> = \.allowsCellularAccess
        let _: ReferenceWritableKeyPath<CKOperation.Configuration, Bool> = \.isLongLived
        let _: ReferenceWritableKeyPath<CKOperation.Configuration, TimeInterval> = \.timeoutIntervalForRequest
        let _: ReferenceWritableKeyPath<CKOperation.Configuration, TimeInterval> = \.timeoutIntervalForResource
    }

    private static func usesCKOperationGroup() {
        _ = { (x: CKOperationGroup) -> NSObject in x }
        _ = { (x: CKOperationGroup) -> any NSSecureCoding in x }
        _ = { () -> CKOperationGroup in CKOperationGroup() }
        _ = { (a0: NSCoder) -> CKOperationGroup? in CKOperationGroup(coder: a0) }
        let _: KeyPath<CKOperationGroup, String> = \.operationGroupID
        let _: ReferenceWritableKeyPath<CKOperationGroup, String?> = \.name
        let _: ReferenceWritableKeyPath<CKOperationGroup, Int> = \.quantity
        let _: ReferenceWritableKeyPath<CKOperationGroup, CKOperationGroup.TransferSize> = \.expectedSendSize
        let _: ReferenceWritableKeyPath<CKOperationGroup, CKOperationGroup.TransferSize> = \.expectedReceiveSize
        let _: ReferenceWritableKeyPath<CKOperationGroup, CKOperation.Configuration?> = \.defaultConfiguration
    }

    private static func usesCKOperationGroupTransferSize() {
        _ = CKOperationGroup.TransferSize.self
        _ = { () -> CKOperationGroup.TransferSize in .unknown }
        _ = { () -> CKOperationGroup.TransferSize in .kilobytes }
        _ = { () -> CKOperationGroup.TransferSize in .megabytes }
        _ = { () -> CKOperationGroup.TransferSize in .tensOfMegabytes }
        _ = { () -> CKOperationGroup.TransferSize in .hundredsOfMegabytes }
        _ = { () -> CKOperationGroup.TransferSize in .gigabytes }
        _ = { () -> CKOperationGroup.TransferSize in .tensOfGigabytes }
        _ = { () -> CKOperationGroup.TransferSize in .hundredsOfGigabytes }
    }

    private static func usesCKDatabaseOperation() {
        _ = { (x: CKDatabaseOperation) -> CKOperation in x }
        let _: ReferenceWritableKeyPath<CKDatabaseOperation, CKDatabase?> = \.database
    }

    private static func usesCKModifyRecordsOperation() {
        _ = { (x: CKModifyRecordsOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKModifyRecordsOperation in CKModifyRecordsOperation() }
        _ = { (a0: [CKRecord]?, a1: [CKRecord.ID]?) -> CKModifyRecordsOperation in CKModifyRecordsOperation(recordsToSave: a0, recordIDsToDelete: a1) }
        _ = { () -> CKModifyRecordsOperation in CKModifyRecordsOperation() }
        let _: ReferenceWritableKeyPath<CKModifyRecordsOperation, [CKRecord]?> = \.recordsToSave
        let _: ReferenceWritableKeyPath<CKModifyRecordsOperation, [CKRecord.ID]?> = \.recordIDsToDelete
        let _: ReferenceWritableKeyPath<CKModifyRecordsOperation, CKModifyRecordsOperation.RecordSavePolicy> = \.savePolicy
        let _: ReferenceWritableKeyPath<CKModifyRecordsOperation, Data?> = \.clientChangeTokenData
        let _: ReferenceWritableKeyPath<CKModifyRecordsOperation, Bool> = \.isAtomic
        _ = { (x: CKModifyRecordsOperation) in x.perRecordProgressBlock = { (_: CKRecord, _: Double) -> Void in } }
        _ = { (x: CKModifyRecordsOperation) in x.perRecordProgressBlock = nil }
        _ = { (x: CKModifyRecordsOperation) in x.perRecordSaveBlock = { (_: CKRecord.ID, _: Result<CKRecord, any Error>) -> Void in } }
        _ = { (x: CKModifyRecordsOperation) in x.perRecordSaveBlock = nil }
        _ = { (x: CKModifyRecordsOperation) in x.perRecordDeleteBlock = { (_: CKRecord.ID, _: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKModifyRecordsOperation) in x.perRecordDeleteBlock = nil }
        _ = { (x: CKModifyRecordsOperation) in x.modifyRecordsResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKModifyRecordsOperation) in x.modifyRecordsResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKModifyRecordsOperation() {
        _ = { (x: CKModifyRecordsOperation) in x.perRecordCompletionBlock = { (_: CKRecord, _: (any Error)?) -> Void in } }
        _ = { (x: CKModifyRecordsOperation) in x.perRecordCompletionBlock = nil }
        _ = { (x: CKModifyRecordsOperation) in x.modifyRecordsCompletionBlock = { (_: [CKRecord]?, _: [CKRecord.ID]?, _: (any Error)?) -> Void in } }
        _ = { (x: CKModifyRecordsOperation) in x.modifyRecordsCompletionBlock = nil }
    }

    private static func usesCKModifyRecordsOperationRecordSavePolicy() {
        _ = CKModifyRecordsOperation.RecordSavePolicy.self
        _ = { () -> CKModifyRecordsOperation.RecordSavePolicy in .ifServerRecordUnchanged }
        _ = { () -> CKModifyRecordsOperation.RecordSavePolicy in .changedKeys }
        _ = { () -> CKModifyRecordsOperation.RecordSavePolicy in .allKeys }
    }

    private static func usesCKFetchRecordsOperation() {
        _ = { (x: CKFetchRecordsOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKFetchRecordsOperation in CKFetchRecordsOperation() }
        _ = { (a0: [CKRecord.ID]) -> CKFetchRecordsOperation in CKFetchRecordsOperation(recordIDs: a0) }
        _ = { () -> CKFetchRecordsOperation in CKFetchRecordsOperation.fetchCurrentUserRecordOperation() }
        let _: ReferenceWritableKeyPath<CKFetchRecordsOperation, [CKRecord.ID]?> = \.recordIDs
        let _: ReferenceWritableKeyPath<CKFetchRecordsOperation, [CKRecord.FieldKey]?> = \.desiredKeys
        _ = { (x: CKFetchRecordsOperation) in x.perRecordProgressBlock = { (_: CKRecord.ID, _: Double) -> Void in } }
        _ = { (x: CKFetchRecordsOperation) in x.perRecordProgressBlock = nil }
        _ = { (x: CKFetchRecordsOperation) in x.perRecordResultBlock = { (_: CKRecord.ID, _: Result<CKRecord, any Error>) -> Void in } }
        _ = { (x: CKFetchRecordsOperation) in x.perRecordResultBlock = nil }
        _ = { (x: CKFetchRecordsOperation) in x.fetchRecordsResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKFetchRecordsOperation) in x.fetchRecordsResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchRecordsOperation() {
        _ = { (x: CKFetchRecordsOperation) in x.perRecordCompletionBlock = { (_: CKRecord?, _: CKRecord.ID?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchRecordsOperation) in x.perRecordCompletionBlock = nil }
        _ = { (x: CKFetchRecordsOperation) in x.fetchRecordsCompletionBlock = { (_: [CKRecord.ID: CKRecord]?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchRecordsOperation) in x.fetchRecordsCompletionBlock = nil }
    }

    private static func usesCKQueryOperation() {
        _ = { (x: CKQueryOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKQueryOperation in CKQueryOperation() }
        _ = { (a0: CKQuery) -> CKQueryOperation in CKQueryOperation(query: a0) }
        _ = { (a0: CKQueryOperation.Cursor) -> CKQueryOperation in CKQueryOperation(cursor: a0) }
        _ = { () -> Int in CKQueryOperation.maximumResults }
        let _: ReferenceWritableKeyPath<CKQueryOperation, CKQuery?> = \.query
        let _: ReferenceWritableKeyPath<CKQueryOperation, CKQueryOperation.Cursor?> = \.cursor
        let _: ReferenceWritableKeyPath<CKQueryOperation, CKRecordZone.ID?> = \.zoneID
        let _: ReferenceWritableKeyPath<CKQueryOperation, Int> = \.resultsLimit
        let _: ReferenceWritableKeyPath<CKQueryOperation, [CKRecord.FieldKey]?> = \.desiredKeys
        _ = { (x: CKQueryOperation) in x.recordMatchedBlock = { (_: CKRecord.ID, _: Result<CKRecord, any Error>) -> Void in } }
        _ = { (x: CKQueryOperation) in x.recordMatchedBlock = nil }
        _ = { (x: CKQueryOperation) in x.queryResultBlock = { (_: Result<CKQueryOperation.Cursor?, any Error>) -> Void in } }
        _ = { (x: CKQueryOperation) in x.queryResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKQueryOperation() {
        _ = { (x: CKQueryOperation) in x.recordFetchedBlock = { (_: CKRecord) -> Void in } }
        _ = { (x: CKQueryOperation) in x.recordFetchedBlock = nil }
        _ = { (x: CKQueryOperation) in x.queryCompletionBlock = { (_: CKQueryOperation.Cursor?, _: (any Error)?) -> Void in } }
        _ = { (x: CKQueryOperation) in x.queryCompletionBlock = nil }
    }

    private static func usesCKQueryOperationCursor() {
        _ = { (x: CKQueryOperation.Cursor) -> NSObject in x }
        _ = { (x: CKQueryOperation.Cursor) -> any NSSecureCoding in x }
        _ = { (x: CKQueryOperation.Cursor) -> any NSCopying in x }
        _ = { (x: CKQueryOperation.Cursor) -> any Sendable in x }
    }

    private static func usesCKFetchDatabaseChangesOperation() {
        _ = { (x: CKFetchDatabaseChangesOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKFetchDatabaseChangesOperation in CKFetchDatabaseChangesOperation() }
        _ = { (a0: CKServerChangeToken?) -> CKFetchDatabaseChangesOperation in CKFetchDatabaseChangesOperation(previousServerChangeToken: a0) }
        let _: ReferenceWritableKeyPath<CKFetchDatabaseChangesOperation, CKServerChangeToken?> = \.previousServerChangeToken
        let _: ReferenceWritableKeyPath<CKFetchDatabaseChangesOperation, Int> = \.resultsLimit
        let _: ReferenceWritableKeyPath<CKFetchDatabaseChangesOperation, Bool> = \.fetchAllChanges
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDChangedBlock = { (_: CKRecordZone.ID) -> Void in } }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDChangedBlock = nil }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDWasDeletedBlock = { (_: CKRecordZone.ID) -> Void in } }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDWasDeletedBlock = nil }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDWasPurgedBlock = { (_: CKRecordZone.ID) -> Void in } }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDWasPurgedBlock = nil }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = { (_: CKRecordZone.ID) -> Void in } }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = nil }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.changeTokenUpdatedBlock = { (_: CKServerChangeToken) -> Void in } }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.changeTokenUpdatedBlock = nil }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.fetchDatabaseChangesResultBlock = { (_: Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void in } }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.fetchDatabaseChangesResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchDatabaseChangesOperation() {
        _ = { (x: CKFetchDatabaseChangesOperation) in x.fetchDatabaseChangesCompletionBlock = { (_: CKServerChangeToken?, _: Bool, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchDatabaseChangesOperation) in x.fetchDatabaseChangesCompletionBlock = nil }
    }

    private static func usesCKFetchRecordZoneChangesOperation() {
        _ = { (x: CKFetchRecordZoneChangesOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKFetchRecordZoneChangesOperation in CKFetchRecordZoneChangesOperation() }
        _ = { (a0: [CKRecordZone.ID]?, a1: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration]?) -> CKFetchRecordZoneChangesOperation in CKFetchRecordZoneChangesOperation(recordZoneIDs: a0, configurationsByRecordZoneID: a1) }
        _ = { () -> CKFetchRecordZoneChangesOperation in CKFetchRecordZoneChangesOperation() }
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation, [CKRecordZone.ID]?> = \.recordZoneIDs
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation, [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration]?> = \.configurationsByRecordZoneID
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation, Bool> = \.fetchAllChanges
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordWasChangedBlock = { (_: CKRecord.ID, _: Result<CKRecord, any Error>) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordWasChangedBlock = nil }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordWithIDWasDeletedBlock = { (_: CKRecord.ID, _: CKRecord.RecordType) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordWithIDWasDeletedBlock = nil }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordZoneChangeTokensUpdatedBlock = { (_: CKRecordZone.ID, _: CKServerChangeToken?, _: Data?) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordZoneChangeTokensUpdatedBlock = nil }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordZoneFetchResultBlock = { (_: CKRecordZone.ID, _: Result<(serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error>) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordZoneFetchResultBlock = nil }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.fetchRecordZoneChangesResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.fetchRecordZoneChangesResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchRecordZoneChangesOperation() {
        _ = { (a0: [CKRecordZone.ID], a1: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneOptions]?) -> CKFetchRecordZoneChangesOperation in CKFetchRecordZoneChangesOperation(recordZoneIDs: a0, optionsByRecordZoneID: a1) }
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation, [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneOptions]?> = \.optionsByRecordZoneID
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordChangedBlock = { (_: CKRecord) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordChangedBlock = nil }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordZoneFetchCompletionBlock = { (_: CKRecordZone.ID, _: CKServerChangeToken?, _: Data?, _: Bool, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.recordZoneFetchCompletionBlock = nil }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.fetchRecordZoneChangesCompletionBlock = { (_: (any Error)?) -> Void in } }
        _ = { (x: CKFetchRecordZoneChangesOperation) in x.fetchRecordZoneChangesCompletionBlock = nil }
    }

    private static func usesCKFetchRecordZoneChangesOperationZoneConfiguration() {
        _ = { (x: CKFetchRecordZoneChangesOperation.ZoneConfiguration) -> NSObject in x }
        _ = { (x: CKFetchRecordZoneChangesOperation.ZoneConfiguration) -> any NSSecureCoding in x }
        _ = { (x: CKFetchRecordZoneChangesOperation.ZoneConfiguration) -> any NSCopying in x }
        _ = { () -> CKFetchRecordZoneChangesOperation.ZoneConfiguration in CKFetchRecordZoneChangesOperation.ZoneConfiguration() }
        _ = { (a0: NSCoder) -> CKFetchRecordZoneChangesOperation.ZoneConfiguration? in CKFetchRecordZoneChangesOperation.ZoneConfiguration(coder: a0) }
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation.ZoneConfiguration, CKServerChangeToken?> = \.previousServerChangeToken
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation.ZoneConfiguration, Int> = \.resultsLimit
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation.ZoneConfiguration, [CKRecord.FieldKey]?> = \.desiredKeys
    }

    @available(*, deprecated)
    private static func usesCKFetchRecordZoneChangesOperationZoneOptions() {
        _ = { (x: CKFetchRecordZoneChangesOperation.ZoneOptions) -> NSObject in x }
        _ = { (x: CKFetchRecordZoneChangesOperation.ZoneOptions) -> any NSSecureCoding in x }
        _ = { (x: CKFetchRecordZoneChangesOperation.ZoneOptions) -> any NSCopying in x }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchRecordZoneChangesOperationZoneOptions() {
        _ = { () -> CKFetchRecordZoneChangesOperation.ZoneOptions in CKFetchRecordZoneChangesOperation.ZoneOptions() }
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation.ZoneOptions, CKServerChangeToken?> = \.previousServerChangeToken
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation.ZoneOptions, Int> = \.resultsLimit
        let _: ReferenceWritableKeyPath<CKFetchRecordZoneChangesOperation.ZoneOptions, [CKRecord.FieldKey]?> = \.desiredKeys
    }

    @available(*, deprecated)
    private static func usesCKFetchRecordChangesOperation() {
        _ = { (x: CKFetchRecordChangesOperation) -> CKDatabaseOperation in x }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchRecordChangesOperation() {
        _ = { () -> CKFetchRecordChangesOperation in CKFetchRecordChangesOperation() }
        _ = { (a0: CKRecordZone.ID, a1: CKServerChangeToken?) -> CKFetchRecordChangesOperation in CKFetchRecordChangesOperation(recordZoneID: a0, previousServerChangeToken: a1) }
        let _: ReferenceWritableKeyPath<CKFetchRecordChangesOperation, CKRecordZone.ID?> = \.recordZoneID
        let _: ReferenceWritableKeyPath<CKFetchRecordChangesOperation, CKServerChangeToken?> = \.previousServerChangeToken
        let _: ReferenceWritableKeyPath<CKFetchRecordChangesOperation, Int> = \.resultsLimit
        let _: ReferenceWritableKeyPath<CKFetchRecordChangesOperation, [CKRecord.FieldKey]?> = \.desiredKeys
        let _: KeyPath<CKFetchRecordChangesOperation, Bool> = \.moreComing
        _ = { (x: CKFetchRecordChangesOperation) in x.recordChangedBlock = { (_: CKRecord) -> Void in } }
        _ = { (x: CKFetchRecordChangesOperation) in x.recordChangedBlock = nil }
        _ = { (x: CKFetchRecordChangesOperation) in x.recordWithIDWasDeletedBlock = { (_: CKRecord.ID) -> Void in } }
        _ = { (x: CKFetchRecordChangesOperation) in x.recordWithIDWasDeletedBlock = nil }
        _ = { (x: CKFetchRecordChangesOperation) in x.fetchRecordChangesCompletionBlock = { (_: CKServerChangeToken?, _: Data?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchRecordChangesOperation) in x.fetchRecordChangesCompletionBlock = nil }
    }

    private static func usesCKFetchRecordZonesOperation() {
        _ = { (x: CKFetchRecordZonesOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKFetchRecordZonesOperation in CKFetchRecordZonesOperation() }
        _ = { (a0: [CKRecordZone.ID]) -> CKFetchRecordZonesOperation in CKFetchRecordZonesOperation(recordZoneIDs: a0) }
        _ = { () -> CKFetchRecordZonesOperation in CKFetchRecordZonesOperation.fetchAllRecordZonesOperation() }
        let _: ReferenceWritableKeyPath<CKFetchRecordZonesOperation, [CKRecordZone.ID]?> = \.recordZoneIDs
        _ = { (x: CKFetchRecordZonesOperation) in x.perRecordZoneResultBlock = { (_: CKRecordZone.ID, _: Result<CKRecordZone, any Error>) -> Void in } }
        _ = { (x: CKFetchRecordZonesOperation) in x.perRecordZoneResultBlock = nil }
        _ = { (x: CKFetchRecordZonesOperation) in x.fetchRecordZonesResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKFetchRecordZonesOperation) in x.fetchRecordZonesResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchRecordZonesOperation() {
        _ = { (x: CKFetchRecordZonesOperation) in x.fetchRecordZonesCompletionBlock = { (_: [CKRecordZone.ID: CKRecordZone]?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchRecordZonesOperation) in x.fetchRecordZonesCompletionBlock = nil }
    }

    private static func usesCKModifyRecordZonesOperation() {
        _ = { (x: CKModifyRecordZonesOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKModifyRecordZonesOperation in CKModifyRecordZonesOperation() }
        _ = { (a0: [CKRecordZone]?, a1: [CKRecordZone.ID]?) -> CKModifyRecordZonesOperation in CKModifyRecordZonesOperation(recordZonesToSave: a0, recordZoneIDsToDelete: a1) }
        _ = { () -> CKModifyRecordZonesOperation in CKModifyRecordZonesOperation() }
        let _: ReferenceWritableKeyPath<CKModifyRecordZonesOperation, [CKRecordZone]?> = \.recordZonesToSave
        let _: ReferenceWritableKeyPath<CKModifyRecordZonesOperation, [CKRecordZone.ID]?> = \.recordZoneIDsToDelete
        _ = { (x: CKModifyRecordZonesOperation) in x.perRecordZoneSaveBlock = { (_: CKRecordZone.ID, _: Result<CKRecordZone, any Error>) -> Void in } }
        _ = { (x: CKModifyRecordZonesOperation) in x.perRecordZoneSaveBlock = nil }
        _ = { (x: CKModifyRecordZonesOperation) in x.perRecordZoneDeleteBlock = { (_: CKRecordZone.ID, _: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKModifyRecordZonesOperation) in x.perRecordZoneDeleteBlock = nil }
        _ = { (x: CKModifyRecordZonesOperation) in x.modifyRecordZonesResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKModifyRecordZonesOperation) in x.modifyRecordZonesResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKModifyRecordZonesOperation() {
        _ = { (x: CKModifyRecordZonesOperation) in x.modifyRecordZonesCompletionBlock = { (_: [CKRecordZone]?, _: [CKRecordZone.ID]?, _: (any Error)?) -> Void in } }
        _ = { (x: CKModifyRecordZonesOperation) in x.modifyRecordZonesCompletionBlock = nil }
    }

    private static func usesCKFetchSubscriptionsOperation() {
        _ = { (x: CKFetchSubscriptionsOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKFetchSubscriptionsOperation in CKFetchSubscriptionsOperation() }
        _ = { (a0: [CKSubscription.ID]) -> CKFetchSubscriptionsOperation in CKFetchSubscriptionsOperation(subscriptionIDs: a0) }
        _ = { () -> CKFetchSubscriptionsOperation in CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation() }
        let _: ReferenceWritableKeyPath<CKFetchSubscriptionsOperation, [CKSubscription.ID]?> = \.subscriptionIDs
        _ = { (x: CKFetchSubscriptionsOperation) in x.perSubscriptionResultBlock = { (_: CKSubscription.ID, _: Result<CKSubscription, any Error>) -> Void in } }
        _ = { (x: CKFetchSubscriptionsOperation) in x.perSubscriptionResultBlock = nil }
        _ = { (x: CKFetchSubscriptionsOperation) in x.fetchSubscriptionsResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKFetchSubscriptionsOperation) in x.fetchSubscriptionsResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchSubscriptionsOperation() {
        _ = { (x: CKFetchSubscriptionsOperation) in x.fetchSubscriptionCompletionBlock = { (_: [CKSubscription.ID: CKSubscription]?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchSubscriptionsOperation) in x.fetchSubscriptionCompletionBlock = nil }
    }

    private static func usesCKModifySubscriptionsOperation() {
        _ = { (x: CKModifySubscriptionsOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKModifySubscriptionsOperation in CKModifySubscriptionsOperation() }
        _ = { (a0: [CKSubscription]?, a1: [CKSubscription.ID]?) -> CKModifySubscriptionsOperation in CKModifySubscriptionsOperation(subscriptionsToSave: a0, subscriptionIDsToDelete: a1) }
        _ = { () -> CKModifySubscriptionsOperation in CKModifySubscriptionsOperation() }
        let _: ReferenceWritableKeyPath<CKModifySubscriptionsOperation, [CKSubscription]?> = \.subscriptionsToSave
        let _: ReferenceWritableKeyPath<CKModifySubscriptionsOperation, [CKSubscription.ID]?> = \.subscriptionIDsToDelete
        _ = { (x: CKModifySubscriptionsOperation) in x.perSubscriptionSaveBlock = { (_: CKSubscription.ID, _: Result<CKSubscription, any Error>) -> Void in } }
        _ = { (x: CKModifySubscriptionsOperation) in x.perSubscriptionSaveBlock = nil }
        _ = { (x: CKModifySubscriptionsOperation) in x.perSubscriptionDeleteBlock = { (_: CKSubscription.ID, _: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKModifySubscriptionsOperation) in x.perSubscriptionDeleteBlock = nil }
        _ = { (x: CKModifySubscriptionsOperation) in x.modifySubscriptionsResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKModifySubscriptionsOperation) in x.modifySubscriptionsResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKModifySubscriptionsOperation() {
        _ = { (x: CKModifySubscriptionsOperation) in x.modifySubscriptionsCompletionBlock = { (_: [CKSubscription]?, _: [CKSubscription.ID]?, _: (any Error)?) -> Void in } }
        _ = { (x: CKModifySubscriptionsOperation) in x.modifySubscriptionsCompletionBlock = nil }
    }

    private static func usesCKFetchWebAuthTokenOperation() {
        _ = { (x: CKFetchWebAuthTokenOperation) -> CKDatabaseOperation in x }
        _ = { () -> CKFetchWebAuthTokenOperation in CKFetchWebAuthTokenOperation() }
        _ = { (a0: String) -> CKFetchWebAuthTokenOperation in CKFetchWebAuthTokenOperation(apiToken: a0) }
        let _: ReferenceWritableKeyPath<CKFetchWebAuthTokenOperation, String?> = \.apiToken
        _ = { (x: CKFetchWebAuthTokenOperation) in x.fetchWebAuthTokenResultBlock = { (_: Result<String, any Error>) -> Void in } }
        _ = { (x: CKFetchWebAuthTokenOperation) in x.fetchWebAuthTokenResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchWebAuthTokenOperation() {
        _ = { (x: CKFetchWebAuthTokenOperation) in x.fetchWebAuthTokenCompletionBlock = { (_: String?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchWebAuthTokenOperation) in x.fetchWebAuthTokenCompletionBlock = nil }
    }

    static var propertiesOfCKOperation: [(name: String, path: PartialKeyPath<CKOperation>)] {
        [
            ("operationID", \.operationID),
            ("configuration", \.configuration),
            ("group", \.group),
        ]
    }

    static var propertiesOfCKOperationConfiguration: [(name: String, path: PartialKeyPath<CKOperation.Configuration>)] {
        [
            ("container", \.container),
            ("qualityOfService", \.qualityOfService),
            ("allowsCellularAccess", \.allowsCellularAccess),
            ("isLongLived", \.isLongLived),
            ("timeoutIntervalForRequest", \.timeoutIntervalForRequest),
            ("timeoutIntervalForResource", \.timeoutIntervalForResource),
        ]
    }

    static var propertiesOfCKOperationGroup: [(name: String, path: PartialKeyPath<CKOperationGroup>)] {
        [
            ("operationGroupID", \.operationGroupID),
            ("name", \.name),
            ("quantity", \.quantity),
            ("expectedSendSize", \.expectedSendSize),
            ("expectedReceiveSize", \.expectedReceiveSize),
            ("defaultConfiguration", \.defaultConfiguration),
        ]
    }

    static var propertiesOfCKDatabaseOperation: [(name: String, path: PartialKeyPath<CKDatabaseOperation>)] {
        [
            ("database", \.database),
        ]
    }

    static var propertiesOfCKModifyRecordsOperation: [(name: String, path: PartialKeyPath<CKModifyRecordsOperation>)] {
        [
            ("recordsToSave", \.recordsToSave),
            ("recordIDsToDelete", \.recordIDsToDelete),
            ("savePolicy", \.savePolicy),
            ("clientChangeTokenData", \.clientChangeTokenData),
            ("isAtomic", \.isAtomic),
        ]
    }

    static var propertiesOfCKFetchRecordsOperation: [(name: String, path: PartialKeyPath<CKFetchRecordsOperation>)] {
        [
            ("recordIDs", \.recordIDs),
            ("desiredKeys", \.desiredKeys),
        ]
    }

    static var propertiesOfCKQueryOperation: [(name: String, path: PartialKeyPath<CKQueryOperation>)] {
        [
            ("query", \.query),
            ("cursor", \.cursor),
            ("zoneID", \.zoneID),
            ("resultsLimit", \.resultsLimit),
            ("desiredKeys", \.desiredKeys),
        ]
    }

    static var propertiesOfCKFetchDatabaseChangesOperation: [(name: String, path: PartialKeyPath<CKFetchDatabaseChangesOperation>)] {
        [
            ("previousServerChangeToken", \.previousServerChangeToken),
            ("resultsLimit", \.resultsLimit),
            ("fetchAllChanges", \.fetchAllChanges),
        ]
    }

    static var propertiesOfCKFetchRecordZoneChangesOperation: [(name: String, path: PartialKeyPath<CKFetchRecordZoneChangesOperation>)] {
        [
            ("recordZoneIDs", \.recordZoneIDs),
            ("configurationsByRecordZoneID", \.configurationsByRecordZoneID),
            ("fetchAllChanges", \.fetchAllChanges),
        ]
    }

    static var propertiesOfCKFetchRecordZoneChangesOperationZoneConfiguration: [(name: String, path: PartialKeyPath<CKFetchRecordZoneChangesOperation.ZoneConfiguration>)] {
        [
            ("previousServerChangeToken", \.previousServerChangeToken),
            ("resultsLimit", \.resultsLimit),
            ("desiredKeys", \.desiredKeys),
        ]
    }

    static var propertiesOfCKFetchRecordZonesOperation: [(name: String, path: PartialKeyPath<CKFetchRecordZonesOperation>)] {
        [
            ("recordZoneIDs", \.recordZoneIDs),
        ]
    }

    static var propertiesOfCKModifyRecordZonesOperation: [(name: String, path: PartialKeyPath<CKModifyRecordZonesOperation>)] {
        [
            ("recordZonesToSave", \.recordZonesToSave),
            ("recordZoneIDsToDelete", \.recordZoneIDsToDelete),
        ]
    }

    static var propertiesOfCKFetchSubscriptionsOperation: [(name: String, path: PartialKeyPath<CKFetchSubscriptionsOperation>)] {
        [
            ("subscriptionIDs", \.subscriptionIDs),
        ]
    }

    static var propertiesOfCKModifySubscriptionsOperation: [(name: String, path: PartialKeyPath<CKModifySubscriptionsOperation>)] {
        [
            ("subscriptionsToSave", \.subscriptionsToSave),
            ("subscriptionIDsToDelete", \.subscriptionIDsToDelete),
        ]
    }

    static var propertiesOfCKFetchWebAuthTokenOperation: [(name: String, path: PartialKeyPath<CKFetchWebAuthTokenOperation>)] {
        [
            ("apiToken", \.apiToken),
        ]
    }
}
