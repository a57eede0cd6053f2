// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Migrates a store of another version of the model, in the caller's transaction.
struct ModelMigration {
    struct Result {
        let layout: StoreLayout
        let deferredDrops: [DeferredDrop]
        /// Files of values that the model does not have any more.
        var unneededFiles: [String] = []
    }

    let connection: Connection
    let model: ResolvedModel
    let configuration: String?
    let options: SQLiteStore.Options

    /// - Parameters:
    ///   - source: nil for a compatible store of Apple's.
    ///   - fresh: The layout by the new model, regardless of the old one.
    /// - Throws: ``StoreError``: `.notInferable`, `.migration`, `.constraint`.
    func run(
        from source: Model?, _ existing: StoreLayoutBuilder.Existing, _ metadata: StoreMetadata, as fresh: StoreLayout
    ) throws(StoreError) -> Result {
        guard let source else {
            let tables = StoreTables(connection: connection, layout: fresh)
            try tables.make(besides: existing.columns, withHistory: options.isHistoryEnabled)
            try tables.dropInlineConstraints()
            try tables.makeIndexes()
            try DerivedTriggers(connection: connection, layout: fresh).bringUpToDate()
            return Result(layout: fresh, deferredDrops: [])
        }
        for drop in metadata.deferred { try drop.run(connection) }
        var existing = existing
        if !metadata.deferred.isEmpty { existing.columns = try connection.tableColumns() }
        return try migrate(from: source, existing)
    }

    /// - Returns: nil for a store of Apple's that needs no migration.
    /// - Throws: ``StoreError`` with `.incompatibleModel` or `.noSourceModel` when the model of the store is unknown.
    func source(
        _ existing: StoreLayoutBuilder.Existing, _ metadata: StoreMetadata, _ fresh: StoreLayout
    ) throws(StoreError) -> Model? {
        if let model = try SourceModel.recorded(in: connection, existing.columns) { return try completed(model) }
        let store = try ForeignStore(connection, metadata, existing.numbers)
        guard existing.recorded == nil else {
            if let model = try SourceModel.fitting(options.sourceModels(), store, existing) { return model }
            throw StoreError(.noSourceModel, "the model that the store was made for is not known")
        }
        do throws(StoreError) {
            try store.checkTables(against: fresh, existing.columns)
        } catch {
            if options.modelChanges == .infer, let model = try SourceModel.fitting(options.sourceModels(), store, existing) { return model }
            throw error
        }
        do throws(StoreError) {
            if !options.ignoresVersions { try store.checkVersion(against: fresh) }
            return nil
        } catch {
            guard options.modelChanges == .infer else { throw error }
            return try SourceModel.fitting(options.sourceModels(), store, existing) ?? store.version(of: model.model)
        }
    }

    /// Adds the declarations that other devices depend on to the recorded model of a synced store.
    private func completed(_ source: Model) throws(StoreError) -> Model {
        guard options.isSynced else { return source }
        let declarations = try SourceModel.declarations(in: connection)
        return (declarations ?? SyncDeclarations(assumedOf: source, from: model.model)).applied(to: source)
    }

    private func migrate(from source: Model, _ existing: StoreLayoutBuilder.Existing) throws(StoreError) -> Result {
        let included = try StoreLayoutBuilder(model, configuration: configuration, existing: nil).included
        let others = others(existing.recorded)
        var (sourceModel, after) = (source, model.model)
        let stored = existing.recorded.map { Set($0.entities.keys) }
        sourceModel.entities = source.entities.filter { others[$0.name] == nil && stored?.contains($0.name) != false }
        let names = Set(included.map { model.entities[$0].name })
        after.entities = after.entities.filter { names.contains($0.name) }
        let difference = ModelDifference(from: sourceModel, to: after)
        try check(difference)

        let old: ResolvedModel
        do { old = try ResolvedModel(sourceModel) } catch {
            throw StoreError(.noSourceModel, "the model that the store was made for cannot be used", detail: error.description)
        }
        var oldBuilder = try StoreLayoutBuilder(old, configuration: nil, existing: existing)
        let plan = try MigrationPlan(
            old: try oldBuilder.build(), model: model, included: included, difference: difference,
            file: MigrationPlan.FileState(columns: existing.columns, maxima: try maxima(), numbers: existing.numbers))
        var builder = try StoreLayoutBuilder(model, configuration: configuration, existing: plan.existing)
        let layout = try builder.build()
        let migrator = StoreMigrator(connection: connection, plan: plan, layout: layout)
        let unneededFiles = try migrator.droppedFiles()
        let deferredDrops = try migrator.run(isDeferring: options.defersDrops, withHistory: options.isHistoryEnabled)
        do throws(StoreError) {
            try StoreTables(connection: connection, layout: layout).makeIndexes()
            try DerivedTriggers(connection: connection, layout: layout).bringUpToDate()
        } catch {
            guard error.code == .constraint else { throw error }
            throw StoreError(.constraint, "rows have the same values where they have to differ now", detail: error.detail)
        }
        return Result(layout: layout, deferredDrops: deferredDrops, unneededFiles: unneededFiles)
    }

    private func check(_ difference: ModelDifference) throws(StoreError) {
        var obstacles = difference.obstacles
        if !obstacles.isEmpty {
            throw StoreError(
                .notInferable, "how to migrate the store cannot be inferred",
                detail: obstacles.map { "\($0.subject) \($0.summary): \($0.obstacle ?? "")" }.joined(separator: "; "), obstacles: obstacles)
        }
        guard options.isSynced else { return }
        obstacles = difference.changes.filter { !$0.isAllowedWhenSynced }
        if obstacles.isEmpty { return }
        throw StoreError(
            .modelOfOthers, "a synced store does not allow the change, since other devices have the old version",
            detail: obstacles.map { "\($0.subject) \($0.summary)" }.joined(separator: "; "), obstacles: obstacles)
    }

    /// Entities that the model has only in other configurations.
    var otherEntities: Set<String> {
        let members = model.entities(inConfiguration: configuration) ?? []
        let roots = Set(members.map(\.root))
        return Set(model.entities.filter { !roots.contains($0.root) }.map(\.name))
    }

    func others(_ recorded: RecordedModel?) -> [String: RecordedEntity] {
        let others = otherEntities
        return (recorded?.entities ?? [:]).filter { others.contains($0.key) }
    }

    private func maxima() throws(StoreError) -> [Int64: Int64] {
        var maxima: [Int64: Int64] = [:]
        do {
            try connection.query("SELECT Z_ENT, Z_MAX FROM Z_PRIMARYKEY") { maxima[$0.int(0)] = $0.int(1) }
        } catch { throw StoreError(error) }
        return maxima
    }
}
