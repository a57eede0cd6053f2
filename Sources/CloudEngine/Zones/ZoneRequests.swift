// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Lists, makes and deletes the zones of a database.
package struct ZoneRequests: Sendable {
    /// Tombstones of zones in a database with a quota, for each zone that it may have.
    package static let deletedZonesFactor = 10

    static let zoneIsBeingDeleted = WireError(
        .tryAgainLater, "the zone of this name is being deleted", retryAfter: 1, nativeCode: .zoneBusy)

    let limits: Limits
    let sealer: Sealer

    private var tokens: FeedTokens { FeedTokens(sealer: sealer) }

    /// All zones of the database; the default zone is always among them.
    package func list(in view: any PartitionReader, _ call: Call) throws -> ZonesResponse {
        let state = try view.state()
        var zones = try view.zones()
        if call.partition.scope != .shared, !zones.contains(where: \.isDefault) { zones.insert(.untouchedDefault, at: 0) }
        let token = ChangeToken(subject: .database, epoch: state.epoch, number: state.counter, origin: try view.origin(of: state))
        return ZonesResponse(
            zones: try zones.map { .zone(try described($0, state, view, call)) },
            syncToken: call.partition.scope == .public ? nil : token.sealed(for: call.partition, by: sealer), moreComing: false)
    }

    package func lookup(
        _ request: ZonesLookupRequest, in view: any PartitionReader, _ call: Call
    ) throws -> ZonesResponse {
        try limits.checkCount(request.zones.count, of: "zones", atMost: limits.recordsPerResponse)
        let state = try view.state()
        return ZonesResponse(
            zones: try request.zones.map { zoneID in
                do {
                    return .zone(try described(try ZoneAccess(view, call).liveZone(zoneID), state, view, call))
                } catch let error as WireError {
                    return .failure(zoneID, error)
                }
            })
    }

    /// Makes and deletes custom zones; each operation stands alone.
    ///
    /// Making a zone that is there is not an error. Deleting a zone deletes its records.
    ///
    /// Source: *CloudKit Web Services Reference*, "Modifying Zones".
    package func modify(
        _ request: ZonesModifyRequest, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<ZonesResponse> {
        try limits.checkCount(request.operations.count, of: "operations", atMost: limits.operationsPerRequest)
        guard Set(request.operations.map(\.zoneID.zoneName)).count == request.operations.count else {
            throw WireError(.badRequest, "two operations in one request are for the same zone")
        }
        var changed: Set<String> = []
        var news: [ShareNews] = []
        var zonesToEmpty: [Int64] = []
        // Counted once for the creations in a row: a user may have many zones, and counting reads all.
        var counts: ZoneCounts?
        let results: [ZoneResult] = try request.operations.map { operation in
            if case .delete = operation { counts = nil }
            do {
                try ZoneAccess(unit, call).checkOwner(of: operation.zoneID)
                return switch operation {
                case .create(let zoneID): try create(zoneID, in: unit, call, &changed, &counts, &zonesToEmpty)
                case .delete(let zoneID): try delete(zoneID, in: unit, call, &changed, &news, &zonesToEmpty)
                }
            } catch let error as WireError {
                return .failure(operation.zoneID, error)
            }
        }
        var outcome = Outcome(
            ZonesResponse(zones: results), notifications: try ZoneNotifications(unit, call).ofChanges(in: changed), news: news)
        outcome.zonesToEmpty = zonesToEmpty
        return outcome
    }

    /// Deletes a custom zone at its user's request, or as a consequence of another action of the user.
    package func delete(
        _ zoneID: ZoneID, because reason: ZoneDeletionReason, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<ZoneID> {
        var changed: Set<String> = []
        var news: [ShareNews] = []
        var zonesToEmpty: [Int64] = []
        _ = try delete(zoneID, because: reason, in: unit, call, &changed, &news, &zonesToEmpty)
        var outcome = Outcome(zoneID, notifications: try ZoneNotifications(unit, call).ofChanges(in: changed), news: news)
        outcome.zonesToEmpty = zonesToEmpty
        return outcome
    }

    /// Takes a zone away from its owner and from all participants, without its contents, which the storage deletes in units of its own.
    ///
    /// Participants see the zone as deleted. The default zone has no participants.
    package func close(_ name: String, in unit: any PartitionWriter, _ call: Call) throws -> Outcome<Bool> {
        guard var zone = try unit.zone(named: name), !zone.isDeleted, !zone.isDefault else { return Outcome(false) }
        zone.change = try unit.raiseCounter(by: 1)
        zone.isDeleted = true
        let news = try unit.members(inZone: zone.key).sorted().map {
            ShareNews(user: $0, zoneName: zone.name, isGone: true, change: zone.change)
        }
        if !news.isEmpty { try unit.post(news) }
        try unit.save(zone, at: call.now)
        return Outcome(true, news: news)
    }

    private struct ZoneCounts {
        var present: Int
        /// Whether the database has a quota, and has as many tombstones of zones as it may: they take no room of the quota.
        var hasMostDeleted: Bool
    }

    private func zoneCounts(in view: any PartitionReader, _ call: Call) throws -> ZoneCounts {
        var counts = ZoneCounts(present: try view.zones().count, hasMostDeleted: false)
        let most = Self.deletedZonesFactor * limits.zonesPerDatabase
        // Each deletion is a change, so that most databases need no count.
        guard try view.state().counter > Int64(most), !call.caller.isOperator,
            try Quotas(limits: limits).quota(of: call.partition, in: view) != nil
        else {
            return counts
        }
        let deleted = try view.zones(changedAfter: 0, limit: most + limits.zonesPerDatabase).count(where: \.isDeleted)
        counts.hasMostDeleted = deleted >= most
        return counts
    }

    private func create(
        _ zoneID: ZoneID, in unit: any PartitionWriter, _ call: Call, _ changed: inout Set<String>, _ counts: inout ZoneCounts?,
        _ zonesToEmpty: inout [Int64]
    ) throws -> ZoneResult {
        let name = zoneID.zoneName
        guard name != ZoneID.defaultZoneName else {
            return .zone(try described(try ZoneAccess(unit, call).liveZone(zoneID), try unit.state(), unit, call))
        }
        if let error = NameChecks.zone(name, limits) { throw error }
        let former = try unit.zone(named: name)
        if let former, !former.isDeleted { return .zone(try described(former, try unit.state(), unit, call)) }
        if let former, try unit.hasRecords(inZone: former.key) {
            zonesToEmpty.append(former.key)
            throw Self.zoneIsBeingDeleted
        }
        let counted = try counts ?? zoneCounts(in: unit, call)
        counts = counted
        guard counted.present < limits.zonesPerDatabase else {
            throw WireError(
                .quotaExceeded, "a database has at most \(limits.zonesPerDatabase) zones", nativeCode: .limitExceeded)
        }
        // A zone with the name of a deleted one takes its row.
        guard former != nil || !counted.hasMostDeleted else { throw Quotas.tooManyDeletedZones }
        let number = try unit.raiseCounter(by: 1)
        var zone = StoredZone(key: number, name: name, change: number)
        // A client with a token of the zone receives the reason.
        if let former { zone.deletionReason = former.deletionReason }
        try unit.save(zone, at: call.now)
        counts?.present += 1
        changed.insert(name)
        return .zone(try described(zone, try unit.state(), unit, call))
    }

    private func delete(
        _ zoneID: ZoneID, because reason: ZoneDeletionReason = .deleted, in unit: any PartitionWriter, _ call: Call,
        _ changed: inout Set<String>, _ news: inout [ShareNews], _ zonesToEmpty: inout [Int64]
    ) throws -> ZoneResult {
        guard zoneID.zoneName != ZoneID.defaultZoneName else {
            throw WireError(.badRequest, "the default zone cannot be deleted")
        }
        var zone = try ZoneAccess(unit, call).liveZone(zoneID)
        zone.change = try unit.raiseCounter(by: 1)
        zone.isDeleted = true
        zone.deletionReason = reason
        let told = try unit.members(inZone: zone.key).sorted().map {
            ShareNews(user: $0, zoneName: zone.name, isGone: true, change: zone.change)
        }
        if !told.isEmpty { try unit.post(told) }
        news += told
        // One zone at most is emptied by the unit that deletes several.
        let isFirst = zonesToEmpty.isEmpty && !changed.contains { $0 != zone.name }
        if try !isFirst || !unit.removeContents(ofZone: zone.key, atMost: UnitOfWork.removedRowsMax, at: call.now) {
            zonesToEmpty.append(zone.key)
        }
        try unit.addUsage(-zone.usage)
        zone.usage = StoredBytes()
        try unit.removeSharing(ofZone: zone.key)
        try unit.save(zone, at: call.now)
        changed.insert(zone.name)
        return .deleted(call.zoneID(of: zone))
    }

    private func described(
        _ zone: StoredZone, _ state: PartitionState, _ view: any PartitionReader, _ call: Call
    ) throws -> Zone {
        let isOwn = !zone.isDefault && call.partition.scope == .private
        let isShared = try isOwn && view.share(ofRoot: nil, in: zone.key) != nil
        let hasToken = !zone.isDefault && call.partition.scope != .shared, origin = try view.origin(of: state)
        return Zone(
            zoneID: call.zoneID(of: zone), syncToken: hasToken ? tokens.token(of: zone, state, origin, call.partition) : nil,
            atomic: !zone.isDefault, shareName: isShared ? ShareDetails.zoneShareName : nil)
    }
}
