// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
package import MirroringCore

// The edits of an app. Each is one transaction of history, with the changes that a context makes with it.

extension Replica {
    @discardableResult
    package mutating func insert(_ entity: String, _ values: [String: StoredValue] = [:]) -> RowKey {
        guard let entity = mapping.model.entity(named: entity) else { preconditionFailure("no entity \(entity) in the model") }
        let key = insert(entity: entity)
        for (property, value) in values.sorted(by: { $0.key < $1.key }) { set(property, of: key, to: value) }
        return key
    }

    package mutating func insert(entity: ResolvedEntity) -> RowKey {
        lastPrimaryKey += 1
        let key = RowKey(store: 0, entity: entity.index, primaryKey: lastPrimaryKey)
        rows[key] = Row(key: key, version: 1, values: entity.defaultValues)
        record([LocalChange(key: key, kind: .insert)])
        return key
    }

    /// Opens the store with a later model, which only adds properties and lenses.
    package mutating func upgrade(to newer: RecordMapping) {
        let new = FilledLenses(mapping).missing(from: newer)
        for row in rows.values {
            let key = row.key
            let names = mapping.model.entities[key.entityIndex].slots.map(\.name)
            var values = newer.model.entities[key.entityIndex].defaultValues
            for (index, slot) in newer.model.entities[key.entityIndex].slots.enumerated() {
                if let old = names.firstIndex(of: slot.name) { values[index] = row.values[old] }
            }
            let migrated = Row(key: key, version: row.version, values: values)
            let filled = new.first { $0.entity.entity.index == key.entityIndex }.flatMap { entity, lenses in
                entity.filled(migrated, since: current(key)?.state.ancestor, by: lenses)
            }
            rows[key] = filled?.row ?? migrated
        }
        mapping = newer
    }

    package mutating func set(_ property: String, of key: RowKey, to value: StoredValue) {
        guard case .slot(let slot)? = mapping.model.entities[key.entityIndex].location(of: property), rows[key] != nil else { return }
        let old = rows[key]?.values[slot].reference
        rows.set(value, slot: slot, of: key)
        leaveList(key, slot: slot, former: old)
        var changes = [LocalChange(key: key, kind: .update, changedProperties: [property])]
        // The other side of a one-to-one relationship follows, as in a context.
        if case .toOne(let relationship) = mapping.model.entities[key.entityIndex].slots[slot], relationship.shape == .oneToOne,
            case .slot(let inverse)? = relationship.inverse, let inverseName = relationship.inverseName
        {
            if let old, .reference(old) != value, rows[old]?.values[inverse] == .reference(key) {
                rows.set(.null, slot: inverse, of: old)
                changes.append(LocalChange(key: old, kind: .update, changedProperties: [inverseName]))
            }
            if let new = value.reference, let row = rows[new] {
                if let former = row.values[inverse].reference, former != key, rows[former]?.values[slot] == .reference(new) {
                    rows.set(.null, slot: slot, of: former)
                    changes.append(LocalChange(key: former, kind: .update, changedProperties: [property]))
                }
                rows.set(.reference(key), slot: inverse, of: new)
                changes.append(LocalChange(key: new, kind: .update, changedProperties: [inverseName]))
            }
        }
        record(changes)
    }

    package mutating func setLinked(_ isLinked: Bool, _ owner: RowKey, _ relationship: String, _ destination: RowKey) {
        let entity = mapping.model.entities[owner.entityIndex]
        guard case .toMany(let index)? = entity.location(of: relationship),
            let link = mapping.link(entity: owner.entityIndex, toMany: index)
        else { return }
        let pair = pair(link, index, owner, destination)
        if isLinked { pairs.insert(pair) } else { pairs.remove(pair) }
        record([LocalChange(key: owner, kind: .update, changedProperties: [relationship])])
    }

    /// Deletes an object, with the objects that its relationships cascade to. References to them become nil, and their pairs are unlinked,
    /// in the same transaction.
    ///
    /// - Returns: The deleted keys.
    @discardableResult
    package mutating func delete(_ key: RowKey) -> [RowKey] {
        guard rows[key] != nil else { return [] }
        var deleted = [key]
        var index = 0
        while cascades, index < deleted.count {
            deleted += cascade(from: deleted[index]).filter { !deleted.contains($0) }
            index += 1
        }
        var changes: [LocalChange] = []
        for other in liveKeys where !deleted.contains(other) {
            for (slot, declared) in mapping.model.entities[other.entityIndex].slots.enumerated() {
                guard let target = rows[other]?.values[slot].reference, deleted.contains(target) else { continue }
                rows.set(.null, slot: slot, of: other)
                changes.append(LocalChange(key: other, kind: .update, changedProperties: [declared.name]))
            }
        }
        for key in deleted { removeRow(key) }
        record(changes + deleted.map { LocalChange(key: $0, kind: .delete) })
        return deleted
    }

    /// Returns the objects that a deletion cascades to directly.
    private func cascade(from key: RowKey) -> [RowKey] {
        let entity = mapping.model.entities[key.entityIndex]
        var targets: [RowKey] = []
        for (index, relationship) in entity.toMany.enumerated() where relationship.declaration.deleteRule == .cascade {
            targets += destinations(of: OrderedList(owner: key, relationship: index))
        }
        for (slot, declared) in entity.slots.enumerated() {
            if case .toOne(let relationship) = declared, relationship.declaration.deleteRule == .cascade,
                let target = rows[key]?.values[slot].reference
            {
                targets.append(target)
            }
        }
        return targets.filter { rows[$0] != nil }
    }
}
