// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

extension StoreWriter {
    /// Deletes the rows of a query, window included, and applies delete rules to rows.
    ///
    /// - Throws: ``StoreError`` with `.denied` when a relationship with the rule Deny still has members that aren't
    ///   deleted.
    package func deleteBatch(
        _ query: StoreQuery, author: String?, contextName: String?, listsKeys: Bool
    ) throws -> BatchOutcome {
        try deleteBatch(try fetchKeys(query), author: author, contextName: contextName, listsKeys: listsKeys)
    }

    /// Deletes the rows with these keys; ignores keys without a row.
    package func deleteBatch(
        _ keys: [RowKey], author: String?, contextName: String?, listsKeys: Bool
    ) throws -> BatchOutcome {
        let outcome = try deleteRows(keys, listsKeys: listsKeys)
        _ = try writeHistory(author: author, contextName: contextName)
        return outcome
    }

    func deleteRows(_ keys: [RowKey], listsKeys: Bool) throws -> BatchOutcome {
        var doomed = DoomedRows(root: { [layout] in layout.entities[$0]?.root ?? $0 })
        var fresh = doomed.add(try present(keys))
        let requested = doomed.count
        while !fresh.isEmpty {
            var next: [RowKey] = []
            for (entity, keys) in DoomedRows.grouped(fresh) {
                try eachRelationship(of: entity, rule: .cascade) { relationship in
                    next += doomed.add(try destinations(of: keys, relationship))
                }
            }
            fresh = next
        }
        var outcome = BatchOutcome()
        outcome.count = requested
        for (entity, keys) in doomed.groups {
            try eachRelationship(of: entity, rule: .deny) { relationship in
                let remainingMembers = try destinations(of: keys, relationship).filter { !doomed.contains($0) }
                if remainingMembers.isEmpty { return }
                throw StoreError(.denied, "a relationship with the delete rule Deny still has members", detail: relationship.name)
            }
        }
        for (entity, keys) in doomed.groups {
            if listsKeys { try collectOwners(of: keys, entity, &outcome.relationshipOwners) }
            try eachRelationship(of: entity, rule: .nullify) { relationship in
                try nullify(keys, relationship, &outcome, listsKeys: listsKeys)
            }
        }
        for (entity, keys) in doomed.groups {
            try removePairs(of: keys, entity)
            try remove(keys, entity)
            if listsKeys { outcome.deleted += keys.map { RowKey(store: store.number, entity: entity, primaryKey: $0) } }
        }
        outcome.updated.removeAll(where: doomed.contains)
        outcome.relationshipOwners = outcome.relationshipOwners.filter { !doomed.contains($0) }
        return outcome
    }

    // MARK: Finding rows

    /// The keys of existing rows, with their concrete entities.
    private func present(_ keys: [RowKey]) throws -> [RowKey] {
        var existingKeys: [RowKey] = []
        let own = keys.filter { $0.store == store.number }
        for (entity, group) in DoomedRows.grouped(own) {
            let entity = try layout.entity(entity)
            try connection.query(
                "SELECT Z_PK, Z_ENT FROM \(identifier(entity.table)) WHERE Z_PK \(KeyList.condition)", [KeyList(group).argument]
            ) { row in
                guard let index = layout.entityIndex(number: row.int(1)), entity.hierarchyNumbers.contains(row.int(1)) else { return }
                existingKeys.append(RowKey(store: store.number, entity: index, primaryKey: row.int(0)))
            }
        }
        return existingKeys
    }

    private struct Relationship {
        let name: String
        let owner: Int
        let slot: Int?
        let toMany: Int?
    }

    private func eachRelationship(of entity: Int, rule: DeleteRule, _ body: (Relationship) throws -> Void) throws {
        let resolved = layout.model.entities[entity]
        for (slot, definition) in resolved.slots.enumerated() {
            guard case .toOne(let relationship) = definition, relationship.declaration.deleteRule == rule else { continue }
            try body(Relationship(name: "\(resolved.name).\(relationship.name)", owner: entity, slot: slot, toMany: nil))
        }
        for (index, relationship) in resolved.toMany.enumerated() where relationship.declaration.deleteRule == rule {
            try body(Relationship(name: "\(resolved.name).\(relationship.name)", owner: entity, slot: nil, toMany: index))
        }
    }

    /// The existing rows at the other end of a relationship.
    private func destinations(of keys: [Int64], _ relationship: Relationship) throws -> [RowKey] {
        let owner = try layout.entity(relationship.owner)
        if let index = relationship.toMany {
            let owners = keys.map { RowKey(store: store.number, entity: relationship.owner, primaryKey: $0) }
            return try destinations(of: owners, toMany: index).values.flatMap(\.self)
        }
        guard let slot = relationship.slot, case .reference(let reference) = owner.slots[slot] else { return [] }
        let destination = try layout.entity(reference.destination)
        var existingKeys: [RowKey] = []
        try connection.query(
            """
            SELECT d.Z_PK, d.Z_ENT FROM \(identifier(owner.table)) o JOIN \(identifier(destination.table)) d \
            ON d.Z_PK = o.\(identifier(reference.column)) WHERE o.Z_PK \(KeyList.condition)
            """, [KeyList(keys).argument]
        ) { row in
            guard let index = layout.entityIndex(number: row.int(1)) else { return }
            existingKeys.append(RowKey(store: store.number, entity: index, primaryKey: row.int(0)))
        }
        return existingKeys
    }

    /// Owners of to-many relationships that lose deleted rows.
    private func collectOwners(of keys: [Int64], _ index: Int, _ owners: inout Set<RowKey>) throws {
        let entity = try layout.entity(index)
        for (slot, definition) in layout.model.entities[index].slots.enumerated() {
            guard case .toOne(let relationship) = definition, case .toMany? = relationship.inverse else { continue }
            owners.formUnion(
                try destinations(of: keys, Relationship(name: "", owner: entity.index, slot: slot, toMany: nil)))
        }
    }

    // MARK: Remaining rows

    /// Clears the references from a relationship's destinations to deleted rows.
    private func nullify(
        _ keys: [Int64], _ relationship: Relationship, _ outcome: inout BatchOutcome, listsKeys: Bool
    ) throws {
        let owner = try layout.entity(relationship.owner)
        let resolved = layout.model.entities[relationship.owner]
        var touched: Set<RowKey> = []
        if let slot = relationship.slot {
            guard case .toOne(let declared) = resolved.slots[slot], case .slot(let inverse)? = declared.inverse else { return }
            let destination = try layout.entity(declared.destination)
            guard case .reference(let reference) = destination.slots[inverse] else { return }
            try empty(reference, of: destination, keys, { $0.slotBits[inverse] }, &touched)
        } else if let index = relationship.toMany {
            let declared = resolved.toMany[index]
            switch owner.toMany[index] {
            case .transient: return
            case .foreignKey(let key):
                let destination = try layout.entity(key.destination)
                guard case .slot(let inverse)? = declared.inverse, case .reference(let reference) = destination.slots[inverse] else {
                    // Only this relationship reads the column, and its owner is deleted.
                    let column = identifier(key.column)
                    return try connection.execute(
                        "UPDATE \(identifier(key.table)) SET \(column) = NULL WHERE \(column) \(KeyList.condition)",
                        [KeyList(keys).argument])
                }
                try empty(reference, of: destination, keys, { $0.slotBits[inverse] }, &touched)
            case .join(let side):
                let destination = try layout.entity(side.destination)
                let (pairs, own, otherColumn) = (identifier(side.table), identifier(side.ownColumn), identifier(side.otherColumn))
                try touch(
                    """
                    UPDATE \(identifier(destination.table)) SET Z_OPT = Z_OPT + 1 \
                    WHERE Z_PK IN (SELECT \(otherColumn) FROM \(pairs) WHERE \(own) \(KeyList.condition)) RETURNING Z_PK, Z_ENT
                    """, keys, { $0.toManyBits[side.inverse] }, &touched)
                if listsKeys { outcome.relationshipOwners.formUnion(touched) }
            }
        }
        if listsKeys { outcome.updated += touched.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) } }
    }

    private func empty(
        _ reference: ReferenceColumn, of entity: StoredEntity, _ keys: [Int64], _ bit: (StoredEntity) -> Int?,
        _ touched: inout Set<RowKey>
    ) throws {
        let columns = [reference.column] + [reference.entityColumn, reference.orderColumn].compactMap(\.self)
        let list = columns.map { "\(identifier($0)) = NULL" }.joined(separator: ", ")
        try touch(
            """
            UPDATE \(identifier(entity.table)) SET \(list), Z_OPT = Z_OPT + 1 \
            WHERE \(identifier(reference.column)) \(KeyList.condition) RETURNING Z_PK, Z_ENT
            """, keys, bit, &touched)
    }

    private func touch(
        _ sql: String, _ keys: [Int64], _ bit: (StoredEntity) -> Int?, _ touched: inout Set<RowKey>
    ) throws {
        try connection.query(sql, [KeyList(keys).argument]) { row in
            guard let index = layout.entityIndex(number: row.int(1)), let entity = layout.entities[index] else { return }
            let key = RowKey(store: store.number, entity: index, primaryKey: row.int(0))
            touched.insert(key)
            history.touch(key, bit: bit(entity))
        }
    }

    // MARK: Deleted rows

    private func removePairs(of keys: [Int64], _ index: Int) throws {
        let root = try layout.entity(index).root
        for join in layout.joins {
            for (column, columnRoot) in [(join.first, join.firstRoot), (join.second, join.secondRoot)] where columnRoot == root {
                try connection.execute(
                    "DELETE FROM \(identifier(join.name)) WHERE \(identifier(column)) \(KeyList.condition)", [KeyList(keys).argument])
            }
        }
    }

    private func remove(_ keys: [Int64], _ index: Int) throws {
        let entity = try layout.entity(index)
        var tombstones: [Int64: [SQLValue]] = [:]
        if history.isEnabled, !entity.tombstoneSlots.isEmpty {
            for row in try rows(entity, keys) {
                tombstones[row.key.primaryKey] = entity.tombstone(row)
            }
        }
        try dropFiles(
            of: entity, slots: entity.externalSlots, where: SQLFragment("Z_PK \(KeyList.condition)", [KeyList(keys).argument]))
        try connection.execute(
            "DELETE FROM \(identifier(entity.table)) WHERE Z_PK \(KeyList.condition)", [KeyList(keys).argument])
        guard history.isEnabled else { return }
        for key in keys {
            history.delete(
                RowKey(store: store.number, entity: index, primaryKey: key), tombstone: tombstones[key] ?? [])
        }
    }
}

/// Rows that a request deletes, by concrete entity.
private struct DoomedRows {
    /// A row's identity is its table and key, independent of the requested entity.
    private struct RowIdentity: Hashable {
        let root: Int
        let primaryKey: Int64
    }

    private let root: (Int) -> Int
    private var rowIdentities: Set<RowIdentity> = []
    private var byEntity: [Int: [Int64]] = [:]

    init(root: @escaping (Int) -> Int) { self.root = root }

    var count: Int { rowIdentities.count }

    /// In order of entity.
    var groups: [(entity: Int, keys: [Int64])] { byEntity.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    func contains(_ key: RowKey) -> Bool { rowIdentities.contains(RowIdentity(root: root(key.entityIndex), primaryKey: key.primaryKey)) }

    /// - Returns: The keys that were new.
    mutating func add(_ keys: [RowKey]) -> [RowKey] {
        keys.filter { key in
            guard rowIdentities.insert(RowIdentity(root: root(key.entityIndex), primaryKey: key.primaryKey)).inserted else { return false }
            byEntity[key.entityIndex, default: []].append(key.primaryKey)
            return true
        }
    }

    static func grouped(_ keys: [RowKey]) -> [(entity: Int, keys: [Int64])] {
        Dictionary(grouping: keys, by: \.entityIndex).sorted { $0.key < $1.key }.map { ($0.key, $0.value.map(\.primaryKey)) }
    }
}
