// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// Makes a new store's tables, or checks an existing store against the model and brings it up to date.
///
/// Everything happens in the caller's transaction: a store is either as it was or as the model wants it.
struct StoreOpening {
    struct Result: Sendable {
        let layout: StoreLayout
        let identifier: String
    }

    let connection: Connection
    let model: ResolvedModel
    let configuration: String?
    let options: SQLiteStore.Options
    private var isReadOnly: Bool { options.isReadOnly }

    init(connection: Connection, model: ResolvedModel, configuration: String?, options: SQLiteStore.Options) {
        self.connection = connection
        self.model = model
        self.configuration = configuration
        self.options = options
    }

    func open() throws(StoreError) -> Result {
        let columns = try existingColumns()
        if columns["Z_METADATA"] != nil { return try adopt(columns) }
        guard columns.isEmpty else {
            throw StoreError(.corrupt, "the file is a database but not a store")
        }
        if isReadOnly { throw StoreError(.corrupt, "the file is empty and cannot be made a store when read-only") }
        return try create()
    }

    private func create() throws(StoreError) -> Result {
        var builder = try StoreLayoutBuilder(model, configuration: configuration, existing: nil)
        let layout = try builder.build()
        for statement in StoreSchema.metadata { try connection.execute(statement) }
        let identifier = options.makeIdentifier().uuidString.uppercased()
        try bringTables(of: layout, upFrom: [:])
        try DerivedTriggers(connection: connection, layout: layout).bringUpToDate()
        var metadata = StoreMetadata.initial
        try metadata.record(layout.recorded)
        metadata.recordVersion(options)
        try connection.execute(
            "INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?, ?)",
            [.text(identifier), .blob(try metadata.encoded())])
        return Result(layout: layout, identifier: identifier)
    }

    private func adopt(_ columns: [String: [String]]) throws(StoreError) -> Result {
        let row = try connection.first("SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1") { row in
            (row.text(0) ?? "", row.blob(1) ?? Data())
        }
        guard let row, !row.0.isEmpty else { throw StoreError(.corrupt, "the store has lost its metadata") }
        var metadata = try StoreMetadata(decoding: row.1)
        if let version = metadata.formatVersion, StoreFormat(rawValue: version) == nil {
            throw StoreError(
                .newerFormat, "the store was made by a newer release",
                detail: "format \(version), this release reads up to \(StoreFormat.current.rawValue)")
        }
        var existing = StoreLayoutBuilder.Existing()
        existing.columns = columns
        existing.recorded = try metadata.recordedModel()
        existing.numbers = try entityNumbers()
        var builder = try StoreLayoutBuilder(model, configuration: configuration, existing: existing)
        let layout = try builder.build()
        let result = Result(layout: layout, identifier: row.0)
        let hasSameTables = existing.recorded?.limited(to: layout.recorded, or: model) == layout.recorded
        let hasSameVersion = options.ignoresVersions || options.versionHashes.isEmpty || metadata.hasVersion(options)
        if hasSameTables && (hasSameVersion || isReadOnly) {
            if isReadOnly { return result }
            if try bringIndexes(of: layout, upFrom: existing.recorded) {
                try metadata.record(layout.recorded, keepingOthersOf: existing.recorded)
                try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try metadata.encoded())])
            }
            try DerivedTriggers(connection: connection, layout: layout).bringUpToDate()
            if options.isHistoryEnabled { try bringHistory(of: layout) }
            return result
        }
        if !options.allowsModelChanges && !options.ignoresVersions && metadata.hasRecordedVersion {
            throw StoreError(
                .incompatibleModel, "the store was made with another version of the model",
                detail: metadata.differences(from: options).joined(separator: ", "))
        }

        let comparison = ModelComparison(
            layout: layout, columns: columns, recorded: existing.recorded,
            foreign: existing.recorded == nil ? try ForeignStore(connection, metadata, existing.numbers) : nil)
        try comparison.check()
        // A store of Apple's that fits is read as it is.
        if isReadOnly, existing.recorded == nil { return result }
        if isReadOnly {
            throw StoreError(
                .incompatibleModel, "the store needs to be brought up to date, which a read-only store cannot be")
        }
        _ = try bringIndexes(of: layout, upFrom: existing.recorded)
        try comparison.fill(connection) { () throws(StoreError) in try bringTables(of: layout, upFrom: columns) }
        try DerivedTriggers(connection: connection, layout: layout).bringUpToDate()
        try metadata.record(layout.recorded, keepingOthersOf: existing.recorded)
        metadata.recordVersion(options)
        try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try metadata.encoded())])
        return result
    }

    /// Makes what is missing: tables, columns, indexes, rows of the entity list.
    private func bringTables(of layout: StoreLayout, upFrom columns: [String: [String]]) throws(StoreError) {
        for table in layout.tables {
            if let present = columns[table.name.uppercased()] {
                for column in table.columns where !present.contains(column.name.uppercased()) {
                    try connection.execute(StoreSchema.add(column, to: table))
                }
            } else {
                try connection.execute(StoreSchema.create(table))
            }
            for index in table.indexes { try connection.execute(StoreSchema.create(index, on: table)) }
        }
        for join in layout.joins {
            if let present = columns[join.name.uppercased()] {
                for column in join.orderColumns where !present.contains(column.uppercased()) {
                    try connection.execute(
                        "ALTER TABLE \(identifier(join.name)) ADD COLUMN \(identifier(column)) INTEGER")
                }
            } else {
                for statement in StoreSchema.create(join) { try connection.execute(statement) }
            }
        }
        if options.isHistoryEnabled { try bringHistory(of: layout) }
        let entities = layout.entities.compactMap { $0 }.map { entity in
            (
                entity.number, entity.name,
                layout.model.entities[entity.index].superentity.flatMap { layout.entities[$0]?.number } ?? 0
            )
        }
        for (number, name, parent) in entities { try bringEntity(number, name, parent) }
    }

    private func bringEntity(_ number: Int64, _ name: String, _ parent: Int64) throws(StoreError) {
        try connection.execute(
            "INSERT OR IGNORE INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, 0)",
            [.int(number), .text(name), .int(parent)])
    }

    /// A store without history gets no tables for it: Apple's framework opens one that has them for reading only,
    /// unless it is told to go on with the history.
    private func bringHistory(of layout: StoreLayout) throws(StoreError) {
        let before = try connection.columnNames(of: "ACHANGE")
        let wanted = (0..<layout.tombstoneCount).map { "ZTOMBSTONE\($0)" }
        if !before.isEmpty, wanted.allSatisfy(before.contains) { return }
        for statement in StoreSchema.history { try connection.execute(statement) }
        let present = try connection.columnNames(of: "ACHANGE")
        for name in wanted where !present.contains(name) {
            try connection.execute("ALTER TABLE ACHANGE ADD COLUMN \(name) BLOB")
        }
        for (number, name) in HistoryEntity.names { try bringEntity(number, name, 0) }
    }

    /// Drops indexes that the model no longer asks for, and those that it asks for in another way; makes what is
    /// missing. An index is no part of what a store must agree about.
    ///
    /// - Returns: Whether there was anything to do.
    private func bringIndexes(of layout: StoreLayout, upFrom recorded: RecordedModel?) throws(StoreError) -> Bool {
        let wanted = layout.recorded.indexes ?? [:]
        let tables = Set(layout.tables.map { $0.name.uppercased() })
        var present: Set<String> = []
        do {
            try connection.query("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'") { row in
                if let name = row.text(0), tables.contains((row.text(1) ?? "").uppercased()) { present.insert(name) }
            }
        } catch { throw StoreError(error) }
        var hasChanged = false
        for (name, statement) in (recorded?.indexes ?? [:]).sorted(by: { $0.key < $1.key })
        where present.contains(name) && wanted[name] != statement {
            try connection.execute("DROP INDEX \(identifier(name))")
            present.remove(name)
            hasChanged = true
        }
        // New tables come with their indexes.
        guard recorded?.limited(to: layout.recorded, or: model) == layout.recorded else { return hasChanged }
        for (name, statement) in wanted.sorted(by: { $0.key < $1.key }) where !present.contains(name) {
            try connection.execute(statement)
            hasChanged = true
        }
        return hasChanged || recorded?.indexes != wanted
    }

    // MARK: What is there

    /// - Returns: Upper-case table names with their upper-case column names, of everything but SQLite's own.
    private func existingColumns() throws(StoreError) -> [String: [String]] {
        var names: [String] = []
        do {
            try connection.query(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            ) { if let name = $0.text(0) { names.append(name) } }
        } catch { throw StoreError(error) }
        var columns: [String: [String]] = [:]
        for name in names { columns[name.uppercased()] = try connection.columnNames(of: name) }
        return columns
    }

    private func entityNumbers() throws(StoreError) -> [String: Int64] {
        var numbers: [String: Int64] = [:]
        do {
            try connection.query("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY") { row in
                if let name = row.text(0) { numbers[name] = row.int(1) }
            }
        } catch { throw StoreError(error) }
        return numbers
    }
}

extension Connection {
    /// Upper case.
    func columnNames(of table: String) throws(StoreError) -> [String] {
        var columns: [String] = []
        do {
            try query("SELECT name FROM pragma_table_info(?)", [.text(table)]) { row in
                if let name = row.text(0) { columns.append(name.uppercased()) }
            }
        } catch { throw StoreError(error) }
        return columns
    }
}
