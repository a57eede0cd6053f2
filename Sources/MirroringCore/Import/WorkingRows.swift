// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The rows that a page touches, while it is planned: each ends up in one intent at most.
struct WorkingRows {
    private struct Working {
        let before: Row?
        var row: Row
        var isDeleted = false
    }

    private var order: [RowKey] = []
    private var rows: [RowKey: Working] = [:]
    private let loaded: [RowKey: Row]
    private let existing: Set<RowKey>
    private var newCount: Int64 = 0

    init(loaded: [RowKey: Row], existing: Set<RowKey>) {
        self.loaded = loaded
        self.existing = existing
    }

    /// nil for a row that is not there, or no longer.
    subscript(key: RowKey) -> Row? {
        guard let working = rows[key] else { return loaded[key] }
        return working.isDeleted ? nil : working.row
    }

    func exists(_ key: RowKey) -> Bool {
        if let working = rows[key] { return !working.isDeleted }
        return loaded[key] != nil || existing.contains(key)
    }

    mutating func insert(entity: ResolvedEntity, values: ContiguousArray<StoredValue>? = nil) -> RowKey {
        newCount += 1
        let key = RowKey(store: RowKey.temporaryStore, entity: entity.index, primaryKey: -newCount)
        order.append(key)
        rows[key] = Working(before: nil, row: Row(key: key, version: 1, values: values ?? entity.defaultValues))
        return key
    }

    mutating func set(_ value: StoredValue, slot: Int, of key: RowKey) {
        guard let row = self[key], row.values[slot] != value else { return }
        if rows[key] == nil {
            order.append(key)
            rows[key] = Working(before: row, row: row)
        }
        rows[key]?.row.values[slot] = value
    }

    mutating func delete(_ key: RowKey) {
        guard let row = self[key] else { return }
        if rows[key] == nil {
            order.append(key)
            rows[key] = Working(before: row, row: row)
        }
        rows[key]?.isDeleted = true
    }

    /// Rows that the page inserts, changes or deletes, in order.
    var touchedKeys: [RowKey] { order }

    var intents: [RowIntent] {
        order.compactMap { key in
            guard let working = rows[key] else { return nil }
            guard let before = working.before else { return working.isDeleted ? nil : .insert(working.row) }
            if working.isDeleted { return .delete(key, version: before.version) }
            let changed = before.values.indices.filter { before.values[$0] != working.row.values[$0] }
            return changed.isEmpty ? nil : .update(working.row, changedSlots: Array(changed))
        }
    }
}
