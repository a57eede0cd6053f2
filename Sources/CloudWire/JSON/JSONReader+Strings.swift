// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A key or another token of the protocol, compared without allocating a string:
///
///     switch key { case "recordName": … }
package struct JSONKey {
    let bytes: UnsafeBufferPointer<UInt8>
    /// The key without its escapes, if it has any.
    let unescaped: [UInt8]?

    package var text: String {
        if let unescaped { return String(decoding: unescaped, as: UTF8.self) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @inline(__always)
    package static func ~= (word: StaticString, key: JSONKey) -> Bool {
        if let unescaped = key.unescaped { return unescaped.withUnsafeBufferPointer { word ~= $0 } }
        return word ~= key.bytes
    }
}

extension StaticString {
    @inline(__always)
    fileprivate static func ~= (word: StaticString, bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let count = word.utf8CodeUnitCount
        guard count == bytes.count, let start = bytes.baseAddress else { return count == bytes.count }
        // Tokens of the same length mostly differ in their last letter.
        guard count > 0, word.utf8Start[count - 1] == start[count - 1] else { return count == 0 }
        for position in 0..<count - 1 where word.utf8Start[position] != start[position] { return false }
        return true
    }
}

extension JSONReader {
    /// A string's content between its quotes, validated but not unescaped.
    struct StringSpan {
        let range: Range<Int>
        let hasEscapes: Bool
    }

    package mutating func readString() throws(JSONFault) -> String {
        let span = try scanString()
        if span.hasEscapes { return String(decoding: unescape(span), as: UTF8.self) }
        return String(decoding: UnsafeBufferPointer(rebasing: bytes[span.range]), as: UTF8.self)
    }

    /// Reads a string for comparison. The result is valid as long as the reader's bytes.
    package mutating func readToken() throws(JSONFault) -> JSONKey {
        let span = try scanString()
        return JSONKey(
            bytes: UnsafeBufferPointer(rebasing: bytes[span.range]), unescaped: span.hasEscapes ? unescape(span) : nil)
    }

    /// Reads a string of Base64 (RFC 4648 §4, with padding, without line breaks).
    package mutating func readBase64() throws(JSONFault) -> [UInt8] {
        let span = try scanString()
        let start = span.range.lowerBound
        let decoded =
            span.hasEscapes
            ? unescape(span).withUnsafeBufferPointer { Base64.decode($0) }
            : Base64.decode(UnsafeBufferPointer(rebasing: bytes[span.range]))
        guard let decoded else { throw JSONFault("expected Base64", at: start) }
        return decoded
    }

    /// Reads a string that must be a raw value of a type.
    package mutating func readChoice<Choice: RawRepresentable<String>>(
        _ type: Choice.Type = Choice.self, orFault what: StaticString
    ) throws(JSONFault) -> Choice {
        let start = try next()
        guard let choice = Choice(rawValue: try readString()) else { throw JSONFault(what, at: start) }
        return choice
    }

    /// Validates a string and moves after it.
    mutating func scanString() throws(JSONFault) -> StringSpan {
        let quote = try next()
        guard bytes[quote] == UInt8(ascii: "\"") else { throw JSONFault("expected a string", at: quote) }
        index += 1
        let start = index
        var hasEscapes = false
        while true {
            skipPlain()
            // At least one of these bytes needs a check of its own, and such bytes often come in groups.
            let stop = min(index + 8, bytes.count)
            guard index < stop else { throw JSONFault("the text ends inside a string", at: bytes.count) }
            while index < stop {
                switch bytes[index] {
                case UInt8(ascii: "\""):
                    index += 1
                    return StringSpan(range: start..<index - 1, hasEscapes: hasEscapes)
                case UInt8(ascii: "\\"):
                    hasEscapes = true
                    try checkEscape()
                case 0..<0x20: throw JSONFault("a string holds a control character", at: index)
                case 0x80...: try checkMultibyte()
                default: index += 1
                }
            }
        }
    }

    /// Skips printable ASCII without quotes and backslashes, eight bytes per step.
    private mutating func skipPlain() {
        guard let base = UnsafeRawPointer(bytes.baseAddress) else { return }
        while index + 8 <= bytes.count {
            let chunk = EightBytes(base, at: index)
            guard chunk.needingEscapes == 0, chunk.isASCII else { return }
            index += 8
        }
    }

    private mutating func checkEscape() throws(JSONFault) {
        let start = index
        guard start + 1 < bytes.count else { throw JSONFault("the text ends inside a string", at: bytes.count) }
        switch bytes[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 2
        case UInt8(ascii: "u"):
            let unit = try hexUnit(at: start + 2)
            index += 6
            switch unit {
            case 0xD800...0xDBFF:
                guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u"),
                    0xDC00...0xDFFF ~= (try hexUnit(at: index + 2))
                else { throw JSONFault("half of a surrogate pair", at: start) }
                index += 6
            case 0xDC00...0xDFFF: throw JSONFault("half of a surrogate pair", at: start)
            default: break
            }
        default: throw JSONFault("an unknown escape", at: start)
        }
    }

    private func hexUnit(at start: Int) throws(JSONFault) -> UInt16 {
        guard start + 4 <= bytes.count else { throw JSONFault("the text ends inside a string", at: bytes.count) }
        var unit: UInt16 = 0
        for position in start..<start + 4 {
            let digit: UInt8
            switch bytes[position] {
            case let byte where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte: digit = byte - UInt8(ascii: "0")
            case let byte where UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte: digit = byte - UInt8(ascii: "a") + 10
            case let byte where UInt8(ascii: "A")...UInt8(ascii: "F") ~= byte: digit = byte - UInt8(ascii: "A") + 10
            default: throw JSONFault("expected four hexadecimal digits", at: position)
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    /// Validates one character of two to four bytes.
    ///
    /// Source: The Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences".
    private mutating func checkMultibyte() throws(JSONFault) {
        let length: Int
        let second: ClosedRange<UInt8>
        switch bytes[index] {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw JSONFault("the text is not UTF-8", at: index)
        }
        guard index + length <= bytes.count else { throw JSONFault("the text ends inside a string", at: bytes.count) }
        guard second ~= bytes[index + 1] else { throw JSONFault("the text is not UTF-8", at: index) }
        for position in 2..<max(length, 2) where bytes[index + position] & 0xC0 != 0x80 {
            throw JSONFault("the text is not UTF-8", at: index)
        }
        index += length
    }

    /// Unescapes a validated string.
    private func unescape(_ span: StringSpan) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(span.range.count)
        var position = span.range.lowerBound
        while position < span.range.upperBound {
            let byte = bytes[position]
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                position += 1
                continue
            }
            let escaped = bytes[position + 1]
            position += 2
            switch escaped {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                var code = UInt32(checkedUnit(at: position))
                position += 4
                if 0xD800...0xDBFF ~= code {
                    code = 0x10000 + (code - 0xD800) << 10 + (UInt32(checkedUnit(at: position + 2)) - 0xDC00)
                    position += 6
                }
                appendUTF8(code, to: &result)
            default: result.append(escaped)
            }
        }
        return result
    }

    private func checkedUnit(at start: Int) -> UInt16 {
        guard let unit = try? hexUnit(at: start) else { preconditionFailure("escapes are validated before they are read") }
        return unit
    }

    private func appendUTF8(_ code: UInt32, to result: inout [UInt8]) {
        guard let scalar = Unicode.Scalar(code) else { preconditionFailure("escapes are validated before they are read") }
        result.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
    }
}
