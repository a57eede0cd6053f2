// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Writes a JSON text without white space. The writer adds commas; the caller decides the order of keys.
///
/// What takes closures is inlinable: in other modules they would be called for each element, through tables.
@usableFromInline package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    /// Whether numbers in fields of records are written as strings, for readers without 64-bit integers.
    package var numbersAsStrings = false
    /// Whether to write redundant members that the live service always sends; see ``AnswerForm``.
    package var hasLiveKeys = false
    /// Whether to omit members that Apple's documents don't have; see ``AnswerForm``.
    package var isDocumentedOnly = false
    /// The identifier in errors of single items that have none of their own.
    package var errorUUID: String?
    private var needsComma = false

    package init(capacity: Int = 512) {
        bytes.reserveCapacity(capacity)
    }

    // MARK: Objects and arrays

    @inlinable package mutating func object(_ content: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "{"))
        content(&self)
        end(UInt8(ascii: "}"))
    }

    @inlinable package mutating func array<Element>(_ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void) {
        begin(UInt8(ascii: "["))
        for element in elements { write(&self, element) }
        end(UInt8(ascii: "]"))
    }

    /// - Parameter elements: The encoded content between the brackets.
    package mutating func array(written elements: [UInt8]) {
        begin(UInt8(ascii: "["))
        bytes.append(contentsOf: elements)
        end(UInt8(ascii: "]"))
    }

    @usableFromInline mutating func begin(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
        needsComma = false
    }

    @usableFromInline mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func comma() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    // MARK: Keys

    /// - Parameter name: A name that needs no escapes.
    package mutating func key(_ name: StaticString) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func key(_ name: String) {
        value(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// - Parameter members: One or more encoded members of an object.
    package mutating func raw(members: StaticString) {
        raw(members)
    }

    // MARK: Values

    package mutating func null() {
        raw("null")
    }

    package mutating func value(_ flag: Bool) {
        raw(flag ? "true" : "false")
    }

    package mutating func value(_ number: Int64) {
        comma()
        var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
        withUnsafeMutableBytes(of: &digits) { buffer in
            var position = buffer.count
            var remainder = number.magnitude
            repeat {
                position -= 1
                buffer[position] = UInt8(ascii: "0") + UInt8(remainder % 10)
                remainder /= 10
            } while remainder > 0
            if number < 0 {
                position -= 1
                buffer[position] = UInt8(ascii: "-")
            }
            bytes.append(contentsOf: buffer[position...])
        }
        needsComma = true
    }

    /// Writes the shortest text that is read as the same number; see ``JSONReader/readDouble()`` for NaN and
    /// infinities.
    package mutating func value(_ number: Double) {
        guard number.isFinite else {
            return value(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
        }
        comma()
        bytes.append(contentsOf: number.description.utf8)
        needsComma = true
    }

    package mutating func value(_ text: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { appendEscaped($0) }
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    package mutating func base64(_ data: [UInt8]) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        Base64.encode(data, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    package mutating func value(_ message: some WireMessage) {
        message.write(to: &self)
    }

    private mutating func raw(_ word: StaticString) {
        comma()
        bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        needsComma = true
    }

    /// Appends runs without escapes as a whole.
    private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
        var position = 0
        while true {
            let end = Self.endOfRun(in: text, from: position)
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[position..<end]))
            guard end < text.count else { return }
            appendEscape(of: text[end])
            position = end + 1
        }
    }

    private mutating func appendEscape(of byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0..<0x20:
            let hex: StaticString = "0123456789abcdef"
            bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
            bytes.append(hex.utf8Start[Int(byte >> 4)])
            bytes.append(hex.utf8Start[Int(byte & 0xF)])
        default: bytes.append(byte)
        }
    }

    /// Position of the first byte at or after `start` that needs an escape; the length of the text without one.
    private static func endOfRun(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard let base = UnsafeRawPointer(text.baseAddress) else { return 0 }
        var position = start
        while position + 8 <= text.count, EightBytes(base, at: position).needingEscapes == 0 { position += 8 }
        while position < text.count {
            let byte = text[position]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            position += 1
        }
        return position
    }
}

// Members that are omitted without a value.
extension JSONWriter {
    package mutating func member(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        key(name)
        value(text)
    }

    package mutating func member(_ name: StaticString, _ number: Int?) {
        guard let number else { return }
        key(name)
        value(Int64(number))
    }

    package mutating func member(_ name: StaticString, _ number: Int64?) {
        guard let number else { return }
        key(name)
        value(number)
    }

    package mutating func member(_ name: StaticString, _ number: Double?) {
        guard let number else { return }
        key(name)
        value(number)
    }

    package mutating func member(_ name: StaticString, _ flag: Bool?) {
        guard let flag else { return }
        key(name)
        value(flag)
    }

    package mutating func member(_ name: StaticString, _ texts: [String]?) {
        guard let texts else { return }
        key(name)
        array(texts) { $0.value($1) }
    }

    package mutating func member<Message: WireMessage>(_ name: StaticString, _ message: Message?) {
        guard let message else { return }
        key(name)
        value(message)
    }

    package mutating func member<Message: WireMessage>(_ name: StaticString, _ messages: [Message]) {
        key(name)
        array(messages) { $0.value($1) }
    }
}
