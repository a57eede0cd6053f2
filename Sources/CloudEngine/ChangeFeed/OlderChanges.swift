// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The older forms of the requests for changes.
package struct OlderChanges: Sendable {
    let feed: ChangeFeed

    /// What changed in one zone: ``ChangeFeed/zoneChanges(_:asTexts:in:_:)`` in its older form.
    ///
    /// - Throws: `WireError` with the failure of the zone.
    package func recordChanges(
        _ request: RecordChangesRequest, in view: any PartitionReader, _ call: Call
    ) throws -> RecordChangesResponse {
        let response = try feed.zoneChanges(ZoneChangesRequest(zones: [request.zone]), in: view, call)
        switch response.zones.first {
        case .changes(let page):
            return RecordChangesResponse(
                records: page.records, syncToken: page.syncToken, moreComing: page.moreComing,
                reverse: request.zone.reverse ?? false)
        case .failure(_, let error): throw error
        case nil: throw WireError(.internalError, "the zone was not answered")
        }
    }

    /// The custom zones that changed: ``ChangeFeed/databaseChanges(_:in:_:)`` in its older form. The tokens are the same.
    package func changedZones(
        _ request: ChangedZonesRequest, in view: any PartitionReader, _ call: Call
    ) throws -> ChangedZonesResponse {
        let page = try feed.databaseChanges(
            DatabaseChangesRequest(syncToken: request.metaSyncToken, resultsLimit: request.resultsLimit), in: view, call)
        return ChangedZonesResponse(zones: page.zones, metaSyncToken: page.syncToken, moreComing: page.moreComing)
    }
}
