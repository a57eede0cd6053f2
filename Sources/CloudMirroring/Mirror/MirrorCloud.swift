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

    struct Answer: Sendable {
        var outcomes: [String: ItemOutcome] = [:]
        var assets: [String: [String: AssetValue]] = [:]
    }

    /// Uploads the assets of a batch and sends its records. Items are independent.
    ///
    /// - Parameter key: A request that is sent again with it is carried out once.
    func send(_ batch: ExportBatch, key: String) async throws -> Answer {
        var answer = Answer()
        var operations: [RecordOperation] = []
        for item in batch.items {
            switch try await upload(item) {
            case .success(let assets):
                answer.assets[item.recordName] = assets
                operations.append(RecordOperation(item.kind, try sealer.sealed(item.with(assets))))
            case .failure(let failure): answer.outcomes[item.recordName] = .refused(failure)
            }
        }
        if operations.isEmpty { return answer }
        let response = try await client.modifyRecords(
            ModifyRecordsRequest(operations: operations, zoneID: zoneID, atomic: false), idempotencyKey: key)
        for result in response.results {
            switch result {
            case .record(let record): answer.outcomes[record.recordName] = record.isDeleted ? .deleted : .saved(try sealer.opened(record, mapping))
            case .failure(let name, let error, _): answer.outcomes[name] = .refused(CloudFailure(error))
            }
        }
        return answer
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
