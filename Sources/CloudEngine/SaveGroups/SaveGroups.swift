// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Undoes a group of which operations were refused.
package struct SaveGroupRefused: Error {
    /// The failures.
    package let response: ModifyRecordsResponse
}

/// Requests that are saved together: the last one executes those that were staged before it.
package struct SaveGroups: Sendable {
    let rules: RecordRules

    /// Refuses a request that cannot be part of a group.
    private func check(_ group: SaveGroup, _ request: ModifyRecordsRequest, in zone: StoredZone, _ call: Call) throws(WireError) {
        guard (1...max(1, rules.limits.requestsPerSaveGroup)).contains(group.parts), (0..<group.parts).contains(group.part) else {
            throw WireError(.badRequest, "a group has at most \(rules.limits.requestsPerSaveGroup) requests", nativeCode: .limitExceeded)
        }
        guard !group.id.isEmpty, group.id.utf8.count <= 255 else { throw WireError(.badRequest, "the id of a group has 1 to 255 bytes") }
        guard !zone.isDefault || call.partition.scope == .public else {
            throw WireError(.badRequest, "the default zone of a private database has no groups of requests")
        }
        guard group.parts == 1 || !request.operations.contains(where: { $0.record.sharing.details != nil }) else {
            throw WireError(.badRequest, "a share is saved by a request of its own")
        }
    }

    /// Stages a request that isn't the last one of its group. It changes nothing that is visible.
    package func stage(
        _ request: ModifyRecordsRequest, _ group: SaveGroup, body: [UInt8], in unit: any PartitionWriter, _ call: Call
    ) throws -> ModifyRecordsResponse {
        let zone = try ZoneAccess(unit, call).liveZone(request.zoneID)
        try check(group, request, in: zone, call)
        try rules.limits.checkCount(request.operations.count, of: "operations", atMost: rules.limits.operationsPerRequest)
        let key = call.key(of: group)
        let others = try unit.stagedSizes(of: key).filter { $0.part != group.part }
        guard others.allSatisfy({ $0.parts == group.parts }) else {
            throw WireError(.badRequest, "the requests of a group have one number of parts")
        }
        let bytes = others.reduce(body.count) { $0 + $1.bytes }
        guard bytes <= rules.limits.saveGroupBytes else {
            throw WireError(
                .badRequest, "the requests of a group have more than \(rules.limits.saveGroupBytes) bytes", nativeCode: .limitExceeded)
        }
        let waiting = try makeRoom(forGroupOf: bytes, key, in: unit)
        let growth = try growth(
            by: request, beside: waiting.reduce(others.reduce(0) { $0 + $1.growth }) { $0 + $1.growth }, in: zone, unit, call)
        try unit.stage(StagedRequest(group: key, part: group.part, parts: group.parts, body: body, growth: growth), at: call.now)
        return .of(.staged)
    }

    /// Drops a user's oldest groups beyond the limits: a client that gave them up has begun others.
    ///
    /// - Parameter bytes: Bytes of the group that something is added to, with the addition.
    /// - Returns: The user's other groups.
    private func makeRoom(forGroupOf bytes: Int, _ key: StagedGroupKey, in unit: any PartitionWriter) throws -> ArraySlice<StagedGroup> {
        var groups = try unit.stagedGroups(ofUser: key.userRecordName).filter { $0.key != key }[...]
        for group in groups.filter({ $0.key.deviceID == key.deviceID }).dropLast(max(0, rules.limits.saveGroupsPerDevice - 1)) {
            try unit.removeStaged(group.key)
            groups.removeAll { $0.key == group.key }
        }
        while let oldest = groups.first,
            groups.count >= rules.limits.saveGroupsPerUser || groups.reduce(bytes, { $0 + $1.bytes }) > rules.limits.stagedBytesPerUser
        {
            try unit.removeStaged(oldest.key)
            groups.removeFirst()
        }
        return groups
    }

    /// Bytes by which a request makes the database larger.
    ///
    /// - Parameter staged: Growth by the user's other staged requests. It counts against the quota as if it were executed; requests of
    ///   users stage doesn't, so that none of them keeps this one from saving.
    /// - Throws: `WireError` with `.quotaExceeded` if the quota has no room for both.
    private func growth(
        by request: ModifyRecordsRequest, beside staged: Int, in zone: StoredZone, _ unit: any PartitionWriter, _ call: Call
    ) throws -> Int {
        let saved = request.operations.filter { ![.delete, .forceDelete].contains($0.kind) }.map(\.record)
        let largest = saved.reduce(0) { $0 + RecordSize.bytes(of: $1) }
        guard !call.caller.isOperator, let left = try rules.quotas.bytesLeft(of: call.partition, in: unit),
            staged + largest > left
        else {
            return largest
        }
        // Fields that replace others add the difference.
        let stored = try RecordGroups.allRecords(named: saved.map(\.recordName), in: zone, unit, memoryMax: rules.limits.storedMemoryMax)
        let growth = saved.reduce(0) { sum, record in
            guard var replaced = stored[record.recordName]?.record, !replaced.isDeleted else { return sum + RecordSize.bytes(of: record) }
            replaced.fields = replaced.fields.filter { record.fields[$0.key] != nil }
            return sum + RecordSize.bytes(of: record) - RecordSize.bytes(of: replaced)
        }
        guard growth <= 0 || staged + growth <= left else { throw Quotas.exceeded }
        return max(0, growth)
    }

    /// Executes all requests of a group in the caller's transaction.
    ///
    /// - Parameter last: The last request; the others are staged.
    /// - Throws: ``SaveGroupRefused`` for an atomic group of which operations were refused: then the transaction is to be undone.
    package func execute(
        _ last: ModifyRecordsRequest, _ group: SaveGroup, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<ModifyRecordsResponse> {
        let zone = try ZoneAccess(unit, call).liveZone(last.zoneID)
        try check(group, last, in: zone, call)
        let key = call.key(of: group)
        if group.parts > 1 {
            let staged = Set(try unit.stagedSizes(of: key).map(\.part))
            let missing = (0..<group.parts - 1).filter { !staged.contains($0) }
            if !missing.isEmpty { return Outcome(.of(.missing(missing))) }
        }
        var combined = Outcome(ModifyRecordsResponse.of(.saved))
        var failures: [RecordResult] = []
        var memory = 0
        var call = call
        call.isFollowed = call.isFollowed && group.parts == 1
        for part in 0..<group.parts {
            var request = last
            if !group.isLast(part) {
                // Undoes the requests before it. The next attempt finds it missing.
                guard let body = try unit.stagedBody(part, of: key) else {
                    throw StorageFailure(.busy, "a request of the save was removed meanwhile")
                }
                request = try ModifyRecordsRequest(json: body)
                guard request.zoneID.zoneName == last.zoneID.zoneName else {
                    throw WireError(.badRequest, "the requests of a group are for one zone")
                }
            }
            request.atomic = false
            let outcome = try RecordRequests(rules: rules).modify(request, in: unit, call)
            // Requests that change little of large records are short, and their responses have whole records.
            memory += outcome.response.results.reduce(0) { $0 + ($1.shownRecord.map(RecordSize.memory) ?? 0) }
            guard memory <= rules.limits.storedMemoryMax else { throw RecordGroups.tooLargeTogether }
            combined.add(outcome)
            failures += outcome.response.results.filter { if case .failure = $0 { true } else { false } }
            // The next request follows this one.
            call.knownSyncToken = outcome.response.nextSyncToken
        }
        if group.isAtomic, !failures.isEmpty {
            var response = ModifyRecordsResponse.of(.refused)
            response.results = failures
            // The caller learns of deletions by refusals, which a restored server may lack.
            if call.capabilities.contains(.lostHistory), call.partition.scope == .private, !zone.isDefault {
                response.syncToken = try rules.tokens.token(of: zone, in: unit, call.feed(of: zone, in: unit))
            }
            throw SaveGroupRefused(response: response)
        }
        if group.parts > 1 { try unit.removeStaged(key) }
        return combined
    }
}

extension SaveGroup {
    fileprivate func isLast(_ part: Int) -> Bool { part == parts - 1 }
}

extension Call {
    package func key(of group: SaveGroup) -> StagedGroupKey {
        StagedGroupKey(userRecordName: caller.userRecordName, deviceID: caller.deviceID, id: group.id)
    }
}

extension ModifyRecordsResponse {
    static func of(_ state: SaveGroupState) -> Self {
        var response = ModifyRecordsResponse(results: [])
        response.saveGroup = state
        return response
    }
}

extension RecordResult {
    /// The record in the response, that of a conflict included.
    fileprivate var shownRecord: Record? {
        switch self {
        case .record(let record): record
        case .failure(_, _, let serverRecord): serverRecord
        }
    }
}

extension Outcome<ModifyRecordsResponse> {
    /// Adds the outcome of the next request of a group. Listeners are notified of the group once.
    fileprivate mutating func add(_ other: Self) {
        response.results += other.response.results
        response.syncToken = other.response.syncToken
        response.nextSyncToken = other.response.nextSyncToken
        let known = Set(notifications.filter(\.isAboutZones).map(\.subscriptionID))
        notifications += other.notifications.filter { !$0.isAboutZones || !known.contains($0.subscriptionID) }
        news += other.news
        if !other.rounds.isEmpty, rounds.reduce(0, { $0 + $1.bytes }) < SubscriptionRound.groupBytesMax { rounds += other.rounds }
        changesPublicDatabase = changesPublicDatabase || other.changesPublicDatabase
    }
}

extension PushNotification {
    fileprivate var isAboutZones: Bool {
        switch subject {
        case .database, .zone: true
        case .query: false
        }
    }
}
