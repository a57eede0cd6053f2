// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

extension StoreLayoutBuilder {
    // MARK: Indexes

    mutating func addIndex(on column: String, to root: Int) {
        guard let table = tables[root]?.name else { return }
        tables[root]?.indexes.append(
            .init(name: "\(table)_\(column)_INDEX", isUnique: false, columns: identifier(column), condition: nil))
    }

    mutating func addIndexes(of entity: ResolvedEntity) throws(StoreError) {
        guard let placed = slots[entity.index] else { return }
        let inherited = entity.superentity.map { model.entities[$0].slots.count } ?? 0
        if entity.root == entity.index, entity.hierarchy.count > 1 { addIndex(on: "Z_ENT", to: entity.root) }
        for case .reference(let reference) in placed[inherited...] { addIndex(on: reference.column, to: entity.root) }
        let condition =
            entity.root == entity.index
            ? nil : "Z_ENT IN (\(entity.hierarchy.map { String(number($0)) }.joined(separator: ", ")))"
        func column(_ property: String) -> String? {
            guard case .slot(let slot)? = entity.location(of: property) else { return nil }
            switch placed[slot] {
            case .attribute(let column, _): return column
            case .reference(let reference): return reference.column
            case .transient: return nil
            }
        }
        for index in entity.declaration.indexes {
            // Expressions and transient properties have no column; an index is only an optimization, so they are omitted.
            let parts = index.elements.map { element in
                column(element.property).map {
                    "\(identifier($0)) COLLATE BINARY \(element.isAscending ? "ASC" : "DESC")"
                }
            }
            guard !parts.isEmpty, !parts.contains(where: { $0 == nil }) else { continue }
            let partial = index.partialPredicateFormat.flatMap { format in
                (try? PredicateKit.Predicate(format: format)).flatMap { PartialIndexCondition(column: column).sql($0) }
            }
            let conditions = [condition, partial].compactMap { $0 }
            tables[entity.root]?.indexes.append(
                .init(
                    name: "Z_\(entity.name)_\(index.name)", isUnique: false,
                    columns: parts.compactMap { $0 }.joined(separator: ", "),
                    condition: conditions.isEmpty ? nil : conditions.joined(separator: " AND ")))
        }
        for constraint in entity.declaration.uniquenessConstraints where !constraint.isEmpty {
            let parts = constraint.map(column)
            guard !parts.contains(where: { $0 == nil }) else {
                throw StoreError(
                    .incompatibleModel, "a uniqueness constraint names a property without a column",
                    detail: "\(entity.name): \(constraint.joined(separator: ", "))")
            }
            let name = "Z_\(entity.name)_UNIQUE_\(constraint.joined(separator: "_"))"
            // Other entities have null in a column of this one, and nulls are never equal. An index of an earlier release
            // stays unchanged.
            let isOwn = constraint.contains { property in
                entity.declaration.attributes.contains { $0.name == property }
                    || entity.declaration.relationships.contains { $0.name == property }
            }
            let isKept = existing?.recorded?.indexes?[name]?.contains(" WHERE ") == true
            tables[entity.root]?.indexes.append(
                .init(
                    name: name, isUnique: true,
                    columns: parts.compactMap { $0.map { "\(identifier($0)) COLLATE BINARY ASC" } }.joined(
                        separator: ", "),
                    condition: isOwn && !isKept ? nil : condition))
        }
    }

    // MARK: The complete entity

    func entityLayout(_ entity: ResolvedEntity) -> StoredEntity {
        let placed = slots[entity.index] ?? []
        let placedToMany = toMany[entity.index] ?? []
        let slotNames = zip(entity.slots, placed).map { slot, place in place == .transient ? nil : slot.name }
        let toManyNames = zip(entity.toMany, placedToMany).map { relationship, place in
            place == .transient ? nil : relationship.name
        }
        let properties = (slotNames + toManyNames).compactMap { $0 }.sorted()
        let bits = Dictionary(uniqueKeysWithValues: properties.enumerated().map { ($1, $0) })
        let preserved = entity.slots.indices.filter { index in
            guard case .attribute(let attribute) = entity.slots[index], placed[index] != .transient else {
                return false
            }
            return attribute.preservesValueInHistoryOnDeletion
        }
        let table = tables[entity.root]?.name ?? ""
        let shape = ReadShape(entity.hierarchy.map { (number($0), $0, slots[$0] ?? []) })
        return StoredEntity(
            index: entity.index, name: entity.name, number: number(entity.index), root: entity.root,
            rootNumber: number(entity.root), table: table, slots: placed,
            toMany: placedToMany, historyProperties: properties,
            tombstoneSlots: preserved.sorted { entity.slots[$0].name < entity.slots[$1].name },
            hierarchyNumbers: entity.hierarchy.map(number), ownsTable: entity.root == entity.index,
            shape: shape, rowSQL: "SELECT \(shape.selectList("t0")) FROM \(identifier(table)) t0 WHERE t0.Z_PK = ?",
            insertSQL: StoredEntity.insertSQL(table, placed), bindings: placed.map(SlotBinding.init),
            orderedSlots: placed.indices.filter { index in
                if case .reference(let reference) = placed[index] { reference.orderColumn != nil } else { false }
            },
            slotBits: slotNames.map { $0.flatMap { bits[$0] } }, toManyBits: toManyNames.map { $0.flatMap { bits[$0] } }
        )
    }
}
