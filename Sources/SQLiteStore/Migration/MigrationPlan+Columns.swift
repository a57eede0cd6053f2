// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

// Columns that stay, and their new names.

extension MigrationPlan {
    mutating func nameColumns() {
        for root in roots {
            guard let primary = primaries[root] else { continue }
            var claimed: Set<String> = []
            for entity in model.entities[root].hierarchy {
                let inherited = model.entities[entity].superentity.map { model.entities[$0].slots.count } ?? 0
                for slot in model.entities[entity].slots.indices where slot >= inherited {
                    keepColumn(slot, of: entity, root, primary, &claimed)
                }
            }
            existing.columns[Self.table(of: model.entities[root])] = physical(primary).map { current($0, of: primary) }
        }
    }

    /// A property keeps the column of the first subentity's rows; other rows' values are copied there.
    private mutating func keepColumn(_ slot: Int, of entity: Int, _ root: Int, _ primary: Int, _ claimed: inout Set<String>) {
        let new = model.entities[entity].slots[slot]
        if case .attribute = new, hadFiles(slot, of: entity) {
            // Existing files stay readable when the model no longer allows external storage.
            var files = RecordedProperty(.attribute)
            files.storage = .external
            record(new.name, of: entity, files)
        }
        for heir in model.entities[entity].hierarchy where !isMoved(heir) {
            guard let origin = origins[heir], case .slot(let index)? = properties[heir]?.slots[slot] else { continue }
            let name = old.model.entities[origin].slots[index].name
            switch (new, oldEntity(origin).slots[index]) {
            case (.attribute(let attribute), .attribute(let column, let kind)):
                guard !attribute.isTransient, let newKind = StorageKind(attribute), newKind.group == kind.group,
                    claimed.insert(column).inserted
                else { continue }
                var record = RecordedProperty(.attribute)
                record.storage = hadFiles(slot, of: entity) ? .external : newKind
                record.column = renamed(column, from: leaf(name), to: leaf(attribute.name), "Z" + leaf(attribute.name), primary)
                return self.record(new.name, of: entity, record)
            case (.toOne(let relationship), .reference(let reference)):
                guard !relationship.declaration.isTransient, claimed.insert(reference.column).inserted else { continue }
                let (from, to) = (name.uppercased(), new.name.uppercased())
                var record = RecordedProperty(.toOne)
                record.column = renamed(reference.column, from: from, to: to, "Z" + to, primary)
                if let column = reference.entityColumn {
                    let number = existing.numbers[model.entities[relationship.destination].name]
                    record.entityColumn = number.map { renamed(column, from: from, to: to, "Z\($0)_\(to)", primary) } ?? column
                    claimed.insert(column)
                }
                if let column = reference.orderColumn {
                    record.orderColumn = renamed(column, from: from, to: to, "Z_FOK_\(to)", primary)
                    claimed.insert(column)
                }
                return self.record(new.name, of: entity, record)
            default: continue
            }
        }
    }

    /// Whether the old store may have values of a property in files.
    private func hadFiles(_ slot: Int, of entity: Int) -> Bool {
        model.entities[entity].hierarchy.contains { heir in
            guard let origin = origins[heir], case .slot(let index)? = properties[heir]?.slots[slot] else { return false }
            if case .attribute(_, .external) = oldEntity(origin).slots[index] { return true }
            return false
        }
    }

    mutating func record(_ property: String, of entity: Int, _ record: RecordedProperty) {
        existing.recorded?.entities[model.entities[entity].name]?.properties[property] = record
    }

    /// `CITY` for `home.city`.
    private func leaf(_ name: String) -> String { (name.split(separator: ".").last ?? "").uppercased() }

    /// Columns are renamed with their properties if the new name is free.
    private mutating func renamed(_ column: String, from: String, to: String, _ wanted: String, _ root: Int) -> String {
        guard from != to, wanted != column else { return column }
        let taken = physical(root).contains(wanted) || columnRenames[root]?.values.contains(wanted) == true
        if taken { return column }
        columnRenames[root, default: [:]][column] = wanted
        return wanted
    }
}
