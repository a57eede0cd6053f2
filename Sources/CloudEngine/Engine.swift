// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import SystemSupport

/// Decides what requests do: permissions, schema, change tags, limits, changes and tokens.
///
/// It works on values and on a partition's unit of work. It knows no HTTP, no SQL, no clock and no randomness, so
/// that a run can be repeated.
///
/// Functions throw `WireError` where the request as a whole is refused; one refused item among many is a result.
package struct Engine: Sendable {
    package let limits: Limits
    package let sealer: Sealer
    /// Environments in which record types and fields come into being by use.
    let schemaByUse: Set<CloudEnvironment>
    /// Distinguishes these data from those of any other server. It is derived from the storage's key, which backups contain.
    package let serverIdentity: String

    package init(limits: Limits = Limits(), sealer: Sealer, schemaByUse: Set<CloudEnvironment> = [.development]) {
        self.limits = limits
        self.sealer = sealer
        self.schemaByUse = schemaByUse
        serverIdentity = Hex.text(sealer.serverIdentity)
    }
}

/// The response to a request that wrote, and the effects to carry out once it is durable.
package struct Outcome<Response: Sendable>: Sendable {
    package var response: Response
    package var notifications: [PushNotification]
    /// For the partitions of others.
    package var news: [ShareNews]
    /// Changes for query subscriptions, which are evaluated after the commit; see ``Engine/evaluate(_:in:)``.
    package var rounds: [SubscriptionRound] = []
    /// Whether listeners of the public database are notified.
    package var changesPublicDatabase = false
    /// Keys of deleted zones with contents for further units of work to remove.
    package var zonesToEmpty: [Int64] = []

    package init(_ response: Response, notifications: [PushNotification] = [], news: [ShareNews] = []) {
        self.response = response
        self.notifications = notifications
        self.news = news
    }
}

extension Engine {
    /// Refuses a request with more items than allowed.
    package func checkCount(_ count: Int, of what: String, atMost limit: Int) throws(WireError) {
        guard count <= limit else {
            throw WireError(.badRequest, "too many \(what) in one request, at most \(limit)", nativeCode: .limitExceeded)
        }
    }

    /// Stands for the caller's own record name in zone identifiers, and in conditions on creators of records.
    ///
    /// Source: Apple's documentation of `CKCurrentUserDefaultName`.
    static let currentUser = "__defaultOwner__"

    /// Refuses the zones of others: they are reached through the shared database.
    func checkOwner(of zoneID: ZoneID, _ call: Call) throws(WireError) {
        if call.partition.scope == .shared { return }
        guard let owner = zoneID.ownerRecordName, owner != call.caller.userRecordName, owner != Self.currentUser,
            owner != call.partition.owner
        else { return }
        throw WireError(.zoneNotFound, "zone not found")
    }

    /// The zone as it is stored, or the default zone before its first use.
    ///
    /// - Throws: `WireError` with `.zoneNotFound`.
    func liveZone(_ zoneID: ZoneID, in view: any PartitionReader, _ call: Call) throws -> StoredZone {
        try checkOwner(of: zoneID, call)
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

    func zoneID(of zone: StoredZone, _ call: Call) -> ZoneID {
        switch call.partition.scope {
        case .public: ZoneID(zoneName: zone.name)
        case .private: ZoneID(zoneName: zone.name, ownerRecordName: call.partition.owner)
        case .shared: SharedZoneName.zoneID(zone.name)
        }
    }

    /// Notifications of the subscriptions that fire when custom zones change.
    ///
    /// Database subscriptions fire once for each request, zone subscriptions for their zone.
    ///
    /// - Parameter subscriptions: Those of the partition, where they are known.
    func notifications(
        forChangesIn zoneNames: Set<String>, _ view: any PartitionReader, _ call: Call, subscriptions: [Subscription]? = nil
    ) throws -> [PushNotification] {
        guard !zoneNames.isEmpty else { return [] }
        return try (subscriptions ?? view.changeSubscriptions()).compactMap { subscription in
            let subject: PushNotification.Subject
            switch subscription.kind {
            case .database:
                subject = .database(call.partition.scope)
            case .zone(let zoneID):
                guard zoneNames.contains(zoneID.zoneName) else { return nil }
                subject = .zone(
                    ZoneID(zoneName: zoneID.zoneName, ownerRecordName: call.partition.owner), call.partition.scope)
            case .query:
                return nil
            }
            return PushNotification(
                notificationID: call.makeIdentifier(), containerIdentifier: call.partition.containerIdentifier,
                subscriptionID: subscription.subscriptionID, subject: subject, userRecordName: call.partition.owner)
        }
    }
}
