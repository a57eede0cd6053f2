// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

extension StoreReader {
    /// Reads rows of one entity and its subentities by key, in one statement.
    ///
    /// - Returns: The existing rows, in no particular order.
    package func rows(of entity: Int, _ primaryKeys: [Int64]) throws -> [Row] {
        try rows(try layout.entity(entity), primaryKeys)
    }

    func rows(_ entity: StoredEntity, _ primaryKeys: [Int64]) throws -> [Row] {
        if primaryKeys.isEmpty { return [] }
        return try rows(entity, where: "t0.Z_PK \(KeyList.condition)", KeyList(primaryKeys))
    }

    /// Reads the destination rows of a to-many relationship for many owners, in one statement, if the rows have their
    /// owner's key.
    ///
    /// - Returns: nil for a relationship with a join table, or without a to-one inverse.
    package func memberRows(of owners: [RowKey], toMany index: Int) throws -> [Row]? {
        guard let first = owners.first else { return [] }
        let entity = try layout.entity(first.entityIndex)
        guard case .foreignKey(let key) = entity.toMany[index], !key.isHidden, key.orderColumn == nil else { return nil }
        return try rows(
            try layout.entity(key.destination), where: "t0.\(identifier(key.column)) \(KeyList.condition)",
            KeyList(owners.lazy.map(\.primaryKey)))
    }

    private func rows(_ entity: StoredEntity, where condition: String, _ keys: KeyList) throws -> [Row] {
        let statement = try connection.statement(
            "SELECT \(entity.shape.selectList("t0")) FROM \(identifier(entity.table)) t0 WHERE \(condition)")
        defer { statement.reset() }
        try statement.bind([keys.argument])
        var rows: [Row] = []
        while try statement.step() {
            if let row = entity.shape.decode(statement, layout, store: store.number) { rows.append(row) }
        }
        return rows
    }
}
