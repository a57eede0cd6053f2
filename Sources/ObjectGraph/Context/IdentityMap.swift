// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CRuntimeRecords
import Foundation
import ManagedModel
import Synchronization

/// The registered objects of a context, one per row, and the weak reference from them to the context.
///
/// Holds neither the objects nor the context. An object removes itself in its `deinit`, on the thread that releases it
/// last, so the table is behind a lock, and a lookup returns an object only if its deallocation has not begun.
final class IdentityMap: @unchecked Sendable {
    // Unchecked: table and ticket are behind locks; the directory is set before the first use. Objects without a context
    // are used by one thread at a time.
    private let table = Mutex(IdentityTable())
    private let identities = Mutex(())
    private let owner = Backlink<NSManagedObjectContext>()
    /// Names the stores of the objects' IDs. Outlives the context.
    var directory: StoreDirectory?
    private var lastTicket: StoreTicket?
    /// Objects of a map without a context.
    let unregistered: UnregisteredObjects?

    init(unregistered: UnregisteredObjects? = nil) { self.unregistered = unregistered }

    /// The context, or nil once its `deinit` has begun.
    var context: NSManagedObjectContext? { owner.object }

    func belong(to context: NSManagedObjectContext) { owner.setTarget(context) }

    /// Clears the reference to the context. Called by the context's `deinit`.
    func ownerWillDeallocate() { owner.clear() }

    subscript(key: RowKey) -> NSManagedObject? {
        // Not released under the lock: the last release runs `deinit`, which takes the lock.
        let address = table.withLock { table in
            let address = table.find(key)
            return address != 0 && Self.hold(address) ? address : 0
        }
        return address == 0 ? nil : Self.consumeRetain(address)
    }

    /// Returns the objects of the first keys, up to the first key without a registered object.
    func registeredPrefix(of keys: [RowKey]) -> [NSManagedObject] {
        // Each slot of the array takes over the retain of `hold`.
        [NSManagedObject](unsafeUninitializedCapacity: keys.count) { buffer, count in
            table.withLock { table in
                for key in keys {
                    let address = table.find(key)
                    guard address != 0, Self.hold(address) else { return }
                    (buffer.baseAddress! + count).initialize(to: Self.consumeRetain(address))
                    count += 1
                }
            }
        }
    }

    var objects: [NSManagedObject] { table.withLock { $0.addresses.filter(Self.hold) }.map(Self.consumeRetain) }

    var isEmpty: Bool { table.withLock { $0.count == 0 } }

    /// Replaces an entry of the same key if its object is being deallocated.
    func insert(_ object: NSManagedObject) {
        let (key, address) = (object.key, Self.address(object))
        table.withLock { $0.insert(key, address) }
    }

    func remove(_ object: NSManagedObject) {
        let (key, address) = (object.key, Self.address(object))
        table.withLock { $0.remove(key, address) }
    }

    /// Reserves capacity for `count` more entries.
    func reserve(_ count: Int) { table.withLock { $0.reserve($0.count + count) } }

    /// Moves objects' entries to their new keys.
    func move(_ objects: [NSManagedObject], from formerKeys: [RowKey]) {
        var entries: [(key: RowKey, address: UInt)] = []
        entries.reserveCapacity(objects.count)
        objects.borrowEach { entries.append(($0.key, Self.address($0))) }
        table.withLock { table in
            // Mostly each object of a context is new, or few are.
            if entries.count == table.count, entries.indices.allSatisfy({ table.find(formerKeys[$0]) == entries[$0].address }) {
                table.removeAll(keepingCapacity: true)
                for entry in entries { table.insert(entry.key, entry.address) }
                return
            }
            for (index, entry) in entries.enumerated() {
                table.remove(formerKeys[index], entry.address)
                table.insert(entry.key, entry.address)
            }
        }
    }

    func removeAll() { table.withLock { $0.removeAll() } }

    /// - Precondition: The caller holds the lock of ``withIdentityLock(_:)``.
    func ticket(numbered number: UInt16) -> StoreTicket? {
        if let lastTicket, lastTicket.number == number { return lastTicket }
        lastTicket = (directory ?? context?.persistentStoreCoordinator?.directory)?.ticket(numbered: number)
        return lastTicket
    }

    /// Guards IDs, which any thread may create on demand.
    func withIdentityLock<T>(_ body: () -> T) -> T { identities.withLock { _ in body() } }

    private static func address(_ object: NSManagedObject) -> UInt { UInt(bitPattern: ObjectIdentifier(object)) }

    private static func hold(_ address: UInt) -> Bool { tarn_retain_if_alive(UnsafeRawPointer(bitPattern: address)!) }

    /// - Precondition: ``hold(_:)`` retained the object; this call consumes that retain.
    private static func consumeRetain(_ address: UInt) -> NSManagedObject {
        Unmanaged<NSManagedObject>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeRetainedValue()
    }
}

/// A hash table with open addressing and linear probing. A search ends at the first empty slot, so a removal moves later
/// entries up.
///
/// A dictionary's hash costs five times as much, and weak references as much again. Entries are small, because in a large
/// table nearly every probe is a cache miss.
private struct IdentityTable: ~Copyable {
    private struct Entry {
        var primaryKey: Int64
        /// The kind in the upper 16 bits, which addresses leave unused; 0 in an empty slot.
        var bits: UInt64
    }

    private static let capacityMin = 64
    /// Capacities are multiples of it.
    private static let blockSize = 16
    private static let addressMask: UInt64 = (1 << 48) - 1
    private var entries: UnsafeMutablePointer<Entry>
    private var capacity: Int
    private(set) var count = 0
    /// Store and entity of each kind. An entry holds the index into this array, shifted.
    private var kinds: [UInt32] = []

    init() {
        capacity = Self.capacityMin
        entries = Self.allocate(capacity)
    }

    deinit { free(entries) }

    /// - Returns: The object's address, or 0 if the key is absent.
    func find(_ key: RowKey) -> UInt {
        guard let kind = knownKind(of: key) else { return 0 }
        var slot = start(key.primaryKey, kind)
        while entries[slot].bits != 0 {
            if entries[slot].primaryKey == key.primaryKey, entries[slot].bits & ~Self.addressMask == kind { return address(slot) }
            slot = after(slot)
        }
        return 0
    }

    var addresses: [UInt] {
        var result: [UInt] = []
        result.reserveCapacity(count)
        for place in 0..<capacity where entries[place].bits != 0 { result.append(address(place)) }
        return result
    }

    mutating func insert(_ key: RowKey, _ address: UInt) {
        if (count + 1) * 3 > capacity * 2 { resize(capacity * 2) }
        let kind = kind(of: key)
        var slot = start(key.primaryKey, kind)
        while entries[slot].bits != 0 {
            if entries[slot].primaryKey == key.primaryKey, entries[slot].bits & ~Self.addressMask == kind {
                entries[slot].bits = kind | UInt64(address)
                return
            }
            slot = after(slot)
        }
        entries[slot] = Entry(primaryKey: key.primaryKey, bits: kind | UInt64(address))
        count += 1
    }

    /// Has no effect when the key belongs to another object.
    mutating func remove(_ key: RowKey, _ address: UInt) {
        guard let kind = knownKind(of: key) else { return }
        var slot = start(key.primaryKey, kind)
        while entries[slot].bits != 0 {
            if entries[slot].primaryKey == key.primaryKey, entries[slot].bits & ~Self.addressMask == kind {
                if entries[slot].bits == kind | UInt64(address) { vacate(slot) }
                return
            }
            slot = after(slot)
        }
    }

    /// Resizes to the smallest capacity for `count` entries, or by half: many small fetches cost no more than one large one.
    mutating func reserve(_ count: Int) {
        guard count * 3 > capacity * 2 else { return }
        resize((max(count, capacity) * 3 / 2 / Self.blockSize + 1) * Self.blockSize)
    }

    mutating func removeAll(keepingCapacity: Bool = false) {
        count = 0
        if keepingCapacity { return entries.update(repeating: Entry(primaryKey: 0, bits: 0), count: capacity) }
        free(entries)
        capacity = Self.capacityMin
        entries = Self.allocate(capacity)
    }

    private mutating func vacate(_ vacant: Int) {
        var hole = vacant
        var slot = hole
        while true {
            slot = after(slot)
            guard entries[slot].bits != 0 else { break }
            let home = start(entries[slot].primaryKey, entries[slot].bits & ~Self.addressMask)
            // An entry with a probe sequence that starts behind the hole stays.
            if distance(from: home, to: slot) < distance(from: hole, to: slot) { continue }
            entries[hole] = entries[slot]
            hole = slot
        }
        entries[hole].bits = 0
        count -= 1
        if count * 8 < capacity, capacity > Self.capacityMin {
            resize(max(capacity / 2 / Self.blockSize * Self.blockSize, Self.capacityMin))
        }
    }

    private mutating func resize(_ newCapacity: Int) {
        let (old, oldCapacity) = (entries, capacity)
        entries = Self.allocate(newCapacity)
        capacity = newCapacity
        for index in 0..<oldCapacity where old[index].bits != 0 {
            var slot = start(old[index].primaryKey, old[index].bits & ~Self.addressMask)
            while entries[slot].bits != 0 { slot = after(slot) }
            entries[slot] = old[index]
        }
        free(old)
    }

    /// Consecutive keys map to adjacent slots, since rows are mostly accessed in order; only blocks of keys are
    /// scattered. Adjacent blocks displace each other as a whole, so the load factor must not exceed two thirds.
    @inline(__always)
    private func start(_ primaryKey: Int64, _ kind: UInt64) -> Int {
        let block = UInt64(bitPattern: primaryKey) >> 4
        let mixed = (block ^ kind >> 16) &* 0x9E37_79B9_7F4A_7C15
        // The upper half, scaled to the number of blocks, which is less than 2^32.
        let place = ((mixed >> 32) &* UInt64(capacity / Self.blockSize)) >> 32
        return Int(place) * Self.blockSize | Int(truncatingIfNeeded: primaryKey & 15)
    }

    @inline(__always)
    private func after(_ slot: Int) -> Int { slot + 1 == capacity ? 0 : slot + 1 }

    /// The number of steps of a probe.
    private func distance(from start: Int, to slot: Int) -> Int { slot >= start ? slot - start : slot - start + capacity }

    private func address(_ place: Int) -> UInt { UInt(entries[place].bits & Self.addressMask) }

    /// - Returns: nil if no object has that kind.
    private func knownKind(of key: RowKey) -> UInt64? {
        let kind = UInt32(key.store) << 16 | UInt32(key.entity)
        for index in 0..<kinds.count where kinds[index] == kind { return UInt64(index) << 48 }
        return nil
    }

    /// - Precondition: One context's objects belong to fewer than 65,536 pairs of store and entity.
    private mutating func kind(of key: RowKey) -> UInt64 {
        if let existingKind = knownKind(of: key) { return existingKind }
        precondition(kinds.count < 1 << 16, "objects of one context are of fewer than 65,536 stores and entities")
        kinds.append(UInt32(key.store) << 16 | UInt32(key.entity))
        return UInt64(kinds.count - 1) << 48
    }

    /// Allocates zeroed memory from the system, so that no page is touched before its first entry.
    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
        guard let memory = calloc(capacity, MemoryLayout<Entry>.stride) else {
            preconditionFailure("out of memory for \(capacity) objects")
        }
        return memory.bindMemory(to: Entry.self, capacity: capacity)
    }
}
