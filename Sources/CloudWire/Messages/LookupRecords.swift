// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/records/lookup`.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Records by Record Name".
package struct LookupRecordsRequest: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var recordName: String
        /// The zone of the item. If the request names no zone, its zone is the first one of an item.
        package var zoneID: ZoneID?
        /// The fields to return of this record. `nil` uses those of the request.
        package var desiredKeys: [String]?

        package init(recordName: String, desiredKeys: [String]? = nil) {
            self.recordName = recordName
            self.desiredKeys = desiredKeys
        }
    }

    package var records: [Item]
    package var zoneID: ZoneID
    /// The fields to return. `nil` means all fields, an empty list none.
    package var desiredKeys: [String]?
    /// Whether the response has numbers of fields as strings.
    package var numbersAsStrings = false

    package init(records: [Item], zoneID: ZoneID = .defaultZone, desiredKeys: [String]? = nil) {
        self.records = records
        self.zoneID = zoneID
        self.desiredKeys = desiredKeys
    }

    package init(recordNames: [String], zoneID: ZoneID = .defaultZone, desiredKeys: [String]? = nil) {
        self.init(records: recordNames.map { Item(recordName: $0) }, zoneID: zoneID, desiredKeys: desiredKeys)
    }
}

/// One result for each name, in the order of the names. A missing record is a failure with `.notFound`.
package struct LookupRecordsResponse: Hashable, Sendable {
    package var results: [RecordResult]
    /// The present token of the zone's change feed, if the address has `getCurrentSyncToken=true`.
    package var syncToken: String?

    package init(results: [RecordResult], syncToken: String? = nil) {
        self.results = results
        self.syncToken = syncToken
    }
}
