// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Bytes as hexadecimal digits, two for each byte.
package enum Hex {
    package enum Letters: Sendable { case lower, upper }

    @inlinable package static func text(_ bytes: some Sequence<UInt8>, _ letters: Letters = .lower) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            digits.append(digit(byte >> 4, letters))
            digits.append(digit(byte & 15, letters))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Returns 16 digits, the most significant first.
    package static func text(_ number: UInt64, _ letters: Letters = .lower) -> String {
        withUnsafeBytes(of: number.bigEndian) { text($0, letters) }
    }

    /// Decodes digits.
    ///
    /// - Parameter letters: The only letters that are accepted; nil accepts both.
    /// - Returns: nil if the text has an odd length or another character.
    @inlinable package static func bytes(_ text: some StringProtocol, _ letters: Letters? = .lower) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[index], letters), let low = value(of: digits[index + 1], letters) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    @usableFromInline static func digit(_ value: UInt8, _ letters: Letters) -> UInt8 {
        switch (value, letters) {
        case (..<10, _): UInt8(ascii: "0") + value
        case (_, .lower): UInt8(ascii: "a") + value - 10
        case (_, .upper): UInt8(ascii: "A") + value - 10
        }
    }

    @usableFromInline static func value(of digit: UInt8, _ letters: Letters?) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f") where letters != .upper: digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F") where letters != .lower: digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
