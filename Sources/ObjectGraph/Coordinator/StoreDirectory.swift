// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// What IDs know of a store, which may be gone before them.
final class StoreTicket: @unchecked Sendable {
    // Unchecked: weak references are atomic.
    let number: UInt16
    let identifier: String
    private(set) weak var store: NSPersistentStore?

    /// What a store with keys of its own kind calls its rows.
    private let references: ReferenceTable?

    init(_ store: NSPersistentStore, identifier: String) {
        number = store.number
        self.identifier = identifier
        self.store = store
        references = store.references
    }

    /// What stands for a row in an address, after the `p`.
    func text(_ primaryKey: Int64) -> String { references?.text(primaryKey) ?? "\(primaryKey)" }
}

/// The stores that were ever added to a coordinator, by number: what makes IDs of keys.
///
/// Objects reach it without their context and its coordinator, either of which may be gone before them.
final class StoreDirectory: Sendable {
    private let tickets = Mutex<[StoreTicket]>([])

    func add(_ store: NSPersistentStore) { tickets.withLock { $0.append(store.ticket) } }

    func ticket(numbered number: UInt16) -> StoreTicket? { tickets.withLock { $0.first { $0.number == number } } }
}

/// How often stores came or went. Apart from the coordinator, so that looking costs contexts no reference to that.
final class StoreChangeCount: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func rise() { count.add(1, ordering: .relaxed) }
}
