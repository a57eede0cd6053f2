// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Base64 with padding and without line breaks.
///
/// Source: RFC 4648, §4.
package enum Base64 {
    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    private static let invalid: UInt8 = 0xFF
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: invalid, count: 256)
        for value in 0..<64 { values[Int(alphabet.utf8Start[value])] = UInt8(value) }
        return values
    }()

    package static func encode(_ data: [UInt8], to result: inout [UInt8]) {
        guard !data.isEmpty else { return }
        let letters = alphabet.utf8Start
        let count = (data.count + 2) / 3 * 4
        let text = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var to = 0
            var from = 0
            while from + 2 < data.count {
                let bits = UInt32(data[from]) << 16 | UInt32(data[from + 1]) << 8 | UInt32(data[from + 2])
                buffer[to] = letters[Int(bits >> 18)]
                buffer[to + 1] = letters[Int(bits >> 12 & 63)]
                buffer[to + 2] = letters[Int(bits >> 6 & 63)]
                buffer[to + 3] = letters[Int(bits & 63)]
                from += 3
                to += 4
            }
            if from < data.count {
                let second = from + 1 < data.count ? data[from + 1] : nil
                let bits = UInt32(data[from]) << 16 | UInt32(second ?? 0) << 8
                buffer[to] = letters[Int(bits >> 18)]
                buffer[to + 1] = letters[Int(bits >> 12 & 63)]
                buffer[to + 2] = second == nil ? UInt8(ascii: "=") : letters[Int(bits >> 6 & 63)]
                buffer[to + 3] = UInt8(ascii: "=")
            }
            initialized = count
        }
        result.append(contentsOf: text)
    }

    package static func encode(_ data: [UInt8]) -> String {
        var text: [UInt8] = []
        encode(data, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: `nil` if the text isn't Base64, isn't padded to a multiple of four, or has non-zero bits after the
    ///   last byte.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        guard !text.isEmpty else { return [] }
        let padding = text[text.count - 2] == UInt8(ascii: "=") ? 2 : text[text.count - 1] == UInt8(ascii: "=") ? 1 : 0
        if padding == 2, text[text.count - 1] != UInt8(ascii: "=") { return nil }
        let letters = text.count - padding
        let count = text.count / 4 * 3 - padding
        var isValid = true
        let data = values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                var to = 0
                var from = 0
                var bits: UInt8 = 0
                while from + 4 <= letters {
                    let (a, b, c, d) = (
                        values[Int(text[from])], values[Int(text[from + 1])], values[Int(text[from + 2])],
                        values[Int(text[from + 3])]
                    )
                    // A value has no bit above the sixth; `invalid` has.
                    bits |= a | b | c | d
                    let bits = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
                    buffer[to] = UInt8(truncatingIfNeeded: bits >> 16)
                    buffer[to + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                    buffer[to + 2] = UInt8(truncatingIfNeeded: bits)
                    from += 4
                    to += 3
                }
                if padding > 0 {
                    let (a, b) = (values[Int(text[from])], values[Int(text[from + 1])])
                    let c = padding == 1 ? values[Int(text[from + 2])] : 0
                    bits |= a | b | c
                    let bits = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6
                    buffer[to] = UInt8(truncatingIfNeeded: bits >> 16)
                    if padding == 1 { buffer[to + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
                    if bits & (padding == 1 ? 0xFF : 0xFFFF) != 0 { isValid = false }
                }
                if bits > 63 { isValid = false }
                initialized = count
            }
        }
        return isValid ? data : nil
    }

    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }
}
