// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension StoreLayoutBuilder {
    mutating func placeToMany(of entity: ResolvedEntity) throws(StoreError) {
        var placed = entity.superentity.flatMap { toMany[$0] } ?? []
        for relationship in entity.toMany[placed.count...] {
            guard !relationship.declaration.isTransient else {
                placed.append(.transient)
                continue
            }
            switch relationship.shape {
            case .manyToMany: placed.append(try placeJoin(relationship, of: entity))
            default: placed.append(try placeForeignKey(relationship, of: entity))
            }
        }
        toMany[entity.index] = placed
    }

    private mutating func placeForeignKey(
        _ relationship: ResolvedRelationship, of entity: ResolvedEntity
    ) throws(StoreError) -> ToManyLayout {
        let destination = model.entities[relationship.destination]
        guard let table = tables[destination.root]?.name else {
            throw StoreError(
                .incompatibleModel, "a relationship leads to an entity outside the store's configuration",
                detail: "\(entity.name).\(relationship.name)")
        }
        var record = RecordedProperty(.toManyByKey)
        record.destination = destination.name
        record.inverse = relationship.inverseName
        defer { recorded.entities[entity.name]?.properties[relationship.name] = record }
        if case .slot(let slot)? = relationship.inverse {
            guard case .reference(let reference)? = slots[destination.index]?[slot] else {
                throw StoreError(
                    .incompatibleModel, "the inverse of a stored relationship is transient",
                    detail: "\(entity.name).\(relationship.name)")
            }
            return .foreignKey(
                ForeignKey(
                    destination: destination.index, table: table, column: reference.column,
                    orderColumn: reference.orderColumn, isHidden: false))
        }
        let recorded = earlier(entity, relationship.name)
        let base = "\(number(entity.index))\(relationship.name.uppercased())"
        let column = recorded?.column ?? newColumn("Z" + base, destination.root)
        add(column, .key, of: destination.index, to: destination.root)
        addIndex(on: column, to: destination.root)
        record.column = column
        if relationship.declaration.isOrdered {
            let order = recorded?.orderColumn ?? newColumn("Z_FOK_" + base, destination.root)
            add(order, .key, of: destination.index, to: destination.root)
            record.orderColumn = order
        }
        return .foreignKey(
            ForeignKey(
                destination: destination.index, table: table, column: column, orderColumn: record.orderColumn,
                isHidden: true))
    }

    // MARK: Many-to-many

    private mutating func placeJoin(
        _ relationship: ResolvedRelationship, of entity: ResolvedEntity
    ) throws(StoreError) -> ToManyLayout {
        let destination = model.entities[relationship.destination]
        guard case .toMany(let inverseIndex)? = relationship.inverse,
            let inverseOwner = relationship.inverseDeclaringEntity, tables[destination.root] != nil
        else {
            throw StoreError(
                .incompatibleModel, "a relationship leads to an entity outside the store's configuration",
                detail: "\(entity.name).\(relationship.name)")
        }
        let inverse = destination.toMany[inverseIndex]
        let isSymmetric = inverseOwner == entity.index && inverse.name == relationship.name
        let record = joinRecord(relationship, of: entity, inverse: inverse, inverseOwner: inverseOwner)
        recorded.entities[entity.name]?.properties[relationship.name] = record
        guard let table = record.table, let own = record.column, let otherColumn = record.otherColumn else {
            preconditionFailure("a join record names its table and both columns")
        }
        if !joins.contains(where: { $0.name == table }) {
            // The side that names the table comes first.
            let names = table.hasPrefix("Z_\(number(entity.index))\(relationship.name.uppercased())")
            joins.append(
                JoinTable(
                    name: table, first: names ? own : otherColumn, second: names ? otherColumn : own,
                    orderColumns: record.orderColumn.map { [$0] } ?? [],
                    firstRoot: names ? entity.root : destination.root, secondRoot: names ? destination.root : entity.root))
        } else if let order = record.orderColumn, let index = joins.firstIndex(where: { $0.name == table }) {
            let join = joins[index]
            joins[index] = JoinTable(
                name: join.name, first: join.first, second: join.second,
                orderColumns: join.orderColumns.contains(order) ? join.orderColumns : join.orderColumns + [order],
                firstRoot: join.firstRoot, secondRoot: join.secondRoot)
        }
        return .join(
            JoinSide(
                destination: destination.index, table: table, ownColumn: own, otherColumn: otherColumn,
                orderColumn: record.orderColumn, isSymmetric: isSymmetric, inverse: inverseIndex))
    }

    private func joinRecord(
        _ relationship: ResolvedRelationship, of entity: ResolvedEntity, inverse: ResolvedRelationship,
        inverseOwner: Int
    ) -> RecordedProperty {
        let owner = model.entities[inverseOwner]
        var record = RecordedProperty(.toManyByTable)
        record.destination = model.entities[relationship.destination].name
        record.inverse = inverse.name
        if let recordedRelationship = earlier(entity, relationship.name), recordedRelationship.kind == .toManyByTable {
            (record.table, record.column, record.otherColumn) = (
                recordedRelationship.table, recordedRelationship.column, recordedRelationship.otherColumn
            )
            if relationship.declaration.isOrdered { record.orderColumn = recordedRelationship.orderColumn }
        } else if let recordedInverse = recorded.entities[owner.name]?.properties[inverse.name], recordedInverse.kind == .toManyByTable,
            owner.index != entity.index || inverse.name != relationship.name
        {
            (record.table, record.column, record.otherColumn) = (recordedInverse.table, recordedInverse.otherColumn, recordedInverse.column)
        } else {
            let names = joinNames(
                (entity.index, entity.name, relationship.name, relationship.declaration.isOrdered),
                (owner.index, owner.name, inverse.name, inverse.declaration.isOrdered))
            (record.table, record.column, record.otherColumn) = names
        }
        if relationship.declaration.isOrdered, record.orderColumn == nil {
            record.orderColumn = "Z_FOK_\(number(inverseOwner))\(relationship.name.uppercased())"
        }
        return record
    }

    private typealias Side = (entity: Int, entityName: String, relationship: String, isOrdered: Bool)

    /// The join table, and its columns with the keys of `own` and of `other`.
    ///
    /// A table found in the file has priority: files of earlier releases, and of older systems, follow other rules. The
    /// ordered side names a new one, else the side that sorts first by the names of entity and relationship.
    ///
    /// Source: core-data-sqlite-format, "Relationships": all published tables follow this rule. None of them is an
    /// unordered one within one entity, so that case is a guess.
    private func joinNames(_ own: Side, _ other: Side) -> (table: String, own: String, other: String) {
        let ownSuffix = other.relationship.uppercased()
        let otherSuffix = own.relationship.uppercased()
        let ownColumn = "Z_\(number(own.entity))\(ownSuffix)"
        var otherColumn = "Z_\(number(other.entity))\(otherSuffix)"
        let isFirst = (own.entityName, own.relationship) <= (other.entityName, other.relationship)
        if let existing, existing.recorded == nil {
            let fitting = existing.columns.sorted { $0.key < $1.key }.lazy.compactMap { table, columns in
                self.fit(columns, ownSuffix, otherSuffix, isFirst).map { (table, $0.0, $0.1) }
            }
            let exact = fitting.first { Set([$0.1, $0.2]) == [ownColumn, otherColumn] }
            if let match = exact ?? fitting.first(where: { _ in true }) { return match }
        }
        let isNamer = own.isOrdered == other.isOrdered ? isFirst : own.isOrdered
        let name = isNamer ? "Z_\(number(own.entity))\(otherSuffix)" : "Z_\(number(other.entity))\(ownSuffix)"
        let table = freeTable(name)
        // Both columns of a relationship within one entity may have the same name.
        var own = ownColumn
        if own == otherColumn {
            if isFirst { otherColumn += "1" } else { own += "1" }
        }
        return (table, own, otherColumn)
    }

    /// The name itself, or with the first free number: tables with a deferred drop still exist.
    private func freeTable(_ base: String) -> String {
        guard let existing, existing.recorded != nil else { return base }
        let taken = Set(joins.map(\.name)).union(existing.columns.keys)
        if !taken.contains(base) { return base }
        return (1...).lazy.map { base + String($0) }.first { !taken.contains($0) } ?? base
    }

    /// - Returns: The columns for the keys of both sides if these are the columns of their join table.
    private func fit(_ columns: [String], _ own: String, _ other: String, _ isFirst: Bool) -> (String, String)? {
        let keys = columns.filter { !$0.hasPrefix("Z_FOK_") }
        guard keys.count == 2, let first = joinSuffix(keys[0]), let second = joinSuffix(keys[1]) else { return nil }
        if own == other, first == own, second == own || second == own + "1" {
            return isFirst ? (keys[0], keys[1]) : (keys[1], keys[0])
        }
        if first == own, second == other || second == other + "1" { return (keys[0], keys[1]) }
        if first == other, second == own || second == own + "1" { return (keys[1], keys[0]) }
        return nil
    }

    /// `TAGS` for `Z_12TAGS`; nil for a name of another form.
    private func joinSuffix(_ column: String) -> String? {
        guard column.hasPrefix("Z_") else { return nil }
        let suffix = column.dropFirst(2)
        let name = suffix.drop { $0.isASCII && $0.isNumber }
        return name.count < suffix.count && !name.isEmpty ? String(name) : nil
    }
}
