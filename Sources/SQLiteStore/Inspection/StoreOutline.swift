// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The model that a store's tables imply: exact if the store was opened here and has a record of its model, otherwise
/// guessed from names.
///
/// Source: core-data-sqlite-format, "Entity tables" and "Relationships" (published schema dumps).
struct StoreOutline {
    struct Column {
        let name: String
        let type: String
    }

    struct Entity {
        let number: Int64
        let name: String
        let parent: Int64
        let lastKey: Int64
    }

    /// A column with keys of another table's rows.
    struct Reference {
        let table: String
        let column: String
        let entityColumn: String?
        let orderColumn: String?
        /// Root of the destination; nil if names do not reveal it.
        let destination: Int64?
    }

    struct Join {
        let table: String
        /// Columns, and the roots of their keys.
        let columns: [(name: String, root: Int64)]
        let orderColumns: [String]
    }

    let identifier: String
    let metadata: StoreMetadata
    let recorded: RecordedModel?
    let tables: [String: [Column]]
    let entities: [Int64: Entity]
    /// Names of indexes and triggers.
    let indexes: [String]
    let triggers: [String]
    private(set) var references: [Reference] = []
    private(set) var joins: [Join] = []
    private let rootNumbers: [Int64: Int64]
    private let tableNames: [String: String]

    /// Limits of the described model: number of entities, and levels of the deepest hierarchy.
    static let entitiesMax = 2000
    static let depthMax = 64
    private static let tablesMax = 20_000

    /// - Throws: ``StoreError`` with `.corrupt` for a database that isn't a store, or exceeds these limits.
    init(_ connection: Connection) throws(StoreError) {
        do {
            var names: [String] = []
            var indexesByTable: [String: [String]] = [:]
            try connection.query(
                """
                SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                AND IFNULL(sql, '') NOT LIKE 'CREATE VIRTUAL%' ORDER BY name
                """
            ) { row in
                guard let name = row.text(1) else { return }
                if names.count == Self.tablesMax { throw StoreError(.corrupt, "the database has too many tables for a store") }
                if row.text(0) == "table" { names.append(name) } else { indexesByTable[row.text(0) ?? "", default: []].append(name) }
            }
            (indexes, triggers) = (indexesByTable["index"] ?? [], indexesByTable["trigger"] ?? [])
            var tables: [String: [Column]] = [:]
            for name in names {
                var columns: [Column] = []
                try connection.query("SELECT name, type FROM pragma_table_info(?)", [.text(name)]) { row in
                    columns.append(Column(name: row.text(0) ?? "", type: row.text(1) ?? ""))
                }
                tables[name] = columns
            }
            self.tables = tables
            for table in ["Z_METADATA", "Z_PRIMARYKEY"] where tables[table] == nil {
                throw StoreError(
                    .corrupt, names.isEmpty ? "the database has no tables" : "the database is not a Core Data store",
                    detail: "no table \(table)")
            }
            let head = try connection.first("SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1") { row in
                (row.text(0) ?? "", row.blob(1) ?? Data())
            }
            guard let head else { throw StoreError(.corrupt, "the store has lost its metadata") }
            identifier = head.0
            metadata = try StoreMetadata(decoding: head.1)
            recorded = try metadata.recordedModel()
            var entities: [Int64: Entity] = [:]
            try connection.query("SELECT Z_ENT, Z_NAME, IFNULL(Z_SUPER, 0), IFNULL(Z_MAX, 0) FROM Z_PRIMARYKEY") { row in
                if entities.count == Self.entitiesMax { throw StoreError(.corrupt, "the store has too many entities") }
                entities[row.int(0)] = Entity(
                    number: row.int(0), name: row.text(1) ?? "", parent: row.int(2), lastKey: row.int(3))
            }
            self.entities = entities
            rootNumbers = entities.mapValues { Self.root(of: $0, entities) }
            tableNames = Dictionary(tables.keys.map { ($0.uppercased(), $0) }, uniquingKeysWith: min)
        } catch {
            throw StoreError(error)
        }
        if let recorded { readRecord(recorded) } else { guess() }
    }

    // MARK: Entities

    /// The model's entities, without those of history and of Apple's mirroring.
    var modelEntities: [Entity] { entities.values.filter { $0.number < 16_000 }.sorted { $0.number < $1.number } }

    /// - Returns: The entity itself when its parents are missing, circular or too many.
    func root(of number: Int64) -> Int64 { rootNumbers[number] ?? number }

    private static func root(of entity: Entity, _ entities: [Int64: Entity]) -> Int64 {
        var (current, steps) = (entity, 0)
        while steps < depthMax, current.parent != 0, let parent = entities[current.parent] { (current, steps) = (parent, steps + 1) }
        return steps < depthMax ? current.number : entity.number
    }

    var roots: [Entity] { modelEntities.filter { root(of: $0.number) == $0.number } }

    /// The table of an entity and its parents.
    func table(of number: Int64) -> String? {
        guard let entity = entities[root(of: number)] else { return nil }
        return tableNames["Z" + entity.name.uppercased()]
    }

    func numbers(inTableOf root: Int64) -> [Int64] {
        modelEntities.map(\.number).filter { self.root(of: $0) == root }
    }

    func entity(named name: String) -> Entity? { modelEntities.first { $0.name == name } }

    // MARK: Relationships

    private mutating func readRecord(_ recorded: RecordedModel) {
        var pairs: [String: Join] = [:]
        for (name, entity) in recorded.entities.sorted(by: { $0.key < $1.key }) {
            guard let own = self.entity(named: name), let table = table(of: own.number) else { continue }
            for (_, property) in entity.properties.sorted(by: { $0.key < $1.key }) {
                let destination = property.destination.flatMap { self.entity(named: $0) }.map { root(of: $0.number) }
                switch property.kind {
                case .attribute: continue
                case .toOne:
                    guard let column = property.column else { continue }
                    references.append(
                        Reference(
                            table: table, column: column, entityColumn: property.entityColumn,
                            orderColumn: property.orderColumn, destination: destination))
                case .toManyByKey:
                    // Without an inverse the key is at the other end, in a column of its own name.
                    guard let column = property.column, let destination, let far = self.table(of: destination) else { continue }
                    references.append(
                        Reference(
                            table: far, column: column, entityColumn: nil, orderColumn: property.orderColumn,
                            destination: root(of: own.number)))
                case .toManyByTable:
                    guard let join = property.table, let column = property.column, let otherColumn = property.otherColumn,
                        let destination
                    else { continue }
                    let orders = (pairs[join]?.orderColumns ?? []) + (property.orderColumn.map { [$0] } ?? [])
                    pairs[join] = Join(
                        table: join, columns: [(column, root(of: own.number)), (otherColumn, destination)], orderColumns: orders)
                }
            }
        }
        joins = pairs.values.sorted { $0.table < $1.table }
    }

    private mutating func guess() {
        for root in roots {
            guard let table = table(of: root.number), let columns = tables[table] else { continue }
            let names = Set(columns.map { $0.name.uppercased() })
            for column in columns where column.type.uppercased() == "INTEGER" && !["Z_PK", "Z_ENT", "Z_OPT"].contains(column.name) {
                if let reference = reference(column.name, in: table, names) { references.append(reference) }
            }
        }
        for (table, columns) in tables.sorted(by: { $0.key < $1.key }) where Self.number(after: "Z_", in: table) != nil {
            let keys = columns.map(\.name).filter { !$0.hasPrefix("Z_FOK_") }
            let sides = keys.compactMap { name in Self.number(after: "Z_", in: name).map { (name: name, root: root(of: $0)) } }
            guard sides.count == 2, keys.count == 2, sides.allSatisfy({ entities[$0.root] != nil }) else { continue }
            joins.append(
                Join(table: table, columns: sides, orderColumns: columns.map(\.name).filter { $0.hasPrefix("Z_FOK_") }))
        }
    }

    private func reference(_ column: String, in table: String, _ names: Set<String>) -> Reference? {
        let name = column.uppercased()
        let order = "Z_FOK_" + name.dropFirst()
        let orderColumn = names.contains(order) ? order : nil
        // Z2CHAPTERS: keys of entity 2, for a relationship without an inverse.
        if let number = Self.number(after: "Z", in: name), !name.dropFirst().drop(while: \.isNumber).hasPrefix("_") {
            guard entities[number] != nil else { return nil }
            return Reference(
                table: table, column: column, entityColumn: nil, orderColumn: orderColumn, destination: root(of: number))
        }
        guard name.hasPrefix("Z"), !name.hasPrefix("Z_"), !name.dropFirst().prefix(1).allSatisfy(\.isNumber) else { return nil }
        // Z2_OWNER next to ZOWNER: its destination has subentities and is entity 2.
        let companion = names.first { candidate in
            Self.number(after: "Z", in: candidate) != nil && candidate.hasPrefix("Z")
                && String(candidate.dropFirst().drop(while: \.isNumber)) == "_" + name.dropFirst()
        }
        let isIndexed = indexes.contains { $0.uppercased() == "\(table.uppercased())_\(name)_INDEX" }
        guard companion != nil || isIndexed || orderColumn != nil else { return nil }
        let far =
            companion.flatMap { Self.number(after: "Z", in: $0) }.map { root(of: $0) }
            ?? modelEntities.first { $0.name.uppercased() == name.dropFirst() }.map { root(of: $0.number) }
            // The only possible destination.
            ?? (roots.count == 1 ? roots[0].number : nil)
        return Reference(
            table: table, column: column, entityColumn: companion, orderColumn: orderColumn, destination: far)
    }

    /// `4` for `Z_4TAGS` after `Z_`; nil for names of another form.
    private static func number(after prefix: String, in name: String) -> Int64? {
        guard name.hasPrefix(prefix) else { return nil }
        let digits = name.dropFirst(prefix.count).prefix { $0.isASCII && $0.isNumber }
        return digits.isEmpty || digits.count == name.count - prefix.count ? nil : Int64(digits)
    }
}
