// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

// Encodes the inputs of operations in an archive, class by class. Properties that are `nil` are omitted.

extension NSCoder {
    fileprivate func encodeList(_ list: [some NSObject]?, _ key: String) { encode(list.map { NSArray(array: $0) }, forKey: key) }
    fileprivate func encodeList(_ texts: [String]?, _ key: String) { encodeList(texts?.map { $0 as NSString }, key) }
    fileprivate func encodeList(_ urls: [URL]?, _ key: String) { encodeList(urls?.map(\.absoluteString), key) }

    fileprivate func list<Item: NSObject & NSCoding>(_ key: String, of type: Item.Type, _ others: [AnyClass] = []) -> [Item]? {
        decodeObject(of: [NSArray.self, type] + others, forKey: key) as? [Item]
    }

    fileprivate func texts(_ key: String) -> [String]? { list(key, of: NSString.self)?.map { $0 as String } }
    fileprivate func urls(_ key: String) -> [URL]? { texts(key)?.compactMap { URL(string: $0) } }
}

extension CKModifyRecordsOperation {
    func encode(_ coder: NSCoder, _ assets: PersistedAssets) throws {
        coder.encodeList(try recordsToSave?.map(assets.persist), "recordsToSave")
        coder.encodeList(recordIDsToDelete, "recordIDsToDelete")
        coder.encode(savePolicy.rawValue, forKey: "savePolicy")
        coder.encode(isAtomic, forKey: "isAtomic")
        coder.encode(clientChangeTokenData.map { NSData(data: $0) }, forKey: "clientChangeTokenData")
    }

    func decode(_ coder: NSCoder) {
        recordsToSave = coder.list("recordsToSave", of: CKRecord.self, [CKShare.self])
        recordIDsToDelete = coder.list("recordIDsToDelete", of: CKRecord.ID.self)
        savePolicy = RecordSavePolicy(rawValue: coder.decodeInteger(forKey: "savePolicy")) ?? .ifServerRecordUnchanged
        isAtomic = coder.decodeBool(forKey: "isAtomic")
        clientChangeTokenData = coder.decodeObject(of: NSData.self, forKey: "clientChangeTokenData").map { Data(referencing: $0) }
    }
}

extension CKQueryOperation {
    func encode(_ coder: NSCoder) throws {
        // A query that the service cannot run cannot be archived, either.
        _ = try query?.wire()
        coder.encode(query, forKey: "query")
        coder.encode(cursor, forKey: "cursor")
        coder.encode(zoneID, forKey: "zoneID")
        coder.encode(resultsLimit, forKey: "resultsLimit")
        coder.encodeList(desiredKeys, "desiredKeys")
    }

    func decode(_ coder: NSCoder) {
        query = coder.decodeObject(of: CKQuery.self, forKey: "query")
        cursor = coder.decodeObject(of: CKQueryCursor.self, forKey: "cursor")
        zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID")
        resultsLimit = coder.decodeInteger(forKey: "resultsLimit")
        desiredKeys = coder.texts("desiredKeys")
    }
}

extension CKFetchDatabaseChangesOperation {
    func encode(_ coder: NSCoder) {
        coder.encode(previousServerChangeToken, forKey: "previousServerChangeToken")
        coder.encode(resultsLimit, forKey: "resultsLimit")
        coder.encode(fetchAllChanges, forKey: "fetchAllChanges")
    }

    func decode(_ coder: NSCoder) {
        previousServerChangeToken = coder.decodeObject(of: CKServerChangeToken.self, forKey: "previousServerChangeToken")
        resultsLimit = coder.decodeInteger(forKey: "resultsLimit")
        fetchAllChanges = coder.decodeBool(forKey: "fetchAllChanges")
    }
}

extension CKFetchRecordZoneChangesOperation {
    func encode(_ coder: NSCoder) {
        // Identifiers and their configurations, in the same order.
        let configurations = configurationsByRecordZoneID.map { Array($0) }
        coder.encodeList(recordZoneIDs, "recordZoneIDs")
        coder.encodeList(configurations?.map(\.key), "configuredZoneIDs")
        coder.encodeList(configurations?.map(\.value), "configurations")
        coder.encode(fetchAllChanges, forKey: "fetchAllChanges")
    }

    func decode(_ coder: NSCoder) {
        recordZoneIDs = coder.list("recordZoneIDs", of: CKRecordZone.ID.self)
        fetchAllChanges = coder.decodeBool(forKey: "fetchAllChanges")
        guard let ids = coder.list("configuredZoneIDs", of: CKRecordZone.ID.self),
            let values = coder.list(
                "configurations", of: ZoneConfiguration.self, [CKServerChangeToken.self, NSString.self])
        else { return }
        configurationsByRecordZoneID = Dictionary(zip(ids, values), uniquingKeysWith: { first, _ in first })
    }
}

extension CKFetchRecordChangesOperation {
    func encode(_ coder: NSCoder) {
        coder.encode(recordZoneID, forKey: "recordZoneID")
        coder.encode(previousServerChangeToken, forKey: "previousServerChangeToken")
        coder.encode(resultsLimit, forKey: "resultsLimit")
        coder.encodeList(desiredKeys, "desiredKeys")
    }

    func decode(_ coder: NSCoder) {
        recordZoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "recordZoneID")
        previousServerChangeToken = coder.decodeObject(of: CKServerChangeToken.self, forKey: "previousServerChangeToken")
        resultsLimit = coder.decodeInteger(forKey: "resultsLimit")
        desiredKeys = coder.texts("desiredKeys")
    }
}

extension CKModifySubscriptionsOperation {
    func encode(_ coder: NSCoder) throws {
        for subscription in subscriptionsToSave ?? [] { _ = try subscription.wire() }
        coder.encodeList(subscriptionsToSave, "subscriptionsToSave")
        coder.encodeList(subscriptionIDsToDelete, "subscriptionIDsToDelete")
    }

    func decode(_ coder: NSCoder) {
        subscriptionsToSave = coder.list(
            "subscriptionsToSave", of: CKSubscription.self,
            [CKQuerySubscription.self, CKRecordZoneSubscription.self, CKDatabaseSubscription.self])
        subscriptionIDsToDelete = coder.texts("subscriptionIDsToDelete")
    }
}

extension CKOperation {
    /// - Throws: ``CKError`` if the operation can never run with its inputs, or the error of the file system.
    final func encodeInputs(_ coder: NSCoder, _ assets: PersistedAssets) throws {
        switch self {
        case let operation as CKModifyRecordsOperation: try operation.encode(coder, assets)
        case let operation as CKFetchRecordsOperation:
            coder.encodeList(operation.recordIDs, "recordIDs")
            coder.encodeList(operation.desiredKeys, "desiredKeys")
            coder.encode(operation.fetchesCurrentUser, forKey: "fetchesCurrentUser")
        case let operation as CKQueryOperation: try operation.encode(coder)
        case let operation as CKFetchDatabaseChangesOperation: operation.encode(coder)
        case let operation as CKFetchRecordZoneChangesOperation: operation.encode(coder)
        case let operation as CKFetchRecordChangesOperation: operation.encode(coder)
        case let operation as CKFetchRecordZonesOperation: coder.encodeList(operation.recordZoneIDs, "recordZoneIDs")
        case let operation as CKModifyRecordZonesOperation:
            coder.encodeList(operation.recordZonesToSave, "recordZonesToSave")
            coder.encodeList(operation.recordZoneIDsToDelete, "recordZoneIDsToDelete")
        case let operation as CKFetchSubscriptionsOperation: coder.encodeList(operation.subscriptionIDs, "subscriptionIDs")
        case let operation as CKModifySubscriptionsOperation: try operation.encode(coder)
        case let operation as CKFetchShareMetadataOperation:
            coder.encodeList(operation.shareURLs, "shareURLs")
            coder.encode(operation.shouldFetchRootRecord, forKey: "shouldFetchRootRecord")
            coder.encodeList(operation.rootRecordDesiredKeys, "rootRecordDesiredKeys")
        case let operation as CKAcceptSharesOperation: coder.encodeList(operation.shareMetadatas, "shareMetadatas")
        case let operation as CKFetchShareParticipantsOperation: coder.encodeList(operation.userIdentityLookupInfos, "lookupInfos")
        case let operation as CKShareRequestAccessOperation: coder.encodeList(operation.shareURLs, "shareURLs")
        case let operation as CKDiscoverUserIdentitiesOperation: coder.encodeList(operation.userIdentityLookupInfos, "lookupInfos")
        default: throw CKError(.internalError)
        }
    }

    final func decodeInputs(_ coder: NSCoder) {
        switch self {
        case let operation as CKModifyRecordsOperation: operation.decode(coder)
        case let operation as CKFetchRecordsOperation:
            operation.recordIDs = coder.list("recordIDs", of: CKRecord.ID.self)
            operation.desiredKeys = coder.texts("desiredKeys")
            operation.fetchesCurrentUser = coder.decodeBool(forKey: "fetchesCurrentUser")
        case let operation as CKQueryOperation: operation.decode(coder)
        case let operation as CKFetchDatabaseChangesOperation: operation.decode(coder)
        case let operation as CKFetchRecordZoneChangesOperation: operation.decode(coder)
        case let operation as CKFetchRecordChangesOperation: operation.decode(coder)
        case let operation as CKFetchRecordZonesOperation:
            operation.recordZoneIDs = coder.list("recordZoneIDs", of: CKRecordZone.ID.self)
        case let operation as CKModifyRecordZonesOperation:
            operation.recordZonesToSave = coder.list("recordZonesToSave", of: CKRecordZone.self)
            operation.recordZoneIDsToDelete = coder.list("recordZoneIDsToDelete", of: CKRecordZone.ID.self)
        case let operation as CKFetchSubscriptionsOperation: operation.subscriptionIDs = coder.texts("subscriptionIDs")
        case let operation as CKModifySubscriptionsOperation: operation.decode(coder)
        case let operation as CKFetchShareMetadataOperation:
            operation.shareURLs = coder.urls("shareURLs")
            operation.shouldFetchRootRecord = coder.decodeBool(forKey: "shouldFetchRootRecord")
            operation.rootRecordDesiredKeys = coder.texts("rootRecordDesiredKeys")
        case let operation as CKAcceptSharesOperation:
            operation.shareMetadatas = coder.list("shareMetadatas", of: CKShare.Metadata.self)
        case let operation as CKFetchShareParticipantsOperation:
            operation.userIdentityLookupInfos = coder.list("lookupInfos", of: CKUserIdentity.LookupInfo.self)
        case let operation as CKShareRequestAccessOperation: operation.shareURLs = coder.urls("shareURLs")
        case let operation as CKDiscoverUserIdentitiesOperation:
            operation.userIdentityLookupInfos = coder.list("lookupInfos", of: CKUserIdentity.LookupInfo.self) ?? []
        default: break
        }
    }

    /// `nil` for an operation that cannot be persisted: its result is a secret, or it sends no requests.
    final var persistedKind: PersistedOperationKind? {
        switch self {
        case is CKModifyRecordsOperation: .modifyRecords
        case is CKFetchRecordsOperation: .fetchRecords
        case is CKQueryOperation: .query
        case is CKFetchDatabaseChangesOperation: .fetchDatabaseChanges
        case is CKFetchRecordZoneChangesOperation: .fetchRecordZoneChanges
        case is CKFetchRecordChangesOperation: .fetchRecordChanges
        case is CKFetchRecordZonesOperation: .fetchRecordZones
        case is CKModifyRecordZonesOperation: .modifyRecordZones
        case is CKFetchSubscriptionsOperation: .fetchSubscriptions
        case is CKModifySubscriptionsOperation: .modifySubscriptions
        case is CKFetchShareMetadataOperation: .fetchShareMetadata
        case is CKAcceptSharesOperation: .acceptShares
        case is CKFetchShareParticipantsOperation: .fetchShareParticipants
        case is CKShareRequestAccessOperation: .shareRequestAccess
        case is CKDiscoverUserIdentitiesOperation: .discoverUserIdentities
        default: nil
        }
    }
}
