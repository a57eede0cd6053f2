// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The objects that a context knows, one per row. It does not keep them alive.
struct IdentityMap {
    private struct Entry { weak var object: NSManagedObject? }

    private var entries: [RowKey: Entry] = [:]
    private var insertionsUntilSweep = 1024

    subscript(key: RowKey) -> NSManagedObject? { entries[key]?.object }

    var objects: [NSManagedObject] { entries.values.compactMap(\.object) }

    mutating func insert(_ object: NSManagedObject) {
        entries[object.key] = Entry(object: object)
        insertionsUntilSweep -= 1
        if insertionsUntilSweep == 0 { sweep() }
    }

    mutating func remove(_ key: RowKey) { entries[key] = nil }

    mutating func removeAll() { entries = [:] }

    // Amortised: a sweep costs what the map holds, and the next comes after as many insertions.
    private mutating func sweep() {
        entries = entries.filter { $0.value.object != nil }
        insertionsUntilSweep = max(1024, entries.count)
    }
}
