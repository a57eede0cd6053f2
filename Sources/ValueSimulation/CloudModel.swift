// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import MirroringCore

/// The private database of a user on a server: the home zone, and the zone of a share once something was shared.
package struct CloudModel: Sendable {
    package static let share: Int64 = 1

    package var zones: [Int64: ServerModel] = [MirrorZone.home: ServerModel()]

    package init() {}

    package subscript(zone: Int64) -> ServerModel {
        get { zones[zone] ?? ServerModel() }
        _modify { yield &zones[zone, default: ServerModel()] }
    }

    package static func id(of zone: Int64) -> ZoneID {
        zone == MirrorZone.home ? ZoneID(zoneName: MirrorNames.zone) : ZoneID(zoneName: MirrorNames.zonePrefix + "share\(zone)")
    }
}
