// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Bounds of the numbers that a peer may send.
///
/// A number outside its bounds is clamped where the message is decoded. Sums, differences and conversions behind the
/// decoder therefore never overflow.
package enum UntrustedNumber {
    /// The longest retry delay: one week, in seconds, for which an operation may go on by default.
    package static let retrySecondsMax = 604_800.0
    /// The largest count or size: every integer up to it has an exact `Double`.
    package static let countMax: Int64 = 1 << 53
    /// The largest asset: 1 TiB, as an operator may allow. The sizes of all assets in a message add up without overflow.
    package static let assetBytesMax: Int64 = 1 << 40
    /// The largest distance of a server's time stamp from 1970, in milliseconds: 100 million days.
    package static let millisecondsMax: Int64 = 8_640_000_000_000_000

    /// Returns a retry delay of at most ``retrySecondsMax``. `nil` for NaN and negative numbers, which are invalid.
    package static func retrySeconds(_ seconds: Double?) -> Double? {
        guard let seconds, seconds >= 0 else { return nil }
        return min(seconds, retrySecondsMax)
    }

    /// Returns a time stamp at most ``millisecondsMax`` away from 1970.
    package static func milliseconds(_ milliseconds: Int64) -> Int64 {
        min(max(milliseconds, -millisecondsMax), millisecondsMax)
    }
}

extension Duration {
    /// Creates a duration of at least 0 and at most 30 years; NaN is 0.
    ///
    /// `Duration.seconds(_:)` traps for values that a clock cannot count to.
    package static func clamped(seconds: Double) -> Duration {
        .seconds(seconds.isNaN ? 0 : min(max(seconds, 0), 1e9))
    }
}

extension JSONReader {
    /// Reads a count or a size and clamps it to 0...``UntrustedNumber/countMax``.
    package mutating func readCount() throws(JSONFault) -> Int64 {
        min(max(try readInt64(), 0), UntrustedNumber.countMax)
    }

    /// Reads milliseconds since 1970 and clamps them to ``UntrustedNumber/millisecondsMax``.
    package mutating func readMilliseconds() throws(JSONFault) -> Int64 {
        UntrustedNumber.milliseconds(try readTimestamp())
    }
}
