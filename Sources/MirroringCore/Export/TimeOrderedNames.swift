// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// Names for new records: UUIDs in the order in which they are made, by the clock of the device.
///
/// Objects that are created together are then neighbours in every index over names, here and on the server; random names lie all over
/// them, and writing a hundred of them touches a hundred places. 52 bits of each name are random, after the millisecond and the
/// number within it, so that devices do not meet.
///
/// Source: RFC 9562, section 5.7, "UUID Version 7", and 6.2, method 1 (the number within the millisecond).
package struct TimeOrderedNames: Sendable {
    private static let numberBits: UInt64 = 22
    private static let randomBits: UInt64 = 52

    private var millisecond: UInt64
    private var number: UInt64

    /// - Parameters: Those of the last name.
    package init(millisecond: UInt64 = 0, number: UInt64 = 0) { (self.millisecond, self.number) = (millisecond, number) }

    /// - Parameters:
    ///   - milliseconds: Since 1970 UTC. A clock that goes back does not disturb the order.
    ///   - random: As many random bits as it has.
    package mutating func next(at milliseconds: UInt64, random: UInt64) -> String {
        if milliseconds > millisecond {
            (millisecond, number) = (milliseconds, 0)
        } else {
            number += 1
            if number >> Self.numberBits > 0 { (millisecond, number) = (millisecond + 1, 0) }
        }
        let high = millisecond << 16 | 0x7000 | number >> 10
        let low = 0b10 << 62 | (number & 0x3ff) << Self.randomBits | random & (1 << Self.randomBits - 1)
        return UUIDText.text(high, low)
    }
}
