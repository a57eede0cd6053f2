// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A zone as the server describes it.
///
/// Source: *CloudKit Web Services Reference*, "Zone Dictionary".
package struct Zone: Hashable, Sendable {
    package var zoneID: ZoneID
    /// The present token of the zone's change feed.
    package var syncToken: String?
    /// Whether the zone supports atomic requests: custom zones do, the default zone does not.
    package var atomic: Bool
    /// Name of the share of the whole zone, which is a record of the zone. Tarn's addition, which other clients ignore.
    package var shareName: String?

    package init(zoneID: ZoneID, syncToken: String? = nil, atomic: Bool = true, shareName: String? = nil) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.atomic = atomic
        self.shareName = shareName
    }
}

/// The reason of a zone's deletion.
///
/// Source: Apple, `CKDatabase.DatabaseChange.Deletion.Reason`. On the wire it is `deletionReason` next to `deleted:
/// true`: Tarn's addition, omitted for a plain deletion.
package enum ZoneDeletionReason: String, Hashable, Sendable, CaseIterable {
    /// Deleted by an app.
    case deleted
    /// The user deleted the app's data: devices delete their copies as well.
    case purged
    /// The user's keys were reset, so that the data are unreadable: devices send their copies again.
    case encryptedDataReset

    /// `nil` for a plain deletion.
    var wireValue: String? { self == .deleted ? nil : rawValue }
}

package enum ZoneOperation: Hashable, Sendable {
    /// Creating an existing zone is not an error.
    case create(ZoneID)
    /// Deletes the zone's records as well.
    case delete(ZoneID)

    package var zoneID: ZoneID {
        switch self {
        case .create(let zoneID), .delete(let zoneID): zoneID
        }
    }
}

/// Body of `POST {database}/zones/modify`. The operations are independent.
///
/// Source: *CloudKit Web Services Reference*, "Modifying Zones".
package struct ZonesModifyRequest: Hashable, Sendable {
    package var operations: [ZoneOperation]

    package init(operations: [ZoneOperation]) {
        self.operations = operations
    }
}

/// Body of `POST {database}/zones/lookup`.
package struct ZonesLookupRequest: Hashable, Sendable {
    package var zones: [ZoneID]

    package init(zones: [ZoneID]) {
        self.zones = zones
    }
}

package enum ZoneResult: Hashable, Sendable {
    case zone(Zone)
    /// Result of a zone's deletion; on the wire a zone with `deleted: true`.
    case deleted(ZoneID)
    case failure(ZoneID, WireError)

    package var zoneID: ZoneID {
        switch self {
        case .zone(let zone): zone.zoneID
        case .deleted(let zoneID), .failure(let zoneID, _): zoneID
        }
    }
}

/// Response of `zones/list`, `zones/lookup` and `zones/modify`; the latter two have one result for each item, in order.
package struct ZonesResponse: Hashable, Sendable {
    package var zones: [ZoneResult]
    /// The present token of the database's change feed, in responses of `zones/list`. `nil` for the public database.
    package var syncToken: String?
    /// Always false: a response has all zones. In responses of `zones/list`, as the live service sends it.
    package var moreComing: Bool?

    package init(zones: [ZoneResult], syncToken: String? = nil, moreComing: Bool? = nil) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
