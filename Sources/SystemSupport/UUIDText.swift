// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// Formats and parses UUIDs as `UUID.uuidString` does, without `snprintf`, which dominates the cost of Foundation's.
package enum UUIDText {
    private static func isDash(at offset: Int) -> Bool { offset == 8 || offset == 13 || offset == 18 || offset == 23 }

    package static func text(_ uuid: UUID) -> String { withUnsafeBytes(of: uuid.uuid) { text($0) } }

    /// - Parameters:
    ///   - high: The first eight bytes, big-endian.
    ///   - low: The last eight bytes, big-endian.
    package static func text(_ high: UInt64, _ low: UInt64) -> String {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { text($0) }
    }

    /// Formats the first 16 bytes as a UUID of the version; the bits of version and variant are overwritten.
    ///
    /// Source: RFC 9562, sections 4.1 and 4.2.
    ///
    /// - Precondition: There are at least 16 bytes.
    package static func text(_ bytes: [UInt8], version: UInt8) -> String {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0f | version << 4
        bytes[8] = bytes[8] & 0x3f | 0x80
        return bytes.withUnsafeBytes { text($0) }
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: 36) { digits in
            var offset = 0
            for byte in bytes.prefix(16) {
                if isDash(at: offset) {
                    digits[offset] = UInt8(ascii: "-")
                    offset += 1
                }
                digits[offset] = Hex.digit(byte >> 4, .upper)
                digits[offset + 1] = Hex.digit(byte & 15, .upper)
                offset += 2
            }
            return offset
        }
    }

    /// - Returns: nil for a text that isn't a UUID.
    package static func uuid(_ text: String) -> UUID? {
        var text = text
        return text.withUTF8 { digits -> UUID? in
            guard digits.count == 36 else { return nil }
            var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
            let isValid = withUnsafeMutableBytes(of: &value) { bytes in
                var offset = 0
                for index in bytes.indices {
                    if isDash(at: offset) {
                        guard digits[offset] == UInt8(ascii: "-") else { return false }
                        offset += 1
                    }
                    guard let high = Hex.value(of: digits[offset], nil), let low = Hex.value(of: digits[offset + 1], nil) else {
                        return false
                    }
                    bytes[index] = high << 4 | low
                    offset += 2
                }
                return true
            }
            return isValid ? UUID(uuid: value) : nil
        }
    }
}
