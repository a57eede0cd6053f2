// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Executes a ``MigrationPlan`` with SQL, in the caller's transaction: when it throws, or the process ends, the file is
/// unchanged.
struct StoreMigrator {
    let connection: Connection
    let plan: MigrationPlan
    /// Of the new model.
    let layout: StoreLayout

    /// - Parameter isDeferring: Leaves unneeded columns and tables in the file.
    /// - Returns: The deferred drops.
    /// - Throws: ``StoreError`` with `.migration` when rows do not fit the new model.
    func run(isDeferring: Bool, withHistory: Bool) throws(StoreError) -> [DeferredDrop] {
        let fills = RelationshipFill.all(plan, layout)
        let drops = drops()
        if changesTables || !drops.isEmpty || !fills.isEmpty { try dropTriggers() }
        for fill in fills { try collect(fill) }
        try renameTables()
        try renameColumns()
        let tables = StoreTables(connection: connection, layout: layout)
        try tables.dropOtherIndexes(onLeftovers: drops)
        try tables.make(besides: try connection.tableColumns(), withHistory: withHistory)
        try moveRows()
        try updateRows()
        try removeRows()
        for fill in fills { try write(fill) }
        if !plan.disturbed.isEmpty { try cutDanglingEnds() }
        try fillOrders()
        try checkRows()
        try rewriteEntityList()
        if try connection.columnNames(of: "ACHANGE").isEmpty == false { try rewriteHistory() }
        let rebuilt = try tables.dropInlineConstraints(drops: isDeferring ? [] : drops)
        guard !isDeferring else { return drops }
        for drop in drops where drop.column == nil || !rebuilt.contains(drop.table.uppercased()) { try drop.run(connection) }
        return []
    }

    /// Returns the names of files that no row will name: those of removed attributes and entities. Called before
    /// ``run(isDeferring:withHistory:)``.
    func droppedFiles() throws(StoreError) -> [String] {
        var names: [String] = []
        for case let entity? in plan.old.entities {
            for slot in plan.droppedExternalSlots(of: entity) {
                guard let sql = entity.filesSQL(slot) else { continue }
                do {
                    try connection.query("\(sql) AND Z_ENT = ?", [.int(entity.number)]) { row in
                        if case .file(let name)? = row.blob(0).map(ExternalValue.init) { names.append(name) }
                    }
                } catch { throw StoreError(error) }
            }
        }
        return names
    }

    private var changesTables: Bool {
        !plan.disturbed.isEmpty || !plan.columnRenames.isEmpty
            || plan.primaries.contains { MigrationPlan.table(of: plan.model.entities[$0.key]) != plan.oldEntity($0.value).table }
    }

    /// Columns, then tables, that the new layout does not need.
    private func drops() -> [DeferredDrop] {
        var drops: [DeferredDrop] = []
        for table in layout.tables {
            let neededColumns = Set(ReadShape.fixedColumns + table.columns.map { $0.name.uppercased() })
            let present = plan.existing.columns[table.name] ?? []
            drops += present.filter { !neededColumns.contains($0) }.map { DeferredDrop(table: table.name, column: $0) }
        }
        for join in layout.joins {
            let neededColumns = Set(([join.first, join.second] + join.orderColumns).map { $0.uppercased() })
            let present = plan.existing.columns[join.name.uppercased()] ?? []
            drops += present.filter { !neededColumns.contains($0) }.map { DeferredDrop(table: join.name, column: $0) }
        }
        for entity in plan.old.model.entities where entity.root == entity.index && plan.owner(of: entity.index) == nil {
            drops.append(DeferredDrop(table: MigrationPlan.leftover(entity.index), column: nil))
        }
        let joins = Set(layout.joins.map { $0.name.uppercased() })
        drops += plan.old.joins.filter { !joins.contains($0.name.uppercased()) }.map { DeferredDrop(table: $0.name, column: nil) }
        return drops
    }

    /// Triggers of derived attributes and of Apple's R-trees name columns; needed ones are created again afterwards.
    private func dropTriggers() throws(StoreError) {
        let tables = (plan.old.tables.map(\.name) + plan.old.joins.map(\.name)).map { $0.uppercased() }
        for (name, table) in try connection.pairs("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'")
        where tables.contains(table.uppercased()) {
            try connection.execute("DROP TRIGGER \(StoreSchema.quoted(name))")
        }
        for (name, _) in try connection.pairs(
            "SELECT name, name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z\\_RT\\_%' ESCAPE '\\' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
        ) { try connection.execute("DROP TABLE \(StoreSchema.quoted(name))") }
    }

    /// In two steps, since names may be swapped.
    private func renameTables() throws(StoreError) {
        var pending: [(from: String, to: String)] = []
        for entity in plan.old.model.entities where entity.root == entity.index {
            let (table, newTable) = (plan.oldEntity(entity.index).table, plan.currentTable(entity.index))
            guard table != newTable else { continue }
            let leftover = MigrationPlan.leftover(entity.index)
            try connection.execute("ALTER TABLE \(identifier(table)) RENAME TO \(identifier(leftover))")
            if newTable != leftover { pending.append((leftover, newTable)) }
        }
        for (from, to) in pending { try connection.execute("ALTER TABLE \(identifier(from)) RENAME TO \(identifier(to))") }
    }

    private func renameColumns() throws(StoreError) {
        for (root, renames) in plan.columnRenames.sorted(by: { $0.key < $1.key }) {
            for (from, to) in renames.sorted(by: { $0.key < $1.key }) {
                try connection.execute(
                    "ALTER TABLE \(identifier(plan.currentTable(root))) RENAME COLUMN \(identifier(from)) TO \(identifier(to))")
            }
        }
    }

    func list(_ numbers: [Int64]) -> String { numbers.map { String($0) }.joined(separator: ", ") }

    func refusal(_ subject: String, _ summary: String) -> StoreError {
        StoreError(.migration, "rows of the store do not fit the new model", detail: "\(subject) \(summary)")
    }
}
