// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Completion-handler forms. Each calls the async method of its name, then the handler once on a system queue.
extension CKDatabase {
    // MARK: Records

    /// Fetches a record; completion-handler form of `record(for:)`.
    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.record(for: recordID) }
    }

    /// Saves a record; completion-handler form of `save(_:)`.
    @preconcurrency
    public func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
        complete(completionHandler) { try await self.save(record) }
    }

    /// Deletes a record; completion-handler form of `deleteRecord(withID:)`.
    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.deleteRecord(withID: recordID) }
    }

    /// Fetches records; completion-handler form of `records(for:desiredKeys:)`.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.records(for: recordIDs, desiredKeys: desiredKeys) }
    }

    /// Saves and deletes records; completion-handler form of `modifyRecords(saving:deleting:savePolicy:atomically:)`.
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
                        deleteResults: [CKRecord.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.modifyRecords(
                saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, atomically: atomically)
        }
    }

    // MARK: Zones

    /// Fetches all zones; completion-handler form of `allRecordZones()`.
    @preconcurrency
    public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
        complete(completionHandler) { try await self.allRecordZones() }
    }

    /// Fetches a zone; completion-handler form of `recordZone(for:)`.
    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.recordZone(for: zoneID) }
    }

    /// Saves a zone; completion-handler form of `save(_:)`.
    @preconcurrency
    public func save(_ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) {
        complete(completionHandler) { try await self.save(zone) }
    }

    /// Deletes a zone; completion-handler form of `deleteRecordZone(withID:)`.
    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
    }

    /// Fetches zones; completion-handler form of `recordZones(for:)`.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs recordZoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>
            ) -> Void
    ) {
        complete(completionHandler) { try await self.recordZones(for: recordZoneIDs) }
    }

    /// Saves and deletes zones; completion-handler form of `modifyRecordZones(saving:deleting:)`.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.modifyRecordZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
        }
    }

    // MARK: Subscriptions

    /// Fetches all subscriptions; completion-handler form of `allSubscriptions()`.
    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.allSubscriptions() }
    }

    /// Fetches a subscription; completion-handler form of `subscription(for:)`.
    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.subscription(for: subscriptionID) }
    }

    /// Saves a subscription; completion-handler form of `save(_:)`.
    @preconcurrency
    public func save(
        _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.save(subscription) }
    }

    /// Deletes a subscription; completion-handler form of `deleteSubscription(withID:)`.
    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.deleteSubscription(withID: subscriptionID) }
    }

    /// Fetches subscriptions; completion-handler form of `subscriptions(for:)`.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>
            ) -> Void
    ) {
        complete(completionHandler) { try await self.subscriptions(for: subscriptionIDs) }
    }

    /// Saves and deletes subscriptions; completion-handler form of `modifySubscriptions(saving:deleting:)`.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.modifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
        }
    }

    // MARK: Changes

    /// Fetches changed zones; completion-handler form of `databaseChanges(since:resultsLimit:)`.
    @preconcurrency
    public func fetchDatabaseChanges(
        since serverChangeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
                        changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.databaseChanges(since: serverChangeToken, resultsLimit: resultsLimit)
        }
    }

    /// Fetches changed records; completion-handler form of
    /// `recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)`.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since serverChangeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
                        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        complete(completionHandler) {
            try await self.recordZoneChanges(
                inZoneWith: zoneID, since: serverChangeToken, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
        }
    }
}
