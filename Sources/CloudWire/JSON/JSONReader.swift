// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Reads a JSON text from front to back, one value at a time, without building a tree.
///
///     try reader.beginObject()
///     while let key = try reader.nextKey() {
///         switch key {
///         case "recordName": name = try reader.readString()
///         default: try reader.skipValue()
///         }
///     }
///
/// The whole of RFC 8259 is accepted, to a depth of ``depthMax``; texts that break it are refused with the byte.
/// Strings must be correct UTF-8, and escaped surrogates must come in pairs.
///
/// Invariant: `index` is at most the number of bytes, and every read is preceded by a check of it.
package struct JSONReader {
    package static let depthMax = 32
    static let numberBytesMax = 1024

    let bytes: UnsafeBufferPointer<UInt8>
    /// The byte that is read next.
    package internal(set) var index = 0
    private var depth = 0
    /// Whether an object or array has been opened and none of its content read.
    private var isAtStart = false

    /// - Parameter bytes: Must stay valid as long as the reader, its keys and its copies are used.
    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    // MARK: Objects and arrays

    /// - Returns: Where the object begins, for faults about the object as a whole.
    @discardableResult
    package mutating func beginObject() throws(JSONFault) -> Int {
        let start = try next()
        guard bytes[start] == UInt8(ascii: "{") else { throw JSONFault("expected an object", at: start) }
        try open()
        return start
    }

    /// Goes to the value of the next key.
    ///
    /// - Parameter skipsNull: Whether keys without a value are passed over.
    /// - Returns: Nil at the end of the object, which is then left.
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

    /// Goes to the next element.
    ///
    /// - Returns: Whether there is one; if not, the array is left.
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
        var here = try next()
        if bytes[here] == close {
            depth -= 1
            index += 1
            return false
        }
        guard !first else { return true }
        guard bytes[here] == UInt8(ascii: ",") else { throw JSONFault("expected a comma or the end", at: here) }
        index += 1
        here = try next()
        guard bytes[here] != close else { throw JSONFault("a comma stands before the end", at: here) }
        return true
    }

    // MARK: Words

    /// Passes over null, if it stands here.
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

    // MARK: Moving

    /// What begins here.
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

    /// Passes over a value of any kind, and checks it all the same.
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

    /// The place of the next byte that is not white space.
    @inline(__always)
    mutating func next() throws(JSONFault) -> Int {
        // Most texts are written without white space.
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
