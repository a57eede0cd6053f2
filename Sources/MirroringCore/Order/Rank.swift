// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// A place in an ordered relationship: a text that sorts before and after others by its bytes.
///
/// Between any two ranks there is room for more, so that a member that moves is the only one that changes. A rank is a fraction
/// in base 62. Its first ``wholeDigits`` digits are counted like whole numbers: members at either end of a list do not make ranks longer.
package struct Rank: Hashable, Sendable, Comparable {
    static let wholeDigits = 6
    /// The longest rank that is generated: a list that needs a longer one is renumbered.
    static let lengthMax = 64
    /// Longer ones are not read.
    static let readLengthMax = 256

    package let text: String

    /// - Returns: nil for an invalid rank: other characters than letters and digits, or a last digit of zero.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.readLengthMax, text.utf8.last != Self.digits[0],
            text.utf8.allSatisfy({ Self.value(of: $0) != nil })
        else { return nil }
        self.text = text
    }

    private init(digits: [UInt8]) { text = String(decoding: digits, as: UTF8.self) }

    package static func < (one: Rank, other: Rank) -> Bool { one.text < other.text }

    // MARK: Making ranks

    /// Returns ranks for neighbours, in order, in an interval that no other run shares: concurrent insertions of two devices at one
    /// position are not interleaved.
    ///
    /// - Parameters:
    ///   - seed: A text that differs between devices.
    /// - Precondition: `before` is greater than `after`.
    static func run(of count: Int, after: Rank?, before: Rank?, seed: String) -> [Rank] {
        let place = place(after: after.map { [UInt8]($0.text.utf8) }, before: before.map { [UInt8]($0.text.utf8) }) + mark(seed)
        if count == 1 { return [Rank(digits: place)] }
        var width = 1
        while power(width) < count { width += 1 }
        return (0..<count).map { Rank(digits: place + number($0, width: width) + [digits[1]]) }
    }

    /// Digits that any others may follow without leaving the gap.
    private static func place(after: [UInt8]?, before: [UInt8]?) -> [UInt8] {
        let low = after.map(whole), high = before.map(whole)
        switch (low, high) {
        case (nil, nil): return number(power(wholeDigits) / 2, width: wholeDigits)
        case (let low?, nil) where low + 1 < power(wholeDigits): return number(low + 1, width: wholeDigits)
        case (nil, let high?) where high > 0: return number(high - 1, width: wholeDigits)
        case (let low?, let high?) where high - low > 1: return number((low + high) / 2, width: wholeDigits)
        default: return middle(after ?? [], before)
        }
    }

    /// Digits that differ from both ends at a digit of both, or go on after the lower end.
    private static func middle(_ low: [UInt8], _ high: [UInt8]?) -> [UInt8] {
        func digit(_ bytes: [UInt8], _ index: Int) -> Int { index < bytes.count ? value(of: bytes[index]) ?? 0 : 0 }
        var result: [UInt8] = []
        var index = 0
        if let high {
            while digit(low, index) == digit(high, index), index < high.count {
                result.append(digits[digit(low, index)])
                index += 1
            }
            let (below, above) = (digit(low, index), digit(high, index))
            if above - below > 1 { return result + [digits[(below + above) / 2]] }
            result.append(digits[below])
            index += 1
        }
        while digit(low, index) >= 61 {
            result.append(digits[61])
            index += 1
        }
        return result + [digits[(digit(low, index) + 62) / 2]]
    }

    private static func whole(_ bytes: [UInt8]) -> Int {
        (0..<wholeDigits).reduce(0) { $0 * 62 + ($1 < bytes.count ? value(of: bytes[$1]) ?? 0 : 0) }
    }

    private static func number(_ number: Int, width: Int) -> [UInt8] {
        var (rest, result): (Int, [UInt8]) = (number, [])
        for _ in 0..<width {
            result.append(digits[rest % 62])
            rest /= 62
        }
        return result.reversed()
    }

    private static func power(_ exponent: Int) -> Int { (0..<exponent).reduce(1) { power, _ in power * 62 } }

    /// Three digits that depend on a text, the last of which is not zero.
    private static func mark(_ seed: String) -> [UInt8] {
        var hash = Fingerprint(seed.utf8).value
        hash ^= hash >> 32
        return [digits[Int(hash % 62)], digits[Int(hash / 62 % 62)], digits[1 + Int(hash / 3844 % 61)]]
    }

    private static let digits = [UInt8]("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    private static func value(of byte: UInt8) -> Int? {
        switch byte {
        case 48...57: Int(byte) - 48
        case 65...90: Int(byte) - 55
        case 97...122: Int(byte) - 61
        default: nil
        }
    }
}
