// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/changes/database`: which zones changed since a token.
///
/// Source: *CloudKit Web Services Reference*, "Fetching Database Changes".
package struct DatabaseChangesRequest: Hashable, Sendable {
    /// Nil starts from the beginning. Not interchangeable with the tokens of zones.
    package var syncToken: String?
    /// Zones wanted at most; the server may send fewer.
    package var resultsLimit: Int?

    package init(syncToken: String? = nil, resultsLimit: Int? = nil) {
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
    }
}

/// The zones that changed, each once however often it changed.
package struct DatabaseChangesResponse: Hashable, Sendable {
    package var zones: [ZoneChange]
    /// To be kept after every page.
    package var syncToken: String
    package var moreComing: Bool

    package init(zones: [ZoneChange], syncToken: String, moreComing: Bool) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}

/// A zone in a list of changed zones: there with changes, or gone.
package struct ZoneChange: Hashable, Sendable {
    package var zoneID: ZoneID
    /// Present point of the zone's history, where the server tells it.
    package var syncToken: String?
    package var isDeleted: Bool
    /// Whether the zone can do all-or-nothing requests.
    package var atomic: Bool
    /// Why the zone is gone, where it is.
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
