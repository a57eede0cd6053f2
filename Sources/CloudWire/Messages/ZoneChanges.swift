// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The parameters of a fetch of one zone's changes.
package struct ZoneChangesQuery: Hashable, Sendable {
    package var zoneID: ZoneID
    /// `nil` fetches from the start.
    package var syncToken: String?
    /// The token of a later change that the caller knows of, for ``Capability/lostHistory``: that of its last save which no fetch has
    /// passed. A history without it is lost, even if it contains `syncToken`.
    package var savedSyncToken: String?
    package var resultsLimit: Int?
    /// The fields to return. `nil` means all fields, an empty list none.
    package var desiredKeys: [String]?
    /// The record types to return. `nil` means all. The token passes records of other types, too.
    package var desiredRecordTypes: [String]?
    /// Whether the newest change is the first. `nil` is unset, which means oldest first.
    package var reverse: Bool?
    /// Whether the zone's part of the response has numbers of fields as strings. `nil` is unset.
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

/// Body of `POST {database}/changes/zone`: fetches the changes of zones since a token of each.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Record Zone Changes".
package struct ZoneChangesRequest: Hashable, Sendable {
    package var zones: [ZoneChangesQuery]
    /// Maximum number of records of each zone; the server may return fewer.
    package var resultsLimit: Int?
    /// Whether the response has numbers of fields as strings.
    package var numbersAsStrings = false

    package init(zones: [ZoneChangesQuery], resultsLimit: Int? = nil) {
        self.zones = zones
        self.resultsLimit = resultsLimit
    }
}

/// One page of a zone's changes, oldest first unless requested otherwise; each record once, in its present version.
package struct ZoneChanges: Hashable, Sendable {
    package var zoneID: ZoneID
    /// Deleted records have `isDeleted`, and their type if the server states it.
    package var records: [Record]
    /// The encoded records, if a server forwards stored texts.
    package var texts: RecordTexts?
    /// To be stored after every page.
    package var syncToken: String
    package var moreComing: Bool
    /// Whether numbers of fields are written as strings.
    package var numbersAsStrings = false
    /// Number of changes after this page, counted up to ``Capability/changesCounted``, for clients that request the
    /// capability.
    package var remaining: Int?
    /// The client token of this device's last `records/modify`, for clients that request the capability.
    package var clientChangeToken: [UInt8]?
    /// A snapshot to read instead of pages, for clients that request the capability. The page has no records then.
    package var snapshot: SnapshotOffer?

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
