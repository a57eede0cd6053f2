// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

/// Rows read by a query, packed into one block of memory: copied once, and decoded when a value is read.
///
/// An object that refers to a row of a chunk retains the chunk, so a chunk is small. Layout of a row, from its offset:
///
///     primary key 8 | version 8 | size 4 | entity 2 | slots 2 | a cell of 8 for each slot | a tag of 4 for each | bytes
///
/// A cell holds a number, or the offset and the length of bytes; the tag tells which, and the entity of a reference.
package final class RowChunk: @unchecked Sendable {
    // Unchecked: written by the reader that creates it, constant afterwards.
    static let size = 64 * 1024
    /// Offsets of rows are multiples of it. The last row of a chunk begins below ``size``.
    package static let rowAlignment = 8
    /// Longer texts and blobs are decoded right away, so that a few of them do not enlarge a chunk.
    static let bytesMax = 8 * 1024

    package let store: UInt16
    /// The batch that reads the rows, in a chunk that represents unread rows.
    package let promise: AnyObject?
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer
    @exclusivity(unchecked) private var capacity: Int
    @exclusivity(unchecked) private var used = 0
    @exclusivity(unchecked) private var big: [StoredValue] = []

    enum Tag: UInt32 { case null, int, double, date, string, url, data, uuid, reference, big }

    init(store: UInt16) {
        self.store = store
        promise = nil
        capacity = Self.size
        memory = .allocate(byteCount: capacity, alignment: 8)
    }

    /// A chunk without rows.
    package init(store: UInt16, promise: AnyObject) {
        self.store = store
        self.promise = promise
        capacity = 8
        memory = .allocate(byteCount: capacity, alignment: 8)
    }

    /// An exact copy of another chunk's contents.
    private init(copying other: RowChunk) {
        store = other.store
        promise = nil
        count = other.count
        used = other.used
        big = other.big
        capacity = other.used
        memory = .allocate(byteCount: capacity, alignment: 8)
        memory.copyMemory(from: other.memory, byteCount: capacity)
    }

    deinit { memory.deallocate() }

    /// Moves the rows to a chunk of their size. This one is empty afterwards and keeps its memory.
    func takeRows() -> RowChunk {
        let taken = RowChunk(copying: self)
        (count, used) = (0, 0)
        if !big.isEmpty { big = [] }
        return taken
    }

    // MARK: Reading

    /// Calls `body` with the offset of each row, in order.
    @inline(__always)
    package func forEach(_ body: (Int) throws -> Void) rethrows {
        var offset = 0
        for _ in 0..<count {
            try body(offset)
            offset += Int(memory.load(fromByteOffset: offset + 16, as: UInt32.self))
        }
    }

    package func key(at offset: Int) -> RowKey {
        RowKey(
            store: store, entity: Int(memory.load(fromByteOffset: offset + 20, as: UInt16.self)),
            primaryKey: memory.load(fromByteOffset: offset, as: Int64.self))
    }

    package func version(at offset: Int) -> Int64 { memory.load(fromByteOffset: offset + 8, as: Int64.self) }

    /// The value of one slot of the row's entity.
    package func value(at offset: Int, _ slot: Int) -> StoredValue {
        value(slot, of: Int(memory.load(fromByteOffset: offset + 22, as: UInt16.self)), at: offset)
    }

    /// One value per slot of the row's entity.
    package func values(at offset: Int) -> ContiguousArray<StoredValue> {
        let slots = Int(memory.load(fromByteOffset: offset + 22, as: UInt16.self))
        return ContiguousArray(unsafeUninitializedCapacity: slots) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            for slot in 0..<slots { (start + slot).initialize(to: value(slot, of: slots, at: offset)) }
            count = slots
        }
    }

    /// The destination of a to-one relationship, without decoding other values.
    package func reference(_ slot: Int, at offset: Int) -> RowKey? {
        value(slot, of: Int(memory.load(fromByteOffset: offset + 22, as: UInt16.self)), at: offset).reference
    }

    package func row(at offset: Int) -> Row { Row(key: key(at: offset), version: version(at: offset), values: values(at: offset)) }

    @inline(__always)
    private func value(_ slot: Int, of slots: Int, at offset: Int) -> StoredValue {
        let cell = offset + Self.headerSize + slot * 8
        let tag = memory.load(fromByteOffset: offset + Self.headerSize + slots * 8 + slot * 4, as: UInt32.self)
        switch Tag(rawValue: tag & 0xFF) {
        case .null, nil: return .null
        case .int: return .int(memory.load(fromByteOffset: cell, as: Int64.self))
        case .double: return .double(memory.load(fromByteOffset: cell, as: Double.self))
        case .date: return .date(memory.load(fromByteOffset: cell, as: Double.self))
        case .string: return .string(text(cell, offset))
        case .url: return .url(text(cell, offset))
        case .data: return .data(Data(bytes(cell, offset)))
        case .uuid: return .uuid(UUID(uuid: bytes(cell, offset).loadUnaligned(as: uuid_t.self)))
        case .reference:
            let primaryKey = memory.load(fromByteOffset: cell, as: Int64.self)
            return .reference(RowKey(store: store, entity: Int(tag >> 8), primaryKey: primaryKey))
        case .big: return big[Int(memory.load(fromByteOffset: cell, as: Int64.self))]
        }
    }

    private func text(_ cell: Int, _ offset: Int) -> String {
        String(decoding: bytes(cell, offset).assumingMemoryBound(to: UInt8.self), as: UTF8.self)
    }

    private func bytes(_ cell: Int, _ offset: Int) -> UnsafeRawBufferPointer {
        let byteOffset = memory.load(fromByteOffset: cell, as: UInt32.self)
        let length = memory.load(fromByteOffset: cell + 4, as: UInt32.self)
        return UnsafeRawBufferPointer(start: memory + offset + Int(byteOffset), count: Int(length))
    }

    // MARK: Writing

    private static let headerSize = 24
    /// - Returns: false when the chunk may not have enough space for another row of that many slots.
    func hasRoom(slots: Int) -> Bool { count == 0 || used + Self.headerSize + slots * 12 + 512 <= Self.size }

    /// Appends a row; `write` appends each slot's value.
    @inline(__always)
    func append(entity: Int, primaryKey: Int64, version: Int64, slots: Int, _ write: (inout Writer) -> Void) {
        reserve(used + Self.headerSize + slots * 12)
        let offset = used
        memory.storeBytes(of: primaryKey, toByteOffset: offset, as: Int64.self)
        memory.storeBytes(of: version, toByteOffset: offset + 8, as: Int64.self)
        memory.storeBytes(of: UInt16(truncatingIfNeeded: entity), toByteOffset: offset + 20, as: UInt16.self)
        memory.storeBytes(of: UInt16(truncatingIfNeeded: slots), toByteOffset: offset + 22, as: UInt16.self)
        var writer = Writer(chunk: self, offset: offset, slots: slots, end: offset + Self.headerSize + slots * 12)
        write(&writer)
        used = (writer.end + Self.rowAlignment - 1) & ~(Self.rowAlignment - 1)
        reserve(used)
        memory.storeBytes(of: UInt32(truncatingIfNeeded: used - offset), toByteOffset: offset + 16, as: UInt32.self)
        count += 1
    }

    private func reserve(_ size: Int) {
        guard size > capacity else { return }
        let larger = max(size, capacity * 2)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        moved.copyMemory(from: memory, byteCount: capacity)
        memory.deallocate()
        (memory, capacity) = (moved, larger)
    }

    struct Writer {
        private let chunk: RowChunk
        private let offset: Int
        private let slots: Int
        fileprivate var end: Int
        private var slot = 0

        fileprivate init(chunk: RowChunk, offset: Int, slots: Int, end: Int) {
            self.chunk = chunk
            self.offset = offset
            self.slots = slots
            self.end = end
        }

        mutating func put(_ tag: Tag, _ cell: Int64, aux: Int = 0) {
            chunk.memory.storeBytes(of: cell, toByteOffset: offset + RowChunk.headerSize + slot * 8, as: Int64.self)
            chunk.memory.storeBytes(
                of: tag.rawValue | UInt32(truncatingIfNeeded: aux) << 8,
                toByteOffset: offset + RowChunk.headerSize + slots * 8 + slot * 4, as: UInt32.self)
            slot += 1
        }

        mutating func put(_ tag: Tag, _ number: Double) { put(tag, Int64(bitPattern: number.bitPattern)) }

        mutating func put(_ tag: Tag, _ start: UnsafeRawPointer?, _ length: Int) {
            chunk.reserve(end + length)
            if let start, length > 0 { (chunk.memory + end).copyMemory(from: start, byteCount: length) }
            put(tag, Int64(end - offset) | Int64(length) << 32)
            end += length
        }

        mutating func put(big value: StoredValue) {
            put(.big, Int64(chunk.big.count))
            chunk.big.append(value)
        }
    }
}
