// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Reads a JSON text from start to end, one value at a time, without building a tree.
///
///     try reader.beginObject()
///     while let key = try reader.nextKey() {
///         switch key {
///         case "recordName": name = try reader.readString()
///         default: try reader.skipValue()
///         }
///     }
///
/// Accepts RFC 8259 to a depth of ``depthMax``. Invalid texts are rejected with the byte offset. Strings must be valid
/// UTF-8, and escaped surrogates must be paired.
///
/// Invariant: `index` is at most the number of bytes, and every read is preceded by a bounds check.
package struct JSONReader {
    package static let depthMax = 32
    static let numberBytesMax = 1024

    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte.
    package internal(set) var index = 0
    private var depth = 0
    /// Whether an object or array was opened and nothing of its content was read.
    private var isAtStart = false
    /// Whether ``readTimestamp()`` rounds fractions. Off for requests: a server rejects a time that isn't a whole number.
    var roundsTimestamps = false

    /// - Parameter bytes: Must stay valid as long as the reader, its keys and its copies are in use.
    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    // MARK: Objects and arrays

    /// - Returns: The offset of the object, for errors about the object as a whole.
    @discardableResult
    package mutating func beginObject() throws(JSONFault) -> Int {
        let start = try next()
        guard bytes[start] == UInt8(ascii: "{") else { throw JSONFault("expected an object", at: start) }
        try open()
        return start
    }

    /// Moves to the value of the next key.
    ///
    /// - Parameter skipsNull: Whether to skip keys with the value null.
    /// - Returns: `nil` at the end of the object, after it.
    package mutating func nextKey(skipsNull: Bool = true) throws(JSONFault) -> JSONKey? {
        while true {
            guard try goToElement(before: UInt8(ascii: "}")) else { return nil }
            guard bytes[index] == UInt8(ascii: "\"") else { throw JSONFault("expected a key", at: index) }
            let key = try readToken()
            let colon = try next()
            guard bytes[colon] == UInt8(ascii: ":") else { throw JSONFault("expected a colon", at: colon) }
            index += 1
            if skipsNull, try readNull() { continue }
            return key
        }
    }

    package mutating func beginArray() throws(JSONFault) {
        let start = try next()
        guard bytes[start] == UInt8(ascii: "[") else { throw JSONFault("expected an array", at: start) }
        try open()
    }

    /// Moves to the next element.
    ///
    /// - Returns: Whether there is an element. If not, the reader is after the array.
    package mutating func nextElement() throws(JSONFault) -> Bool {
        try goToElement(before: UInt8(ascii: "]"))
    }

    private mutating func open() throws(JSONFault) {
        guard depth < JSONReader.depthMax else { throw JSONFault("too many levels of objects and arrays", at: index) }
        depth += 1
        index += 1
        isAtStart = true
    }

    private mutating func goToElement(before close: UInt8) throws(JSONFault) -> Bool {
        let first = isAtStart
        isAtStart = false
        var offset = try next()
        if bytes[offset] == close {
            depth -= 1
            index += 1
            return false
        }
        guard !first else { return true }
        guard bytes[offset] == UInt8(ascii: ",") else { throw JSONFault("expected a comma or the end", at: offset) }
        index += 1
        offset = try next()
        guard bytes[offset] != close else { throw JSONFault("a comma stands before the end", at: offset) }
        return true
    }

    // MARK: Literals

    /// Skips null, if it is the next value.
    package mutating func readNull() throws(JSONFault) -> Bool {
        guard bytes[try next()] == UInt8(ascii: "n") else { return false }
        try readWord("null")
        return true
    }

    package mutating func readBool() throws(JSONFault) -> Bool {
        let start = try next()
        switch bytes[start] {
        case UInt8(ascii: "t"):
            try readWord("true")
            return true
        case UInt8(ascii: "f"):
            try readWord("false")
            return false
        default: throw JSONFault("expected true or false", at: start)
        }
    }

    private mutating func readWord(_ word: StaticString) throws(JSONFault) {
        guard bytes.count - index >= word.utf8CodeUnitCount else {
            throw JSONFault("the text ends too early", at: bytes.count)
        }
        for position in 0..<word.utf8CodeUnitCount where bytes[index + position] != word.utf8Start[position] {
            throw JSONFault("expected a value", at: index)
        }
        index += word.utf8CodeUnitCount
    }

    // MARK: Position

    /// The type of the next value.
    package enum Kind { case object, array, string, number, bool, null }

    package mutating func peek() throws(JSONFault) -> Kind {
        let start = try next()
        switch bytes[start] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw JSONFault("expected a value", at: start)
        }
    }

    /// Skips a value of any type, and validates it.
    package mutating func skipValue() throws(JSONFault) {
        switch try peek() {
        case .object:
            try beginObject()
            while try nextKey(skipsNull: false) != nil { try skipValue() }
        case .array:
            try beginArray()
            while try nextElement() { try skipValue() }
        case .string: _ = try scanString()
        case .number: _ = try readNumber()
        case .bool: _ = try readBool()
        case .null: _ = try readNull()
        }
    }

    package mutating func expectEnd() throws(JSONFault) {
        skipSpace()
        guard index == bytes.count else { throw JSONFault("there is text after the value", at: index) }
    }

    /// The offset of the next byte that isn't white space.
    @inline(__always)
    mutating func next() throws(JSONFault) -> Int {
        // Most texts have no white space.
        if index < bytes.count, bytes[index] > 0x20 { return index }
        skipSpace()
        guard index < bytes.count else { throw JSONFault("the text ends too early", at: index) }
        return index
    }

    private mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }
}
