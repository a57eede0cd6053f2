// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore

/// What a mirror asks of its database: zones, one subscription; of the public one queries. One call is one or a few
/// requests; nothing is tried again here.
struct MirrorCloud: Sendable {
    let client: CloudDatabaseClient
    let mapping: RecordMapping
    let sealer: RecordSealer
    let ways: PublicWays
    /// What a server takes at once.
    var limits = Limits()

    /// Records of one page of changes. The server may send fewer, and does where it does not know ``Capability/largePages``.
    static let pageRecordsMax = 1000
    /// Bytes of assets that one page may bring; a page with more is asked for again with fewer records.
    static let pageAssetBytesMax: Int64 = 32_000_000

    /// Who is signed in; nil if nobody is, where that is no obstacle. Of the public database also what they may do, where
    /// the server says so.
    func caller() async throws -> CallerIdentity? {
        do {
            return try await client.caller(asking: client.scope == .public ? [.permissions] : [])
        } catch {
            guard client.scope == .public, error.code == .notAuthenticated else { throw error }
            return nil
        }
    }

    /// Who is signed in, as ``caller()`` says it, and which server that is; nil for a server that doesn't tell.
    func introduction() async throws -> (caller: CallerIdentity?, server: String?) {
        let (caller, server) = try await client.introduction(asking: client.scope == .public ? [.permissions] : [])
        switch caller {
        case .success(let caller): return (caller, server)
        case .failure(let error) where client.scope == .public && error.code == .notAuthenticated: return (nil, server)
        case .failure(let error): throw error
        }
    }

    /// Makes sure that zone and subscription, or the indexes, are there.
    ///
    /// - Parameter isKnown: Whether the store was in step with the zone before. A zone that was known and is gone was
    ///   deleted, which is for the caller to decide on, and not made again.
    func setUp(isKnown: Bool) async throws {
        if client.scope == .public { return try await hasPublicFeed() ? () : checkIndexes() }
        if client.scope == .private {
            let home = ZoneID(zoneName: MirrorNames.zone)
            let zones =
                isKnown
                ? try await client.lookupZones(ZonesLookupRequest(zones: [home]))
                : try await client.modifyZones(ZonesModifyRequest(operations: [.create(home)]))
            for case .failure(_, let error) in zones.zones {
                // A lookup knows only that the zone is not there.
                throw error.code == .notFound ? CloudFailure(.zoneNotFound, error.reason) : CloudFailure(error)
            }
        }
        let subscription = Subscription(subscriptionID: subscriptionID, kind: .database, notification: .silent)
        let answer = try await client.modifySubscriptions(SubscriptionsModifyRequest(operations: [.create(subscription)]))
        for case .failure(_, let error) in answer.subscriptions { throw CloudFailure(error) }
    }

    func hasHomeZone() async throws -> Bool {
        let answer = try await client.lookupZones(ZonesLookupRequest(zones: [ZoneID(zoneName: MirrorNames.zone)]))
        return answer.zones.contains { if case .zone = $0 { true } else { false } }
    }

    /// Of what the server tells when something changes.
    var subscriptionID: String {
        switch client.scope {
        case .private: MirrorNames.privateSubscription
        case .shared: MirrorNames.sharedSubscription
        case .public: Capability.publicChanges.rawValue
        }
    }

    /// - Parameter isCounting: Whether the server is to count what comes after the page, which costs it something.
    func page(of zone: ZoneTable.Row, recordsMax: Int = pageRecordsMax, isCounting: Bool = false) async throws -> ImportPage {
        let token = zone.token
        let generation = zone.isFullFetch ? zone.generation : nil
        if client.scope == .public {
            return try await publicPage(after: token, generation: generation, recordsMax: recordsMax, isCounting: isCounting)
        }
        let query = ZoneChangesQuery(zoneID: zone.zone.id, syncToken: token, resultsLimit: recordsMax)
        let answer = try await client.zoneChanges(ZoneChangesRequest(zones: [query]), asking: isCounting ? [.largePages, .lostHistory, .remainingCount] : [.largePages, .lostHistory])
        switch answer.zones.first {
        case .changes(let changes): return try page(changes, askedWith: token, generation: generation)
        case .failure(_, let error):
            throw error.code == .notFound ? CloudFailure(.zoneNotFound, error.reason) : CloudFailure(error)
        case nil: throw CloudFailure(.internalError, "the server said nothing about the zone that was asked for")
        }
    }

    private func page(_ changes: ZoneChanges, askedWith token: String?, generation: Int64? = nil) throws -> ImportPage {
        var page = ImportPage(
            records: try changes.records.filter { !$0.isDeleted }.map { try sealer.opened($0, mapping) },
            deletions: changes.records.filter(\.isDeleted).map(\.recordName), askedWith: token, token: changes.syncToken,
            moreComing: changes.moreComing, generation: generation, remaining: changes.remaining)
        // A device that begins knows none of them. The page before may be written meanwhile.
        if generation != nil { page.newObjects = NewObjects(page.records, mapping: mapping) }
        return page
    }

    /// What a notification brought; nil if it is not of the home zone.
    func page(pushed: PushedChanges) throws -> ImportPage? {
        guard client.scope == .private, pushed.page.zoneID.zoneName == MirrorNames.zone else { return nil }
        var page = try page(pushed.page, askedWith: pushed.previousSyncToken)
        page.database = ImportPage.DatabaseStep(from: pushed.previousDatabaseToken, to: pushed.databaseToken)
        return page
    }

    /// Deletes a zone, or leaves its share if it is somebody else's. A zone that is gone already is no error.
    func leave(_ zoneID: ZoneID, key: String) async throws {
        let failure = client.scope == .private ? try await failureOfDeleting(zoneID) : await failureOfLeaving(zoneID, key)
        if let failure, !failure.isZoneGone { throw failure }
    }

    private func failureOfDeleting(_ zoneID: ZoneID) async throws -> CloudFailure? {
        let answer = try await client.modifyZones(ZonesModifyRequest(operations: [.delete(zoneID)]))
        return answer.zones.lazy.compactMap { result -> CloudFailure? in
            if case .failure(_, let error) = result, error.code != .notFound { CloudFailure(error) } else { nil }
        }.first
    }

    private func failureOfLeaving(_ zoneID: ZoneID, _ key: String) async -> CloudFailure? {
        let share = Record(recordName: ShareDetails.zoneShareName, recordType: ShareDetails.recordType)
        let request = ModifyRecordsRequest(operations: [RecordOperation(.forceDelete, share)], zoneID: zoneID, atomic: false)
        do {
            return try await client.modifyRecords(request, idempotencyKey: key).results.lazy.compactMap { result -> CloudFailure? in
                if case .failure(_, let error, _) = result, error.code != .notFound { CloudFailure(error) } else { nil }
            }.first
        } catch {
            return CloudFailure(error)
        }
    }

    /// Uploads the assets of a batch and writes its request. Items are independent.
    ///
    /// - Parameters:
    ///   - key: A request that is sent again with it is carried out once.
    ///   - isAtomic: Whether nothing is saved if an item is refused, where the server can do that.
    /// - Returns: What is to be sent, and items that cannot be.
    func prepare(
        _ zoned: MirrorFile.ZonedBatch, key: String, isAtomic: Bool
    ) async throws -> (request: OutgoingRequest?, refused: [String: ItemOutcome]) {
        let zoneID = zoned.zone.id
        var refused: [String: ItemOutcome] = [:]
        var items: [ExportBatch.Item] = []
        let uploaded = try await inParallel(zoned.batch.items, atMost: Self.transfersMax) { try await upload($0, to: zoneID) }
        for (item, upload) in zip(zoned.batch.items, uploaded) {
            switch upload {
            case .success(let assets): items.append(item.sent(with: assets))
            case .failure(let failure): refused[item.recordName] = .refused(failure)
            }
        }
        return (items.isEmpty ? nil : try request(for: items, of: zoned, key: key, isAtomic: isAtomic), refused)
    }

    /// Writes the request of a batch from which nothing has to be uploaded; nil for another.
    func request(for zoned: MirrorFile.ZonedBatch, key: String, isAtomic: Bool) throws -> OutgoingRequest? {
        guard zoned.batch.items.allSatisfy(\.uploads.isEmpty) else { return nil }
        return try request(for: zoned.batch.items, of: zoned, key: key, isAtomic: isAtomic)
    }

    private func request(for items: [ExportBatch.Item], of zoned: MirrorFile.ZonedBatch, key: String, isAtomic: Bool) throws -> OutgoingRequest {
        let batch = ExportBatch(items: items)
        let counts = batch.requestCounts(limits: limits)
        func bodies(_ records: [Record]) -> [[UInt8]] {
            var first = 0
            return counts.enumerated().map { part, count in
                defer { first += count }
                let range = first..<first + count
                // What is sent is known; of assets the server tells more.
                let assetFields = Set(records[range].flatMap(\.assetFields)).sorted()
                var request = ModifyRecordsRequest(
                    operations: zip(items[range], records[range]).map { RecordOperation($0.kind, $1) }, zoneID: zoned.zone.id, atomic: false,
                    desiredKeys: assetFields)
                request.saveGroup = SaveGroup(id: key, part: part, parts: counts.count, isAtomic: isAtomic)
                return request.encoded()
            }
        }
        let records = items.map(\.record), sealed = try records.map { try sealer.sealed($0) }
        return OutgoingRequest(
            key: key, bodies: bodies(sealed), opened: sealed == records ? nil : bodies(records), counts: counts, batch: batch,
            zone: zoned.zone, token: zoned.token)
    }

    /// What became of each item; and the point after the request, see ``MirrorFile/settle(_:key:outcomes:token:)``.
    struct Answer: Sendable {
        var outcomes: [String: ItemOutcome] = [:]
        var token: String?
    }

    /// Sends a request, or those of a group one after the other.
    ///
    /// A server that doesn't know groups executes each request as it comes. Then what follows a refusal isn't sent.
    ///
    /// - Parameter progress: Receives the number of items that the server has, before each request.
    func send(_ request: OutgoingRequest, progress: @Sendable (Int) -> Void = { _ in }) async throws -> Answer {
        var answer = Answer(token: request.token)
        let last = request.bodies.count - 1
        // A server that has the first ones says so.
        var outstanding = request.isRepeated && ways.knowsSaveGroups ? [last] : Array(0...last)
        var rounds = 0
        while let part = outstanding.first {
            progress(request.counts.indices.reduce(0) { outstanding.contains($1) ? $0 : $0 + request.counts[$1] })
            outstanding.removeFirst()
            let response = try await client.modifyRecords(
                encoded: request.bodies[part], operationCount: request.counts[part],
                groupCount: request.batch.items.count, idempotencyKey: request.key(of: part),
                knownSyncToken: answer.token)
            if response.saveGroup != nil { ways.knowsSaveGroups = true }
            switch response.saveGroup {
            case .staged: continue
            case .missing(let parts):
                rounds += 1
                let known = Set(parts.filter { (0..<last).contains($0) }).sorted()
                guard rounds <= Self.groupRoundsMax, !known.isEmpty else {
                    throw CloudFailure(.serviceUnavailable, "the server lost a part of what was sent")
                }
                outstanding = known + [last]
            case .saved:
                try take(response, into: &answer)
            case .refused:
                for item in request.batch.items { answer.outcomes[item.recordName] = .aborted }
                try take(response, into: &answer)
                answer.token = nil
            case nil:
                try take(response, into: &answer)
                let names = request.batch.items.prefix(request.counts[...part].reduce(0, +)).suffix(request.counts[part]).map(\.recordName)
                guard names.allSatisfy({ answer.outcomes[$0]?.isAcceptance == true }) else {
                    answer.token = nil
                    return answer
                }
            }
        }
        return answer
    }

    /// How often a server may say that it lacks a part of a group.
    private static let groupRoundsMax = 4

    private func take(_ response: ModifyRecordsResponse, into answer: inout Answer) throws {
        for result in response.results {
            switch result {
            case .record(let record): answer.outcomes[record.recordName] = record.isDeleted ? .deleted : .saved(try sealer.opened(record, mapping))
            case .failure(let name, let error, _): answer.outcomes[name] = .refused(CloudFailure(error))
            }
        }
        answer.token = response.nextSyncToken
    }

    /// - Returns: What the server calls the assets of an item by field, or why this item alone cannot be sent.
    private func upload(_ item: ExportBatch.Item, to zoneID: ZoneID) async throws -> Result<[String: AssetValue], CloudFailure> {
        if item.uploads.isEmpty { return .success([:]) }
        var assets: [String: AssetValue] = [:]
        for upload in item.uploads {
            do {
                assets[upload.field] = try await send(upload, of: item, to: zoneID)
            } catch let error as CKError {
                switch error.code {
                case .limitExceeded: return .failure(CloudFailure(.invalidArguments, error.localizedDescription))
                // Who may only read here may go on reading, and write elsewhere.
                case .permissionFailure: return .failure(CloudFailure(error))
                default: throw error
                }
            }
        }
        return .success(assets)
    }
}

extension Record {
    fileprivate var assetFields: [String] { fields.compactMap { if case .asset? = $0.value.value { $0.key } else { nil } } }
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
    var limits = Limits()
    let ways = PublicWays()

    func open() throws -> MirrorCloud { MirrorCloud(client: try connect(), mapping: mapping, sealer: sealer, ways: ways, limits: limits) }
}
