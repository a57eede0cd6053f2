// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Bytes as letters and digits that people can read aloud and type.
///
/// Source: RFC 4648, section 6, without padding.
package enum Base32 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var (buffer, bits) = (0, 0)
        for byte in bytes {
            buffer = (buffer << 8 | Int(byte)) & 0xFFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(digits[buffer >> bits & 31])
            }
        }
        if bits > 0 { text.append(digits[buffer << (5 - bits) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }
}
