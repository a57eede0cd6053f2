// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// Creates a new store's tables, or checks an existing store against the model and migrates it.
///
/// Everything happens in the caller's transaction: a store has either its former state or the model's.
struct StoreOpening {
    struct Result: Sendable {
        let layout: StoreLayout
        let identifier: String
        /// Files of values that a migration dropped.
        var unneededFiles: [String] = []
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
        let columns = try connection.tableColumns()
        if columns["Z_METADATA"] != nil { return try adopt() }
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
        let tables = StoreTables(connection: connection, layout: layout)
        try tables.make(besides: [:], withHistory: options.isHistoryEnabled)
        try tables.makeIndexes()
        try DerivedTriggers(connection: connection, layout: layout).bringUpToDate()
        if !options.isTransient { try SourceModel.record(model.model, in: connection) }
        try recordDeclarations()
        var metadata = StoreMetadata.initial
        try metadata.record(layout.recorded)
        metadata.recordVersion(options)
        try connection.execute(
            "INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?, ?)",
            [.text(identifier), .blob(try metadata.encoded())])
        return Result(layout: layout, identifier: identifier)
    }

    private func adopt() throws(StoreError) -> Result {
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
        let existing = try StoreLayoutBuilder.Existing(connection, metadata)
        var builder = try StoreLayoutBuilder(model, configuration: configuration, existing: existing)
        let layout = try builder.build()
        let result = Result(layout: layout, identifier: row.0)
        if options.isInspection {
            try layout.checkColumns(existing.columns)
            return result
        }
        let hasSameTables = existing.recorded?.limited(to: layout.recorded, or: model) == layout.recorded
        let hasSameVersion = options.ignoresVersions || options.versionHashes.isEmpty || metadata.hasVersion(options)
        if hasSameTables && (hasSameVersion || isReadOnly) {
            if !isReadOnly { try bringRulesUpToDate(result, existing, &metadata) }
            return result
        }
        if !options.ignoresVersions, metadata.hasRecordedVersion {
            switch options.modelChanges {
            case .infer: break
            case .requireMapping:
                throw StoreError(
                    .noMapping, "the store was made with another version of the model, and no mapping was given",
                    detail: metadata.differences(from: options).joined(separator: ", "))
            case .refuse:
                throw StoreError(
                    .incompatibleModel, "the store was made with another version of the model",
                    detail: metadata.differences(from: options).joined(separator: ", "))
            }
        }
        let migration = ModelMigration(connection: connection, model: model, configuration: configuration, options: options)
        let source = try migration.source(existing, metadata, layout)
        // A compatible store of Apple's is read without changes.
        if isReadOnly, source == nil { return result }
        if isReadOnly {
            throw StoreError(
                .incompatibleModel, "the store needs to be brought up to date, which a read-only store cannot be")
        }
        let upToDate = try migration.run(from: source, existing, metadata, as: layout)
        metadata.deferred = upToDate.deferredDrops
        try SourceModel.record(model.model, in: connection)
        try recordDeclarations()
        try metadata.record(upToDate.layout.recorded, keeping: migration.others(existing.recorded), of: existing.recorded)
        metadata.recordVersion(options, besides: migration.otherEntities)
        try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try metadata.encoded())])
        return Result(layout: upToDate.layout, identifier: row.0, unneededFiles: upToDate.unneededFiles)
    }

    /// Updates indexes and triggers, which may change without a change of tables.
    private func bringRulesUpToDate(
        _ opened: Result, _ existing: StoreLayoutBuilder.Existing, _ metadata: inout StoreMetadata
    ) throws(StoreError) {
        let tables = StoreTables(connection: connection, layout: opened.layout)
        if try tables.bringIndexes(upFrom: existing.recorded) {
            let migration = ModelMigration(connection: connection, model: model, configuration: configuration, options: options)
            try metadata.record(opened.layout.recorded, keeping: migration.others(existing.recorded), of: existing.recorded)
            try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try metadata.encoded())])
        }
        try DerivedTriggers(connection: connection, layout: opened.layout).bringUpToDate()
        if options.isHistoryEnabled { try tables.makeHistory() }
        if existing.columns[SourceModel.table] == nil, !options.isTransient { try SourceModel.record(model.model, in: connection) }
        try recordDeclarations()
    }

    /// Names on the server and default values are no part of a version, and the next migration of a synced store compares them.
    private func recordDeclarations() throws(StoreError) {
        guard options.isSynced, !options.isTransient else { return }
        try SourceModel.record(SyncDeclarations(model.model), in: connection)
    }
}

extension StoreLayoutBuilder.Existing {
    init(_ connection: Connection, _ metadata: StoreMetadata) throws(StoreError) {
        columns = try connection.tableColumns()
        recorded = try metadata.recordedModel()
        do {
            try connection.query("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY") { row in
                if let name = row.text(0) { numbers[name] = row.int(1) }
            }
        } catch { throw StoreError(error) }
    }
}

extension StoreLayout {
    /// - Parameter columns: Upper-case columns by upper-case table.
    /// - Throws: ``StoreError`` with `.incompatibleModel` for a column that the file lacks.
    fileprivate func checkColumns(_ columns: [String: [String]]) throws(StoreError) {
        let modelColumns =
            tables.flatMap { table in (ReadShape.fixedColumns + table.columns.map(\.name)).map { (table.name, $0) } }
            + joins.flatMap { join in ([join.first, join.second] + join.orderColumns).map { (join.name, $0) } }
        for (table, column) in modelColumns where columns[table.uppercased()]?.contains(column.uppercased()) != true {
            throw StoreError(.incompatibleModel, "a property of the model is not in the store", detail: "no column \(table).\(column)")
        }
    }
}
