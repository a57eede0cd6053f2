// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Saves, deletes and reads records by name.
package struct RecordRequests: Sendable {
    let rules: RecordRules

    /// Carries out operations on the records of one zone.
    ///
    /// In a custom zone an atomic request stores all or nothing; then the culprits have their own errors and the
    /// others `.atomicError`. In the default zone each operation stands alone.
    ///
    /// - Throws: `WireError` for a request that is refused as a whole: too many operations, two for one record, too
    ///   many bytes, no such zone.
    ///
    /// Source: *CloudKit Web Services Reference*, "Modifying Records".
    package func modify(
        _ request: ModifyRecordsRequest, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<ModifyRecordsResponse> {
        try rules.limits.checkCount(request.operations.count, of: "operations", atMost: rules.limits.operationsPerRequest)
        var operations = request.operations
        for index in operations.indices {
            if operations[index].record.recordName.isEmpty { operations[index].record.recordName = call.makeIdentifier() }
            // The documents' spelling, which the service in use does not know.
            if operations[index].record.recordType == "cloudKit.share" {
                operations[index].record.recordType = ShareDetails.recordType
            }
        }
        guard Set(operations.map(\.record.recordName)).count == operations.count else {
            throw WireError(.badRequest, "two operations in one request are for the same record")
        }
        guard operations.reduce(0, { $0 + RecordSize.bytes(of: $1.record) }) <= rules.limits.requestRecordBytes else {
            throw WireError(
                .quotaExceeded, "the records of one request have more than \(rules.limits.requestRecordBytes) bytes",
                nativeCode: .limitExceeded)
        }
        let zone = try zone(of: request, in: unit, call)
        try checkHistory(request.historyToken, of: zone, in: unit, call)
        guard request.clientChangeToken?.count ?? 0 <= Self.clientTokenBytes else {
            throw WireError(.badRequest, "a clientChangeToken has at most \(Self.clientTokenBytes) bytes")
        }

        var batch = try RecordBatch(operations, zone: zone, rules, unit, call)
        // Answers bring whole records, also where the request changes little of them.
        guard batch.storedBytes <= Limits.messageBytes / 4 else { throw RecordGroups.tooLargeTogether }
        let isFollowed = call.isFollowed && call.partition.scope == .private && !call.isParticipant && !zone.isDefault
        let before = isFollowed ? try unit.state() : nil
        try batch.decideAll()
        if request.atomic, !zone.isDefault { batch.refuseAllIfAnyIsRefused() }
        let changes = try batch.write()
        if changes > 0, let token = request.clientChangeToken {
            try unit.setClientToken(token, ofUser: call.caller.userRecordName, device: call.caller.deviceID, in: zone.key)
        }

        let addresses = AssetAddresses(sealer: rules.sealer, call, secondsValid: rules.limits.assetDownloadSeconds)
        var access = RecordAccess(unit, call)
        let shares = try SharePresenter(unit, zone, call, rules.sealer)
        let requestKeys = request.desiredKeys.map { Set($0) }
        let results = try zip(operations, batch.results).map { operation, result in
            // A caller that may write but not read gets no fields.
            let isReadable = if case .record(let record) = result { try access.allows(.read, record) } else { true }
            let desiredKeys = operation.desiredKeys.map { Set($0) } ?? requestKeys
            return try shares.complete(result).presented(
                zoneID: call.zoneID(of: zone), desiredKeys: isReadable ? desiredKeys : [], addresses)
        }
        let changed = changes > 0 && !zone.isDefault ? [zone.name] : []
        let subscriptions = changes > 0 && call.partition.scope == .private ? try unit.changeSubscriptions() : []
        var told = try ZoneNotifications(unit, call).ofChanges(in: Set(changed), subscriptions: subscriptions)
        let followed = told.indices.filter { told[$0].subject == .database(.private) }
        if let before, !followed.isEmpty,
            let pushed = try FollowedChanges(limits: rules.limits, sealer: rules.sealer).pushed(
                changes, of: batch, in: zone, before, unit, call)
        {
            for index in followed { told[index].changes = pushed }
        }
        let nextToken = try nextToken(after: changes, in: zone, batch, unit, call)
        // A caller that has to fetch all the same remembers that it has saved, in case the server is restored before it does.
        let isOwed = nextToken == nil && call.capabilities.contains(.lostHistory)
        var outcome = Outcome(
            ModifyRecordsResponse(
                results: results, syncToken: try rules.tokens.requested(of: zone, isOwed: isOwed, in: unit, call), nextSyncToken: nextToken),
            notifications: told, news: batch.news)
        outcome.rounds = try SubscriptionRound(batch.events, in: zone, unit, call).map { [$0] } ?? []
        outcome.changesPublicDatabase = changes > 0 && call.partition.scope == .public
        return outcome
    }

    /// The zone of a request. To a participant without access it does not exist, except for leaving its shares.
    private func zone(of request: ModifyRecordsRequest, in unit: any PartitionWriter, _ call: Call) throws -> StoredZone {
        do {
            return try ZoneAccess(unit, call).liveZone(request.zoneID)
        } catch let absence as WireError where call.isParticipant && absence.code == .zoneNotFound {
            let operations = request.operations
            guard let zone = try unit.zone(named: request.zoneID.zoneName), !zone.isDeleted, !operations.isEmpty else { throw absence }
            let stored = try unit.records(named: operations.map(\.record.recordName), in: zone.key)
            guard operations.allSatisfy({ stored[$0.record.recordName]?.record.isLeft(by: $0, call) == true }) else { throw absence }
            return zone
        }
    }

    /// Rejects a request that was made for another history of the zone.
    ///
    /// A token from before the backup is valid for fetching. A request with it may be a late copy of one whose execution, and whose
    /// response, the restored server lacks. A token that can't be read says nothing.
    ///
    /// - Throws: `WireError` with `.conflict`.
    private func checkHistory(_ token: String?, of zone: StoredZone, in view: any PartitionReader, _ call: Call) throws {
        guard let token, call.partition.scope == .private, !zone.isDefault,
            let known = try? ChangeToken(opening: token, for: try call.feed(of: zone, in: view), by: rules.sealer)
        else { return }
        guard try known.epoch == view.state().epoch else {
            throw WireError(
                .conflict, "the server was restored from a backup since the request was made: fetch the zone's changes, then save again")
        }
    }

    /// The token after a request, for a caller that was up to date before it, if the response
    /// contains all changes.
    ///
    /// - Parameters:
    ///   - changes: How many records changed.
    ///   - zone: The zone before the request.
    private func nextToken(
        after changes: Int, in zone: StoredZone, _ batch: RecordBatch, _ unit: any PartitionWriter, _ call: Call
    ) throws -> String? {
        guard let text = call.knownSyncToken, changes > 0, call.partition.scope == .private, !zone.isDefault else { return nil }
        let feed = try call.feed(of: zone, in: unit), state = try unit.state()
        guard let known = try? ChangeToken(opening: text, for: feed, by: rules.sealer), known.subject == .zone(key: zone.key),
            known.epoch == state.epoch, known.number >= max(zone.change, zone.floor), let last = batch.lastOwnChange
        else { return nil }
        return rules.tokens.token(of: zone, at: last, state, try unit.origin(of: state), feed)
    }

    /// Source: Apple's documentation of `CKModifyRecordsOperation.clientChangeTokenData`, which is small by its purpose; the
    /// limit is Tarn's own.
    private static let clientTokenBytes = 1024

    /// Reads records by name.
    ///
    /// Once the records of an answer pass `Limits.responseRecordBytes`, those that remain are failures with the native
    /// code `limitExceeded`: the client requests them again, fewer in one request.
    package func lookup(
        _ request: LookupRecordsRequest, in view: any PartitionReader, _ call: Call
    ) throws -> LookupRecordsResponse {
        try rules.limits.checkCount(request.records.count, of: "records", atMost: rules.limits.recordsPerResponse)
        let zone = try ZoneAccess(view, call).liveZone(request.zoneID)
        var stored = RecordGroups(request.records.map(\.recordName), in: zone, view, call)
        var access = RecordAccess(view, call)
        let sharing = try ShareAccess(view, zone: zone, call)
        let names = sharing.isParticipant ? try view.shareNames(ofRecords: request.records.map(\.recordName), in: zone.key) : [:]
        let shares = try SharePresenter(view, zone, call, rules.sealer)
        let addresses = AssetAddresses(sealer: rules.sealer, call, secondsValid: rules.limits.assetDownloadSeconds)
        let requestKeys = request.desiredKeys.map { Set($0) }
        var room = rules.limits.responseRecordBytes
        return LookupRecordsResponse(
            results: try request.records.enumerated().map { index, item in
                guard room > 0 else {
                    let error = WireError(
                        .badRequest, "the answer is too large: request fewer records", nativeCode: .limitExceeded)
                    return .failure(recordName: item.recordName, error, serverRecord: nil)
                }
                if let zoneID = item.zoneID, zoneID.zoneName != zone.name && call.partition.scope != .shared {
                    let error = WireError(.badRequest, "the record is of another zone than the request")
                    return .failure(recordName: item.recordName, error, serverRecord: nil)
                }
                guard let record = try stored.record(at: index)?.record, !record.isDeleted,
                    sharing.canRead(item.recordName, share: names[item.recordName])
                else {
                    return .failure(
                        recordName: item.recordName, WireError(.notFound, "record not found"), serverRecord: nil)
                }
                guard try access.allows(.read, record) else {
                    return .failure(recordName: item.recordName, access.refusal, serverRecord: nil)
                }
                let desiredKeys = item.desiredKeys.map { Set($0) } ?? requestKeys
                let shown = try shares.complete(record).presented(
                    zoneID: call.zoneID(of: zone), desiredKeys: desiredKeys, addresses)
                room -= RecordSize.bytes(of: shown)
                return .record(shown)
            },
            syncToken: try rules.tokens.requested(of: zone, in: view, call))
    }
}
