// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/records/query`: one page of the records that a query matches.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Records Using a Query".
package struct QueryRecordsRequest: Hashable, Sendable {
    package var query: Query
    /// Nil means the default zone, unless `zoneWide`.
    package var zoneID: ZoneID?
    /// Searches all zones of the database. Without effect beside a `zoneID`.
    package var zoneWide: Bool
    /// Records wanted at most; the server may send fewer.
    package var resultsLimit: Int?
    /// Where the page before ended; it comes with the same query again.
    package var continuationMarker: String?
    /// Fields wanted; nil wants all, an empty list none.
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
    /// A page may be short, or empty, and more may come all the same.
    package var results: [RecordResult]
    /// Nil means finished.
    package var continuationMarker: String?
    /// Present point of the zone's history, for who asked for it in the address: `getCurrentSyncToken=true`.
    package var syncToken: String?

    package init(results: [RecordResult], continuationMarker: String? = nil, syncToken: String? = nil) {
        self.results = results
        self.continuationMarker = continuationMarker
        self.syncToken = syncToken
    }
}
