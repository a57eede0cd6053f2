// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/records/lookup`.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Records by Record Name".
package struct LookupRecordsRequest: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var recordName: String
        /// Where the request names no zone, the first one that an item names is it.
        package var zoneID: ZoneID?
        /// Fields wanted of this record; nil leaves it to the request.
        package var desiredKeys: [String]?

        package init(recordName: String, desiredKeys: [String]? = nil) {
            self.recordName = recordName
            self.desiredKeys = desiredKeys
        }
    }

    package var records: [Item]
    package var zoneID: ZoneID
    /// Fields wanted; nil wants all, an empty list none.
    package var desiredKeys: [String]?
    /// Whether the answer has numbers of fields as strings.
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

/// One result for each name, in the order of the names; a record that is not there is a failure with `.notFound`.
package struct LookupRecordsResponse: Hashable, Sendable {
    package var results: [RecordResult]
    /// Present point of the zone's history, for who asked for it in the address: `getCurrentSyncToken=true`.
    package var syncToken: String?

    package init(results: [RecordResult], syncToken: String? = nil) {
        self.results = results
        self.syncToken = syncToken
    }
}
