// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Assigns a table and a column to every property of a model.
///
/// A new store follows Core Data's rules for names and numbers. For an existing store, numbers come from `Z_PRIMARYKEY`
/// and names from the store's own record, so that adding properties to a model moves nothing; for a store without Tarn's
/// record (one of Apple's) the rules apply and its join tables are looked up.
struct StoreLayoutBuilder {
    /// The layout of an existing file.
    struct Existing {
        /// Entity name to `Z_ENT`.
        var numbers: [String: Int64] = [:]
        /// New entities get greater numbers.
        var lastNumber: Int64 = 0
        var recorded: RecordedModel?
        /// Names of the columns of each table, upper case.
        var columns: [String: [String]] = [:]
    }

    let model: ResolvedModel
    let existing: Existing?
    let included: [Int]
    var numbers: [Int: Int64] = [:]
    var usedColumns: [Int: Set<String>] = [:]
    var tables: [Int: TableLayout] = [:]
    var slots: [Int: [SlotLayout]] = [:]
    var toMany: [Int: [ToManyLayout]] = [:]
    var joins: [JoinTable] = []
    var recorded = RecordedModel()
    var derivedColumns: [DerivedColumn] = []

    /// - Throws: ``StoreError`` with `.notFound` for an unknown configuration.
    init(_ model: ResolvedModel, configuration: String?, existing: Existing?) throws(StoreError) {
        guard let members = model.entities(inConfiguration: configuration) else {
            throw StoreError(.notFound, "the model has no such configuration", detail: configuration ?? "")
        }
        self.model = model
        self.existing = existing
        let roots = Set(members.map(\.root))
        included = model.entities.filter { roots.contains($0.root) }.map(\.index)
    }

    mutating func build() throws(StoreError) -> StoreLayout {
        assignNumbers()
        try makeTables()
        for index in included { try placeSlots(of: model.entities[index]) }
        for index in included { try placeToMany(of: model.entities[index]) }
        for index in included { try addIndexes(of: model.entities[index]) }
        for index in included { try derive(model.entities[index]) }
        var layouts: [StoredEntity?] = Array(repeating: nil, count: model.entities.count)
        for index in included { layouts[index] = entityLayout(model.entities[index]) }
        let ordered = tables.keys.sorted().compactMap { root in
            tables[root].map { table in
                var table = table
                // Attributes and keys were added by name, each key before its companion columns.
                table.columns = table.columns.enumerated().sorted { a, b in
                    Self.sortKey(a.element, a.offset) < Self.sortKey(b.element, b.offset)
                }.map(\.element)
                return table
            }
        }
        recorded.indexes = Dictionary(
            keepingFirst: ordered.flatMap { table in table.indexes.map { ($0.name, StoreSchema.create($0, on: table)) } })
        return StoreLayout(
            model: model, entities: layouts, tables: ordered, joins: joins, recorded: recorded, derivedColumns: derivedColumns)
    }

    private static func sortKey(_ column: TableLayout.Column, _ index: Int) -> (Int, Int, Int, Int) {
        (column.kind.group, column.entity, column.kind == .key ? 1 : 0, index)
    }

    // MARK: Numbers and tables

    private mutating func assignNumbers() {
        guard let existing else {
            for index in included { numbers[index] = Int64(index + 1) }
            return
        }
        var next = max(existing.numbers.values.filter { $0 < 16_000 }.max() ?? 0, existing.lastNumber) + 1
        for index in included {
            if let number = existing.numbers[model.entities[index].name] {
                numbers[index] = number
            } else {
                numbers[index] = next
                next += 1
            }
        }
    }

    private mutating func makeTables() throws(StoreError) {
        var owners: [String: String] = [:]
        for index in included where model.entities[index].root == index {
            let entity = model.entities[index]
            let name = "Z" + entity.name.uppercased()
            if let owner = owners[name] {
                throw StoreError(
                    .incompatibleModel, "two entities would share a table", detail: "\(owner) and \(entity.name)")
            }
            owners[name] = entity.name
            tables[index] = TableLayout(root: index, name: name, columns: [], indexes: [])
            usedColumns[index] = Set(ReadShape.fixedColumns)
            if existing?.recorded != nil { usedColumns[index]?.formUnion(existing?.columns[name] ?? []) }
        }
        // Names that a store already uses are reserved before new ones are assigned.
        for index in included {
            let entity = model.entities[index]
            for property in existing?.recorded?.entities[entity.name]?.properties.values ?? [:].values {
                for column in [property.column, property.entityColumn, property.orderColumn] {
                    if let column { usedColumns[entity.root]?.insert(column) }
                }
            }
        }
    }

    // MARK: Attributes and to-one relationships

    private mutating func placeSlots(of entity: ResolvedEntity) throws(StoreError) {
        let inherited = entity.superentity.map { model.entities[$0].slots.count } ?? 0
        var placed = entity.superentity.flatMap { slots[$0] } ?? []
        recorded.entities[entity.name] = RecordedEntity(
            number: number(entity.index), superentity: entity.superentity.map { model.entities[$0].name })
        for slot in entity.slots[inherited...] {
            switch slot {
            case .attribute(let attribute): placed.append(try layOut(attribute, of: entity))
            case .toOne(let relationship): placed.append(layOut(relationship, of: entity))
            }
        }
        slots[entity.index] = placed
    }

    private mutating func layOut(_ attribute: Attribute, of entity: ResolvedEntity) throws(StoreError) -> SlotLayout {
        guard !attribute.isTransient, var kind = StorageKind(attribute) else { return .transient }
        // Existing files stay readable when a model no longer allows external storage.
        if kind == .blob, earlier(entity, attribute.name)?.storage == .external { kind = .external }
        var record = RecordedProperty(.attribute)
        record.storage = kind
        let column =
            earlier(entity, attribute.name)?.column ?? newColumn("Z" + leafName(attribute.name).uppercased(), entity.root)
        record.column = column
        add(column, kind, of: entity.index, to: entity.root)
        recorded.entities[entity.name]?.properties[attribute.name] = record
        return .attribute(column: column, kind)
    }

    private mutating func layOut(_ relationship: ResolvedRelationship, of entity: ResolvedEntity) -> SlotLayout {
        if relationship.declaration.isTransient { return .transient }
        let recordedProperty = earlier(entity, relationship.name)
        let destination = model.entities[relationship.destination]
        let name = relationship.name.uppercased()
        var record = RecordedProperty(.toOne)
        record.destination = destination.name
        record.inverse = relationship.inverseName
        let column = recordedProperty?.column ?? newColumn("Z" + name, entity.root)
        record.column = column
        add(column, .key, of: entity.index, to: entity.root)
        if destination.hierarchy.count > 1 {
            let companion = recordedProperty?.entityColumn ?? newColumn("Z\(number(destination.index))_\(name)", entity.root)
            record.entityColumn = companion
            add(companion, .key, of: entity.index, to: entity.root)
        }
        if let inverse = relationship.inverse.flatMap(destination.relationship(at:)), inverse.declaration.isOrdered {
            let order = recordedProperty?.orderColumn ?? newColumn("Z_FOK_\(name)", entity.root)
            record.orderColumn = order
            add(order, .key, of: entity.index, to: entity.root)
        }
        recorded.entities[entity.name]?.properties[relationship.name] = record
        return .reference(
            ReferenceColumn(
                column: column, entityColumn: record.entityColumn, destination: relationship.destination,
                orderColumn: record.orderColumn))
    }

    // MARK: Names

    /// `city` for `home.city`, a part of a composite attribute.
    private func leafName(_ name: String) -> Substring { name.split(separator: ".").last ?? "" }

    func number(_ entity: Int) -> Int64 { numbers[entity] ?? Int64(entity + 1) }

    func earlier(_ entity: ResolvedEntity, _ property: String) -> RecordedProperty? {
        existing?.recorded?.entities[entity.name]?.properties[property]
    }

    /// The name itself, or with the first number that makes it unique in the table.
    mutating func newColumn(_ base: String, _ root: Int) -> String {
        var name = base
        var suffix = 0
        while usedColumns[root]?.contains(name) == true {
            suffix += 1
            name = base + String(suffix)
        }
        usedColumns[root]?.insert(name)
        return name
    }

    mutating func add(_ column: String, _ kind: StorageKind, of entity: Int, to root: Int) {
        tables[root]?.columns.append(.init(name: column, kind: kind, entity: entity))
    }
}
