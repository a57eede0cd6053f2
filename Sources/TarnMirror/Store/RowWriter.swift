// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel
import MirroringCore

/// Carries out the row changes of an import on managed objects. They are saved by ``MirroredStore/save(with:)``.
///
/// Setters of the app's classes run, as for any change by key-value coding.
struct RowWriter {
    private let store: MirroredStore
    private var objects: [RowKey: NSManagedObject] = [:]

    init(_ store: MirroredStore) { self.store = store }

    private var mapping: RecordMapping { store.mapping }

    /// Inserts the objects of a plan, without values.
    ///
    /// Their IDs are permanent before the save, so that the journal can name them.
    ///
    /// - Returns: The keys of the new rows, by their temporary ones.
    mutating func insertObjects(of plan: ImportPlan) throws -> [RowKey: RowKey] {
        var inserted: [(temporary: RowKey, object: NSManagedObject)] = []
        for case .insert(let row) in plan.rows {
            let object = NSEntityDescription.insertNewObject(
                forEntityName: mapping.model.entities[row.key.entityIndex].name, into: store.context)
            store.context.assign(object, to: store.store)
            inserted.append((row.key, object))
        }
        if !inserted.isEmpty { try store.context.obtainPermanentIDs(for: inserted.map(\.object)) }
        var keys: [RowKey: RowKey] = [:]
        for (temporary, object) in inserted {
            guard let key = try store.keys.key(of: object.objectID) else { continue }
            keys[temporary] = key
            objects[key] = object
        }
        for temporary in plan.newKeys where keys[temporary] == nil {
            keys[temporary] = try store.keys.keyWithoutObject(entity: temporary.entityIndex)
        }
        return keys
    }

    /// - Parameter repair: One-to-one relationships that the plan leaves one-sided.
    mutating func write(_ plan: ImportPlan, _ repair: OneToOneRepair?) throws {
        var changes: [(row: Row, slots: [Int])] = []
        var deleted: [RowKey] = []
        for intent in plan.rows + (repair?.rows ?? []) {
            switch intent {
            case .insert(let row): changes.append((row, Array(row.values.indices)))
            case .update(let row, let slots): changes.append((row, slots))
            case .delete(let key, _): deleted.append(key)
            }
        }
        try load(changes, plan.links, deleted)
        for (row, slots) in changes { setAttributes(of: row, slots) }
        // All rows are there by now.
        for (row, slots) in changes { setReferences(of: row, slots) }
        for link in plan.links { setLink(link) }
        for key in deleted { delete(key) }
    }

    private mutating func load(_ changes: [(row: Row, slots: [Int])], _ links: [LinkIntent], _ deleted: [RowKey]) throws {
        var wanted = Set(deleted)
        for (row, slots) in changes {
            wanted.insert(row.key)
            wanted.formUnion(slots.compactMap { row.values[$0].reference })
        }
        for link in links { wanted.formUnion([link.owner, link.destination]) }
        let known = objects
        let loaded = try store.objects(
            wanted.filter { known[$0] == nil }.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) })
        objects.merge(loaded) { inserted, _ in inserted }
    }

    private func setAttributes(of row: Row, _ slots: [Int]) {
        guard let object = objects[row.key], let entity = mapping.entities[row.key.entityIndex] else { return }
        let changed = Set(slots)
        for property in entity.properties where changed.contains(property.slot) {
            guard case .attribute(let attribute) = property.kind else { continue }
            let value = AttributeValues.value(row.values[property.slot], as: attribute.type)
            // A class with a scalar property may raise for nil: a new object often has it already.
            if value == nil, object.value(forKey: attribute.name) == nil { continue }
            object.setValue(value, forKey: attribute.name)
        }
    }

    private func setReferences(of row: Row, _ slots: [Int]) {
        guard let object = objects[row.key], let entity = mapping.entities[row.key.entityIndex] else { return }
        let changed = Set(slots)
        for property in entity.properties where changed.contains(property.slot) {
            guard case .toOne(let relationship) = property.kind else { continue }
            let target = row.values[property.slot].reference.flatMap { objects[$0] }
            let present = object.value(forKey: relationship.name) as? NSManagedObject
            // The inverse may have set it already.
            if target !== present { object.setValue(target, forKey: relationship.name) }
        }
    }

    private func setLink(_ link: LinkIntent) {
        guard let owner = objects[link.owner], let destination = objects[link.destination] else { return }
        let relationship = mapping.model.entities[link.owner.entityIndex].toMany[link.relationship]
        let members = owner.mutableSetValue(forKey: relationship.name)
        if link.isAddition { members.add(destination) } else { members.remove(destination) }
    }

    /// Deletes an object without its delete rules: the deleting device has applied them, and sent what they deleted.
    private func delete(_ key: RowKey) {
        guard let object = objects[key] else { return }
        for (name, relationship) in object.entity.relationshipsByName where !relationship.isTransient {
            if relationship.isToMany {
                object.setValue(NSSet(), forKey: name)
            } else {
                object.setValue(nil, forKey: name)
            }
        }
        store.context.delete(object)
    }
}
