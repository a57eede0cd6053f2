// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Creates the tables and indexes of a layout in a file.
struct StoreTables {
    let connection: Connection
    let layout: StoreLayout

    /// Creates missing parts: tables, columns, rows of the entity list. Indexes come last, when rows exist.
    ///
    /// - Parameters:
    ///   - columns: Existing upper-case columns by upper-case table.
    ///   - withHistory: A store without history gets no history tables: Apple's framework opens a store that has them
    ///     read-only, unless it is configured to continue the history.
    func make(besides columns: [String: [String]], withHistory: Bool) throws(StoreError) {
        for table in layout.tables {
            if let present = columns[table.name.uppercased()] {
                for column in table.columns where !present.contains(column.name.uppercased()) {
                    try connection.execute(StoreSchema.add(column, to: table))
                }
            } else {
                try connection.execute(StoreSchema.create(table))
            }
        }
        for join in layout.joins {
            if let present = columns[join.name.uppercased()] {
                for column in join.orderColumns where !present.contains(column.uppercased()) {
                    try connection.execute("ALTER TABLE \(identifier(join.name)) ADD COLUMN \(identifier(column)) INTEGER")
                }
            } else {
                for statement in StoreSchema.create(join) { try connection.execute(statement) }
            }
        }
        if withHistory { try makeHistory() }
        try listEntities()
    }

    func makeIndexes() throws(StoreError) {
        for table in layout.tables {
            for index in table.indexes { try connection.execute(StoreSchema.create(index, on: table)) }
        }
    }

    /// Drops indexes of the layout's tables that it does not have, or has in another form.
    func dropOtherIndexes(onLeftovers leftovers: [DeferredDrop]) throws(StoreError) {
        let neededNames = Set(
            layout.tables.flatMap { table in table.indexes.map { StoreSchema.create($0, on: table).replacing("IF NOT EXISTS ", with: "") } }
        )
        let joins = layout.joins.map { $0.name.uppercased() }
        let tables = Set(layout.tables.map { $0.name.uppercased() } + leftovers.filter { $0.column == nil }.map { $0.table.uppercased() })
        var dropped: [String] = []
        do {
            try connection.query("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL") { row in
                guard let name = row.text(0), let table = row.text(1)?.uppercased(), let sql = row.text(2) else { return }
                if tables.contains(table), !joins.contains(table), !neededNames.contains(sql) { dropped.append(name) }
            }
        } catch { throw StoreError(error) }
        for name in dropped { try connection.execute("DROP INDEX \(StoreSchema.quoted(name))") }
    }

    /// Rebuilds tables that have a uniqueness constraint in their CREATE TABLE that the model lacks, and omits columns
    /// with a pending drop.
    ///
    /// - Returns: Upper-case names of the rebuilt tables.
    @discardableResult
    func dropInlineConstraints(drops: [DeferredDrop] = []) throws(StoreError) -> Set<String> {
        var rebuilt: Set<String> = []
        for table in layout.tables {
            let rebuild = TableRebuild(connection: connection, table: table.name)
            let declaredUnique = table.uniqueColumns
            guard try rebuild.inlineConstraints().contains(where: { !declaredUnique.contains($0) }) else { continue }
            let columns = drops.filter { $0.table.uppercased() == table.name.uppercased() }.compactMap { $0.column?.uppercased() }
            try rebuild.run(dropping: Set(columns))
            rebuilt.insert(table.name.uppercased())
        }
        return rebuilt
    }

    func makeHistory() throws(StoreError) {
        let existingColumns = try connection.columnNames(of: "ACHANGE")
        let tombstones = (0..<layout.tombstoneCount).map { "ZTOMBSTONE\($0)" }
        if !existingColumns.isEmpty, tombstones.allSatisfy(existingColumns.contains) { return }
        for statement in StoreSchema.history(tombstones: tombstones) { try connection.execute(statement) }
        let present = try connection.columnNames(of: "ACHANGE")
        for name in tombstones where !present.contains(name) { try connection.execute("ALTER TABLE ACHANGE ADD COLUMN \(name) BLOB") }
        for (number, name) in HistoryEntity.names { try list(number, name, 0) }
    }

    /// Drops indexes that the model no longer declares, or declares differently, and creates missing ones. Indexes do not
    /// affect compatibility.
    ///
    /// - Returns: Whether anything changed.
    func bringIndexes(upFrom recorded: RecordedModel?) throws(StoreError) -> Bool {
        let neededIndexes = layout.recorded.indexes ?? [:]
        let tables = Set(layout.tables.map { $0.name.uppercased() })
        let all = try connection.pairs("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'")
        var present = Set(all.filter { tables.contains($0.1.uppercased()) }.map(\.0))
        var hasChanged = false
        for (name, statement) in (recorded?.indexes ?? [:]).sorted(by: { $0.key < $1.key })
        where present.contains(name) && neededIndexes[name] != statement {
            try connection.execute("DROP INDEX \(identifier(name))")
            present.remove(name)
            hasChanged = true
        }
        for (name, statement) in neededIndexes.sorted(by: { $0.key < $1.key }) where !present.contains(name) {
            try connection.execute(statement)
            hasChanged = true
        }
        return hasChanged || recorded?.indexes != neededIndexes
    }

    private func listEntities() throws(StoreError) {
        let entities = layout.entities.compactMap { $0 }.map { entity in
            (
                entity.number, entity.name,
                layout.model.entities[entity.index].superentity.flatMap { layout.entities[$0]?.number } ?? 0
            )
        }
        for (number, name, parent) in entities { try list(number, name, parent) }
    }

    private func list(_ number: Int64, _ name: String, _ parent: Int64) throws(StoreError) {
        try connection.execute(
            "INSERT OR IGNORE INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, 0)",
            [.int(number), .text(name), .int(parent)])
    }
}

extension Connection {
    /// - Returns: Upper-case table names with their upper-case column names, except for SQLite's own tables and virtual
    ///   ones, which may lack their module.
    func tableColumns() throws(StoreError) -> [String: [String]] {
        var columns: [String: [String]] = [:]
        for (name, _) in try pairs(
            """
            SELECT name, name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
            AND sql NOT LIKE 'CREATE VIRTUAL%'
            """)
        {
            columns[name.uppercased()] = try columnNames(of: name)
        }
        return columns
    }

    /// Upper case.
    func columnNames(of table: String) throws(StoreError) -> [String] {
        try pairs("SELECT name, name FROM pragma_table_info(\(textLiteral(table)))").map { $0.0.uppercased() }
    }

    func pairs(_ sql: String) throws(StoreError) -> [(String, String)] {
        var result: [(String, String)] = []
        do {
            try query(sql) { row in if let first = row.text(0), let second = row.text(1) { result.append((first, second)) } }
        } catch { throw StoreError(error) }
        return result
    }
}
