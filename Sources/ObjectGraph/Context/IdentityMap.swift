// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CRuntimeRecords
import Foundation
import ManagedModel
import Synchronization

/// The objects that a context knows, one per row, and the way from them to the context. It keeps neither alive.
///
/// Objects hold their map and take themselves out of it when they go, on whatever thread drops them last. So the table
/// is behind a lock, and what is found in it is only handed out if it is not going already.
final class IdentityMap: @unchecked Sendable {
    // Unchecked: table and ticket are behind locks, the directory is set before any use.
    private let table = Mutex(IdentityTable())
    private let identities = Mutex(())
    private let owner = Backlink<NSManagedObjectContext>()
    /// Names the stores of the IDs of the context's objects, also when the context is gone.
    var directory: StoreDirectory?
    private var lastTicket: StoreTicket?

    /// nil once the context is going.
    var context: NSManagedObjectContext? { owner.object }

    func belong(to context: NSManagedObjectContext) { owner.lead(to: context) }

    /// The context is going. Called by its `deinit`.
    func outlive() { owner.clear() }

    subscript(key: RowKey) -> NSManagedObject? {
        // Not released under the lock: that could be the last reference, whose end takes the lock.
        let address = table.withLock { table in
            let address = table.find(key)
            return address != 0 && Self.hold(address) ? address : 0
        }
        return address == 0 ? nil : Self.take(address)
    }

    var objects: [NSManagedObject] { table.withLock { $0.addresses.filter(Self.hold) }.map(Self.take) }

    var isEmpty: Bool { table.withLock { $0.count == 0 } }

    /// An object that is going and has the same key loses its place.
    func insert(_ object: NSManagedObject) {
        let (key, address) = (object.key, Self.address(object))
        table.withLock { $0.insert(key, address) }
    }

    func remove(_ object: NSManagedObject) {
        let (key, address) = (object.key, Self.address(object))
        table.withLock { $0.remove(key, address) }
    }

    /// Makes room for so many more.
    func reserve(_ count: Int) { table.withLock { $0.reserve($0.count + count) } }

    /// Gives objects that have new keys the places of those.
    func move(_ objects: [NSManagedObject], from formerKeys: [RowKey]) {
        table.withLock { table in
            for index in objects.indices {
                let (former, key, address) = (formerKeys[index], objects[index].key, Self.address(objects[index]))
                table.remove(former, address)
                table.insert(key, address)
            }
        }
    }

    func removeAll() { table.withLock { $0.removeAll() } }

    /// The caller holds the lock of ``withIdentityLock(_:)``.
    func ticket(numbered number: UInt16) -> StoreTicket? {
        if let lastTicket, lastTicket.number == number { return lastTicket }
        lastTicket = (directory ?? context?.persistentStoreCoordinator?.directory)?.ticket(numbered: number)
        return lastTicket
    }

    /// IDs are made when they are asked for, which any thread may do.
    func withIdentityLock<T>(_ body: () -> T) -> T { identities.withLock { _ in body() } }

    private static func address(_ object: NSManagedObject) -> UInt { UInt(bitPattern: ObjectIdentifier(object)) }

    private static func hold(_ address: UInt) -> Bool { tarn_retain_if_alive(UnsafeRawPointer(bitPattern: address)!) }

    /// - Precondition: A strong reference was taken by ``hold(_:)``, and is handed on here.
    private static func take(_ address: UInt) -> NSManagedObject {
        Unmanaged<NSManagedObject>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeRetainedValue()
    }
}

/// Open addressing with linear probing: a search ends at the first empty place, so removing moves later entries up.
///
/// A dictionary hashes at five times the price, and weak references cost as much again. Entries are small, because in
/// a large table nearly each one is fetched from memory anew.
private struct IdentityTable: ~Copyable {
    private struct Entry {
        var primaryKey: Int64
        /// The kind in the upper 16 bits, where addresses have nothing; 0 in an empty place.
        var word: UInt64
    }

    private static let capacityMin = 64
    private static let addressMask: UInt64 = (1 << 48) - 1
    private var entries: UnsafeMutablePointer<Entry>
    private var capacity: Int
    private(set) var count = 0
    /// Stores and entities that objects are of. What stands for one in entries is its place here, shifted.
    private var kinds: [UInt32] = []

    init() {
        capacity = Self.capacityMin
        entries = Self.allocate(capacity)
    }

    deinit { free(entries) }

    /// - Returns: 0 for a key that is not here.
    func find(_ key: RowKey) -> UInt {
        guard let kind = knownKind(of: key) else { return 0 }
        var place = start(key.primaryKey, kind)
        while entries[place].word != 0 {
            if entries[place].primaryKey == key.primaryKey, entries[place].word & ~Self.addressMask == kind { return address(place) }
            place = (place + 1) & (capacity - 1)
        }
        return 0
    }

    var addresses: [UInt] {
        var result: [UInt] = []
        result.reserveCapacity(count)
        for place in 0..<capacity where entries[place].word != 0 { result.append(address(place)) }
        return result
    }

    mutating func insert(_ key: RowKey, _ address: UInt) {
        if (count + 1) * 3 > capacity * 2 { resize(capacity * 2) }
        let kind = kind(of: key)
        var place = start(key.primaryKey, kind)
        while entries[place].word != 0 {
            if entries[place].primaryKey == key.primaryKey, entries[place].word & ~Self.addressMask == kind {
                entries[place].word = kind | UInt64(address)
                return
            }
            place = (place + 1) & (capacity - 1)
        }
        entries[place] = Entry(primaryKey: key.primaryKey, word: kind | UInt64(address))
        count += 1
    }

    /// Has no effect when the key leads to another object.
    mutating func remove(_ key: RowKey, _ address: UInt) {
        guard let kind = knownKind(of: key) else { return }
        var place = start(key.primaryKey, kind)
        while entries[place].word != 0 {
            if entries[place].primaryKey == key.primaryKey, entries[place].word & ~Self.addressMask == kind {
                if entries[place].word == kind | UInt64(address) { vacate(place) }
                return
            }
            place = (place + 1) & (capacity - 1)
        }
    }

    mutating func reserve(_ count: Int) {
        var wanted = capacity
        while count * 3 > wanted * 2 { wanted *= 2 }
        if wanted > capacity { resize(wanted) }
    }

    mutating func removeAll() {
        free(entries)
        capacity = Self.capacityMin
        entries = Self.allocate(capacity)
        count = 0
    }

    private mutating func vacate(_ vacant: Int) {
        var hole = vacant
        var place = hole
        while true {
            place = (place + 1) & (capacity - 1)
            guard entries[place].word != 0 else { break }
            let home = start(entries[place].primaryKey, entries[place].word & ~Self.addressMask)
            // An entry whose search starts behind the hole stays where it is.
            if (place &- home) & (capacity - 1) < (place &- hole) & (capacity - 1) { continue }
            entries[hole] = entries[place]
            hole = place
        }
        entries[hole].word = 0
        count -= 1
        if count * 8 < capacity, capacity > Self.capacityMin { resize(capacity / 2) }
    }

    private mutating func resize(_ newCapacity: Int) {
        let (old, oldCapacity) = (entries, capacity)
        entries = Self.allocate(newCapacity)
        capacity = newCapacity
        for index in 0..<oldCapacity where old[index].word != 0 {
            var place = start(old[index].primaryKey, old[index].word & ~Self.addressMask)
            while entries[place].word != 0 { place = (place + 1) & (capacity - 1) }
            entries[place] = old[index]
        }
        free(old)
    }

    /// Keys that follow each other stand together, as rows are mostly met; only their block is scattered.
    /// Blocks that meet push each other along as a whole, so the table must not be fuller than two thirds.
    private func start(_ primaryKey: Int64, _ kind: UInt64) -> Int {
        let block = UInt64(bitPattern: primaryKey) >> 4
        let mixed = (block ^ kind >> 16) &* 0x9E37_79B9_7F4A_7C15
        return (Int(truncatingIfNeeded: mixed >> 32) << 4 | Int(truncatingIfNeeded: primaryKey & 15)) & (capacity - 1)
    }

    private func address(_ place: Int) -> UInt { UInt(entries[place].word & Self.addressMask) }

    /// - Returns: nil for a kind that no object is of.
    private func knownKind(of key: RowKey) -> UInt64? {
        let kind = UInt32(key.store) << 16 | UInt32(key.entity)
        for index in 0..<kinds.count where kinds[index] == kind { return UInt64(index) << 48 }
        return nil
    }

    /// - Precondition: Objects of one context are of fewer than 65,536 stores and entities.
    private mutating func kind(of key: RowKey) -> UInt64 {
        if let known = knownKind(of: key) { return known }
        precondition(kinds.count < 1 << 16, "objects of one context are of fewer than 65,536 stores and entities")
        kinds.append(UInt32(key.store) << 16 | UInt32(key.entity))
        return UInt64(kinds.count - 1) << 48
    }

    /// Memory that the system clears, so that no page is touched before an entry is in it.
    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
        guard let memory = calloc(capacity, MemoryLayout<Entry>.stride) else { preconditionFailure("there is no memory for \(capacity) objects") }
        return memory.bindMemory(to: Entry.self, capacity: capacity)
    }
}
