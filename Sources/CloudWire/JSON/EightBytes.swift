// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Eight bytes of a text that are examined in one step.
package struct EightBytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    private let chunk: UInt64

    /// - Parameter start: The first of the bytes; none of the eight may be past the end.
    package init(_ base: UnsafeRawPointer, at start: Int) { chunk = base.loadUnaligned(fromByteOffset: start, as: UInt64.self) }

    /// How many of the bytes are commas, brackets or braces that open.
    package var separatorCount: Int {
        // An opening bracket and an opening brace differ in one bit.
        let commas = chunk ^ (Self.ones &* 0x2C), opened = chunk | (Self.ones &* 0x20)
        return Self.zeros(in: commas) + Self.zeros(in: opened ^ (Self.ones &* 0x7B))
    }

    /// How many bytes of a chunk are zero.
    private static func zeros(in chunk: UInt64) -> Int {
        // The high bit of a byte is set if the byte has any bit. The sums don't carry.
        let filled = ((chunk & ~highs) &+ ~highs) | chunk
        return (~filled & highs).nonzeroBitCount
    }

    var isASCII: Bool { chunk & Self.highs == 0 }

    /// Not 0 if a control character, a quotation mark or a backslash is among the bytes.
    ///
    /// A byte is zero, or below 0x20, if the subtraction borrows from a byte with a clear high bit.
    var needingEscapes: UInt64 {
        let quote = chunk ^ (Self.ones &* 0x22), backslash = chunk ^ (Self.ones &* 0x5C)
        let special =
            ((quote &- Self.ones) & ~quote) | ((backslash &- Self.ones) & ~backslash) | ((chunk &- Self.ones &* 0x20) & ~chunk)
        return special & Self.highs
    }
}
