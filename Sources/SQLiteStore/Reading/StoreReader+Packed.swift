// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

// Reads of packed rows other than plain queries.

extension StoreReader {
    private static let rowsBetweenQuestions = 512

    /// Like ``fetchPacked(_:)``, with progress and cancellation.
    ///
    /// - Parameter continuing: Receives the number of rows read so far from time to time; returns false to stop.
    /// - Returns: nil when it was stopped.
    package func fetchPacked(_ query: StoreQuery, continuing: (Int) -> Bool) throws -> [RowChunk]? {
        let entity = try layout.entity(query.entity)
        let sql = try StoreQueryTranslation(query, layout, store).rows()
        let statement = try connection.statement(sql.text)
        defer { statement.reset() }
        try statement.bind(sql.arguments)
        var chunks: [RowChunk] = []
        var count = 0
        while try statement.step() {
            if entity.shape.pack(statement, layout, into: &chunks, store: store.number) { count += 1 }
            if count.isMultiple(of: Self.rowsBetweenQuestions), !continuing(count) { return nil }
        }
        return chunks
    }

    /// Reads rows of one entity and its subentities by key, in one statement.
    ///
    /// - Returns: The existing rows, in no particular order.
    package func packedRows(of entity: Int, _ primaryKeys: some Sequence<Int64>) throws -> [RowChunk] {
        try packedRows(try layout.entity(entity), where: "Z_PK", KeyList(primaryKeys))
    }

    /// Reads the destination rows of a to-many relationship for many owners, in one statement, if the rows have their
    /// owner's key.
    ///
    /// - Returns: nil for a relationship with its members or order outside of the rows.
    package func packedMembers(of owners: [RowKey], toMany index: Int) throws -> [RowChunk]? {
        guard let first = owners.first else { return [] }
        let entity = try layout.entity(first.entityIndex)
        guard case .foreignKey(let key) = entity.toMany[index], !key.isHidden, key.orderColumn == nil else { return nil }
        return try packedRows(try layout.entity(key.destination), where: key.column, KeyList(owners.lazy.map(\.primaryKey)))
    }

    private func packedRows(_ entity: StoredEntity, where column: String, _ keys: KeyList) throws -> [RowChunk] {
        let statement = try connection.statement(
            "SELECT \(entity.shape.selectList("t0")) FROM \(identifier(entity.table)) t0 WHERE t0.\(identifier(column)) \(KeyList.condition)"
        )
        defer { statement.reset() }
        try statement.bind([keys.argument])
        var chunks: [RowChunk] = []
        while try statement.step() { entity.shape.pack(statement, layout, into: &chunks, store: store.number) }
        return chunks
    }
}
