// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/records/changes`: the changes of one custom zone. The older form of `changes/zone`.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Record Changes".
package struct RecordChangesRequest: Hashable, Sendable {
    /// The zone with the parameters of the fetch.
    package var zone: ZoneChangesQuery
    package var numbersAsStrings: Bool

    package init(zone: ZoneChangesQuery, numbersAsStrings: Bool = false) {
        self.zone = zone
        self.numbersAsStrings = numbersAsStrings
    }
}

/// A page of one zone's changes, without the zone.
package struct RecordChangesResponse: Hashable, Sendable {
    package var records: [Record]
    package var syncToken: String
    package var moreComing: Bool
    /// Whether the newest change is the first.
    package var reverse: Bool

    package init(records: [Record], syncToken: String, moreComing: Bool, reverse: Bool = false) {
        self.records = records
        self.syncToken = syncToken
        self.moreComing = moreComing
        self.reverse = reverse
    }
}

/// Body of `POST {database}/zones/changes`: the older form of `changes/database`, with another name for the token.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Zone Changes"; public reports on the token's name.
package struct ChangedZonesRequest: Hashable, Sendable {
    package var metaSyncToken: String?
    package var resultsLimit: Int?

    package init(metaSyncToken: String? = nil, resultsLimit: Int? = nil) {
        self.metaSyncToken = metaSyncToken
        self.resultsLimit = resultsLimit
    }
}

package struct ChangedZonesResponse: Hashable, Sendable {
    package var zones: [ZoneChange]
    package var metaSyncToken: String
    package var moreComing: Bool

    package init(zones: [ZoneChange], metaSyncToken: String, moreComing: Bool) {
        self.zones = zones
        self.metaSyncToken = metaSyncToken
        self.moreComing = moreComing
    }
}

/// Body of `POST {database}/assets/rereference`: assets of records, for use in other records without another upload.
///
/// Source: *CloudKit Web Services Reference*, "Rereferencing Assets"; the response's key is unverified.
package struct RereferenceAssetsRequest: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var recordName: String
        package var fieldName: String

        package init(recordName: String, fieldName: String) {
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    package var zoneID: ZoneID
    package var assets: [Item]

    package init(zoneID: ZoneID = .defaultZone, assets: [Item]) {
        self.zoneID = zoneID
        self.assets = assets
    }
}

/// One result for each item, in order; each asset has a receipt. For a field with a list it is a list (unverified).
package struct RereferenceAssetsResponse: Hashable, Sendable {
    package enum Result: Hashable, Sendable {
        case asset(AssetValue)
        case list([AssetValue])
        case failure(recordName: String, fieldName: String, WireError)
    }

    package var assets: [Result]

    package init(assets: [Result]) {
        self.assets = assets
    }
}
