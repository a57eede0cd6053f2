// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

extension StoreChanges {
    func hasUniqueness(in layout: StoreLayout) -> Bool {
        func isUnique(_ key: RowKey) -> Bool { !layout.model.entities[key.entityIndex].uniqueness.isEmpty }
        // Rows are grouped by entity, so each entity is examined once.
        var last: Int?
        func any(_ keys: some Sequence<RowKey>) -> Bool {
            for key in keys where key.entityIndex != last {
                last = key.entityIndex
                if isUnique(key) { return true }
            }
            return false
        }
        return any(inserts.lazy.map(\.key)) || any(updates.lazy.map(\.key))
    }
}

extension StoreWriter {
    /// Clears unique columns before their update, so that rows may swap values.
    func vacate(_ updates: [RowUpdate]) throws(StoreError) {
        for update in updates {
            let constraints = layout.model.entities[update.key.entityIndex].uniqueness
            guard constraints.contains(where: { !Set($0.slots).isDisjoint(with: update.changedSlots) }) else { continue }
            let entity = try ownEntity(update.key)
            let columns = Set(constraints.flatMap(\.slots)).intersection(update.changedSlots).sorted().compactMap {
                entity.slots[$0].column.map { "\(identifier($0)) = NULL" }
            }
            guard !columns.isEmpty else { continue }
            try connection.execute(
                "UPDATE \(identifier(entity.table)) SET \(columns.joined(separator: ", ")) WHERE Z_PK = ? AND Z_OPT = ?",
                [.int(update.key.primaryKey), .int(update.expectedVersion)])
        }
    }

    /// Clears the unique columns of rows before their deletion, so that other rows can take their values.
    package func vacate(_ keys: [RowKey]) throws {
        for key in keys {
            let entity = try ownEntity(key)
            let slots = Set(layout.model.entities[key.entityIndex].uniqueness.flatMap(\.slots)).sorted()
            let columns = slots.compactMap { entity.slots[$0].column.map { "\(identifier($0)) = NULL" } }
            if columns.isEmpty { continue }
            try connection.execute(
                "UPDATE \(identifier(entity.table)) SET \(columns.joined(separator: ", ")) WHERE Z_PK = ?", [.int(key.primaryKey)])
        }
    }

    func writeRows(of changes: StoreChanges, _ conflicts: inout [RowConflict]) throws(StoreError) {
        var failure: StoreError
        do {
            try insert(changes.inserts)
            return try update(changes.updates, &conflicts)
        } catch {
            failure = error
        }
        if failure.code == .constraint, let collision = try collision(of: changes) { failure = collision }
        throw failure
    }

    /// - Returns: An error with every colliding row of the store; nil without collisions.
    func collision(of changes: StoreChanges) throws(StoreError) -> StoreError? {
        let own = Set(changes.inserts.map(\.key)).union(changes.updates.map(\.key))
        var collisions: [UniquenessCollision] = []
        for (key, values) in changes.inserts.map({ ($0.key, $0.values) }) + changes.updates.map({ ($0.key, $0.values) }) {
            for constraint in layout.model.entities[key.entityIndex].uniqueness {
                guard let row = try row(with: constraint, of: values, besides: own, key) else { continue }
                collisions.append(UniquenessCollision(constraint: constraint, key: key, persisted: row))
            }
        }
        if collisions.isEmpty { return nil }
        let names = Set(collisions.map { layout.model.entities[$0.key.entityIndex].name }).sorted()
        return StoreError(
            .constraint, "values that must be unique are in the store already", detail: names.joined(separator: ", "),
            collisions: collisions)
    }

    private func row(
        with constraint: UniquenessConstraint, of values: ContiguousArray<StoredValue>, besides own: Set<RowKey>, _ key: RowKey
    ) throws(StoreError) -> Row? {
        guard !constraint.slots.contains(where: { values[$0].isNull }) else { return nil }
        let entity = try ownEntity(key)
        let columns = constraint.slots.compactMap { entity.slots[$0].column }
        guard columns.count == constraint.slots.count, let owner = layout.entities[constraint.entity] else { return nil }
        let conditions =
            columns.map { "\(identifier($0)) = ?" } + ["Z_ENT IN (\(owner.hierarchyNumbers.map { String($0) }.joined(separator: ", ")))"]
        let statement = try connection.statement(
            "SELECT Z_PK FROM \(identifier(entity.table)) WHERE \(conditions.joined(separator: " AND "))")
        var rivalKeys: [Int64] = []
        try statement.bind(constraint.slots.map { StoredValueEncoding.encode(values[$0]) })
        while try statement.step() { rivalKeys.append(statement.int(0)) }
        statement.reset()
        for primaryKey in rivalKeys {
            if let row = try row(primaryKey, owner), !own.contains(row.key) { return row }
        }
        return nil
    }
}

extension StoreReader {
    /// Keys of rows with these values.
    ///
    /// - Parameter values: In the order of the constraint's properties, none of them nil.
    package func keys(with constraint: UniquenessConstraint, values: [StoredValue]) throws -> [RowKey] {
        let entity = try layout.entity(constraint.entity)
        let columns = constraint.slots.compactMap { entity.slots[$0].column }
        guard columns.count == constraint.slots.count else { return [] }
        let conditions =
            columns.map { "\(identifier($0)) = ?" } + ["Z_ENT IN (\(entity.hierarchyNumbers.map { String($0) }.joined(separator: ", ")))"]
        let statement = try connection.statement(
            "SELECT Z_PK, Z_ENT FROM \(identifier(entity.table)) WHERE \(conditions.joined(separator: " AND ")) ORDER BY Z_PK")
        defer { statement.reset() }
        try statement.bind(values.map { StoredValueEncoding.encode($0) })
        var keys: [RowKey] = []
        while try statement.step() {
            guard let index = layout.entityIndex(number: statement.int(1)) else { continue }
            keys.append(RowKey(store: store.number, entity: index, primaryKey: statement.int(0)))
        }
        return keys
    }
}

extension SlotLayout {
    var column: String? {
        switch self {
        case .transient: nil
        case .attribute(let column, _): column
        case .reference(let reference): reference.column
        }
    }
}
