// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// UUIDs as `UUID.uuidString` writes them, and reads them: by a table, where Foundation goes by way of formats of C.
enum UUIDText {
    /// Whether a dash stands at a place among the 36 characters.
    private static func isDash(_ place: Int) -> Bool { place == 8 || place == 13 || place == 18 || place == 23 }

    static func text(_ uuid: UUID) -> String {
        withUnsafeBytes(of: uuid.uuid) { bytes in
            let (high, low) = (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            return text(UInt64(bigEndian: high), UInt64(bigEndian: low))
        }
    }

    /// - Parameters:
    ///   - high: The first eight bytes, the first one highest.
    ///   - low: The others.
    static func text(_ high: UInt64, _ low: UInt64) -> String {
        String(unsafeUninitializedCapacity: 36) { bytes in
            var place = 0
            for digit in 0..<32 {
                if isDash(place) {
                    bytes[place] = UInt8(ascii: "-")
                    place += 1
                }
                let half = digit < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4)) & 0xf
                bytes[place] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
                place += 1
            }
            return place
        }
    }

    /// - Returns: nil for a text that isn't a UUID.
    static func uuid(_ text: String) -> UUID? {
        var text = text
        let value: uuid_t? = text.withUTF8 { text in
            guard text.count == 36 else { return nil }
            var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
            let isRead = withUnsafeMutableBytes(of: &value) { bytes in
                var place = 0
                for index in bytes.indices {
                    if isDash(place) {
                        guard text[place] == UInt8(ascii: "-") else { return false }
                        place += 1
                    }
                    guard let high = number(text[place]), let low = number(text[place + 1]) else { return false }
                    bytes[index] = high << 4 | low
                    place += 2
                }
                return true
            }
            return isRead ? value : nil
        }
        return value.map { UUID(uuid: $0) }
    }

    private static func number(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
