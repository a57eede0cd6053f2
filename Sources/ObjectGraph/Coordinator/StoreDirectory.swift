// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// A store's identity as object IDs need it. May outlive the store.
final class StoreTicket: @unchecked Sendable {
    // Unchecked: weak references are atomic.
    let number: UInt16
    let identifier: String
    private(set) weak var store: NSPersistentStore?

    /// Reference objects of rows, in a store that assigns its own kind of keys.
    private let references: ReferenceTable?

    init(_ store: NSPersistentStore, identifier: String) {
        number = store.number
        self.identifier = identifier
        self.store = store
        references = store.references
    }

    /// The text that follows the `p` in a row's URI.
    func text(_ primaryKey: Int64) -> String { references?.text(primaryKey) ?? "\(primaryKey)" }
}

/// All stores that were ever added to a coordinator, by number: resolves keys to IDs.
///
/// Objects reach it without their context and its coordinator, both of which they may outlive.
final class StoreDirectory: Sendable {
    private let tickets = Mutex<[StoreTicket]>([])

    func add(_ store: NSPersistentStore) { tickets.withLock { $0.append(store.ticket) } }

    func ticket(numbered number: UInt16) -> StoreTicket? { tickets.withLock { $0.first { $0.number == number } } }
}

/// The number of additions and removals of stores. Separate from the coordinator, so that reading it retains no
/// coordinator.
final class StoreChangeCount: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func rise() { count.add(1, ordering: .relaxed) }
}
