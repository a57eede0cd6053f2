// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The list of zones that others share with a user: the partition of the user's shared database.
package struct SharedZoneList: Sendable {
    /// Applies news to the list of zones that others share with a user. Applied again they change nothing.
    ///
    /// - Parameter call: Of the user's shared database.
    package func apply(
        _ news: ShareNews, ofOwner owner: String, in unit: any PartitionWriter, _ call: Call
    ) throws -> [PushNotification] {
        let name = SharedZoneName.name(owner: owner, zoneName: news.zoneName)
        let known = try unit.zone(named: name)
        // The floor of a shared zone is the number of the last news of it.
        if let known, known.floor >= news.change { return [] }
        guard known?.isDeleted == false || !news.isGone else { return [] }
        let number = try unit.raiseCounter(by: 1)
        var zone = known ?? StoredZone(key: number, name: name, change: number)
        if known?.isDeleted == true, !news.isGone { zone.key = number }
        zone.change = number
        zone.floor = news.change
        zone.isDeleted = news.isGone
        try unit.save(zone, at: call.now)
        return try ZoneNotifications(unit, call).ofChanges(in: [name])
    }
}

/// The name of another user's zone in the partition of a shared database.
enum SharedZoneName {
    static func name(owner: String, zoneName: String) -> String { "\(owner)/\(zoneName)" }

    static func zoneID(_ name: String) -> ZoneID {
        let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2
            ? ZoneID(zoneName: String(parts[1]), ownerRecordName: String(parts[0])) : ZoneID(zoneName: name)
    }
}
