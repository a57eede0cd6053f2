// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// Sends requests of the protocol to one database.
protocol RecordCarrier: Sendable {
    /// - Throws: `WireError` if the server rejects the request; `CommandError` if no server is reachable.
    func send(_ operation: ServicePath.Operation, _ body: [UInt8]) async throws -> [UInt8]
}

/// Sends requests to a data folder, with the engine in this process. A server may run at the same time: devices receive the
/// changes with their next fetch.
struct FolderCarrier: RecordCarrier {
    let service: CloudService
    let call: Call

    func send(_ operation: ServicePath.Operation, _ body: [UInt8]) async throws -> [UInt8] {
        try await service.perform(operation, body, as: call)
    }
}

/// The records of one zone.
struct RecordDatabase: Sendable {
    let carrier: any RecordCarrier
    let zoneID: ZoneID

    /// Records of one page.
    static let pageRecords = 200

    func query(_ query: Query, limit: Int, marker: String?, fields: [String]?) async throws -> QueryRecordsResponse {
        var request = QueryRecordsRequest(query: query, zoneID: zoneID, desiredKeys: fields)
        request.resultsLimit = min(limit, Self.pageRecords)
        request.continuationMarker = marker
        return try QueryRecordsResponse(json: try await carrier.send(.queryRecords, request.encoded()))
    }

    /// Names of the zones of the database.
    func zoneNames() async throws -> [String] {
        try ZonesResponse(json: try await carrier.send(.listZones, [])).zones.compactMap { result in
            if case .zone(let zone) = result { zone.zoneID.zoneName } else { nil }
        }
    }

    /// Looks up any number of records, as many in a request as all servers permit: the command does not know the server's limit.
    func lookup(_ names: [String]) async throws -> [RecordResult] {
        var parts = LookUpParts(names, .documentedWebServices)
        var results: [RecordResult] = []
        while let part = parts.next() {
            let request = LookupRecordsRequest(recordNames: part, zoneID: zoneID)
            do {
                results += parts.take(try LookupRecordsResponse(json: try await carrier.send(.lookupRecords, request.encoded())).results)
            } catch let error as WireError where error.nativeCode == .limitExceeded {
                guard parts.halve() else { throw error }
            }
        }
        return results
    }

    /// Executes any number of operations, as many in a request as all servers permit. A request that exceeds a limit of the server is
    /// divided: the command does not know those that an operator has set.
    ///
    /// - Returns: A result for each operation, in their order. A record that exceeds a limit alone has an error.
    func modify(_ operations: [RecordOperation]) async throws -> [RecordResult] {
        let countMax = Limits.documentedWebServices.operationsPerRequest
        var results: [RecordResult] = []
        var (size, acceptedCount) = (countMax, 0)
        for batch in RecordBatches(operations, of: \.record) {
            var rest = batch[...]
            while !rest.isEmpty {
                let part = Array(rest.prefix(size))
                do {
                    results += try await execute(part)
                    acceptedCount += 1
                } catch let error as WireError where error.nativeCode == .limitExceeded {
                    acceptedCount = 0
                    // The server would reject the next requests as well.
                    size = max(1, part.count / 2)
                    if part.count > 1 { continue }
                    results.append(.failure(recordName: part[0].record.recordName, error, serverRecord: nil))
                }
                rest = rest.dropFirst(part.count)
                // Smaller records may follow those that exceeded the limit.
                if acceptedCount == Self.acceptedBeforeGrowth { (size, acceptedCount) = (min(2 * size, countMax), 0) }
            }
        }
        return results
    }

    /// Requests in a row that a server accepts before the next one has twice as many operations.
    private static let acceptedBeforeGrowth = 8

    private func execute(_ operations: [RecordOperation]) async throws -> [RecordResult] {
        let request = ModifyRecordsRequest(operations: operations, zoneID: zoneID, atomic: false, desiredKeys: [])
        let results = try ModifyRecordsResponse(json: try await carrier.send(.modifyRecords, request.encoded())).results
        guard results.count == operations.count else {
            throw CommandError(
                "The server returned \(CountText.text(results.count, "result")) for \(CountText.text(operations.count, "record")).")
        }
        return results
    }

    /// One page of the zone's change feed: records in the order of their last changes, without any index.
    func changes(after token: String?, ofTypes types: [String]? = nil) async throws -> ZoneChanges {
        var query = ZoneChangesQuery(zoneID: zoneID, syncToken: token, desiredRecordTypes: types)
        query.resultsLimit = Self.pageRecords
        let response = try ZoneChangesResponse(json: try await carrier.send(.zoneChanges, ZoneChangesRequest(zones: [query]).encoded()))
        switch response.zones.first {
        case .changes(let changes)?: return changes
        case .failure(_, let error)?: throw error
        case nil: throw CommandError("The server's response lacks the zone \(zoneID.zoneName).")
        }
    }

    /// Visits the zone's records, without deleted ones. Stops when `visit` returns `false`.
    func forEachRecord(ofTypes types: [String]?, _ visit: (Record) async throws -> Bool) async throws {
        var token: String?
        var positions = PagePositions()
        while true {
            let page = try await changes(after: token, ofTypes: types)
            if page.moreComing, !positions.advance(from: token, to: page.syncToken) { throw CommandError.repeatedPage }
            for record in page.records where !record.isDeleted {
                guard try await visit(record) else { return }
            }
            guard page.moreComing else { return }
            token = page.syncToken
        }
    }
}
