// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// A zone that a store mirrors.
package struct MirrorZone: Hashable, Sendable {
    /// The number of the zone for objects that are not shared. A store of the shared database has no such zone on the server: there the
    /// number stands for objects that do not belong to a share yet.
    package static let home: Int64 = 0

    package let number: Int64
    package let id: ZoneID

    package init(number: Int64, id: ZoneID) {
        self.number = number
        self.id = id
    }

    package var isHome: Bool { number == Self.home }
}
