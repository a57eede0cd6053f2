// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Records and deletions of zones since a change token, and the zones that changed.
package struct ChangeFeed: Sendable {
    let limits: Limits
    let sealer: Sealer

    private var tokens: FeedTokens { FeedTokens(sealer: sealer) }

    /// The custom zones that changed or were deleted since a token, each once.
    ///
    /// Without a token deleted zones are not listed.
    ///
    /// - Throws: `ChangeToken.expired` for a token that was not made for this database or misses deletions that are
    ///   no longer remembered; the same with `historyLost` for a token of changes that a restored server lacks, if the caller has the
    ///   capability.
    ///
    /// Source: *CloudKit Web Services Reference*, "Fetching Database Changes".
    package func databaseChanges(
        _ request: DatabaseChangesRequest, in view: any PartitionReader, _ call: Call
    ) throws -> DatabaseChangesResponse {
        let limit = try limits.pageLimit(request.resultsLimit)
        let state = try view.state()
        var start: Int64 = 0
        if let text = request.syncToken {
            let token = try ChangeToken(opening: text, for: call.partition, by: sealer)
            guard token.subject == .database else { throw ChangeToken.expired }
            guard try token.isKnown(to: state, view) else { throw try token.historyLost(state, view, call) }
            guard token.number >= state.floor else { throw ChangeToken.expired }
            start = token.number
        }
        var zones = try view.zones(changedAfter: start, limit: limit + 1)
        let moreComing = zones.count > limit
        zones = Array(zones.prefix(limit))
        let number = moreComing ? zones[zones.count - 1].change : state.counter
        let origin = try view.origin(of: state)
        let changes = zones.compactMap { zone -> ZoneChange? in
            guard zone.isDeleted else {
                return ZoneChange(
                    zoneID: call.zoneID(of: zone),
                    syncToken: call.partition.scope == .shared ? nil : tokens.token(of: zone, state, origin, call.partition))
            }
            return request.syncToken == nil
                ? nil : ZoneChange(zoneID: call.zoneID(of: zone), isDeleted: true, deletionReason: zone.deletionReason)
        }
        return DatabaseChangesResponse(
            zones: changes,
            syncToken: ChangeToken(subject: .database, epoch: state.epoch, number: number, origin: origin, readAt: state.counter)
                .sealed(for: call.partition, by: sealer),
            moreComing: moreComing)
    }

    /// What changed in zones since a token of each: every record once, as it is now, oldest change first.
    ///
    /// `reverse` begins with the newest change. The tokens of such pages contain that, and the last one is the point at which
    /// the walk began: what came since is asked for from there, oldest first (unverified).
    ///
    /// A page ends at `Limits.recordsPerResponse` records, `Limits.responseRecordBytes` bytes or `Limits.storedMemoryMax`, all zones
    /// counted together; a zone without room left has an empty page with `moreComing`. A client with
    /// ``Capability/largePages`` may ask for up to `Limits.recordsPerLargePage` records.
    ///
    /// - Parameter asTexts: Whether records may come as ``ZoneChanges/texts``, for an answer that is to be sent.
    ///
    /// Source: *CloudKit Web Services Reference*, "Fetching Record Zone Changes".
    package func zoneChanges(
        _ request: ZoneChangesRequest, asTexts: Bool = false, in view: any PartitionReader, _ call: Call
    ) throws -> ZoneChangesResponse {
        var room = try pageRoom(for: request, call)
        return try zoneChanges(request, asTexts: asTexts, room: &room, in: view, call)
    }

    /// The room that all zones of a request have together.
    ///
    /// - Throws: `WireError` with `.badRequest` for too many zones, keys or record types, or a zone that is named twice.
    package func pageRoom(for request: ZoneChangesRequest, _ call: Call) throws(WireError) -> PageRoom {
        try limits.checkCount(request.zones.count, of: "zones", atMost: limits.recordsPerResponse)
        guard Set(request.zones.map(\.zoneID)).count == request.zones.count else {
            throw WireError(.badRequest, "a zone is named twice in one request")
        }
        // A list of the whole request counts for each of its zones, since each makes a set of it.
        let names = request.zones.reduce(0) { $0 + ($1.desiredKeys?.count ?? 0) + ($1.desiredRecordTypes?.count ?? 0) }
        try limits.checkCount(names, of: "desired keys and record types of all zones", atMost: limits.valuesPerRequest)
        let recordsMax = call.capabilities.contains(.largePages) ? limits.recordsPerLargePage : limits.recordsPerResponse
        return PageRoom(records: recordsMax, bytes: limits.responseRecordBytes, memory: limits.storedMemoryMax)
    }

    /// The same for a part of a request's zones.
    ///
    /// - Parameter room: Reduced by the records of the response.
    package func zoneChanges(
        _ request: ZoneChangesRequest, asTexts: Bool = false, room: inout PageRoom, in view: any PartitionReader, _ call: Call
    ) throws -> ZoneChangesResponse {
        let asTexts = asTexts && !request.numbersAsStrings
        let state = try view.state()
        let addresses = AssetAddresses(sealer: sealer, call, secondsValid: limits.assetDownloadSeconds)
        let recordsMax = call.capabilities.contains(.largePages) ? limits.recordsPerLargePage : limits.recordsPerResponse
        var results: [ZoneChangesResult] = []
        for query in request.zones {
            do {
                let limit = try limits.pageLimit(query.resultsLimit ?? request.resultsLimit, atMost: recordsMax)
                results.append(.changes(try page(query, asTexts: asTexts, limit: limit, &room, addresses, state, view, call)))
            } catch let error as WireError {
                results.append(.failure(query.zoneID, error))
            }
        }
        return ZoneChangesResponse(zones: results)
    }

    private func page(
        _ query: ZoneChangesQuery, asTexts: Bool, limit: Int, _ room: inout PageRoom, _ addresses: AssetAddresses,
        _ state: PartitionState, _ view: any PartitionReader, _ call: Call
    ) throws -> ZoneChanges {
        guard query.zoneID.zoneName != ZoneID.defaultZoneName || call.partition.scope == .public else {
            throw WireError(.badRequest, "cannot get changes in default zone")
        }
        let zone = try ZoneAccess(view, call).liveZone(query.zoneID)
        let access = try ShareAccess(view, zone: zone, call)
        var rights = RecordAccess(view, call)
        let feed = try call.partition.scope == .public ? rights.feed(call.partition) : call.feed(of: zone, in: view)
        let shares = try SharePresenter(view, zone, call, sealer)
        var walk = try ZoneWalk(query, zone, state, feed, sealer, view, call)
        let limit = min(limit, room.records)
        // In the public database each record is looked at: not everybody may read it.
        if asTexts, query.numbersAsStrings != true, call.partition.scope == .private, query.desiredKeys == nil,
            query.desiredRecordTypes == nil,
            access.visibleShares == nil, !shares.isShared
        {
            let (texts, moreComing) = try texts(&walk, zone, limit: limit, bytesMax: room.bytes, addresses, view, call)
            room.records -= texts.count
            room.bytes -= texts.byteCount
            var page = ZoneChanges(
                zoneID: call.zoneID(of: zone), records: [],
                syncToken: walk.token(moreComing: moreComing).sealed(for: feed, by: sealer), moreComing: moreComing)
            page.texts = texts
            page.remaining = try remaining(walk, moreComing, zone, access, view, call)
            page.clientChangeToken = try clientToken(zone, view, call)
            return page
        }
        let types = query.desiredRecordTypes.map { Set($0) }
        let desiredKeys = query.desiredKeys.map { Set($0) }
        var records: [Record] = []
        var (left, bytesLeft) = (limit, room.bytes)
        var hasMore: Bool?
        // A group at a time: with desired keys, a page needs little of the memory of the stored records.
        while hasMore == nil, left > 0, bytesLeft > 0, room.memory > 0 {
            let bytesMax = min(bytesLeft, RecordSize.storedBytesAtOnce)
            // One record more than the page holds shows that there are more.
            let found = try self.records(
                walk.slice, zone, access, includingDeleted: walk.includesDeleted, limit: left + 1, bytesMax: bytesMax, view)
            let group = found.prefix(left)
            if let last = group.last { walk.advance(to: last.change) }
            let bytes = group.reduce(0) { $0 + RecordSize.bytes(of: $1.record) }
            left -= group.count
            bytesLeft -= max(bytes, bytesMax)
            room.records -= group.count
            room.bytes -= bytes
            if found.count > group.count { hasMore = true } else if found.isEmpty || walk.isAtEnd { hasMore = false }
            for record in group.map(\.record) {
                guard types?.contains(record.recordType) ?? true, try rights.allows(.read, record) else { continue }
                var shown = try shares.complete(record).presented(
                    zoneID: call.zoneID(of: zone), desiredKeys: desiredKeys, addresses)
                if shown.isDeleted { shown.created = nil }
                room.memory -= RecordSize.memory(of: shown)
                records.append(shown)
            }
        }
        let moreComing =
            try hasMore
            ?? (!walk.isAtEnd
                && !self.records(walk.slice, zone, access, includingDeleted: walk.includesDeleted, limit: 1, bytesMax: 1, view).isEmpty)
        var page = ZoneChanges(
            zoneID: call.zoneID(of: zone), records: records, remaining: try remaining(walk, moreComing, zone, access, view, call),
            syncToken: walk.token(moreComing: moreComing).sealed(for: feed, by: sealer),
            moreComing: moreComing)
        page.clientChangeToken = try clientToken(zone, view, call)
        page.numbersAsStrings = query.numbersAsStrings ?? false
        return page
    }

    /// The last token that the caller's device sent, if the caller requests it.
    private func clientToken(_ zone: StoredZone, _ view: any PartitionReader, _ call: Call) throws -> [UInt8]? {
        guard call.capabilities.contains(.clientChangeToken), call.caller.isSignedIn else { return nil }
        return try view.clientToken(ofUser: call.caller.userRecordName, device: call.caller.deviceID, in: zone.key)
    }

    /// Number of remaining changes, if the caller requests it.
    private func remaining(
        _ walk: ZoneWalk, _ moreComing: Bool, _ zone: StoredZone, _ access: ShareAccess, _ view: any PartitionReader, _ call: Call
    ) throws -> Int? {
        guard call.capabilities.contains(.remainingCount) else { return nil }
        guard moreComing else { return 0 }
        return try view.count(
            walk.slice, in: zone.key, shares: access.visibleShares, includingDeleted: walk.includesDeleted,
            atMost: Capability.changesCounted)
    }

    /// The same records as their texts; those with assets are read, since they get addresses.
    ///
    /// - Returns: Also whether there are more.
    private func texts(
        _ walk: inout ZoneWalk, _ zone: StoredZone, limit: Int, bytesMax: Int, _ addresses: AssetAddresses, _ view: any PartitionReader,
        _ call: Call
    ) throws -> (RecordTexts, moreComing: Bool) {
        let zoneID = call.zoneID(of: zone)
        var texts = RecordTexts(zoneID: zoneID, as: call.form)
        let hasAssets = try view.hasAssets(inZone: zone.key)
        var last: Int64?
        var hasMore = false
        try view.recordTexts(walk.slice, in: zone.key, includingDeleted: walk.includesDeleted) { text, change in
            guard texts.count < limit, texts.byteCount < bytesMax else {
                hasMore = true
                return false
            }
            if !hasAssets || RecordTexts.isComplete(text) {
                texts.append(text: text)
            } else {
                texts.append(try Record(json: Array(text)).presented(zoneID: zoneID, desiredKeys: nil, addresses))
            }
            last = change
            return true
        }
        if let last { walk.advance(to: last) }
        return (texts, hasMore)
    }

    /// Records of a zone by their changes, as far as they are visible to the caller. Without a token deletions are skipped, so a
    /// zone's last change may lie beyond the last record there is.
    private func records(
        _ slice: ChangeSlice, _ zone: StoredZone, _ access: ShareAccess, includingDeleted: Bool, limit: Int, bytesMax: Int,
        _ view: any PartitionReader
    ) throws -> [StoredRecord] {
        guard let shares = access.visibleShares else {
            return try view.records(
                slice, in: zone.key, includingDeleted: includingDeleted, limit: limit, bytesMax: bytesMax)
        }
        return try view.sharedRecords(
            slice, in: zone.key, shares: shares, includingDeleted: includingDeleted, limit: limit,
            bytesMax: bytesMax)
    }
}

/// Records and bytes that one response may still have.
package struct PageRoom: Sendable {
    var records: Int
    var bytes: Int
    /// Bytes of memory of decoded records, which may be many times their stored bytes.
    var memory: Int
}
