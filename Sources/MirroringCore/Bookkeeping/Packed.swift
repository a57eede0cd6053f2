// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Encodes values in as few bytes as they need.
struct PackedWriter {
    var bytes: [UInt8] = []

    mutating func write(_ number: UInt64) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Small numbers of either sign are short (zigzag).
    mutating func write(_ number: Int64) { write(UInt64(bitPattern: number << 1 ^ number >> 63)) }

    mutating func write(fixed bits: UInt64) { withUnsafeBytes(of: bits.littleEndian) { bytes.append(contentsOf: $0) } }

    mutating func write(_ content: [UInt8]) {
        write(UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            write(UInt64(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }
}

/// Decodes values of ``PackedWriter``.
struct PackedReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    static var broken: WireError { WireError(.internalError, "a merge base in the store's file is corrupt") }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() throws(WireError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw Self.broken }
        return byte
    }

    mutating func number() throws(WireError) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            let byte = try byte()
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw Self.broken
    }

    mutating func signedNumber() throws(WireError) -> Int64 {
        let number = try number()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    mutating func fixed() throws(WireError) -> UInt64 {
        var bits: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 8) { bits |= UInt64(try byte()) << shift }
        return bits
    }

    mutating func slice() throws(WireError) -> ArraySlice<UInt8> {
        let count = try number()
        guard count <= UInt64(rest.count) else { throw Self.broken }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }

    mutating func text() throws(WireError) -> String {
        guard let text = String(validating: try slice(), as: UTF8.self) else { throw Self.broken }
        return text
    }
}
