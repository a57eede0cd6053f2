// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension StoreMigrator {
    private struct Assignment {
        let column: String
        let expression: String
        var argument: SQLValue?
    }

    /// Concrete entities with existing rows.
    private var survivors: [(entity: StoredEntity, origin: StoredEntity)] {
        plan.included.compactMap { index in
            guard let entity = layout.entities[index], let origin = plan.origins[index] else { return nil }
            return (entity, plan.oldEntity(origin))
        }
    }

    /// Moves rows of entities that changed hierarchies to another table, with new keys if theirs are used there.
    func moveRows() throws(StoreError) {
        for (entity, origin) in survivors where plan.isMoved(entity.index) {
            let offset = plan.offset(origin.index, to: entity.index) ?? 0
            let assignments = assignments(entity, origin, isMoved: true)
            let columns = (ReadShape.fixedColumns + assignments.map { identifier($0.column) }).joined(separator: ", ")
            let values = (["Z_PK + \(offset)", String(entity.number), "Z_OPT"] + assignments.map(\.expression)).joined(separator: ", ")
            let source = identifier(plan.currentTable(origin.root))
            try connection.execute(
                "INSERT INTO \(identifier(entity.table)) (\(columns)) SELECT \(values) FROM \(source) WHERE Z_ENT = \(origin.number)",
                assignments.compactMap(\.argument))
            try connection.execute("DELETE FROM \(source) WHERE Z_ENT = \(origin.number)")
        }
    }

    func updateRows() throws(StoreError) {
        for (entity, origin) in survivors where !plan.isMoved(entity.index) {
            let assignments = assignments(entity, origin, isMoved: false)
            if assignments.isEmpty { continue }
            let values = assignments.map { "\(identifier($0.column)) = \($0.expression)" }.joined(separator: ", ")
            try connection.execute(
                "UPDATE \(identifier(entity.table)) SET \(values) WHERE Z_ENT = \(entity.number)", assignments.compactMap(\.argument))
        }
    }

    func removeRows() throws(StoreError) {
        for index in plan.removed {
            let entity = plan.oldEntity(index)
            guard plan.owner(of: entity.root) != nil else { continue }
            try connection.execute("DELETE FROM \(identifier(plan.currentTable(entity.root))) WHERE Z_ENT = \(entity.number)")
        }
    }

    /// Assignments to the columns of an entity's rows, without unchanged columns.
    private func assignments(_ entity: StoredEntity, _ origin: StoredEntity, isMoved: Bool) -> [Assignment] {
        let slots = plan.model.entities[entity.index].slots
        let physical = plan.existing.columns[entity.table] ?? []
        var result: [Assignment] = []
        for (index, place) in entity.slots.enumerated() {
            var formerSlot: SlotLayout?
            var wasOptional = true
            if case .slot(let slot)? = plan.properties[entity.index]?.slots[index] {
                formerSlot = origin.slots[slot]
                if case .attribute(let attribute) = plan.old.model.entities[origin.index].slots[slot] { wasOptional = attribute.isOptional }
            }
            switch (place, formerSlot, slots[index]) {
            case (.transient, _, _): continue
            case (.attribute(let column, let kind), .attribute(let source, let oldKind)?, .attribute(let attribute)):
                let current = plan.current(source, of: origin.root)
                // A possibly external value begins with a tag.
                let isTagged = kind == .external && oldKind == .blob
                let expression =
                    isTagged
                    ? "CASE WHEN \(identifier(current)) IS NULL THEN NULL ELSE CAST(x'01' || \(identifier(current)) AS BLOB) END"
                    : identifier(current)
                let fallback = attribute.isOptional || !wasOptional ? .null : value(attribute, kind)
                if fallback != .null {
                    result.append(Assignment(column: column, expression: "IFNULL(\(expression), ?)", argument: fallback))
                } else if isMoved || isTagged || current != column {
                    result.append(Assignment(column: column, expression: expression))
                }
            case (.attribute(let column, let kind), _, .attribute(let attribute)):
                let value = value(attribute, kind)
                if value != .null {
                    result.append(Assignment(column: column, expression: "?", argument: value))
                } else if !isMoved, physical.contains(column) {
                    result.append(Assignment(column: column, expression: "NULL"))
                }
            case (.reference(let reference), .reference(let source)?, _):
                result += assignments(reference, source, origin, isMoved)
            case (.reference(let reference), _, _):
                let columns = [reference.column, reference.entityColumn, reference.orderColumn].compactMap { $0 }
                if !isMoved { result += columns.filter(physical.contains).map { Assignment(column: $0, expression: "NULL") } }
            default: continue
            }
        }
        return isMoved ? result : result + emptied(entity, origin, besides: Set(result.map(\.column)))
    }

    /// Columns of properties that the rows' entity lost and other entities of the table have.
    private func emptied(_ entity: StoredEntity, _ origin: StoredEntity, besides assigned: Set<String>) -> [Assignment] {
        func columns(_ slot: SlotLayout) -> [String] {
            switch slot {
            case .transient: []
            case .attribute(let column, _): [column]
            case .reference(let reference): [reference.column, reference.entityColumn, reference.orderColumn].compactMap { $0 }
            }
        }
        let own = Set(entity.slots.flatMap(columns)).union(assigned)
        let formerColumns = origin.slots.flatMap(columns).map { plan.current($0, of: origin.root) }
        let table = layout.tables.first { $0.name == entity.table }
        let present = Set((table?.columns ?? []).map(\.name))
        return formerColumns.filter { present.contains($0) && !own.contains($0) }.map { Assignment(column: $0, expression: "NULL") }
    }

    private func assignments(_ new: ReferenceColumn, _ source: ReferenceColumn, _ origin: StoredEntity, _ isMoved: Bool) -> [Assignment] {
        func current(_ column: String) -> String { identifier(plan.current(column, of: origin.root)) }
        let column = current(source.column)
        var values: [(String, String)] = []
        if let offset = plan.offset(source.destination, to: new.destination) {
            values.append((new.column, offset == 0 ? column : "\(column) + \(offset)"))
        } else {
            values.append((new.column, "NULL"))
        }
        if let companion = new.entityColumn {
            // The destination had no subentities, so every key belongs to the destination itself.
            let number = plan.oldEntity(source.destination).number
            values.append((companion, source.entityColumn.map(current) ?? "CASE WHEN \(column) IS NULL THEN NULL ELSE \(number) END"))
        }
        if let order = new.orderColumn { values.append((order, source.orderColumn.map(current) ?? "NULL")) }
        return values.filter { isMoved || identifier($0.0) != $0.1 }.map { Assignment(column: $0.0, expression: $0.1) }
    }

    /// The value of existing rows for a new attribute; the store computes derived ones.
    private func value(_ attribute: Attribute, _ kind: StorageKind) -> SQLValue {
        guard attribute.derivationExpression == nil else { return .null }
        let value = StoredValueEncoding.encode(attribute.defaultValue)
        if case .blob(let data) = value, kind == .external { return .blob(ExternalValue.inline(data).column) }
        return value
    }

    // MARK: Checks

    /// - Throws: ``StoreError`` with `.migration` for rows that violate a rule which the difference of the models depends
    ///   on.
    func checkRows() throws(StoreError) {
        for (entity, origin) in survivors {
            let (table, condition) = (identifier(entity.table), "Z_ENT = \(entity.number)")
            if plan.model.entities[entity.index].isAbstract, !plan.old.model.entities[origin.index].isAbstract,
                try isAny(table, condition)
            {
                throw refusal(entity.name, "is abstract now and has rows")
            }
            for (index, slot) in plan.model.entities[entity.index].slots.enumerated() {
                guard case .attribute(let attribute) = slot, case .attribute(let column, _) = entity.slots[index] else { continue }
                var formerAttribute: Attribute?
                if case .slot(let slot)? = plan.properties[entity.index]?.slots[index],
                    case .attribute(let attribute) = plan.old.model.entities[origin.index].slots[slot], !attribute.isTransient
                {
                    formerAttribute = attribute
                }
                let isRequiredNow = !attribute.isOptional && attribute.derivationExpression == nil && formerAttribute?.isOptional != false
                if isRequiredNow, try isAny(table, "\(condition) AND \(identifier(column)) IS NULL") {
                    throw refusal("\(entity.name).\(attribute.name)", "is required and has no default value for rows without one")
                }
                if let formerAttribute, let range = narrower(formerAttribute.type, attribute.type),
                    try isAny(table, "\(condition) AND \(identifier(column)) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)")
                {
                    throw refusal("\(entity.name).\(attribute.name)", "is \(attribute.type) now, and rows have greater values")
                }
            }
        }
    }

    private func narrower(_ before: AttributeType, _ now: AttributeType) -> ClosedRange<Int64>? {
        guard before.rawValue > now.rawValue, before != .boolean else { return nil }
        return switch now {
        case .integer16: Int64(Int16.min)...Int64(Int16.max)
        case .integer32: Int64(Int32.min)...Int64(Int32.max)
        default: nil
        }
    }

    private func isAny(_ table: String, _ condition: String) throws(StoreError) -> Bool {
        try connection.first("SELECT 1 FROM \(table) WHERE \(condition) LIMIT 1") { _ in true } ?? false
    }

    /// Clears dangling relationships: to deleted rows, or to rows of an entity that is no longer allowed.
    func cutDanglingEnds() throws(StoreError) {
        func rows(_ entity: StoredEntity, _ key: String) -> String {
            "SELECT 1 FROM \(identifier(entity.table)) d WHERE d.Z_PK = \(key) AND d.Z_ENT IN (\(list(entity.hierarchyNumbers)))"
        }
        for case let entity? in layout.entities {
            let table = identifier(entity.table)
            for location in RelationshipFill.own(entity.index, plan.model) {
                switch location {
                case .slot(let slot):
                    guard case .reference(let reference) = entity.slots[slot], let destination = layout.entities[reference.destination]
                    else { continue }
                    let column = "\(table).\(identifier(reference.column))"
                    let columns = [reference.column, reference.entityColumn, reference.orderColumn].compactMap { $0 }
                    try connection.execute(
                        """
                        UPDATE \(table) SET \(columns.map { "\(identifier($0)) = NULL" }.joined(separator: ", ")) \
                        WHERE Z_ENT IN (\(list(entity.hierarchyNumbers))) AND \(column) IS NOT NULL AND NOT EXISTS (\(rows(destination, column)))
                        """)
                case .toMany(let index):
                    guard case .foreignKey(let key) = entity.toMany[index], key.isHidden else {
                        guard case .join(let side) = entity.toMany[index], let destination = layout.entities[side.destination] else {
                            continue
                        }
                        let join = identifier(side.table)
                        try connection.execute(
                            """
                            DELETE FROM \(join) WHERE NOT EXISTS (\(rows(entity, "\(join).\(identifier(side.ownColumn))"))) \
                            OR NOT EXISTS (\(rows(destination, "\(join).\(identifier(side.otherColumn))")))
                            """)
                        continue
                    }
                    let (destinationTable, column) = (identifier(key.table), identifier(key.column))
                    try connection.execute(
                        "UPDATE \(destinationTable) SET \(column) = NULL WHERE \(column) IS NOT NULL AND NOT EXISTS (\(rows(entity, "\(destinationTable).\(column)")))"
                    )
                }
            }
        }
    }

    /// Orders the members of relationships that became ordered by creation.
    func fillOrders() throws(StoreError) {
        var orders: [(table: String, owner: String, order: String)] = []
        for case let entity? in layout.entities {
            for case .reference(let reference) in entity.slots {
                if let order = reference.orderColumn { orders.append((entity.table, reference.column, order)) }
            }
            for place in entity.toMany {
                switch place {
                case .foreignKey(let key): if let order = key.orderColumn, key.isHidden { orders.append((key.table, key.column, order)) }
                case .join(let side): if let order = side.orderColumn { orders.append((side.table, side.ownColumn, order)) }
                case .transient: continue
                }
            }
        }
        var done: Set<String> = []
        for (table, owner, order) in orders where done.insert("\(table).\(order)").inserted {
            let (table, owner, order) = (identifier(table), identifier(owner), identifier(order))
            guard try isAny(table, "\(owner) IS NOT NULL AND \(order) IS NULL") else { continue }
            try connection.execute(
                """
                UPDATE \(table) SET \(order) = o.place FROM (SELECT rowid AS id, \
                ROW_NUMBER() OVER (PARTITION BY \(owner) ORDER BY \(order) IS NULL, \(order), rowid) * \(OrderStep.size) AS place \
                FROM \(table) WHERE \(owner) IS NOT NULL) o WHERE o.id = \(table).rowid
                """)
        }
    }
}
