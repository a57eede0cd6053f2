// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A zone as the server describes it.
///
/// Source: *CloudKit Web Services Reference*, "Zone Dictionary".
package struct Zone: Hashable, Sendable {
    package var zoneID: ZoneID
    /// Present point of the zone's history.
    package var syncToken: String?
    /// Whether the zone can do all-or-nothing requests: custom zones can, the default zone cannot.
    package var atomic: Bool
    /// Name of the record by which the whole zone is shared, in the zone. Tarn's addition, which other clients ignore.
    package var shareName: String?

    package init(zoneID: ZoneID, syncToken: String? = nil, atomic: Bool = true, shareName: String? = nil) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.atomic = atomic
        self.shareName = shareName
    }
}

/// Why a zone is gone.
///
/// Source: Apple, `CKDatabase.DatabaseChange.Deletion.Reason`; on the wire, `deletionReason` beside `deleted: true`, it is
/// Tarn's addition, left out for a plain deletion.
package enum ZoneDeletionReason: String, Hashable, Sendable, CaseIterable {
    /// By an app.
    case deleted
    /// The user removed what the app kept: devices remove their copies, too.
    case purged
    /// The user's keys were reset, so that nobody can read the data any more: devices send their copies again.
    case encryptedDataReset

    /// Nil for a plain deletion.
    var wireValue: String? { self == .deleted ? nil : rawValue }
}

package enum ZoneOperation: Hashable, Sendable {
    /// A zone that is there already is not an error.
    case create(ZoneID)
    /// Deletes the zone's records too.
    case delete(ZoneID)

    package var zoneID: ZoneID {
        switch self {
        case .create(let zoneID), .delete(let zoneID): zoneID
        }
    }
}

/// Body of `POST {database}/zones/modify`. Each operation stands alone.
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
    /// Answer to an operation that deleted the zone; on the wire a zone with `deleted: true`.
    case deleted(ZoneID)
    case failure(ZoneID, WireError)

    package var zoneID: ZoneID {
        switch self {
        case .zone(let zone): zone.zoneID
        case .deleted(let zoneID), .failure(let zoneID, _): zoneID
        }
    }
}

/// Answer of `zones/list`, `zones/lookup` and `zones/modify`; the latter two have one result for each item, in order.
package struct ZonesResponse: Hashable, Sendable {
    package var zones: [ZoneResult]
    /// The present point of the database's change feed, in responses of `zones/list`; nil for the public database.
    package var syncToken: String?
    /// Always false: a response has all zones. In responses of `zones/list`, as the live service sends it.
    package var moreComing: Bool?

    package init(zones: [ZoneResult], syncToken: String? = nil, moreComing: Bool? = nil) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
