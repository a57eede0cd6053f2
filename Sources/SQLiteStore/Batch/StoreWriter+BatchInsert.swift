// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension StoreWriter {
    /// Inserts rows one after the other through one statement.
    ///
    /// Relationships stay empty. History gets one transaction.
    ///
    /// - Parameter listsKeys: Whether the outcome lists the rows' keys.
    /// - Throws: The source's error, or ``StoreError`` with `.constraint` when a row violates a uniqueness constraint and
    ///   the rule is to refuse.
    package func insertBatch(
        of index: Int, author: String?, contextName: String?, onConflict rule: BatchConflictRule, listsKeys: Bool,
        rows source: some BatchRowSource
    ) throws -> BatchOutcome {
        let entity = try layout.entity(index)
        let statement = try connection.statement(entity.insertSQL)
        defer { statement.reset() }
        let first = try raiseMaximum(of: entity.rootNumber, by: 0) + 1
        var primaryKey = first
        var outcome = BatchOutcome()
        while let values = try source.next() {
            precondition(values.count == entity.slots.count, "an inserted row has one value per slot of its entity")
            let fileCount = external.made.count
            try bind(values, entity, primaryKey, statement)
            do throws(StoreError) {
                try statement.run()
            } catch {
                guard error.code == .constraint else { throw error }
                // The row was not inserted, so no row names its files.
                external.dropped += external.made[fileCount...]
                try resolve(error, values, source, entity, rule, listsKeys: listsKeys, &outcome)
                continue
            }
            let key = RowKey(store: store.number, entity: index, primaryKey: primaryKey)
            history.insert(key)
            if listsKeys { outcome.inserted.append(key) }
            outcome.count += 1
            primaryKey += 1
        }
        if primaryKey > first { _ = try raiseMaximum(of: entity.rootNumber, by: Int(primaryKey - first)) }
        _ = try writeHistory(author: author, contextName: contextName)
        return outcome
    }

    private func bind(
        _ values: ContiguousArray<StoredValue>, _ entity: StoredEntity, _ primaryKey: Int64, _ statement: PreparedStatement
    ) throws(StoreError) {
        statement.bind(primaryKey, 1)
        statement.bind(entity.number, 2)
        var argument: Int32 = 3
        for slot in 0..<values.count {
            switch entity.bindings[slot] {
            case .none: continue
            case .external:
                try statement.bind(try encodeExternal(values[slot]), argument)
                argument += 1
            case .value:
                if values[slot].reference == nil {
                    try StoredValueEncoding.bind(values[slot], statement, argument)
                } else {
                    statement.bindNull(argument)
                }
                argument += 1
            case .keyAndEntity:
                statement.bindNull(argument)
                statement.bindNull(argument + 1)
                argument += 2
            }
        }
    }

    // MARK: Uniqueness

    private func resolve(
        _ error: StoreError, _ values: ContiguousArray<StoredValue>, _ source: some BatchRowSource, _ entity: StoredEntity,
        _ rule: BatchConflictRule, listsKeys: Bool, _ outcome: inout BatchOutcome
    ) throws {
        if rule == .refuse { throw error }
        let rivals = try rivals(of: values, entity)
        guard let survivor = rivals.first else { throw error }
        if rule == .keepStored { return }
        for rival in rivals.dropFirst() {
            let deletion = try deleteRows([rival], listsKeys: listsKeys)
            outcome.deleted += deletion.deleted
        }
        let slots = rule == .overwrite ? Array(entity.slots.indices) : source.givenSlots
        try write(values, slots.filter { isWritten($0, entity) }, to: survivor)
        if listsKeys { outcome.updated.append(survivor) }
        outcome.count += 1
    }

    /// Whether a row's values replace those of a stored row at a slot. Triggers compute derived attributes.
    private func isWritten(_ slot: Int, _ entity: StoredEntity) -> Bool {
        guard case .attribute = entity.slots[slot], case .attribute(let attribute) = layout.model.entities[entity.index].slots[slot] else {
            return false
        }
        return attribute.derivationExpression == nil
    }

    /// Rows with equal values under some uniqueness constraint, oldest first.
    private func rivals(of values: ContiguousArray<StoredValue>, _ entity: StoredEntity) throws -> [RowKey] {
        var rivalKeys: Set<RowKey> = []
        var index: Int? = entity.index
        while let current = index {
            let resolved = layout.model.entities[current]
            let owner = try layout.entity(current)
            for constraint in resolved.declaration.uniquenessConstraints {
                let slots = constraint.compactMap { name in
                    if case .slot(let slot)? = resolved.location(of: name) { slot } else { nil }
                }
                // Null equals nothing, not even null.
                guard slots.count == constraint.count, !slots.contains(where: { values[$0].isNull }) else { continue }
                rivalKeys.formUnion(try rows(of: owner, with: values, at: slots))
            }
            index = resolved.superentity
        }
        return rivalKeys.sorted { $0.primaryKey < $1.primaryKey }
    }

    private func rows(
        of entity: StoredEntity, with values: ContiguousArray<StoredValue>, at slots: [Int]
    ) throws -> [RowKey] {
        let tests = slots.compactMap { slot in
            if case .attribute(let column, _) = entity.slots[slot] { "\(identifier(column)) = ?" } else { nil }
        }
        var keys: [RowKey] = []
        try connection.query(
            "SELECT Z_PK, Z_ENT FROM \(identifier(entity.table)) WHERE \(tests.joined(separator: " AND "))",
            slots.map { StoredValueEncoding.encode(values[$0]) }
        ) { row in
            guard let index = layout.entityIndex(number: row.int(1)), entity.hierarchyNumbers.contains(row.int(1)) else { return }
            keys.append(RowKey(store: store.number, entity: index, primaryKey: row.int(0)))
        }
        return keys
    }

    private func write(_ values: ContiguousArray<StoredValue>, _ slots: [Int], to key: RowKey) throws {
        let entity = try layout.entity(key.entityIndex)
        let assignments = slots.compactMap { slot in
            if case .attribute(let column, _) = entity.slots[slot] { ", \(identifier(column)) = ?" } else { nil }
        }
        try dropFiles(of: entity, slots: slots, where: SQLFragment("Z_PK = ?", [.int(key.primaryKey)]))
        var encoded: [SQLValue] = []
        for slot in slots { encoded.append(try encode(values[slot], of: entity.slots[slot])) }
        try connection.execute(
            "UPDATE \(identifier(entity.table)) SET Z_OPT = Z_OPT + 1\(assignments.joined()) WHERE Z_PK = ?",
            encoded + [.int(key.primaryKey)])
        for slot in slots { history.touch(key, bit: entity.slotBits[slot]) }
    }
}
