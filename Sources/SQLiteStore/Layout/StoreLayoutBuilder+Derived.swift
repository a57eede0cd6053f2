// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The triggers of one derived column. They work for any writer that has this library's functions: texts are folded,
/// which a plain SQLite shell cannot do.
struct DerivedColumn: Sendable {
    /// `Entity_attribute`, as in the names of triggers in Apple's stores.
    let name: String
    let triggers: [(name: String, sql: String)]
    /// Computes the column of existing rows.
    let fill: String
}

extension StoreLayoutBuilder {
    /// - Throws: ``StoreError`` with `.incompatibleModel` for an expression that a store cannot compute.
    mutating func derive(_ entity: ResolvedEntity) throws(StoreError) {
        for attribute in entity.declaration.attributes where !attribute.isTransient {
            guard let text = attribute.derivationExpression else { continue }
            guard let column = column(attribute.name, of: entity.index), let derivation = Derivation(text),
                let derived = derived(derivation, attribute, column, entity)
            else {
                throw StoreError(
                    .incompatibleModel, "a derived attribute has an expression that a store cannot compute",
                    detail: "\(entity.name).\(attribute.name): \(text)")
            }
            derivedColumns.append(derived)
        }
    }

    private func column(_ property: String, of entity: Int) -> String? {
        guard case .slot(let slot)? = model.entities[entity].location(of: property) else { return nil }
        return slots[entity]?[slot].column.map(identifier)
    }

    private func derived(
        _ derivation: Derivation, _ attribute: Attribute, _ column: String, _ entity: ResolvedEntity
    ) -> DerivedColumn? {
        guard let table = tables[entity.root].map({ identifier($0.name) }) else { return nil }
        let numbers = entity.hierarchy.map { String(number($0)) }.joined(separator: ", ")
        var draft = Draft(name: "\(entity.name)_\(attribute.name)", table: table, column: column, numbers: numbers)
        switch derivation {
        case .now:
            // Seconds since 2001, the storage of dates.
            draft.value = "(julianday('now') - 2451910.5) * 86400.0"
            draft.on("INSERT ON \(table)", rows: "Z_PK = NEW.Z_PK")
            draft.on("UPDATE OF Z_OPT ON \(table)", rows: "Z_PK = NEW.Z_PK")
        case .copy(let path, let function):
            guard copy(path, function, entity, &draft) else { return nil }
        case .aggregate(let relationship, let operation, let attribute):
            guard aggregate(relationship, operation, attribute, entity, &draft) else { return nil }
        }
        return draft.finished()
    }

    private func copy(_ path: [String], _ function: String?, _ entity: ResolvedEntity, _ draft: inout Draft) -> Bool {
        func applied(_ value: String) -> String { function.map { "TARN_DERIVE('\($0)', \(value))" } ?? value }
        if path.count == 1 {
            guard let source = column(path[0], of: entity.index) else { return false }
            draft.value = applied(source)
            draft.on("INSERT ON \(draft.table)", rows: "Z_PK = NEW.Z_PK")
            draft.on("UPDATE OF \(source) ON \(draft.table)", rows: "Z_PK = NEW.Z_PK")
            return true
        }
        guard case .slot(let slot)? = entity.location(of: path[0]), case .toOne(let relationship) = entity.slots[slot],
            let key = column(path[0], of: entity.index), let source = column(path[1], of: relationship.destination),
            let destinationTable = tables[model.entities[relationship.destination].root].map({ identifier($0.name) })
        else { return false }
        draft.value = "(SELECT \(applied("d.\(source)")) FROM \(destinationTable) d WHERE d.Z_PK = \(draft.table).\(key))"
        draft.on("INSERT ON \(draft.table)", rows: "Z_PK = NEW.Z_PK")
        draft.on("UPDATE OF \(key) ON \(draft.table)", rows: "Z_PK = NEW.Z_PK")
        draft.on("UPDATE OF \(source) ON \(destinationTable)", rows: "\(key) = NEW.Z_PK")
        draft.on("INSERT ON \(destinationTable)", rows: "\(key) = NEW.Z_PK")
        return true
    }

    private func aggregate(
        _ name: String, _ operation: String, _ attribute: String?, _ entity: ResolvedEntity, _ draft: inout Draft
    ) -> Bool {
        guard case .toMany(let index)? = entity.location(of: name), let storage = toMany[entity.index]?[index] else { return false }
        let source = attribute.flatMap { column($0, of: entity.toMany[index].destination) }
        if attribute != nil, source == nil { return false }
        let function =
            switch operation {
            case "@count": "COUNT(*)"
            case "@sum": "IFNULL(SUM(d.\(source ?? "")), 0)"
            default: "\(operation.dropFirst().uppercased())(d.\(source ?? ""))"
            }
        draft.on("INSERT ON \(draft.table)", rows: "Z_PK = NEW.Z_PK")
        // A count is incremented or decremented: the members are not counted again for each change.
        func count(_ change: String) -> String? { source == nil ? "IFNULL(\(draft.column), 0) \(change)" : nil }
        switch storage {
        case .transient: return false
        case .foreignKey(let key):
            let (destinationTable, column) = (identifier(key.table), identifier(key.column))
            draft.value = "(SELECT \(function) FROM \(destinationTable) d WHERE d.\(column) = \(draft.table).Z_PK)"
            draft.on("INSERT ON \(destinationTable)", rows: "Z_PK = NEW.\(column)", value: count("+ 1"))
            draft.on("DELETE ON \(destinationTable)", rows: "Z_PK = OLD.\(column)", value: count("- 1"))
            draft.on(
                "UPDATE OF \(([column] + [source].compactMap { $0 }).joined(separator: ", ")) ON \(destinationTable)",
                rows: "Z_PK IN (OLD.\(column), NEW.\(column))", value: count("+ (Z_PK IS NEW.\(column)) - (Z_PK IS OLD.\(column))"))
        case .join(let side):
            let (join, own, member) = (identifier(side.table), identifier(side.ownColumn), identifier(side.otherColumn))
            guard let destinationTable = tables[model.entities[side.destination].root].map({ identifier($0.name) }) else { return false }
            let members = source == nil ? join : "\(join) j JOIN \(destinationTable) d ON d.Z_PK = j.\(member)"
            draft.value = "(SELECT \(function) FROM \(members) WHERE \(source == nil ? "" : "j.")\(own) = \(draft.table).Z_PK)"
            draft.on("INSERT ON \(join)", rows: "Z_PK = NEW.\(own)", value: count("+ 1"))
            draft.on("DELETE ON \(join)", rows: "Z_PK = OLD.\(own)", value: count("- 1"))
            if let source {
                draft.on(
                    "UPDATE OF \(source) ON \(destinationTable)", rows: "Z_PK IN (SELECT \(own) FROM \(join) WHERE \(member) = NEW.Z_PK)")
            }
        }
        return true
    }

    private struct Draft {
        let name: String
        let table: String
        let column: String
        let numbers: String
        var value = "NULL"
        private var events: [(event: String, rows: String, value: String?)] = []

        init(name: String, table: String, column: String, numbers: String) {
            self.name = name
            self.table = table
            self.column = column
            self.numbers = numbers
        }

        mutating func on(_ event: String, rows: String, value: String? = nil) { events.append((event, rows, value)) }

        func finished() -> DerivedColumn {
            DerivedColumn(
                name: name,
                triggers: events.enumerated().map { index, event in
                    let name = "\"\(DerivedTriggers.triggerPrefix)\(self.name)_\(index)\""
                    return (
                        "\(DerivedTriggers.triggerPrefix)\(self.name)_\(index)",
                        """
                        CREATE TRIGGER \(name) AFTER \(event.event) BEGIN UPDATE \(table) SET \(column) = \(event.value ?? value) \
                        WHERE \(event.rows) AND Z_ENT IN (\(numbers)); END
                        """
                    )
                }, fill: "UPDATE \(table) SET \(column) = \(value) WHERE Z_ENT IN (\(numbers))")
        }
    }
}
