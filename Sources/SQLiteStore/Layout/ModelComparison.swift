// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Whether a store made for one model can serve another: properties may be added, nothing may change or go.
struct ModelComparison {
    let layout: StoreLayout
    /// Upper-case columns of each table in the file.
    let columns: [String: [String]]
    /// nil for a store that was never opened here, such as one of Apple's: then every column must be there.
    let recorded: RecordedModel?
    /// What is known of a store that was never opened here.
    let foreign: ForeignStore?

    /// - Throws: ``StoreError`` with `.incompatibleModel` that names the first property that does not fit.
    func check() throws(StoreError) {
        guard let recorded else {
            try foreign?.check(against: layout, columns)
            return
        }
        for (name, earlier) in recorded.entities.sorted(by: { $0.key < $1.key }) {
            guard let entity = layout.recorded.entities[name] else {
                if layout.model.entity(named: name) != nil { continue }
                throw refusal("an entity of the store is not in the model", name)
            }
            if earlier.superentity != entity.superentity {
                throw refusal("an entity has another parent than in the store", name)
            }
            for (property, before) in earlier.properties.sorted(by: { $0.key < $1.key }) {
                guard let now = entity.properties[property] else {
                    throw refusal("a property of the store is not in the model", "\(name).\(property)")
                }
                if let difference = before.difference(to: now) {
                    throw refusal("a property is stored in another way", "\(name).\(property) \(difference)")
                }
            }
        }
    }

    /// Runs `addColumns`, then gives rows that were there before the values that new columns must have.
    func fill(_ connection: Connection, addColumns: () throws(StoreError) -> Void) throws(StoreError) {
        try addColumns()
        guard let recorded else { return }
        for case let entity? in layout.entities {
            let declared = layout.recorded.entities[entity.name]?.properties ?? [:]
            for (name, property) in declared.sorted(by: { $0.key < $1.key }) {
                let before = recorded.entities[entity.name]?.properties[name]
                if before == nil { try fillNew(name, property, of: entity, connection) }
                if before?.storage == .blob, property.storage == .external, let column = property.column.map(identifier) {
                    try connection.execute(
                        """
                        UPDATE \(identifier(entity.table)) SET \(column) = CAST(x'01' || \(column) AS BLOB) WHERE \(column) IS NOT NULL \
                        AND Z_ENT IN (\(entity.hierarchyNumbers.map { String($0) }.joined(separator: ", ")))
                        """)
                }
                if before != nil, before?.entityColumn == nil, let companion = property.entityColumn,
                    let column = property.column, let destination = property.destination,
                    let number = layout.recorded.entities[destination]?.number
                {
                    // The destination had no heirs, so every key is one of the destination itself.
                    try connection.execute(
                        """
                        UPDATE \(identifier(entity.table)) SET \(identifier(companion)) = ? \
                        WHERE \(identifier(column)) IS NOT NULL
                        """, [.int(number)])
                }
            }
        }
    }

    private func fillNew(
        _ name: String, _ property: RecordedProperty, of entity: EntityLayout, _ connection: Connection
    ) throws(StoreError) {
        guard case .slot(let slot)? = layout.model.entities[entity.index].location(of: name),
            let column = property.column
        else { return }
        let numbers = entity.hierarchyNumbers.map { String($0) }.joined(separator: ", ")
        let table = identifier(entity.table)
        var value = SQLValue.null
        switch layout.model.entities[entity.index].slots[slot] {
        case .attribute(let attribute):
            if attribute.isOptional { return }
            value = StoredValueEncoding.encode(attribute.defaultValue)
            if case .blob(let data) = value, property.storage == .external { value = .blob(ExternalValue.inline(data).column) }
        case .toOne(let relationship):
            if relationship.declaration.isOptional { return }
        }
        if value == .null {
            let isUsed = try connection.first("SELECT 1 FROM \(table) WHERE Z_ENT IN (\(numbers)) LIMIT 1") { _ in true
            }
            if isUsed == true {
                throw refusal("a new property needs a value and has no default", "\(entity.name).\(name)")
            }
        } else {
            try connection.execute(
                "UPDATE \(table) SET \(identifier(column)) = ? WHERE Z_ENT IN (\(numbers))", [value])
        }
    }

    private func refusal(_ what: StaticString, _ detail: String) -> StoreError {
        StoreError(.incompatibleModel, what, detail: detail)
    }
}
