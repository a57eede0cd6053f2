// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What is asked about one zone.
package struct ZoneChangesQuery: Hashable, Sendable {
    package var zoneID: ZoneID
    /// Nil starts from the beginning.
    package var syncToken: String?
    package var resultsLimit: Int?
    /// Fields wanted; nil wants all, an empty list none.
    package var desiredKeys: [String]?
    /// Types wanted; nil wants all. The token moves past records of other types too.
    package var desiredRecordTypes: [String]?
    /// Whether the newest change comes first; nil says nothing, which means oldest first.
    package var reverse: Bool?
    /// Whether the zone's part of the answer has numbers of fields as strings; nil says nothing.
    package var numbersAsStrings: Bool?

    package init(
        zoneID: ZoneID, syncToken: String? = nil, resultsLimit: Int? = nil, desiredKeys: [String]? = nil,
        desiredRecordTypes: [String]? = nil, reverse: Bool? = nil
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
        self.desiredKeys = desiredKeys
        self.desiredRecordTypes = desiredRecordTypes
        self.reverse = reverse
    }
}

/// Body of `POST {database}/changes/zone`: what changed in zones since a token of each.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Record Zone Changes".
package struct ZoneChangesRequest: Hashable, Sendable {
    package var zones: [ZoneChangesQuery]
    /// Records wanted of each zone at most; the server may send fewer.
    package var resultsLimit: Int?
    /// Whether the answer has numbers of fields as strings.
    package var numbersAsStrings = false

    package init(zones: [ZoneChangesQuery], resultsLimit: Int? = nil) {
        self.zones = zones
        self.resultsLimit = resultsLimit
    }
}

/// One page of a zone's changes, oldest first unless newest first was asked for; each record once, as it is now.
package struct ZoneChanges: Hashable, Sendable {
    package var zoneID: ZoneID
    /// Deleted records have `isDeleted`, and their type where the server tells it.
    package var records: [Record]
    /// The records instead, where a server sends on what it has stored.
    package var texts: RecordTexts?
    /// To be kept after every page.
    package var syncToken: String
    package var moreComing: Bool
    /// Whether numbers of fields are written as strings.
    package var numbersAsStrings = false
    /// Changes that are still to come, counted up to ``Capability/changesCounted``; for who asked for the capability.
    package var remaining: Int?
    /// What this device sent last with `records/modify`; for who asked for the capability.
    package var clientChangeToken: [UInt8]?

    package init(zoneID: ZoneID, records: [Record], remaining: Int? = nil, syncToken: String, moreComing: Bool) {
        self.zoneID = zoneID
        self.records = records
        self.remaining = remaining
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}

package enum ZoneChangesResult: Hashable, Sendable {
    case changes(ZoneChanges)
    /// An expired token is `.badRequest` with the native code `changeTokenExpired`: start again without a token.
    case failure(ZoneID, WireError)

    package var zoneID: ZoneID {
        switch self {
        case .changes(let changes): changes.zoneID
        case .failure(let zoneID, _): zoneID
        }
    }
}

package struct ZoneChangesResponse: Hashable, Sendable {
    package var zones: [ZoneChangesResult]

    package init(zones: [ZoneChangesResult]) {
        self.zones = zones
    }
}
