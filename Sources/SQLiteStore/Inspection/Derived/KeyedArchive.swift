// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CZlib
import Foundation

/// A keyed archive in a binary property list, read as values: no class is looked up and no object is created.
///
/// Foundation's unarchiver creates objects of the classes that an archive names, and its property lists do not expose
/// references. The bytes come from files of unknown origin: every offset is checked, and reading never recurses.
///
/// Source: the comments in CFBinaryPList.c of swift-corelibs-foundation, which describe the format.
struct KeyedArchive {
    enum Value: Equatable {
        case null
        case bool(Bool)
        case int(Int64)
        case double(Double)
        case text(String)
        /// Another object of the archive.
        case reference(Int)
        /// Offsets in the property list, for ``KeyedArchive/value(at:)``.
        case list([Int])
        case map([String: Int])
        case other
    }

    /// Largest archive in bytes, uncompressed.
    static let bytesMax = 32 << 20
    /// Largest number of elements of a collection in an archive; the archive's own list of objects may be longer.
    static let elementsMax = 4096
    private static let objectsMax = 1 << 20
    /// UTF-16 units of the longest text.
    private static let textMax = 4096

    private let bytes: [UInt8]
    private let offsets: Range<Int>
    private let offsetSize: Int
    private let referenceSize: Int
    /// The archived objects' offsets in the property list.
    private var objects: [Int] = []
    private var top: [String: Int] = [:]

    /// - Returns: nil for bytes that aren't a keyed archive, and for more than ``bytesMax``.
    init?(_ bytes: [UInt8]) {
        guard (40...Self.bytesMax).contains(bytes.count), bytes.starts(with: Array("bplist0".utf8)) else { return nil }
        self.bytes = bytes
        let trailer = bytes.count - 32
        (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.number(bytes, trailer + 8, 8), let root = Self.number(bytes, trailer + 16, 8),
            let table = Self.number(bytes, trailer + 24, 8),
            count > 0, count <= Self.objectsMax, root < count, table >= 8, table + count * offsetSize <= trailer
        else { return nil }
        offsets = table..<(table + count * offsetSize)
        guard case .map(let archive) = value(at: root), let list = archive["$objects"], let top = archive["$top"],
            case .list(let objects) = value(at: list, elementsMax: Self.objectsMax), case .map(let top) = value(at: top)
        else { return nil }
        (self.objects, self.top) = (objects, top)
    }

    var root: [String: Int]? { map(top, "root") }

    // MARK: Objects

    /// - Returns: The value of a key, dereferenced if it is a reference; ``Value/null`` for a missing key.
    func value(_ object: [String: Int], _ key: String) -> Value {
        guard let offset = object[key] else { return .null }
        return followed(value(at: offset))
    }

    func map(_ object: [String: Int], _ key: String) -> [String: Int]? {
        if case .map(let map) = value(object, key) { map } else { nil }
    }

    func text(_ object: [String: Int], _ key: String) -> String? {
        if case .text(let text) = value(object, key) { text } else { nil }
    }

    func int(_ object: [String: Int], _ key: String) -> Int64? {
        if case .int(let number) = value(object, key) { number } else { nil }
    }

    func bool(_ object: [String: Int], _ key: String) -> Bool { value(object, key) == .bool(true) }

    /// - Returns: The name of the object's class in the archive.
    func className(_ object: [String: Int]) -> String? { map(object, "$class").flatMap { text($0, "$classname") } }

    /// - Returns: The members of an array or a set, or the values of a dictionary.
    func members(_ collection: [String: Int]?, _ key: String = "NS.objects") -> [Value] {
        guard let collection, case .list(let offsets) = value(collection, key) else { return [] }
        return offsets.map { followed(value(at: $0)) }
    }

    private func followed(_ value: Value) -> Value {
        guard case .reference(let index) = value else { return value }
        guard objects.indices.contains(index) else { return .null }
        let object = self.value(at: objects[index])
        // The archive represents nil by its first object.
        return object == .text("$null") ? .null : object
    }

    // MARK: The property list

    private func value(at index: Int, elementsMax: Int = elementsMax) -> Value {
        guard let offset = offset(ofObject: index) else { return .other }
        let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 0xF))
        switch kind {
        case 0x0: return low == 8 ? .bool(false) : low == 9 ? .bool(true) : low == 0 ? .null : .other
        case 0x1:
            // Numbers of fewer than 8 bytes are unsigned.
            guard low <= 3, let bits = Self.bits(bytes, offset + 1, 1 << low) else { return .other }
            return .int(Int64(bitPattern: bits))
        case 0x2:
            guard let bits = Self.bits(bytes, offset + 1, 1 << low) else { return .other }
            return low == 3 ? .double(Double(bitPattern: bits)) : low == 2 ? .double(Double(Float(bitPattern: UInt32(bits)))) : .other
        case 0x8: return Self.number(bytes, offset + 1, low + 1).map(Value.reference) ?? .other
        case 0x5, 0x6:
            return text(offset).map(Value.text) ?? .other
        case 0xA, 0xC:
            guard let (count, start) = length(offset, low), count <= elementsMax else { return .other }
            return references(start, count).map(Value.list) ?? .other
        case 0xD:
            guard let (count, start) = length(offset, low), count <= elementsMax, let keys = references(start, count),
                let values = references(start + count * referenceSize, count)
            else { return .other }
            var map: [String: Int] = [:]
            for (key, value) in zip(keys, values) { if let name = self.offset(ofObject: key).flatMap(text) { map[name] = value } }
            return .map(map)
        default: return .other
        }
    }

    /// The offset of an object.
    private func offset(ofObject index: Int) -> Int? {
        let entry = offsets.lowerBound + index * offsetSize
        guard index >= 0, entry + offsetSize <= offsets.upperBound, let offset = Self.number(bytes, entry, offsetSize) else { return nil }
        return offset < offsets.lowerBound ? offset : nil
    }

    private func text(_ place: Int) -> String? {
        let kind = bytes[place] >> 4
        guard kind == 0x5 || kind == 0x6, let (count, start) = length(place, Int(bytes[place] & 0xF)), count <= Self.textMax else {
            return nil
        }
        let size = kind == 0x5 ? 1 : 2
        guard start + count * size <= offsets.lowerBound else { return nil }
        if size == 1 { return String(decoding: bytes[start..<(start + count)], as: UTF8.self) }
        let units = (0..<count).map { UInt16(bytes[start + 2 * $0]) << 8 | UInt16(bytes[start + 2 * $0 + 1]) }
        return String(decoding: units, as: UTF16.self)
    }

    /// - Returns: The number of an object's elements, and the offset of the first.
    private func length(_ place: Int, _ low: Int) -> (count: Int, start: Int)? {
        guard low == 0xF else { return (low, place + 1) }
        guard place + 1 < offsets.lowerBound, bytes[place + 1] >> 4 == 0x1 else { return nil }
        let size = 1 << Int(bytes[place + 1] & 0xF)
        return Self.number(bytes, place + 2, size).map { ($0, place + 2 + size) }
    }

    private func references(_ start: Int, _ count: Int) -> [Int]? {
        guard start + count * referenceSize <= offsets.lowerBound else { return nil }
        return (0..<count).map { Self.number(bytes, start + $0 * referenceSize, referenceSize) ?? -1 }
    }

    /// - Returns: A number of at most 31 bits; nil for larger ones, which are invalid as offsets and counts.
    private static func number(_ bytes: [UInt8], _ start: Int, _ size: Int) -> Int? {
        bits(bytes, start, size).flatMap { $0 <= UInt64(Int32.max) ? Int($0) : nil }
    }

    private static func bits(_ bytes: [UInt8], _ start: Int, _ size: Int) -> UInt64? {
        guard size <= 8, start >= 0, start + size <= bytes.count else { return nil }
        return bytes[start..<(start + size)].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension KeyedArchive {
    /// - Parameter data: An archive compressed without a header (RFC 1951).
    /// - Returns: nil for other data, and for archives that exceed ``bytesMax``.
    init?(deflated data: Data) {
        var stream = z_stream()
        guard data.count <= Self.bytesMax, tarn_inflate_init_raw(&stream) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var (input, output) = ([UInt8](data), [UInt8]())
        var code = Z_OK
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            while code == Z_OK, output.count <= Self.bytesMax {
                chunk.withUnsafeMutableBufferPointer { chunk in
                    stream.next_out = chunk.baseAddress
                    stream.avail_out = UInt32(chunk.count)
                    code = inflate(&stream, Z_NO_FLUSH)
                    output += chunk[..<(chunk.count - Int(stream.avail_out))]
                }
            }
        }
        guard code == Z_STREAM_END else { return nil }
        self.init(output)
    }
}
