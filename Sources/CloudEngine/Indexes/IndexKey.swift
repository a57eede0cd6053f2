// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Values as bytes in the order of the values, so that one kind of index serves every type and every
/// database that compares bytes.
///
/// | value | bytes |
/// |---|---|
/// | none | 0 |
/// | more than an index lists | 0, 1 |
/// | number, date | 1, ordered bits of the nearest `Double`, ordered bits of the nearest `Int64` |
/// | text | 1, lower-case UTF-8, 0, UTF-8; at most ``bytesMax`` |
/// | reference | 1, record name |
/// | location | 1, bits of both coordinates in turn |
///
/// Whole numbers and fractions therefore stand in one order. Texts stand in the order of their lower-case form, then
/// of their bytes; beyond ``bytesMax`` bytes they count as equal, so every filter looks at the record too.
enum IndexKey {
    static let bytesMax = 240

    static let missing: [UInt8] = [0]
    /// The key of a record with too many values or words to list each. No value has it, and it is outside ``values``.
    static let overflow: [UInt8] = [0, 1]
    private static let present: UInt8 = 1
    /// Every key of a value is between these two.
    static let values = KeyRange(lower: [1], upper: [2])
    static let everything = KeyRange(lower: [], upper: [2])

    /// Keys of a field's value: one, or one for each different element of a list; ``overflow`` alone if there are more than `most`.
    static func keys(of value: FieldValue?, atMost most: Int) -> [[UInt8]] {
        guard let value else { return [missing] }
        guard case .list(let elements, _) = value else { return [key(of: value) ?? missing] }
        var keys: Set<[UInt8]> = []
        for element in elements {
            if let key = key(of: element) { keys.insert(key) }
            guard keys.count <= most else { return [overflow] }
        }
        return keys.isEmpty ? [missing] : keys.sorted(by: isLess)
    }

    /// Nil for values that have no order: bytes, assets, lists, locations outside the globe.
    static func key(of value: FieldValue) -> [UInt8]? {
        switch value {
        case .int64(let number), .timestamp(let number):
            [present] + ordered(Double(number)) + ordered(number)
        case .double(let number):
            [present] + ordered(number) + ordered(Int64(clamping: number))
        case .string(let text): cut([present] + escaped(text.lowercased()) + [0] + escaped(text))
        case .reference(let reference): cut([present] + Array(reference.recordName.utf8))
        case .location(let location): GlobePoint(location).map { [present] + bytes(of: $0.cell) }
        case .bytes, .asset, .list: nil
        }
    }

    static func key(ofToken word: String) -> [UInt8] { cut([present] + Array(word.utf8)) }

    /// Keys of all texts that begin so, upper and lower case alike.
    static func prefix(_ text: String) -> KeyRange {
        let lower = cut([present] + escaped(text.lowercased()))
        return KeyRange(lower: lower, upper: successor(ofPrefix: lower))
    }

    /// Keys of all texts that are equal but for upper and lower case, and perhaps some that are not.
    static func equal(_ value: FieldValue) -> KeyRange? {
        guard case .string(let text) = value else { return key(of: value).map { KeyRange(only: $0) } }
        let lower = cut([present] + escaped(text.lowercased()) + [0])
        return KeyRange(lower: lower, upper: successor(ofPrefix: lower))
    }

    /// Keys up to that of a value, which is among them.
    static func upTo(_ value: FieldValue) -> KeyRange? {
        key(of: value).map { KeyRange(lower: values.lower, upper: $0 + [0]) }
    }

    /// Keys from that of a value on.
    static func from(_ value: FieldValue) -> KeyRange? {
        key(of: value).map { KeyRange(lower: $0, upper: values.upper) }
    }

    static func isLess(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }

    /// The least bytes that are greater than all that begin with a prefix.
    static func successor(ofPrefix prefix: [UInt8]) -> [UInt8] {
        var bytes = prefix
        while let last = bytes.popLast() {
            if last < 0xFF { return bytes + [last + 1] }
        }
        return values.upper
    }

    private static func cut(_ key: [UInt8]) -> [UInt8] { key.count > bytesMax ? Array(key.prefix(bytesMax)) : key }

    /// Keeps the byte 0 free for the end of a text.
    private static func escaped(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in text.utf8.prefix(bytesMax) {
            if byte < 2 { bytes.append(1) }
            bytes.append(byte < 2 ? byte + 1 : byte)
        }
        return bytes
    }

    static func ordered(_ number: Double) -> [UInt8] {
        // One NaN, and one zero.
        let bits = (number.isNaN ? .nan : number == 0 ? 0 : number).bitPattern
        return bytes(of: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    }

    private static func ordered(_ number: Int64) -> [UInt8] { bytes(of: UInt64(bitPattern: number) ^ 1 << 63) }

    static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}

/// Keys from `lower` on and below `upper`.
package struct KeyRange: Hashable, Sendable {
    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    init(only key: [UInt8]) {
        self.init(lower: key, upper: key + [0])
    }

    var isEmpty: Bool { !IndexKey.isLess(lower, upper) }
    var hasOneKey: Bool { upper.count == lower.count + 1 && upper.last == 0 && upper.dropLast() == lower[...] }

    func contains(_ key: [UInt8]) -> Bool { !IndexKey.isLess(key, lower) && IndexKey.isLess(key, upper) }

    func intersection(_ other: KeyRange) -> KeyRange {
        KeyRange(
            lower: IndexKey.isLess(lower, other.lower) ? other.lower : lower,
            upper: IndexKey.isLess(upper, other.upper) ? upper : other.upper)
    }

    /// The same keys as ranges in order that do not touch each other.
    static func merged(_ ranges: [KeyRange]) -> [KeyRange] {
        var merged: [KeyRange] = []
        for range in ranges.sorted(by: { IndexKey.isLess($0.lower, $1.lower) }) where !range.isEmpty {
            if let last = merged.last, !IndexKey.isLess(last.upper, range.lower) {
                if IndexKey.isLess(last.upper, range.upper) { merged[merged.count - 1].upper = range.upper }
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

extension Int64 {
    /// The nearest whole number; not a number is the greatest.
    init(clamping number: Double) {
        if number.isNaN || number >= 0x1p63 {
            self = .max
        } else if number < -0x1p63 {
            self = .min
        } else {
            self = Int64(number.rounded(.down))
        }
    }
}
