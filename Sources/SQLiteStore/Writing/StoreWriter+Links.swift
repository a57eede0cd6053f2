// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

extension StoreWriter {
    /// Adds and removes join records. An existing one isn't added, a missing one isn't removed, and neither is recorded
    /// in history.
    func link(_ links: [LinkChange]) throws(StoreError) {
        var insertion: LinkInsertion?
        for link in links {
            if link.isAddition, let insertion, insertion.covers(link) {
                if try insert(link, insertion) { touch(link, insertion.side) }
                continue
            }
            let owner = try ownEntity(link.owner)
            _ = try ownEntity(link.destination)
            precondition(
                owner.toMany.indices.contains(link.relationship), "a link names a to-many relationship of its owner")
            switch owner.toMany[link.relationship] {
            case .transient: continue
            case .join(let side):
                if link.isAddition {
                    let prepared = try LinkInsertion(link, side, inverseOrder: inverseOrder(side), connection)
                    insertion = prepared
                    if try insert(link, prepared) { touch(link, side) }
                } else if try remove(link, side) {
                    touch(link, side)
                }
            case .foreignKey(let key):
                precondition(key.isHidden, "a relationship with a to-one inverse is changed through the inverse")
                if try setHidden(key, link) { history.touch(link.owner, bit: owner.toManyBits[link.relationship]) }
            }
        }
    }

    private func touch(_ link: LinkChange, _ side: JoinSide) {
        guard history.isEnabled else { return }
        history.touch(link.owner, bit: layout.entities[link.owner.entityIndex]?.toManyBits[link.relationship])
        history.touch(link.destination, bit: layout.entities[link.destination.entityIndex]?.toManyBits[side.inverse])
    }

    private func insert(_ link: LinkChange, _ insertion: LinkInsertion) throws(StoreError) -> Bool {
        let (own, other) = (link.owner.primaryKey, link.destination.primaryKey)
        let changed = try insert(own, other, insertion)
        if insertion.side.isSymmetric { _ = try insert(other, own, insertion) }
        return changed
    }

    private func insert(_ own: Int64, _ other: Int64, _ insertion: LinkInsertion) throws(StoreError) -> Bool {
        let (statement, side) = (insertion.statement, insertion.side)
        for (place, order) in insertion.orders.enumerated() {
            let position = try nextPlace(
                in: order.isOwn ? side.ownColumn : side.otherColumn, order.isOwn ? own : other, side.table, order.column)
            statement.bind(position, Int32(3 + place))
        }
        statement.bind(own, 1)
        statement.bind(other, 2)
        try statement.run()
        return statement.changes > 0
    }

    private func remove(_ link: LinkChange, _ side: JoinSide) throws(StoreError) -> Bool {
        let (own, otherColumn) = (identifier(side.ownColumn), identifier(side.otherColumn))
        let sql = "DELETE FROM \(identifier(side.table)) WHERE \(own) = ?1 AND \(otherColumn) = ?2"
        return try runPair(sql, link.owner.primaryKey, link.destination.primaryKey, side)
    }

    private func runPair(_ sql: String, _ own: Int64, _ other: Int64, _ side: JoinSide) throws(StoreError) -> Bool {
        let statement = try connection.statement(sql)
        statement.bind(own, 1)
        statement.bind(other, 2)
        try statement.run()
        let changed = statement.changes > 0
        if side.isSymmetric {
            statement.bind(other, 1)
            statement.bind(own, 2)
            try statement.run()
        }
        return changed
    }

    private func inverseOrder(_ side: JoinSide) -> String? {
        guard case .join(let inverse)? = layout.entities[side.destination]?.toMany[side.inverse] else { return nil }
        return inverse.orderColumn
    }

    private func setHidden(_ key: ForeignKey, _ link: LinkChange) throws(StoreError) -> Bool {
        let (table, column) = (identifier(key.table), identifier(key.column))
        let sql: String
        var position: Int64?
        if link.isAddition {
            position = try key.orderColumn.map { order throws(StoreError) in
                try nextPlace(in: key.column, link.owner.primaryKey, key.table, order)
            }
            let order = key.orderColumn.map { ", \(identifier($0)) = ?3" } ?? ""
            sql = "UPDATE \(table) SET \(column) = ?1\(order) WHERE Z_PK = ?2 AND \(column) IS NOT ?1"
        } else {
            sql = "UPDATE \(table) SET \(column) = NULL WHERE Z_PK = ?2 AND \(column) = ?1"
        }
        let statement = try connection.statement(sql)
        statement.bind(link.owner.primaryKey, 1)
        statement.bind(link.destination.primaryKey, 2)
        if let position { statement.bind(position, 3) }
        try statement.run()
        return statement.changes > 0
    }

    // MARK: Order

    /// Sets the order of ordered relationships. Ignores destinations that aren't members.
    func reorder(_ orders: [OrderChange]) throws(StoreError) {
        if !orders.isEmpty { lastPlaces = [:] }
        for change in orders {
            let owner = try ownEntity(change.owner)
            precondition(
                owner.toMany.indices.contains(change.relationship), "an order names a to-many relationship of its owner"
            )
            let (table, own, otherColumn, order): (String, String, String, String?)
            switch owner.toMany[change.relationship] {
            case .transient: continue
            case .join(let side):
                (table, own, otherColumn, order) = (side.table, side.ownColumn, side.otherColumn, side.orderColumn)
            case .foreignKey(let key): (table, own, otherColumn, order) = (key.table, key.column, "Z_PK", key.orderColumn)
            }
            guard let order else { continue }
            var last: Int64 = 0
            if change.isAppended {
                let reorderedKeys = change.destinations.map { String($0.primaryKey) }.joined(separator: ", ")
                last =
                    try connection.first(
                        """
                        SELECT MAX(\(identifier(order))) FROM \(identifier(table)) \
                        WHERE \(identifier(own)) = ? AND \(identifier(otherColumn)) NOT IN (SELECT value FROM json_each(?))
                        """, [.int(change.owner.primaryKey), .text("[\(reorderedKeys)]")]
                    ) { $0.int(0) } ?? 0
            }
            let statement = try connection.statement(
                """
                UPDATE \(identifier(table)) SET \(identifier(order)) = ?1 \
                WHERE \(identifier(own)) = ?2 AND \(identifier(otherColumn)) = ?3 AND \(identifier(order)) IS NOT ?1
                """)
            for (index, destination) in change.destinations.enumerated() {
                statement.bind(last + Int64(index + 1) * OrderStep.size, 1)
                statement.bind(change.owner.primaryKey, 2)
                statement.bind(destination.primaryKey, 3)
                try statement.run()
            }
            history.touch(change.owner, bit: owner.toManyBits[change.relationship])
        }
    }

    // MARK: References to deleted rows

    /// Clears every to-one relationship to one of the rows, and removes every join record with one of them.
    ///
    /// Versions of the changed rows are incremented, and the change is part of the history.
    ///
    /// - Returns: The distinct rows that changed, in order of entity and primary key.
    @discardableResult
    package func nullifyReferences(to keys: [RowKey]) throws -> [RowKey] {
        var touched: Set<RowKey> = []
        for key in keys {
            let target = try ownEntity(key)
            for case let entity? in layout.entities {
                try nullifyColumns(of: entity, key, target, &touched)
                try removePairs(of: entity, key, target, &touched)
            }
        }
        touched.subtract(keys)
        return touched.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
    }

    private func nullifyColumns(
        of entity: StoredEntity, _ key: RowKey, _ target: StoredEntity, _ touched: inout Set<RowKey>
    ) throws(StoreError) {
        let inherited =
            layout.model.entities[entity.index].superentity.flatMap { layout.entities[$0]?.slots.count } ?? 0
        for slot in inherited..<entity.slots.count {
            guard case .reference(let reference) = entity.slots[slot],
                layout.entities[reference.destination]?.root == target.root
            else { continue }
            let companionColumns = [reference.entityColumn, reference.orderColumn].compactMap { $0 }
            let empty = ([reference.column] + companionColumns).map { "\(identifier($0)) = NULL" }.joined(separator: ", ")
            try collect(
                """
                UPDATE \(identifier(entity.table)) SET \(empty), Z_OPT = Z_OPT + 1 \
                WHERE \(identifier(reference.column)) = ? RETURNING Z_PK, Z_ENT
                """, key, { $0.slotBits[slot] }, &touched)
        }
    }

    private func removePairs(
        of entity: StoredEntity, _ key: RowKey, _ target: StoredEntity, _ touched: inout Set<RowKey>
    ) throws(StoreError) {
        let inherited =
            layout.model.entities[entity.index].superentity.flatMap { layout.entities[$0]?.toMany.count } ?? 0
        for index in inherited..<entity.toMany.count {
            switch entity.toMany[index] {
            case .join(let side) where layout.entities[side.destination]?.root == target.root:
                // The owners' versions are incremented before the join records that identify them are removed.
                let (table, own, otherColumn) = (
                    identifier(side.table), identifier(side.ownColumn), identifier(side.otherColumn)
                )
                try collect(
                    """
                    UPDATE \(identifier(entity.table)) SET Z_OPT = Z_OPT + 1 \
                    WHERE Z_PK IN (SELECT \(own) FROM \(table) WHERE \(otherColumn) = ?) RETURNING Z_PK, Z_ENT
                    """, key, { $0.toManyBits[index] }, &touched)
                try connection.execute("DELETE FROM \(table) WHERE \(otherColumn) = ?", [.int(key.primaryKey)])
            case .foreignKey(let foreign) where foreign.isHidden && entity.root == target.root:
                let (table, column) = (identifier(foreign.table), identifier(foreign.column))
                try connection.execute(
                    "UPDATE \(table) SET \(column) = NULL WHERE \(column) = ?", [.int(key.primaryKey)])
            default: continue
            }
        }
    }

    private func collect(
        _ sql: String, _ key: RowKey, _ bit: (StoredEntity) -> Int?, _ touched: inout Set<RowKey>
    ) throws(StoreError) {
        let statement = try connection.statement(sql)
        defer { statement.reset() }
        statement.bind(key.primaryKey, 1)
        while try statement.step() {
            guard let index = layout.entityIndex(number: statement.int(1)), let entity = layout.entities[index] else {
                continue
            }
            let row = RowKey(store: store.number, entity: index, primaryKey: statement.int(0))
            touched.insert(row)
            history.touch(row, bit: bit(entity))
        }
    }
}

/// The statement that adds join records of one relationship, prepared once for consecutive links.
private struct LinkInsertion {
    let side: JoinSide
    let statement: PreparedStatement
    /// Positions in the lists of the owner and of the destination.
    let orders: [(column: String, isOwn: Bool)]
    private let owner: (store: UInt16, entity: UInt16)
    private let destination: (store: UInt16, entity: UInt16)
    private let relationship: Int

    init(_ link: LinkChange, _ side: JoinSide, inverseOrder: String?, _ connection: Connection) throws(StoreError) {
        var columns = [side.ownColumn, side.otherColumn]
        var orders: [(column: String, isOwn: Bool)] = []
        for (order, isOwn) in [(side.orderColumn, true), (inverseOrder, false)] {
            guard let order, !columns.contains(order) else { continue }
            columns.append(order)
            orders.append((order, isOwn))
        }
        self.side = side
        self.orders = orders
        owner = (link.owner.store, link.owner.entity)
        destination = (link.destination.store, link.destination.entity)
        relationship = link.relationship
        statement = try connection.statement(
            """
            INSERT OR IGNORE INTO \(identifier(side.table)) (\(columns.map(identifier).joined(separator: ", "))) \
            VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
            """)
    }

    /// Whether the link has the same owner entity, relationship and destination entity, which were checked.
    func covers(_ link: LinkChange) -> Bool {
        (link.owner.store, link.owner.entity) == owner && (link.destination.store, link.destination.entity) == destination
            && link.relationship == relationship
    }
}
