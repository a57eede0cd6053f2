// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// Reads of a store in one consistent snapshot. Valid only inside the closure that receives it.
package class StoreReader {
    let connection: Connection
    let store: SQLiteStore
    let layout: StoreLayout

    init(_ connection: Connection, _ store: SQLiteStore) {
        self.connection = connection
        self.store = store
        layout = store.layout
    }

    // MARK: Rows by key

    /// - Returns: nil for a missing row. The row's key has the concrete entity, which may be a subentity of the requested
    ///   one.
    package func row(_ key: RowKey) throws -> Row? {
        guard key.store == store.number else { return nil }
        return try row(key.primaryKey, try layout.entity(key.entityIndex))
    }

    /// - Returns: The existing rows, in order of their keys.
    package func rows(_ keys: [RowKey]) throws -> [Row] {
        var rows: [Row] = []
        rows.reserveCapacity(keys.count)
        var entity: StoredEntity?
        var statement: PreparedStatement?
        defer { statement?.reset() }
        for key in keys where key.store == store.number {
            if entity?.index != key.entityIndex || statement == nil {
                statement?.reset()
                let layout = try layout.entity(key.entityIndex)
                entity = layout
                statement = try connection.statement(layout.rowSQL)
            }
            guard let entity, let statement else { continue }
            statement.bind(key.primaryKey, 1)
            if try statement.step(), let row = entity.shape.decode(statement, layout, store: store.number) {
                rows.append(row)
            }
            statement.reset()
        }
        return rows
    }

    func row(_ primaryKey: Int64, _ entity: StoredEntity) throws(StoreError) -> Row? {
        let statement = try connection.statement(entity.rowSQL)
        defer { statement.reset() }
        statement.bind(primaryKey, 1)
        return try statement.step() ? entity.shape.decode(statement, layout, store: store.number) : nil
    }

    // MARK: Queries

    package func fetch(_ query: StoreQuery) throws -> [Row] {
        let entity = try layout.entity(query.entity)
        let sql = try StoreQueryTranslation(query, layout, store).rows()
        var rows: [Row] = []
        try run(sql) { statement in
            if let row = entity.shape.decode(statement, layout, store: store.number) { rows.append(row) }
        }
        return rows
    }

    /// Fetches the same rows as ``fetch(_:)`` in packed form.
    package func fetchPacked(_ query: StoreQuery) throws -> [RowChunk] {
        let entity = try layout.entity(query.entity)
        let (shape, layout, number) = (entity.shape, layout, store.number)
        var chunks: [RowChunk] = []
        try run(try StoreQueryTranslation(query, layout, store).rows()) { shape.pack($0, layout, into: &chunks, store: number) }
        return chunks
    }

    package func fetchKeys(_ query: StoreQuery) throws -> [RowKey] {
        let sql = try StoreQueryTranslation(query, layout, store).keys()
        var keys: [RowKey] = []
        try run(sql) { statement in
            if let entity = layout.entityIndex(number: statement.int(1)) {
                keys.append(RowKey(store: store.number, entity: entity, primaryKey: statement.int(0)))
            }
        }
        return keys
    }

    package func count(_ query: StoreQuery) throws -> Int {
        var count = 0
        try run(try StoreQueryTranslation(query, layout, store).count()) { count = Int($0.int(0)) }
        return count
    }

    private func run(_ sql: SQLFragment, _ each: (PreparedStatement) -> Void) throws(StoreError) {
        // Long texts come from long lists of values and are unlikely to recur: they are not cached.
        let isKept = sql.text.utf8.count < 4_000
        let statement = isKept ? try connection.statement(sql.text) : try connection.passingStatement(sql.text)
        defer { statement.reset() }
        try statement.bind(sql.arguments)
        while try statement.step() { each(statement) }
    }

    // MARK: Other statements

    /// Runs a statement on tables of another module, such as the sync metadata, and passes each row to `each`.
    package func query(_ sql: String, _ arguments: [SQLValue] = [], _ each: (SQLRow) throws -> Void) throws {
        try connection.query(sql, arguments, each)
    }

    /// The metadata that apps see: property-list values, including `NSStoreUUID` and `NSStoreType`.
    package func metadata() throws -> [String: Any] {
        try storedMetadata().visible(identifier: store.identifier, connection)
    }

    func storedMetadata() throws(StoreError) -> StoreMetadata {
        guard let data = try connection.first("SELECT Z_PLIST FROM Z_METADATA LIMIT 1", [], { $0.blob(0) }) else {
            throw StoreError(.corrupt, "the store has lost its metadata")
        }
        return try StoreMetadata(decoding: data)
    }
}
