// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Finds runs of combining marks in untrusted text.
///
/// To compare or hash text, Swift orders the marks behind a letter, in time that grows with the square of their number: 100,000 marks take
/// seconds for each comparison. Untrusted text is refused by its bytes, before it is compared with anything.
package enum CombiningMarks {
    /// Marks in a row that text may have.
    ///
    /// Source: *Unicode Standard Annex #15*, "Stream-Safe Text Format": 30 suffice for all languages. Text with marks as decoration has more.
    package static let inARowMax = 256

    /// Returns `true` for text with more than ``inARowMax`` marks in a row.
    package static func areExcessive(in text: String) -> Bool {
        // A mark has two bytes at least, so that nearly all texts are not scanned.
        guard text.utf8.count > 2 * inARowMax else { return false }
        var text = text
        return text.withUTF8 { areExcessive(in: UnsafeRawBufferPointer($0), hasEscapes: false) }
    }

    /// Returns `true` for a JSON text, valid or not, of which a string has more than ``inARowMax`` marks in a row, as escapes or not.
    package static func areExcessive(inJSON body: [UInt8]) -> Bool {
        guard body.count > 2 * inARowMax else { return false }
        return body.withUnsafeBytes { areExcessive(in: $0, hasEscapes: true) }
    }

    private static func areExcessive(in bytes: UnsafeRawBufferPointer, hasEscapes: Bool) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        var count = 0
        var index = 0
        while index < bytes.count {
            if index + 8 <= bytes.count {
                let chunk = EightBytes(base, at: index)
                if chunk.isASCII, chunk.needingEscapes == 0 {
                    count = 0
                    index += 8
                    continue
                }
            }
            let (code, length) = scalar(in: bytes, at: index, hasEscapes: hasEscapes)
            count = isMark(code) ? count + 1 : 0
            if count > inARowMax { return true }
            index += length
        }
        return false
    }

    /// The scalar at an index, and its bytes. Bytes that are not UTF-8 give any scalar, since decoders reject them.
    private static func scalar(in bytes: UnsafeRawBufferPointer, at index: Int, hasEscapes: Bool) -> (code: UInt32, length: Int) {
        let first = bytes[index]
        if hasEscapes, first == UInt8(ascii: "\\") { return escape(in: bytes, at: index) }
        guard first >= 0xC2 else { return (0, 1) }
        let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        guard index + length <= bytes.count else { return (0, 1) }
        var code = UInt32(first) & (0x7F >> UInt32(length))
        for position in index + 1..<index + length { code = code << 6 | UInt32(bytes[position] & 0x3F) }
        return (code, length)
    }

    private static func escape(in bytes: UnsafeRawBufferPointer, at index: Int) -> (code: UInt32, length: Int) {
        guard let unit = escapedUnit(in: bytes, at: index) else { return (0, 2) }
        guard 0xD800...0xDBFF ~= unit, let second = escapedUnit(in: bytes, at: index + 6), 0xDC00...0xDFFF ~= second else {
            return (unit, 6)
        }
        return (0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00), 12)
    }

    /// The number of an escape such as `\u0301`; nil for other bytes.
    private static func escapedUnit(in bytes: UnsafeRawBufferPointer, at start: Int) -> UInt32? {
        guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u") else { return nil }
        var unit: UInt32 = 0
        for position in start + 2..<start + 6 {
            let digit: UInt8
            switch bytes[position] {
            case let byte where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte: digit = byte - UInt8(ascii: "0")
            case let byte where UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte: digit = byte - UInt8(ascii: "a") + 10
            case let byte where UInt8(ascii: "A")...UInt8(ascii: "F") ~= byte: digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    private static func isMark(_ code: UInt32) -> Bool {
        switch code {
        // Letters of many languages, without a look-up of their properties.
        case 0..<0x300, 0x370...0x482, 0x3400...0x9FFF, 0xAC00...0xD7A3: false
        // Each of them decomposes to two marks, and is a letter by its own class.
        case 0x0F73, 0x0F75, 0x0F81: true
        default: Unicode.Scalar(code).map { $0.properties.canonicalCombiningClass != .notReordered } ?? false
        }
    }
}
