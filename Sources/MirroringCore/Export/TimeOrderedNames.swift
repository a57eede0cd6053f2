// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Names for new records: UUIDs in the order in which they are made, by the clock of the device.
///
/// What is made together then lies together in every index over names, here and on the server; random names lie all over
/// them, and writing a hundred of them touches a hundred places. 52 bits of each name are random, after the millisecond and the
/// number within it, so that devices do not meet.
///
/// Source: RFC 9562, section 5.7, "UUID Version 7", and 6.2, method 1 (the number within the millisecond).
package struct TimeOrderedNames: Sendable {
    private static let numberBits: UInt64 = 22
    private static let randomBits: UInt64 = 52

    private var millisecond: UInt64 = 0
    private var number: UInt64 = 0

    package init() {}

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
        return Self.text(high, low)
    }

    /// As `UUID.uuidString` writes it.
    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        String(unsafeUninitializedCapacity: 36) { bytes in
            var position = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    bytes[position] = UInt8(ascii: "-")
                    position += 1
                }
                let half = digit < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4)) & 0xf
                bytes[position] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
                position += 1
            }
            return position
        }
    }
}
