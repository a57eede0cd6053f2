// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import SystemSupport

/// Decides which records a query matches, and pages them.
package struct RecordQueries: Sendable {
    let limits: Limits
    let sealer: Sealer

    /// One page of the records that a query matches, in its order.
    ///
    /// A page ends at the limit that was asked for, at `Limits.recordsPerResponse` records,
    /// `Limits.responseRecordBytes` bytes, or `Limits.recordsScannedPerPage` records or `Limits.queryBytesPerPage` bytes looked at; then it has
    /// a marker.
    /// Indexes are part of the transaction that saves, so a query sees every acknowledged save.
    ///
    /// - Throws: `WireError`: unknown type (`.notFound`); unknown field, field without the index, value of another
    ///   type, too many filters, foreign marker, more work than ``QueryMeter`` allows (`.badRequest`); no such zone. `IndexesMissing` if indexes are to be
    ///   built first.
    ///
    /// Source: *CloudKit Web Services Reference*, "Fetching Records Using a Query".
    package func page(
        _ request: QueryRecordsRequest, in view: any PartitionReader, _ call: Call
    ) throws -> QueryRecordsResponse {
        let limit = try limits.pageLimit(request.resultsLimit)
        let query = request.query
        let (filters, sorts) = try check(query, in: view, call)
        let zones = try zonesToSearch(request, in: view, call)
        var access = RecordAccess(view, call)
        var creator: String?
        switch try access.reading(ofType: query.recordType) {
        case .all: break
        case .own(let name): creator = name
        case .none: throw access.refusal
        }

        let fingerprint = fingerprint(of: request)
        var start: ContinuationMarker?
        if let text = request.continuationMarker {
            start = try ContinuationMarker(
                opening: text, for: call.partition, fingerprint: fingerprint, keys: max(1, sorts.count), by: sealer)
        }
        let token =
            try request.zoneID == nil ? nil : zones.first.flatMap { try FeedTokens(sealer: sealer).requested(of: $0, in: view, call) }
        guard try view.state().counter > 0 else { return QueryRecordsResponse(results: [], syncToken: token) }

        let needed = QueryRun.indexesNeeded(filters, sorts, query.recordType)
        let built = try view.indexes(ofType: query.recordType).filter(\.isBuilt)
        let indexes = Dictionary(built.map { ($0.index, $0.id) }, uniquingKeysWith: { first, _ in first })
        let missing = needed.filter { indexes[$0] == nil }
        guard missing.isEmpty else { throw IndexesMissing(indexes: Array(missing)) }

        let presenters = try Dictionary(
            zones.map { ($0.key, try SharePresenter(view, $0, call, sealer)) }, uniquingKeysWith: { first, _ in first })
        let run = QueryRun(
            recordType: query.recordType, filters: filters, sorts: sorts, zones: zones, indexes: indexes, view: view,
            meter: QueryMeter(recordsMax: limits.recordsScannedPerPage, bytesMax: limits.queryBytesPerPage), creator: creator,
            shares: presenters, desiredKeys: request.desiredKeys.map { Set($0) }, matchBytesMax: limits.responseRecordBytes)
        let (page, driver) = try run.page(after: start?.position, driver: start?.driver, count: limit + 1)
        // A participant sees less than the indexes lead to.
        let shares = try Dictionary(
            zones.map { ($0.key, try ShareAccess(view, zone: $0, call)) }, uniquingKeysWith: { first, _ in first })
        var response = try answer(page, limit: limit, desiredKeys: run.desiredKeys, call, presenters) { match in
            guard let access = shares[match.zone.key], access.isParticipant else { return true }
            let name = match.record.recordName
            return access.canRead(name, share: try view.shareNames(ofRecords: [name], in: match.zone.key)[name])
        } marker: {
            ContinuationMarker(fingerprint: fingerprint, driver: driver, position: $0).sealed(for: call.partition, by: sealer)
        }
        response.syncToken = token
        return response
    }

    /// Finds the fields of a query in the schema and compares values and indexes with it.
    private func check(_ query: Query, in view: any PartitionReader, _ call: Call) throws -> ([CheckedFilter], [CheckedSort]) {
        guard query.recordType != "Users" else { throw WireError(.badRequest, "the type Users cannot be queried") }
        if let error = NameChecks.recordType(query.recordType) { throw error }
        guard query.filters.count <= limits.filtersPerQuery, query.sorts.count <= limits.sortsPerQuery else {
            throw WireError(
                .badRequest, "a query has at most \(limits.filtersPerQuery) filters and \(limits.sortsPerQuery) sorts",
                nativeCode: .limitExceeded)
        }
        guard let schema = try view.schema(ofType: query.recordType) else {
            throw WireError(.notFound, "Did not find record type: \(query.recordType)")
        }
        let needsIndex = !call.queriesUnmarkedFields
        if needsIndex, query.filters.isEmpty { try QueryField(.system(.recordName), in: schema).require(.queryable) }
        return (
            try query.filters.map { try CheckedFilter($0, in: schema, limits, caller: call.caller.userRecordName, needsIndex: needsIndex) },
            try query.sorts.compactMap { try CheckedSort($0, in: schema, needsIndex: needsIndex) }
        )
    }

    private func zonesToSearch(
        _ request: QueryRecordsRequest, in view: any PartitionReader, _ call: Call
    ) throws -> [StoredZone] {
        if let zoneID = request.zoneID { return [try ZoneAccess(view, call).liveZone(zoneID)] }
        guard request.zoneWide else { return [try ZoneAccess(view, call).liveZone(.defaultZone)] }
        return try view.zones().sorted { $0.key < $1.key }
    }

    /// Distinguishes queries, so that a marker of one is rejected by another.
    private func fingerprint(of request: QueryRecordsRequest) -> UInt64 {
        let meaning = QueryRecordsRequest(query: request.query, zoneID: request.zoneID, zoneWide: request.zoneWide)
        return Fingerprint(meaning.encoded()).value
    }

    private func answer(
        _ page: QueryRun.Page, limit: Int, desiredKeys: Set<String>?, _ call: Call, _ shares: [Int64: SharePresenter],
        isVisible: (QueryRun.Match) throws -> Bool, marker: (QueryPosition) -> String
    ) throws -> QueryRecordsResponse {
        let addresses = AssetAddresses(sealer: sealer, call, secondsValid: limits.assetDownloadSeconds)
        var room = limits.responseRecordBytes
        var response = QueryRecordsResponse(results: [])
        var looked = 0
        for match in page.matches.prefix(limit) {
            looked += 1
            guard try isVisible(match) else { continue }
            let shown = try (shares[match.zone.key]?.complete(match.record) ?? match.record).presented(
                zoneID: call.zoneID(of: match.zone), desiredKeys: desiredKeys, addresses)
            response.results.append(.record(shown))
            room -= RecordSize.bytes(of: shown)
            if room <= 0 { break }
        }
        if looked < page.matches.count {
            response.continuationMarker = marker(page.matches[looked - 1].position)
        } else if let end = page.certainUpTo {
            response.continuationMarker = marker(end)
        }
        return response
    }
}
