// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/changes/database`: fetches the zones that changed since a token.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Database Changes".
package struct DatabaseChangesRequest: Hashable, Sendable {
    /// `nil` fetches from the start. Not interchangeable with the tokens of zones.
    package var syncToken: String?
    /// Maximum number of zones; the server may return fewer.
    package var resultsLimit: Int?

    package init(syncToken: String? = nil, resultsLimit: Int? = nil) {
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
    }
}

/// The changed zones, each once.
package struct DatabaseChangesResponse: Hashable, Sendable {
    package var zones: [ZoneChange]
    /// To be stored after every page.
    package var syncToken: String
    package var moreComing: Bool

    package init(zones: [ZoneChange], syncToken: String, moreComing: Bool) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}

/// A changed zone: with changes, or deleted.
package struct ZoneChange: Hashable, Sendable {
    package var zoneID: ZoneID
    /// The present token of the zone's change feed, if the server states it.
    package var syncToken: String?
    package var isDeleted: Bool
    /// Whether the zone supports atomic requests.
    package var atomic: Bool
    /// The reason of a deletion.
    package var deletionReason: ZoneDeletionReason

    package init(
        zoneID: ZoneID, syncToken: String? = nil, isDeleted: Bool = false, atomic: Bool = true,
        deletionReason: ZoneDeletionReason = .deleted
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.isDeleted = isDeleted
        self.atomic = atomic
        self.deletionReason = deletionReason
    }
}
