// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// Where a query was left.
struct QueryPosition: Hashable, Sendable {
    var query: Query
    /// Nil searches all zones.
    var zoneID: CKRecordZone.ID?
    var marker: String?
}

extension DatabaseRun {
    /// Fetches one page of a query's matches, in its order.
    ///
    /// - Returns: The matches, and where to go on; nil at the end.
    func query(
        _ position: QueryPosition, resultsLimit: Int?, desiredKeys: [CKRecord.FieldKey]?
    ) async throws -> (matches: [Outcome<CKRecord.ID, CKRecord>], next: QueryPosition?) {
        let answer = try await client.queryRecords(
            QueryRecordsRequest(
                query: position.query, zoneID: position.zoneID?.wire, zoneWide: position.zoneID == nil,
                resultsLimit: resultsLimit, continuationMarker: position.marker, desiredKeys: desiredKeys))
        var matches: [Outcome<CKRecord.ID, CKRecord>] = []
        for result in answer.results {
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
        next.marker = answer.continuationMarker
        return (matches, next.marker == nil ? nil : next)
    }
}
