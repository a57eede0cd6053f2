// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// The position after a page of a query's results.
struct QueryPosition: Hashable, Sendable {
    var query: Query
    /// The zone to search. `nil` searches all zones.
    var zoneID: CKRecordZone.ID?
    var marker: String?
}

extension DatabaseRequests {
    /// Fetches one page of a query's matches, in the query's order.
    ///
    /// - Returns: The matches, and the position of the next page. `nil` at the end.
    func query(
        _ position: QueryPosition, resultsLimit: Int?, desiredKeys: [CKRecord.FieldKey]?
    ) async throws -> (matches: [Outcome<CKRecord.ID, CKRecord>], next: QueryPosition?) {
        let response = try await client.queryRecords(
            QueryRecordsRequest(
                query: position.query, zoneID: position.zoneID?.wire, zoneWide: position.zoneID == nil,
                resultsLimit: resultsLimit, continuationMarker: position.marker, desiredKeys: desiredKeys))
        // Apps follow cursors until the last one.
        if let marker = response.continuationMarker, marker == position.marker { throw CKError.repeatedPage }
        var matches: [Outcome<CKRecord.ID, CKRecord>] = []
        for result in response.results {
            let zoneID: CKRecordZone.ID
            if case .record(let record) = result, let zone = record.zoneID {
                zoneID = database.zoneID(zone)
            } else {
                zoneID = position.zoneID ?? .default
            }
            let id = CKRecord.ID(recordName: result.recordName, zoneID: zoneID)
            matches.append(Outcome(id: id, result: await fetched(result, in: zoneID)))
        }
        var next = position
        next.marker = response.continuationMarker
        return (matches, next.marker == nil ? nil : next)
    }
}
