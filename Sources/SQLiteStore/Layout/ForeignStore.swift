// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The model of a store of Apple's framework as far as the store reveals it: entity names, tables and columns.
///
/// The metadata has version hashes, too, but their computation is not public: only the entity names in them are used.
struct ForeignStore: Codable {
    /// Names of the entities it was made for.
    private let entities: Set<String>
    /// Upper-case table and column to the declared type.
    private let types: [String: [String: String]]
    /// Whether columns of removed properties may exist, since a migration was deferred.
    private let isMigrationDeferred: Bool
    /// The developer's version identifiers of the model, without empty ones.
    private let identifiers: Set<String>
    /// From the store's own archive of its model; nil if there is none, or none of a known form.
    private let version: ModelVersionFlags?

    init(_ connection: Connection, _ metadata: StoreMetadata, _ numbers: [String: Int64]) throws(StoreError) {
        let hashes = metadata.values["NSStoreModelVersionHashes"] as? [String: Any]
        entities = Set(hashes.map { Array($0.keys) } ?? numbers.filter { $0.value < 16_000 }.map(\.key))
        identifiers = Set((metadata.values[StoreFormat.MetadataKey.versionIdentifiers] as? [String] ?? []).filter { !$0.isEmpty })
        isMigrationDeferred = metadata.values["NSPersistentStoreDeferredLightweightMigrationOptionKey"] != nil
        var types: [String: [String: String]] = [:]
        do {
            try connection.query(
                """
                SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c \
                WHERE m.type = 'table' AND m.name LIKE 'Z%' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
                """
            ) { row in
                guard let table = row.text(0), let column = row.text(1) else { return }
                types[table.uppercased(), default: [:]][column.uppercased()] = (row.text(2) ?? "").uppercased()
            }
        } catch { throw StoreError(error) }
        self.types = types
        guard types["Z_MODELCACHE"] != nil,
            let content = try? connection.first("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1", [], { $0.blob(0) }),
            let archived = ArchivedModel.model(in: content), Set(archived.entities.map(\.name)) == entities
        else {
            version = nil
            return
        }
        version = ModelVersionFlags(archived)
    }

    /// Whether a model has the store's version identifiers. They distinguish versions with equal tables, such as those
    /// that differ in optionality.
    func hasIdentifiers(of model: Model) -> Bool { !identifiers.isEmpty && identifiers == Set(model.versionIdentifiers) }

    /// - Throws: ``StoreError`` with `.incompatibleModel` that names the first entity or property that differs, and how.
    func check(against layout: StoreLayout, _ columns: [String: [String]]) throws(StoreError) {
        try checkTables(against: layout, columns)
        // Last, so that a difference that tables show is the one that is named.
        try checkVersion(against: layout)
    }

    /// - Throws: ``StoreError`` with `.incompatibleModel` for a difference that no table shows: in what is optional, or in a
    ///   version hash modifier.
    func checkVersion(against layout: StoreLayout) throws(StoreError) {
        let names = Set(layout.recorded.entities.keys)
        guard let version, let difference = version.firstDifference(from: ModelVersionFlags(layout.model.model), among: names) else {
            return
        }
        throw refusal("the store was made with another version of the model", difference)
    }

    /// The version of a model that the store was made with, if its tables are those of the model.
    func version(of model: Model) -> Model { version?.applied(to: model) ?? model }

    /// - Throws: ``StoreError`` with `.incompatibleModel` that names the first entity or property that is stored differently.
    func checkTables(against layout: StoreLayout, _ columns: [String: [String]]) throws(StoreError) {
        for name in layout.recorded.entities.keys.sorted() where !entities.contains(name) {
            throw refusal("an entity of the model is not in the store", name)
        }
        for name in entities.sorted() where layout.model.entity(named: name) == nil {
            throw refusal("an entity of the store is not in the model", name)
        }
        for (name, entity) in layout.recorded.entities.sorted(by: { $0.key < $1.key }) {
            guard let index = layout.model.entity(named: name)?.index, let table = layout.entities[index]?.table else { continue }
            guard let present = types[table.uppercased()] else {
                throw refusal("an entity of the model has no table in the store", "\(name), table \(table)")
            }
            for (property, record) in entity.properties.sorted(by: { $0.key < $1.key }) {
                try check(record, "\(name).\(property)", table, present, columns)
            }
        }
        if isMigrationDeferred { return }
        for table in layout.tables {
            let modelColumns = Set(["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map { $0.name.uppercased() })
            let unknown = (types[table.name.uppercased()] ?? [:]).keys.filter { !modelColumns.contains($0) }
            if let first = unknown.min() {
                throw refusal(
                    "a property of the store is not in the model",
                    "\(layout.model.entities[table.root].name), column \(table.name).\(first)")
            }
        }
    }

    private func check(
        _ record: RecordedProperty, _ name: String, _ table: String, _ present: [String: String], _ columns: [String: [String]]
    ) throws(StoreError) {
        switch record.kind {
        case .attribute, .toOne:
            for column in [record.column, record.entityColumn, record.orderColumn].compactMap({ $0 }) {
                guard let type = present[column.uppercased()] else {
                    let summary: StaticString =
                        column == record.column
                        ? "a property of the model is not in the store" : "a relationship is stored in another way"
                    throw refusal(summary, "\(name), no column \(table).\(column)")
                }
                let modelType = record.kind == .attribute ? record.storage?.declaredType ?? "" : "INTEGER"
                if type != modelType {
                    throw refusal(
                        "a property has another type than in the store",
                        "\(name) is \(modelType) in the model, and column \(table).\(column) is \(type)")
                }
            }
        case .toManyByKey: return
        case .toManyByTable:
            guard let join = record.table, let pairs = columns[join.uppercased()] else {
                throw refusal("a relationship of the model is not in the store", "\(name), no table \(record.table ?? "")")
            }
            for column in [record.column, record.otherColumn, record.orderColumn].compactMap({ $0 })
            where !pairs.contains(column.uppercased()) {
                throw refusal("a relationship is stored in another way", "\(name), no column \(join).\(column)")
            }
        }
    }

    private func refusal(_ summary: StaticString, _ detail: String) -> StoreError {
        StoreError(.incompatibleModel, summary, detail: detail)
    }
}
