// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore

/// The requests of sync to its database: zones, one subscription, changes; queries in the public database. One call is one request or a
/// few; there are no retries here.
struct SyncDatabase: Sendable {
    let client: CloudDatabaseClient
    let mapping: RecordMapping
    let sealer: RecordSealer
    let traits: ServerTraits
    let snapshots: SnapshotBuffer
    /// The limits of the server's requests.
    var limits = Limits()

    /// Records of one change page. A server without ``Capability/largePages`` sends fewer.
    static let pageRecordsMax = 1000
    /// The largest size in bytes of the assets of a page. A page with more is requested again with fewer records.
    static let pageAssetBytesMax: Int64 = 32_000_000

    /// Returns the account; nil for an anonymous client of the public database. There the account has its permissions, if the server
    /// sends them.
    func caller() async throws -> CallerIdentity? {
        do {
            return try await client.caller(asking: client.scope == .public ? [.permissions] : [])
        } catch {
            guard client.scope == .public, error.code == .notAuthenticated else { throw error }
            return nil
        }
    }

    /// Returns the account, as ``caller()`` does, and the server's identity; nil for a server without the capability.
    func introduction() async throws -> (caller: CallerIdentity?, server: String?) {
        let (caller, server) = try await client.introduction(asking: client.scope == .public ? [.permissions] : [])
        switch caller {
        case .success(let caller): return (caller, server)
        case .failure(let error) where client.scope == .public && error.code == .notAuthenticated: return (nil, server)
        case .failure(let error): throw error
        }
    }

    /// Creates zone and subscription unless they exist; checks the indexes of a public database.
    ///
    /// - Parameter isKnown: Whether the store synced with the zone before. A missing zone was deleted then: the caller decides what that
    ///   means, and the zone is not created again.
    func setUp(isKnown: Bool) async throws {
        try checkEncryption()
        if client.scope == .public { return try await hasPublicFeed() ? () : checkIndexes() }
        if client.scope == .private {
            let home = ZoneID(zoneName: MirrorNames.zone)
            let zones =
                isKnown
                ? try await client.lookupZones(ZonesLookupRequest(zones: [home]))
                : try await client.modifyZones(ZonesModifyRequest(operations: [.create(home)]))
            for case .failure(_, let error) in zones.zones {
                // A lookup reports a missing zone, without a reason.
                throw error.code == .notFound ? CloudFailure(.zoneNotFound, error.reason) : CloudFailure(error)
            }
        }
        try await subscribe()
    }

    /// Creates the subscription of a private or shared store unless it exists.
    func subscribe() async throws {
        do {
            try await subscribe(.database)
        } catch let failure as CloudFailure where client.dialect.mayLackDatabaseSubscriptions && failure.code == .invalidArguments {
            // The shared database has no zone of its own: it is polled.
            if client.scope == .private { try await subscribe(.zone(ZoneID(zoneName: MirrorNames.zone))) }
        }
    }

    private func subscribe(_ kind: Subscription.Kind) async throws {
        let subscription = Subscription(subscriptionID: subscriptionID, kind: kind, notification: .silent)
        do {
            let answer = try await client.modifySubscriptions(SubscriptionsModifyRequest(operations: [.create(subscription)]))
            for case .failure(_, let error) in answer.subscriptions { throw CloudFailure(error) }
        } catch {
            throw CloudFailure(error)
        }
    }

    /// - Throws: `CloudFailure` for a model with encrypted attributes in iCloud.
    private func checkEncryption() throws {
        guard mapping.hasEncryptedFields, !client.dialect.sharesEncryptionKeys else { return }
        throw CloudFailure(
            .incompatibleVersion,
            "attributes with allowsCloudEncryption are not mirrored with iCloud, and no records are sent: use a model without them for this store"
        )
    }

    /// Where encrypted values of a zone belong.
    func place(_ zone: ZoneID) -> RecordSealer.Place {
        RecordSealer.Place(environment: client.environment, zone: zone, owner: client.scope == .shared ? zone.ownerRecordName : nil)
    }

    func hasHomeZone() async throws -> Bool {
        let answer = try await client.lookupZones(ZonesLookupRequest(zones: [ZoneID(zoneName: MirrorNames.zone)]))
        return answer.zones.contains { if case .zone = $0 { true } else { false } }
    }

    /// The subscription whose notifications announce changes.
    var subscriptionID: String {
        switch client.scope {
        case .private: MirrorNames.privateSubscription
        case .shared: MirrorNames.sharedSubscription
        case .public: Capability.publicChanges.rawValue
        }
    }

    /// Returns the next page of a zone: of a snapshot at the beginning of a large zone, if the server offers one, else of its changes.
    ///
    /// - Parameters:
    ///   - recordsMax: The largest number of records; nil for that of a page, or of a frame of a snapshot.
    ///   - isCounting: Whether the server counts the changes behind the page, which costs it time.
    ///   - isStaging: Whether the page is staged behind others.
    ///   - announce: Receives the token behind the page before the page is decoded, if it is known by then. The page may turn out to have
    ///     another one.
    func page(
        of zone: ZoneTable.Row, recordsMax: Int? = nil, isCounting: Bool = false, isStaging: Bool = false,
        announce: @Sendable (_ token: String) -> Void = { _ in }
    ) async throws -> FetchedPage {
        let changesMax = recordsMax ?? Self.pageRecordsMax
        if client.scope == .public {
            let generation = zone.isFullFetch ? zone.generation : nil
            return .decoded(
                try await publicPage(after: zone.token, generation: generation, recordsMax: changesMax, isCounting: isCounting))
        }
        var next = zone
        if let position = SnapshotPosition(zone.token) {
            let page = try await snapshotPage(
                at: position, of: zone, recordsMax: recordsMax, isStaging: isStaging, announce: announce)
            if let page { return page }
            next.token = position.syncToken
        } else if zone.token == nil, zone.isFullFetch, recordsMax == nil {
            let (page, offer) = try await changePage(of: zone, changesMax, isCounting, asking: [.snapshots])
            guard let offer else { return .decoded(page) }
            if let start = SnapshotPosition(offer), case .decoded(var first)? = try await snapshotPage(at: start, of: zone) {
                first.remaining = page.remaining.map { max(0, $0 - first.records.count) }
                return .decoded(first)
            }
        }
        var page = try await changePage(of: next, changesMax, isCounting).page
        page.askedWith = zone.token
        return .decoded(page)
    }

    private func changePage(
        of zone: ZoneTable.Row, _ recordsMax: Int, _ isCounting: Bool, asking capabilities: Set<Capability> = []
    ) async throws -> (page: ImportPage, snapshot: SnapshotOffer?) {
        let token = zone.token
        let generation = zone.isFullFetch ? zone.generation : nil
        var query = ZoneChangesQuery(zoneID: zone.zone.id, syncToken: token, resultsLimit: recordsMax)
        query.savedSyncToken = zone.exportedToken
        let answer = try await client.zoneChanges(
            ZoneChangesRequest(zones: [query]),
            asking: capabilities.union(isCounting ? [.largePages, .lostHistory, .remainingCount] : [.largePages, .lostHistory]))
        switch answer.zones.first {
        case .changes(let changes):
            var page = try page(changes, of: zone.zone.id, askedWith: token, generation: generation)
            page.exportedToken = zone.exportedToken
            return (page, changes.snapshot)
        case .failure(_, let error):
            throw error.code == .notFound ? CloudFailure(.zoneNotFound, error.reason) : CloudFailure(error)
        case nil: throw CloudFailure(.internalError, "the server said nothing about the zone that was asked for")
        }
    }

    /// Returns a received record with decrypted values.
    ///
    /// - Throws: `CloudFailure` for keys that cannot be read.
    func opened(_ record: Record, of zone: ZoneID) throws -> Record { try sealer.opened(record, mapping, in: place(zone)) }

    func page(_ changes: ZoneChanges, of zone: ZoneID, askedWith token: String?, generation: Int64? = nil) throws -> ImportPage {
        ImportPage(
            records: try changes.records.filter { !$0.isDeleted }.map { try opened($0, of: zone) },
            deletions: changes.records.filter(\.isDeleted).map(\.recordName), askedWith: token, token: changes.syncToken,
            moreComing: changes.moreComing, generation: generation, remaining: changes.remaining)
    }

    /// Returns the changes of a notification; nil if they are of another zone than the home zone.
    func page(pushed: PushedChanges) throws -> ImportPage? {
        guard client.scope == .private, pushed.page.zoneID.zoneName == MirrorNames.zone else { return nil }
        var page = try page(pushed.page, of: ZoneID(zoneName: MirrorNames.zone), askedWith: pushed.previousSyncToken)
        page.database = ImportPage.DatabaseStep(from: pushed.previousDatabaseToken, to: pushed.databaseToken)
        return page
    }

    /// Deletes a zone of the user, or leaves the share of another user's zone. A missing zone isn't an error.
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

    /// Uploads the assets of a planned batch and writes its request. Items are independent.
    ///
    /// - Parameters:
    ///   - key: The idempotency key of the request.
    ///   - isAtomic: Whether the server saves nothing if it rejects an item, where it supports that.
    /// - Returns: The written batch, nil if no item can be sent; and the items that cannot.
    func upload(_ batch: ExportBatch, key: String, isAtomic: Bool) async throws -> (written: ExportBatch?, rejected: [String: ItemOutcome])
    {
        let zoneID = batch.zone.id
        var rejected: [String: ItemOutcome] = [:]
        var items: [ExportBatch.Item] = []
        let uploads = try await inParallel(batch.items, atMost: Self.transfersMax) { try await upload($0, to: zoneID) }
        for (item, upload) in zip(batch.items, uploads) {
            switch upload {
            case .success(let assets): items.append(item.written(with: assets))
            case .failure(let failure): rejected[item.recordName] = .refused(failure)
            }
        }
        return (items.isEmpty ? nil : try write(items, of: batch, key: key, isAtomic: isAtomic), rejected)
    }

    /// Writes the request of a batch without uploads; nil for another batch.
    func write(_ batch: ExportBatch, key: String, isAtomic: Bool) throws -> ExportBatch? {
        guard batch.items.allSatisfy(\.isWritable) else { return nil }
        return try write(batch.items, of: batch, key: key, isAtomic: isAtomic)
    }

    private func write(_ items: [ExportBatch.Item], of batch: ExportBatch, key: String, isAtomic: Bool) throws -> ExportBatch {
        let counts = ExportBatch.requestCounts(of: items, limits: limits)
        func bodies(_ records: [Record]) -> [[UInt8]] {
            var first = 0
            return counts.enumerated().map { part, count in
                defer { first += count }
                let range = first..<first + count
                // The response repeats only assets, to which the server adds addresses.
                let assetFields = Set(records[range].flatMap(\.assetFields)).sorted()
                var request = ModifyRecordsRequest(
                    operations: zip(items[range], records[range]).map { RecordOperation($0.operation.kind, $1) }, zoneID: batch.zone.id,
                    atomic: false,
                    desiredKeys: assetFields)
                request.saveGroup = SaveGroup(id: key, part: part, parts: counts.count, isAtomic: isAtomic)
                request.historyToken = batch.historyToken
                return client.dialect.request(request).encoded()
            }
        }
        let records = items.map(\.record)
        let sealed = try items.map { try sealer.sealed($0.record, versions: $0.versions, in: place(batch.zone.id)) }
        let request = ExportBatch.Request(
            key: key, bodies: bodies(sealed), plainBodies: sealed == records ? nil : bodies(records), counts: counts)
        return ExportBatch(
            items: items, zone: batch.zone, syncToken: batch.syncToken, historyToken: batch.historyToken, phase: .written(request))
    }

    /// The server's response to a batch: the outcome of each item; and the sync token behind the batch, if nothing but the batch lies
    /// between it and the batch's own.
    struct Response: Sendable {
        var outcomes: [String: ItemOutcome] = [:]
        var syncToken: String?
        /// A token of the history with the batch: of its last change, or of the last one that the server had made by then.
        var exportedToken: String?
    }

    /// Sends the request of a batch, or the requests of its group in order.
    ///
    /// A server without save groups executes each request alone. Then the requests behind a rejection aren't sent.
    ///
    /// - Parameter progress: Receives the number of items that the server has stored or staged, before each request.
    func send(_ batch: ExportBatch, _ request: ExportBatch.Request, progress: @Sendable (Int) -> Void = { _ in }) async throws -> Response {
        var answer = Response(syncToken: batch.syncToken)
        let last = request.bodies.count - 1
        // A server that has staged the first requests responds with the missing ones.
        var outstanding = request.isReplay && traits.executesSaveGroups ? [last] : Array(0...last)
        var rounds = 0
        while let part = outstanding.first {
            progress(request.counts.indices.reduce(0) { outstanding.contains($1) ? $0 : $0 + request.counts[$1] })
            outstanding.removeFirst()
            let response = try await client.modifyRecords(
                encoded: request.bodies[part], operationCount: request.counts[part],
                groupCount: batch.items.count, idempotencyKey: request.key(ofPart: part),
                knownSyncToken: answer.syncToken, asking: client.scope == .public ? [] : [.lostHistory])
            if response.saveGroup != nil { traits.executesSaveGroups = true }
            switch response.saveGroup {
            case .staged: continue
            case .missing(let parts):
                rounds += 1
                let known = Set(parts.filter { (0..<last).contains($0) }).sorted()
                guard rounds <= Self.groupRoundsMax, !known.isEmpty else {
                    throw CloudFailure(.serviceUnavailable, "the server lost a part of the batch")
                }
                outstanding = known + [last]
            case .saved:
                try take(response, into: &answer)
            case .refused:
                for item in batch.items { answer.outcomes[item.recordName] = .aborted }
                try take(response, into: &answer)
                answer.syncToken = nil
            case nil:
                try take(response, into: &answer)
                let names = batch.items.prefix(request.counts[...part].reduce(0, +)).suffix(request.counts[part]).map(\.recordName)
                guard names.allSatisfy({ answer.outcomes[$0]?.isAcceptance == true }) else {
                    answer.syncToken = nil
                    return answer
                }
            }
        }
        return answer
    }

    /// The number of times that a server may report missing requests of a group.
    private static let groupRoundsMax = 4

    private func take(_ response: ModifyRecordsResponse, into answer: inout Response) throws {
        for result in response.results {
            switch result {
            case .record(let record):
                answer.outcomes[record.recordName] = record.isDeleted ? .deleted : .saved(record.withoutEncryptedFields)
            case .failure(let name, let error, _): answer.outcomes[name] = .refused(CloudFailure(error))
            }
        }
        answer.syncToken = response.nextSyncToken
        // A batch without a token to continue from, as that of a replay, uses the next token for this alone.
        answer.exportedToken = response.syncToken ?? response.nextSyncToken
    }

    /// - Returns: The uploaded assets of an item by field, or the failure of this item alone.
    private func upload(_ item: ExportBatch.Item, to zoneID: ZoneID) async throws -> Result<[String: AssetValue], CloudFailure> {
        if item.isWritable { return .success([:]) }
        var assets = try await receipts(for: item.reusedAssets)
        for upload in item.uploads {
            do {
                assets[upload.field] = try await send(upload, of: item, to: zoneID)
            } catch let error as CKError {
                switch error.code {
                case .limitExceeded: return .failure(CloudFailure(.invalidArguments, error.localizedDescription))
                // A participant with read-only access keeps reading this zone, and may write to others.
                case .permissionFailure: return .failure(CloudFailure(error))
                default: throw error
                }
            }
        }
        return .success(assets)
    }
}

extension Record {
    /// The record without encrypted values: the device knows those that it sent, and a response to a save has no other news of them.
    fileprivate var withoutEncryptedFields: Record {
        guard fields.values.contains(where: { $0.isEncrypted }) else { return self }
        var record = self
        record.fields = fields.filter { !$0.value.isEncrypted }
        return record
    }

    fileprivate var assetFields: [String] { fields.compactMap { if case .asset? = $0.value.value { $0.key } else { nil } } }
}

/// Opens the database of a store.
struct CloudAccess: Sendable {
    /// Returns the client of the database; throws an error that names missing configuration.
    let connect: @Sendable () throws -> CloudDatabaseClient
    let mapping: RecordMapping
    let sealer: RecordSealer
    var limits = Limits()
    let traits = ServerTraits()
    let snapshots = SnapshotBuffer()

    func open() throws -> SyncDatabase {
        let client = try connect()
        return SyncDatabase(
            client: client, mapping: mapping, sealer: sealer, traits: traits, snapshots: snapshots,
            limits: client.dialect.limits(limits))
    }
}
