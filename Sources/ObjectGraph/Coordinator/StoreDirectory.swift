// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// The stores that were ever added to a coordinator, by number: what makes IDs of keys.
///
/// Objects reach it without their context and its coordinator, either of which may be gone before them.
final class StoreDirectory: Sendable {
    private struct Entry: @unchecked Sendable {
        // Unchecked: weak references are atomic.
        let number: UInt16
        weak var store: NSPersistentStore?
    }

    private let entries = Mutex<[Entry]>([])

    func add(_ store: NSPersistentStore) { entries.withLock { $0.append(Entry(number: store.number, store: store)) } }

    /// - Returns: nil for a store that is not in memory any more.
    func store(numbered number: UInt16) -> NSPersistentStore? {
        entries.withLock { $0.first { $0.number == number }?.store }
    }
}
