// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/records/query`: fetches one page of the records that a query matches.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Records Using a Query".
package struct QueryRecordsRequest: Hashable, Sendable {
    package var query: Query
    /// `nil` means the default zone, unless `zoneWide` is set.
    package var zoneID: ZoneID?
    /// Whether to search all zones of the database. Ignored if there is a `zoneID`.
    package var zoneWide: Bool
    /// Maximum number of records; the server may return fewer.
    package var resultsLimit: Int?
    /// The position after the previous page, sent with the same query.
    package var continuationMarker: String?
    /// The fields to return. `nil` means all fields, an empty list none.
    package var desiredKeys: [String]?
    package var numbersAsStrings: Bool

    package init(
        query: Query, zoneID: ZoneID? = nil, zoneWide: Bool = false, resultsLimit: Int? = nil,
        continuationMarker: String? = nil, desiredKeys: [String]? = nil, numbersAsStrings: Bool = false
    ) {
        self.query = query
        self.zoneID = zoneID
        self.zoneWide = zoneWide
        self.resultsLimit = resultsLimit
        self.continuationMarker = continuationMarker
        self.desiredKeys = desiredKeys
        self.numbersAsStrings = numbersAsStrings
    }
}

/// A page of matches in the order of the query.
package struct QueryRecordsResponse: Hashable, Sendable {
    /// A page may be short, or empty, although more matches follow.
    package var results: [RecordResult]
    /// `nil` on the last page.
    package var continuationMarker: String?
    /// The present token of the zone's change feed, if the address has `getCurrentSyncToken=true`.
    package var syncToken: String?

    package init(results: [RecordResult], continuationMarker: String? = nil, syncToken: String? = nil) {
        self.results = results
        self.continuationMarker = continuationMarker
        self.syncToken = syncToken
    }
}
