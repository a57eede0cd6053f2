// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Members of a relationship with changed storage or keys: read before the migration changes anything, written when the
/// new tables exist.
struct RelationshipFill {
    let place: EntityRelationship
    let number: Int
    /// Selects owner, member, position among the owner's members, position among the member's owners; with the new keys.
    let sources: [String]

    var table: String { "temp.TARN_PAIRS_\(number)" }

    /// All relationships of the new model to fill.
    static func all(_ plan: MigrationPlan, _ layout: StoreLayout) -> [RelationshipFill] {
        var fills: [RelationshipFill] = []
        var joins: Set<String> = []
        for entity in plan.included {
            for location in own(entity, plan.model) {
                guard let relationship = plan.model.entities[entity].relationship(at: location), !relationship.declaration.isTransient
                else { continue }
                let place = EntityRelationship(entity: entity, location: location)
                if plan.unchangedRelationships.contains(place) { continue }
                switch location {
                case .slot:
                    if plan.sources(of: entity, location).contains(where: { if case .slot = $0.location { true } else { false } }) {
                        continue
                    }
                case .toMany(let index):
                    switch layout.entities[entity]?.toMany[index] {
                    case .foreignKey(let key)? where !key.isHidden: continue
                    case .join(let side)?: if !joins.insert(side.table).inserted { continue }
                    default: break
                    }
                }
                let sources = statements(relationship, place, plan)
                let isRebuilt = plan.existing.recorded?.entities[plan.model.entities[entity].name]?.properties[relationship.name] != nil
                if sources.isEmpty, !isRebuilt { continue }
                fills.append(RelationshipFill(place: place, number: fills.count, sources: sources))
            }
        }
        return fills
    }

    /// Relationships that an entity does not inherit.
    static func own(_ entity: Int, _ model: ResolvedModel) -> [PropertyLocation] {
        let resolved = model.entities[entity]
        let parent = resolved.superentity.map { model.entities[$0] }
        return resolved.slots.indices.dropFirst(parent?.slots.count ?? 0).map { .slot($0) }
            + resolved.toMany.indices.dropFirst(parent?.toMany.count ?? 0).map { .toMany($0) }
    }

    private static func statements(_ relationship: ResolvedRelationship, _ place: EntityRelationship, _ plan: MigrationPlan) -> [String] {
        let own = plan.sources(of: place.entity, place.location)
        if !own.isEmpty {
            return own.compactMap { pairs($0, plan, owner: place.entity, member: relationship.destination, isReversed: false) }
        }
        // A new relationship gets its members from its inverse.
        guard let inverse = relationship.inverse, let inverseOwner = relationship.inverseDeclaringEntity else { return [] }
        return plan.sources(of: inverseOwner, inverse).compactMap {
            pairs($0, plan, owner: relationship.destination, member: place.entity, isReversed: true)
        }
    }

    /// - Parameters: The new entities of the join records.
    private static func pairs(
        _ source: EntityRelationship, _ plan: MigrationPlan, owner: Int, member: Int, isReversed: Bool
    ) -> String? {
        let entity = plan.oldEntity(source.entity)
        guard let relationship = plan.old.model.entities[source.entity].relationship(at: source.location),
            let ownerOffset = plan.offset(source.entity, to: owner), let memberOffset = plan.offset(relationship.destination, to: member)
        else { return nil }
        func numbers(_ entity: Int) -> String { plan.oldEntity(entity).hierarchyNumbers.map { String($0) }.joined(separator: ", ") }
        func column(_ name: String?) -> String { name.map(identifier) ?? "NULL" }
        let (table, first, second, positions, condition): (String, String, String, (String, String), String)
        switch source.location {
        case .slot(let slot):
            guard case .reference(let reference) = entity.slots[slot] else { return nil }
            (table, first, second) = (entity.table, "Z_PK", identifier(reference.column))
            positions = ("NULL", column(reference.orderColumn))
            condition = "Z_ENT IN (\(numbers(source.entity))) AND \(second) IS NOT NULL"
        case .toMany(let index):
            switch entity.toMany[index] {
            case .transient: return nil
            case .foreignKey(let key):
                (table, first, second) = (key.table, identifier(key.column), "Z_PK")
                positions = (column(key.orderColumn), "NULL")
                condition = "Z_ENT IN (\(numbers(key.destination))) AND \(first) IS NOT NULL"
            case .join(let side):
                (table, first, second) = (side.table, identifier(side.ownColumn), identifier(side.otherColumn))
                var opposite: String?
                if case .join(let other) = plan.oldEntity(side.destination).toMany[side.inverse] { opposite = other.orderColumn }
                positions = (column(side.orderColumn), column(opposite))
                condition = "\(first) IS NOT NULL AND \(second) IS NOT NULL"
            }
        }
        let pair = ["\(first) + \(ownerOffset)", "\(second) + \(memberOffset)"]
        let columns = isReversed ? [pair[1], pair[0], positions.1, positions.0] : pair + [positions.0, positions.1]
        return "SELECT \(columns.joined(separator: ", ")) FROM \(identifier(table)) WHERE \(condition)"
    }
}

extension StoreMigrator {
    func collect(_ fill: RelationshipFill) throws(StoreError) {
        try connection.execute(
            "CREATE TABLE \(fill.table) (owner INTEGER, member INTEGER, place INTEGER, other INTEGER, PRIMARY KEY (owner, member))")
        for source in fill.sources { try connection.execute("INSERT OR IGNORE INTO \(fill.table) \(source)") }
    }

    /// - Throws: ``StoreError`` with `.migration` when an object has several members and only one is allowed.
    func write(_ fill: RelationshipFill) throws(StoreError) {
        guard let entity = layout.entities[fill.place.entity],
            let relationship = plan.model.entities[entity.index].relationship(at: fill.place.location),
            let destination = layout.entities[relationship.destination]
        else { return }
        let subject = "\(entity.name).\(relationship.name)"
        let table = identifier(entity.table)
        let owners = "SELECT Z_PK FROM \(table) WHERE Z_ENT IN (\(list(entity.hierarchyNumbers)))"
        let members = "SELECT Z_PK FROM \(identifier(destination.table)) WHERE Z_ENT IN (\(list(destination.hierarchyNumbers)))"
        try connection.execute("DELETE FROM \(fill.table) WHERE owner NOT IN (\(owners)) OR member NOT IN (\(members))")
        switch fill.place.location {
        case .slot(let slot):
            guard case .reference(let reference) = entity.slots[slot] else { return }
            try checkSingle("owner", fill, subject)
            var values = "\(identifier(reference.column)) = p.member"
            if let column = reference.entityColumn {
                values += ", \(identifier(column)) = (SELECT d.Z_ENT FROM \(identifier(destination.table)) d WHERE d.Z_PK = p.member)"
            }
            if let column = reference.orderColumn { values += ", \(identifier(column)) = p.other" }
            try connection.execute(
                "UPDATE \(table) SET \(values) FROM \(fill.table) p WHERE p.owner = \(table).Z_PK AND \(table).Z_ENT IN (\(list(entity.hierarchyNumbers)))"
            )
        case .toMany(let index): try write(fill, to: entity.toMany[index], destination, subject)
        }
        try connection.execute("DROP TABLE \(fill.table)")
    }

    private func write(
        _ fill: RelationshipFill, to place: ToManyLayout, _ destination: StoredEntity, _ subject: String
    ) throws(StoreError) {
        switch place {
        case .transient: return
        case .foreignKey(let key):
            try checkSingle("member", fill, subject)
            let (table, column) = (identifier(key.table), identifier(key.column))
            try connection.execute("UPDATE \(table) SET \(column) = NULL WHERE \(column) IS NOT NULL")
            try connection.execute("CREATE INDEX temp.TARN_PAIRS_INDEX_\(fill.number) ON TARN_PAIRS_\(fill.number) (member)")
            let order = key.orderColumn.map { ", \(identifier($0)) = p.place" } ?? ""
            try connection.execute("UPDATE \(table) SET \(column) = p.owner\(order) FROM \(fill.table) p WHERE p.member = \(table).Z_PK")
        case .join(let side):
            let table = identifier(side.table)
            var columns = [identifier(side.ownColumn), identifier(side.otherColumn)]
            var values = ["owner", "member"]
            if let column = side.orderColumn {
                columns.append(identifier(column))
                values.append("place")
            }
            if case .join(let opposite) = destination.toMany[side.inverse], let column = opposite.orderColumn, column != side.orderColumn {
                columns.append(identifier(column))
                values.append("other")
            }
            try connection.execute("DELETE FROM \(table)")
            let insert = "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) SELECT"
            try connection.execute("\(insert) \(values.joined(separator: ", ")) FROM \(fill.table)")
            if side.isSymmetric {
                try connection.execute(
                    "\(insert) \((["member", "owner"] + values.dropFirst(2)).joined(separator: ", ")) FROM \(fill.table)")
            }
        }
    }

    private func checkSingle(_ column: String, _ fill: RelationshipFill, _ subject: String) throws(StoreError) {
        let isAmbiguous = try connection.first("SELECT 1 FROM \(fill.table) GROUP BY \(column) HAVING COUNT(*) > 1 LIMIT 1") { _ in true }
        if isAmbiguous == true { throw refusal(subject, "leads to one object now, and rows have several") }
    }
}
