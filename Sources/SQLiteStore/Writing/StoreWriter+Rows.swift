// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension StoreWriter {
    func insert(_ rows: [Row]) throws(StoreError) {
        var entity: StoredEntity?
        var statement: PreparedStatement?
        defer { statement?.clearBindings() }
        for row in rows {
            if entity?.index != row.key.entityIndex {
                statement?.clearBindings()
                let layout = try ownEntity(row.key)
                entity = layout
                statement = try connection.statement(layout.insertSQL)
            }
            guard let entity, let statement else { continue }
            precondition(row.values.count == entity.slots.count, "an inserted row has one value per slot of its entity")
            statement.bind(row.key.primaryKey, 1)
            statement.bind(entity.number, 2)
            try runBound(row.values, entity.bindings, statement, from: 0, 3)
            for slot in entity.orderedSlots {
                try append(row.values[slot], entity.slots[slot], row.key.primaryKey, entity)
            }
            history.insert(row.key)
        }
    }

    func update(_ updates: [RowUpdate], _ conflicts: inout [RowConflict]) throws(StoreError) {
        var statements: [UpdateShape: PreparedStatement] = [:]
        for update in updates {
            let entity = try ownEntity(update.key)
            precondition(update.values.count == entity.slots.count, "an update has one value per slot of its entity")
            let shape = UpdateShape(entity: entity.index, slots: update.changedSlots)
            let statement: PreparedStatement
            if let prepared = statements[shape] {
                statement = prepared
            } else {
                statement = try connection.statement(shape.sql(entity))
                statements[shape] = statement
            }
            if entity.externalSlots.contains(where: update.changedSlots.contains) {
                try dropFiles(of: entity, slots: update.changedSlots, where: SQLFragment("Z_PK = ?", [.int(update.key.primaryKey)]))
            }
            var index: Int32 = 1
            for slot in update.changedSlots { try bind(update.values[slot], entity.bindings[slot], statement, &index) }
            statement.bind(update.key.primaryKey, index)
            statement.bind(update.expectedVersion, index + 1)
            try statement.run()
            guard statement.changes == 1 else {
                conflicts.append(try conflict(update.key, update.expectedVersion, entity))
                continue
            }
            for slot in entity.orderedSlots where update.changedSlots.contains(slot) {
                try append(update.values[slot], entity.slots[slot], update.key.primaryKey, entity)
            }
            history.update(
                update.key,
                bits: update.changedSlots.compactMap { entity.slotBits[$0] }
                    + update.changedToMany.compactMap { entity.toManyBits[$0] })
        }
    }

    /// A row must not reference a concurrently deleted one: nothing would ever clear the reference.
    func check(_ owners: [RowOwner], _ conflicts: inout [RowConflict]) throws(StoreError) {
        for owner in owners {
            let table = identifier(try ownEntity(owner.key).table)
            if try connection.first("SELECT 1 FROM \(table) WHERE Z_PK = ?", [.int(owner.key.primaryKey)], { _ in true }) == nil {
                conflicts.append(RowConflict(key: owner.key, expectedVersion: owner.expectedVersion, persisted: nil))
            }
        }
    }

    func delete(_ deletes: [RowDelete], _ conflicts: inout [RowConflict]) throws(StoreError) {
        for delete in deletes {
            let entity = try ownEntity(delete.key)
            var tombstone: [SQLValue] = []
            if !entity.tombstoneSlots.isEmpty, let row = try row(delete.key.primaryKey, entity), row.key == delete.key {
                tombstone = entity.tombstone(row)
            }
            if !entity.externalSlots.isEmpty {
                try dropFiles(
                    of: entity, slots: entity.externalSlots, where: SQLFragment("Z_PK = ?", [.int(delete.key.primaryKey)]))
            }
            let table = identifier(entity.table)
            let statement = try connection.statement(
                delete.expectedVersion == nil
                    ? "DELETE FROM \(table) WHERE Z_PK = ?" : "DELETE FROM \(table) WHERE Z_PK = ? AND Z_OPT = ?")
            statement.bind(delete.key.primaryKey, 1)
            if let version = delete.expectedVersion { statement.bind(version, 2) }
            try statement.run()
            guard statement.changes == 1 else {
                // A delete without a version is satisfied if the row is missing.
                if let version = delete.expectedVersion {
                    conflicts.append(try conflict(delete.key, version, entity))
                }
                continue
            }
            for join in layout.joins {
                for (column, root) in [(join.first, join.firstRoot), (join.second, join.secondRoot)]
                where root == entity.root {
                    try connection.execute(
                        "DELETE FROM \(identifier(join.name)) WHERE \(identifier(column)) = ?",
                        [.int(delete.key.primaryKey)])
                }
            }
            history.delete(delete.key, tombstone: tombstone)
        }
    }

    // MARK: Statements

    func ownEntity(_ key: RowKey) throws(StoreError) -> StoredEntity {
        precondition(key.store == store.number, "a row is written to the store that its key names")
        return try layout.entity(key.entityIndex)
    }

    private func conflict(_ key: RowKey, _ version: Int64, _ entity: StoredEntity) throws(StoreError) -> RowConflict {
        RowConflict(key: key, expectedVersion: version, persisted: try row(key.primaryKey, entity))
    }

    /// Binds the values from a slot on, and runs the statement while the bytes of texts stay in place: SQLite need not
    /// copy them.
    private func runBound(
        _ values: ContiguousArray<StoredValue>, _ bindings: [SlotBinding], _ statement: PreparedStatement, from start: Int, _ first: Int32
    ) throws(StoreError) {
        var index = first
        for slot in start..<bindings.count {
            if case .string(var text) = values[slot], case .value = bindings[slot] {
                let argument = index
                return try text.withUTF8 { bytes in
                    Result { () throws(StoreError) in
                        try statement.bind(standing: bytes, argument)
                        try runBound(values, bindings, statement, from: slot + 1, argument + 1)
                    }
                }.get()
            }
            try bind(values[slot], bindings[slot], statement, &index)
        }
        try statement.run()
    }

    private func bind(
        _ value: StoredValue, _ binding: SlotBinding, _ statement: PreparedStatement, _ index: inout Int32
    ) throws(StoreError) {
        switch binding {
        case .none: return
        case .external: try statement.bind(try encodeExternal(value), index)
        case .value, .keyAndEntity: try StoredValueEncoding.bind(value, statement, index)
        }
        index += 1
        guard case .keyAndEntity = binding else { return }
        if let key = value.reference {
            statement.bind(try ownEntity(key).number, index)
        } else {
            statement.bindNull(index)
        }
        index += 1
    }

    /// Gives a row that joins an ordered relationship the last position.
    private func append(
        _ value: StoredValue, _ slot: SlotLayout, _ primaryKey: Int64, _ entity: StoredEntity
    ) throws(StoreError) {
        guard case .reference(let reference) = slot, let order = reference.orderColumn else { return }
        if !value.isNull, placed.contains(RowKey(store: store.number, entity: entity.index, primaryKey: primaryKey)) { return }
        let (table, positionColumn) = (identifier(entity.table), identifier(order))
        guard let owner = value.reference else {
            return try connection.execute("UPDATE \(table) SET \(positionColumn) = NULL WHERE Z_PK = ?", [.int(primaryKey)])
        }
        let last = try nextPlace(in: reference.column, owner.primaryKey, entity.table, order, except: primaryKey)
        try connection.execute("UPDATE \(table) SET \(positionColumn) = ? WHERE Z_PK = ?", [.int(last), .int(primaryKey)])
    }

    /// The position behind the last member of an ordered relationship.
    ///
    /// - Parameters:
    ///   - column: The column with the owner's key.
    ///   - key: A row that joins the relationship; nil for a join record.
    func nextPlace(in column: String, _ owner: Int64, _ table: String, _ order: String, except key: Int64? = nil) throws(StoreError)
        -> Int64
    {
        let list = OrderedOwner(table: table, order: order, owner: owner)
        let last: Int64
        if let lastPosition = lastPlaces[list] {
            last = lastPosition
        } else {
            let exclusion = key == nil ? "" : " AND Z_PK <> ?"
            last =
                try connection.first(
                    "SELECT MAX(\(identifier(order))) FROM \(identifier(table)) WHERE \(identifier(column)) = ?\(exclusion)",
                    [.int(owner)] + (key.map { [.int($0)] } ?? [])
                ) { $0.int(0) } ?? 0
        }
        let next = last + OrderStep.size
        lastPlaces[list] = next
        return next
    }
}

/// An ordered relationship of one row.
struct OrderedOwner: Hashable {
    let table: String
    /// The column with the members' positions.
    let order: String
    let owner: Int64
}

/// Positions in an ordered relationship have gaps, as in Apple's stores.
enum OrderStep {
    static let size: Int64 = 2048
}

/// Updates of one entity that change the same slots share a statement.
struct UpdateShape: Hashable {
    let entity: Int
    let slots: [Int]

    func sql(_ entity: StoredEntity) -> String {
        var assignments = ["Z_OPT = Z_OPT + 1"]
        for slot in slots {
            switch entity.slots[slot] {
            case .transient: continue
            case .attribute(let column, _): assignments.append("\(identifier(column)) = ?")
            case .reference(let reference):
                assignments.append("\(identifier(reference.column)) = ?")
                if let companion = reference.entityColumn { assignments.append("\(identifier(companion)) = ?") }
            }
        }
        return """
            UPDATE \(identifier(entity.table)) SET \(assignments.joined(separator: ", ")) \
            WHERE Z_PK = ? AND Z_OPT = ?
            """
    }
}

extension StoredEntity {
    /// The values that history preserves of a deleted row, without large ones.
    ///
    /// Source: core-data-sqlite-format, "External binary storage".
    func tombstone(_ row: Row) -> [SQLValue] {
        tombstoneSlots.map { externalSlots.contains($0) ? .null : StoredValueEncoding.encode(row.values[$0]) }
    }

    static func insertSQL(_ table: String, _ slots: [SlotLayout]) -> String {
        var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
        var placeholders = ["?", "?", "1"]
        for slot in slots {
            switch slot {
            case .transient: continue
            case .attribute(let column, _): columns.append(identifier(column))
            case .reference(let reference):
                columns.append(identifier(reference.column))
                if let companion = reference.entityColumn {
                    columns.append(identifier(companion))
                    placeholders.append("?")
                }
            }
            placeholders.append("?")
        }
        return """
            INSERT INTO \(identifier(table)) (\(columns.joined(separator: ", "))) \
            VALUES (\(placeholders.joined(separator: ", ")))
            """
    }
}
