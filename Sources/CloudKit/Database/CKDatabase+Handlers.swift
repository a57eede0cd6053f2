// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// The forms with completion handlers. Each does what the async form of its kind does.
extension CKDatabase {
    // MARK: Records

    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.record(for: recordID) }
    }

    @preconcurrency
    public func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
        answer(completionHandler) { try await self.save(record) }
    }

    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.deleteRecord(withID: recordID) }
    }

    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) {
        answer(completionHandler) { try await self.records(for: recordIDs, desiredKeys: desiredKeys) }
    }

    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler: @escaping @Sendable (
            Result<
                (
                    saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                    deleteResults: [CKRecord.ID: Result<Void, any Error>]
                ), any Error
            >
        ) -> Void
    ) {
        answer(completionHandler) {
            try await self.modifyRecords(
                saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, atomically: atomically)
        }
    }

    // MARK: Zones

    @preconcurrency
    public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
        answer(completionHandler) { try await self.allRecordZones() }
    }

    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.recordZone(for: zoneID) }
    }

    @preconcurrency
    public func save(_ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) {
        answer(completionHandler) { try await self.save(zone) }
    }

    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
    }

    @preconcurrency
    public func fetch(
        withRecordZoneIDs recordZoneIDs: [CKRecordZone.ID],
        completionHandler: @escaping @Sendable (
            Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>
        ) -> Void
    ) {
        answer(completionHandler) { try await self.recordZones(for: recordZoneIDs) }
    }

    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        completionHandler: @escaping @Sendable (
            Result<
                (
                    saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                    deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                ), any Error
            >
        ) -> Void
    ) {
        answer(completionHandler) {
            try await self.modifyRecordZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
        }
    }

    // MARK: Subscriptions

    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.allSubscriptions() }
    }

    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.subscription(for: subscriptionID) }
    }

    @preconcurrency
    public func save(
        _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.save(subscription) }
    }

    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.deleteSubscription(withID: subscriptionID) }
    }

    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler: @escaping @Sendable (
            Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>
        ) -> Void
    ) {
        answer(completionHandler) { try await self.subscriptions(for: subscriptionIDs) }
    }

    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler: @escaping @Sendable (
            Result<
                (
                    saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                    deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                ), any Error
            >
        ) -> Void
    ) {
        answer(completionHandler) {
            try await self.modifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
        }
    }

    // MARK: Changes

    @preconcurrency
    public func fetchDatabaseChanges(
        since serverChangeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler: @escaping @Sendable (
            Result<
                (
                    modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
                    changeToken: CKServerChangeToken, moreComing: Bool
                ), any Error
            >
        ) -> Void
    ) {
        answer(completionHandler) {
            try await self.databaseChanges(since: serverChangeToken, resultsLimit: resultsLimit)
        }
    }

    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since serverChangeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
        completionHandler: @escaping @Sendable (
            Result<
                (
                    modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
                    deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
                ), any Error
            >
        ) -> Void
    ) {
        answer(completionHandler) {
            try await self.recordZoneChanges(
                inZoneWith: zoneID, since: serverChangeToken, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
        }
    }
}
