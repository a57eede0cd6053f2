// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore

/// What a mirror asks of its database: one zone, one subscription; of the public one queries. One call is one or a few
/// requests; nothing is tried again here.
struct MirrorCloud: Sendable {
    let client: CloudDatabaseClient
    let mapping: RecordMapping
    let sealer: RecordSealer

    var zoneID: ZoneID { client.scope == .public ? .defaultZone : ZoneID(zoneName: MirrorNames.zone) }

    /// Records of one page. The server may send fewer.
    static let pageRecordsMax = 200
    /// Bytes of assets that one page may bring into memory; a page with more is asked for again with fewer records.
    static let pageAssetBytesMax: Int64 = 32_000_000

    /// The record name of the user who is signed in; nil if nobody is, where that is no obstacle.
    func user() async throws -> String? {
        do {
            return try await client.callerIdentity().userRecordName
        } catch {
            guard client.scope == .public, error.code == .notAuthenticated else { throw error }
            return nil
        }
    }

    /// Makes sure that zone and subscription, or the indexes, are there.
    ///
    /// - Parameter isKnown: Whether the store was in step with the zone before. A zone that was known and is gone was
    ///   deleted, which is for the caller to decide on, and not made again.
    func setUp(isKnown: Bool) async throws {
        if client.scope == .public { return try await checkIndexes() }
        let zones =
            isKnown
            ? try await client.lookupZones(ZonesLookupRequest(zones: [zoneID]))
            : try await client.modifyZones(ZonesModifyRequest(operations: [.create(zoneID)]))
        for case .failure(_, let error) in zones.zones {
            // A lookup knows only that the zone is not there.
            throw error.code == .notFound ? CloudFailure(.zoneNotFound, error.reason) : CloudFailure(error)
        }
        let subscription = Subscription(subscriptionID: MirrorNames.privateSubscription, kind: .database, notification: .silent)
        let answer = try await client.modifySubscriptions(SubscriptionsModifyRequest(operations: [.create(subscription)]))
        for case .failure(_, let error) in answer.subscriptions { throw CloudFailure(error) }
    }

    func page(after token: String?, generation: Int64?, recordsMax: Int = pageRecordsMax) async throws -> ImportPage {
        if client.scope == .public { return try await queryPage(after: token, generation: generation, recordsMax: recordsMax) }
        let query = ZoneChangesQuery(zoneID: zoneID, syncToken: token, resultsLimit: recordsMax)
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [query]))
        switch answer.zones.first {
        case .changes(let changes):
            return ImportPage(
                records: try changes.records.filter { !$0.isDeleted }.map { try sealer.opened($0, mapping) }, deletions: changes.records.filter(\.isDeleted).map(\.recordName),
                askedWith: token, token: changes.syncToken, moreComing: changes.moreComing, generation: generation)
        case .failure(_, let error):
            throw error.code == .notFound ? CloudFailure(.zoneNotFound, error.reason) : CloudFailure(error)
        case nil: throw CloudFailure(.internalError, "the server said nothing about the zone that was asked for")
        }
    }

    func download(_ needs: [ImportNeeds.AssetNeed]) async throws -> [(AssetValue, [UInt8])] {
        var contents: [(AssetValue, [UInt8])] = []
        for need in needs {
            let bytes = try await client.downloadAsset(need.asset)
            contents.append((need.asset, need.isEncrypted ? try sealer.open(bytes, of: need.recordName, need.field) : bytes))
        }
        return contents
    }

    /// Uploads the assets of a batch and writes its request. Items are independent.
    ///
    /// - Parameter key: A request that is sent again with it is carried out once.
    /// - Returns: What is to be sent, and items that cannot be.
    func prepare(_ batch: ExportBatch, key: String) async throws -> (request: OutgoingRequest?, refused: [String: ItemOutcome]) {
        var refused: [String: ItemOutcome] = [:]
        var items: [ExportBatch.Item] = []
        for item in batch.items {
            switch try await upload(item) {
            case .success(let assets): items.append(item.sent(with: assets))
            case .failure(let failure): refused[item.recordName] = .refused(failure)
            }
        }
        if items.isEmpty { return (nil, refused) }
        func body(_ records: [Record]) -> [UInt8] {
            let operations = zip(items, records).map { RecordOperation($0.kind, $1) }
            return ModifyRecordsRequest(operations: operations, zoneID: zoneID, atomic: false).encoded()
        }
        let records = items.map(\.record), sealed = try records.map { try sealer.sealed($0) }
        return (
            OutgoingRequest(
                key: key, body: body(sealed), opened: sealed == records ? nil : body(records), batch: ExportBatch(items: items)),
            refused
        )
    }

    func send(_ request: OutgoingRequest) async throws -> [String: ItemOutcome] {
        var outcomes: [String: ItemOutcome] = [:]
        let response = try await client.modifyRecords(
            encoded: request.body, operationCount: request.batch.items.count, idempotencyKey: request.key)
        for result in response.results {
            switch result {
            case .record(let record): outcomes[record.recordName] = record.isDeleted ? .deleted : .saved(try sealer.opened(record, mapping))
            case .failure(let name, let error, _): outcomes[name] = .refused(CloudFailure(error))
            }
        }
        return outcomes
    }

    /// - Returns: What the server calls the assets of an item by field, or why this item alone cannot be sent.
    private func upload(_ item: ExportBatch.Item) async throws -> Result<[String: AssetValue], CloudFailure> {
        var assets: [String: AssetValue] = [:]
        for upload in item.uploads {
            let bytes = upload.isEncrypted ? try sealer.seal(upload.bytes, of: item.recordName, upload.field) : upload.bytes
            do {
                assets[upload.field] = try await client.uploadAsset(
                    .bytes(bytes), recordType: item.record.recordType, recordName: item.recordName,
                    fieldName: upload.field, zoneID: zoneID)
            } catch {
                guard error.code == .limitExceeded else { throw error }
                return .failure(CloudFailure(.invalidArguments, error.localizedDescription))
            }
        }
        return .success(assets)
    }
}

extension ExportBatch.Item {
    fileprivate var kind: RecordOperation.Kind {
        switch operation {
        case .create: .create
        case .update: .update
        case .delete: .delete
        case .forceDelete: .forceDelete
        }
    }
}

/// How a mirror reaches its database, and what it needs to speak with it.
struct CloudAccess: Sendable {
    /// Makes the client of the database, or says what is not configured.
    let connect: @Sendable () throws -> CloudDatabaseClient
    let mapping: RecordMapping
    let sealer: RecordSealer

    func open() throws -> MirrorCloud { MirrorCloud(client: try connect(), mapping: mapping, sealer: sealer) }
}
