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
    /// Which touched rows refer to a row, or did; nil until it is first asked for.
    private var referrersByTarget: [RowKey: [RowKey]]?

    init(loaded: [RowKey: Row], existing: Set<RowKey>) {
        self.loaded = loaded
        self.existing = existing
    }

    /// nil for a row that is not there, or no longer.
    subscript(key: RowKey) -> Row? {
        guard let working = rows[key] else { return loaded[key] }
        return working.isDeleted ? nil : working.row
    }

    func isDeleted(_ key: RowKey) -> Bool { rows[key]?.isDeleted == true }

    func exists(_ key: RowKey) -> Bool {
        if let working = rows[key] { return !working.isDeleted }
        return loaded[key] != nil || existing.contains(key)
    }

    mutating func insert(entity: ResolvedEntity, values: ContiguousArray<StoredValue>? = nil) -> RowKey {
        newCount += 1
        let key = RowKey(store: RowKey.temporaryStore, entity: entity.index, primaryKey: -newCount)
        order.append(key)
        rows[key] = Working(before: nil, row: Row(key: key, version: 1, values: values ?? entity.defaultValues))
        noteReferences(of: key)
        return key
    }

    mutating func set(_ value: StoredValue, slot: Int, of key: RowKey) {
        guard let row = self[key], row.values[slot] != value else { return }
        touch(row)
        rows[key]?.row.values[slot] = value
        if let target = value.reference { referrersByTarget?[target, default: []].append(key) }
    }

    private mutating func touch(_ row: Row) {
        guard rows[row.key] == nil else { return }
        order.append(row.key)
        rows[row.key] = Working(before: row, row: row)
        noteReferences(of: row.key)
    }

    private mutating func noteReferences(of key: RowKey) {
        guard referrersByTarget != nil, let row = rows[key]?.row else { return }
        for value in row.values { if let target = value.reference { referrersByTarget?[target, default: []].append(key) } }
    }

    /// Returns the touched rows that refer to a row, and some that did before. A row may be there more than once.
    mutating func referrers(to key: RowKey) -> [RowKey] {
        if referrersByTarget == nil {
            referrersByTarget = [:]
            for key in order { noteReferences(of: key) }
        }
        return referrersByTarget?[key] ?? []
    }

    mutating func delete(_ key: RowKey) {
        guard let row = self[key] else { return }
        touch(row)
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
