// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The zones that a request may reach, and their names in its response.
struct ZoneAccess {
    /// Stands for the caller's own record name in zone identifiers, and in conditions on creators of records.
    ///
    /// Source: Apple's documentation of `CKCurrentUserDefaultName`.
    static let currentUser = "__defaultOwner__"

    private let view: any PartitionReader
    private let call: Call

    init(_ view: any PartitionReader, _ call: Call) {
        self.view = view
        self.call = call
    }

    /// Refuses the zones of others: they are reached through the shared database.
    func checkOwner(of zoneID: ZoneID) throws(WireError) {
        if call.partition.scope == .shared { return }
        guard let owner = zoneID.ownerRecordName, owner != call.caller.userRecordName, owner != Self.currentUser,
            owner != call.partition.owner
        else { return }
        throw WireError(.zoneNotFound, "zone not found")
    }

    /// The zone as it is stored, or the default zone before its first use.
    ///
    /// - Throws: `WireError` with `.zoneNotFound`.
    func liveZone(_ zoneID: ZoneID) throws -> StoredZone {
        try checkOwner(of: zoneID)
        if call.partition.scope == .shared {
            let name = SharedZoneName.name(owner: zoneID.ownerRecordName ?? "", zoneName: zoneID.zoneName)
            guard let zone = try view.zone(named: name), !zone.isDeleted else {
                throw WireError(.zoneNotFound, "zone not found")
            }
            return zone
        }
        let zone = try view.zone(named: zoneID.zoneName)
        if let zone, !zone.isDeleted {
            // For a user without a share of it the zone does not exist.
            if call.isParticipant, try view.memberships(ofUser: call.caller.userRecordName, in: zone.key).isEmpty {
                throw WireError(.zoneNotFound, "zone not found")
            }
            return zone
        }
        if call.isParticipant { throw WireError(.zoneNotFound, "zone not found") }
        if zoneID.zoneName == ZoneID.defaultZoneName { return .untouchedDefault }
        throw Self.absence(zone?.deletionReason)
    }

    /// Why a zone is not there.
    ///
    /// Source: Apple, `CKError.userDeletedZone` and `CKErrorUserDidResetEncryptedDataKey`; the documents name no wire codes
    /// for them.
    private static func absence(_ reason: ZoneDeletionReason?) -> WireError {
        switch reason {
        case .purged: return WireError(.zoneNotFound, "the user deleted the zone", nativeCode: .userDeletedZone)
        case .encryptedDataReset:
            var error = WireError(.zoneNotFound, "the zone went when the user's keys were reset")
            error.didResetEncryptedData = true
            return error
        case .deleted, nil: return WireError(.zoneNotFound, "zone not found")
        }
    }
}

extension Call {
    /// The identifier of a zone in responses to the caller.
    func zoneID(of zone: StoredZone) -> ZoneID {
        switch partition.scope {
        case .public: ZoneID(zoneName: zone.name)
        case .private: ZoneID(zoneName: zone.name, ownerRecordName: partition.owner)
        case .shared: SharedZoneName.zoneID(zone.name)
        }
    }
}
