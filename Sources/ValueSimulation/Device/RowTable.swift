// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// The rows of a device, in the order of their keys: sorting them at each edit would take most of a run.
package struct RowTable: Sendable {
    /// In the order of entities and primary keys.
    package private(set) var keys: [RowKey] = []
    package private(set) var values: [Row] = []

    package subscript(key: RowKey) -> Row? {
        get {
            let index = position(of: key)
            return index < keys.count && keys[index] == key ? values[index] : nil
        }
        set {
            let index = position(of: key)
            let isKnown = index < keys.count && keys[index] == key
            switch (newValue, isKnown) {
            case (let row?, true): values[index] = row
            case (let row?, false):
                keys.insert(key, at: index)
                values.insert(row, at: index)
            case (nil, true):
                keys.remove(at: index)
                values.remove(at: index)
            case (nil, false): return
            }
        }
    }

    func contains(_ key: RowKey) -> Bool {
        let index = position(of: key)
        return index < keys.count && keys[index] == key
    }

    /// The keys of one entity.
    func keys(of entity: Int) -> ArraySlice<RowKey> { keys[positions(of: entity)] }

    /// The rows of one entity.
    func rows(of entity: Int) -> ArraySlice<Row> { values[positions(of: entity)] }

    private func positions(of entity: Int) -> Range<Int> {
        let first = position(of: RowKey(store: 0, entity: entity, primaryKey: .min))
        return first..<position(of: RowKey(store: 0, entity: entity + 1, primaryKey: .min))
    }

    /// Changes a value of a row that exists.
    mutating func set(_ value: StoredValue, slot: Int, of key: RowKey) {
        let index = position(of: key)
        guard index < keys.count, keys[index] == key else { return }
        values[index].values[slot] = value
    }

    /// The index of a key, or the one to insert it at.
    private func position(of key: RowKey) -> Int {
        var low = 0, high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if (keys[middle].entity, keys[middle].primaryKey) < (key.entity, key.primaryKey) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
