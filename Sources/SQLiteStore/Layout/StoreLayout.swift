// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The tables and columns of a model's properties in one store. A value: computed once when the store is opened.
///
///     root entity     → table Z<NAME>, shared by its subentities, which Z_ENT distinguishes
///     attribute       → column Z<NAME>, numbered when siblings use a name twice
///     to-one          → column with the destination's Z_PK, and Z<n>_<NAME> with its Z_ENT if the destination has subentities
///     one-to-many     → the inverse's column
///     many-to-many    → table Z_<n><NAME> with a column for each side
struct StoreLayout: Sendable {
    let model: ResolvedModel
    /// By entity index; nil for entities outside the store's configuration.
    let entities: [StoredEntity?]
    let tables: [TableLayout]
    let joins: [JoinTable]
    /// The record written to the store, so that a later model can be compared with this one.
    let recorded: RecordedModel
    let derivedColumns: [DerivedColumn]
    /// Largest number of attributes that any entity preserves in the history of deleted rows.
    let tombstoneCount: Int
    /// The folder of large values; nil for an in-memory store, which keeps them in its tables.
    var external: ExternalFolder?
    private let indexByNumber: [Int64: Int]

    init(
        model: ResolvedModel, entities: [StoredEntity?], tables: [TableLayout], joins: [JoinTable],
        recorded: RecordedModel, derivedColumns: [DerivedColumn]
    ) {
        self.model = model
        self.entities = entities
        self.tables = tables
        self.joins = joins
        self.recorded = recorded
        self.derivedColumns = derivedColumns
        tombstoneCount = entities.lazy.compactMap { $0?.tombstoneSlots.count }.max() ?? 0
        var indexByNumber: [Int64: Int] = [:]
        for entity in entities { if let entity { indexByNumber[entity.number] = entity.index } }
        self.indexByNumber = indexByNumber
    }

    /// - Throws: ``StoreError`` with `.notFound` for an entity outside the store's configuration.
    func entity(_ index: Int) throws(StoreError) -> StoredEntity {
        guard entities.indices.contains(index), let entity = entities[index] else {
            let name = entities.indices.contains(index) ? model.entities[index].name : "entity \(index)"
            throw StoreError(.notFound, "the store has no such entity", detail: name)
        }
        return entity
    }

    var hasExternalValues: Bool { external != nil && entities.contains { $0?.externalSlots.isEmpty == false } }

    func entityIndex(number: Int64) -> Int? { indexByNumber[number] }
}

/// A class, because bulk reads and writes pass it for each row.
final class StoredEntity: Sendable {
    let index: Int
    let name: String
    /// `Z_ENT`.
    let number: Int64
    /// Index of the entity that owns the table and the keys.
    let root: Int
    let rootNumber: Int64
    let table: String
    let slots: [SlotLayout]
    let toMany: [ToManyLayout]
    /// Persistent properties sorted by name: the bits of a history row's `ZCOLUMNS`.
    let historyProperties: [String]
    /// Slots of attributes that history preserves when a row is deleted, by attribute name.
    let tombstoneSlots: [Int]
    /// `Z_ENT` of this entity and its subentities.
    let hierarchyNumbers: [Int64]
    /// Whether the table has only rows of this entity and its subentities, so that reads need no condition on `Z_ENT`.
    let ownsTable: Bool
    /// The reading of rows of this entity and its subentities.
    let shape: ReadShape
    /// Reads one row by its primary key.
    let rowSQL: String
    /// Takes `Z_PK`, `Z_ENT`, then the slots' values.
    let insertSQL: String
    /// The binding of each slot; like ``slots`` without the names, so that bulk writes copy no text.
    let bindings: [SlotBinding]
    /// To-one slots with an ordered inverse.
    let orderedSlots: [Int]
    /// Slots with possibly external values.
    let externalSlots: [Int]
    /// Bits of ``historyProperties`` by slot and by to-many relationship; nil for properties that aren't persisted.
    let slotBits: [Int?]
    let toManyBits: [Int?]

    init(
        index: Int, name: String, number: Int64, root: Int, rootNumber: Int64, table: String,
        slots: [SlotLayout], toMany: [ToManyLayout], historyProperties: [String], tombstoneSlots: [Int],
        hierarchyNumbers: [Int64], ownsTable: Bool, shape: ReadShape, rowSQL: String, insertSQL: String,
        bindings: [SlotBinding], orderedSlots: [Int], slotBits: [Int?], toManyBits: [Int?]
    ) {
        self.index = index
        self.name = name
        self.number = number
        self.root = root
        self.rootNumber = rootNumber
        self.table = table
        self.slots = slots
        self.toMany = toMany
        self.historyProperties = historyProperties
        self.tombstoneSlots = tombstoneSlots
        self.hierarchyNumbers = hierarchyNumbers
        self.ownsTable = ownsTable
        self.shape = shape
        self.rowSQL = rowSQL
        self.insertSQL = insertSQL
        self.bindings = bindings
        self.orderedSlots = orderedSlots
        externalSlots = slots.indices.filter { if case .attribute(_, .external) = slots[$0] { true } else { false } }
        self.slotBits = slotBits
        self.toManyBits = toManyBits
    }
}

enum SlotLayout: Hashable, Sendable {
    /// Transient: in memory only.
    case transient
    case attribute(column: String, StorageKind)
    case reference(ReferenceColumn)
}

/// The number of statement arguments that a slot takes.
enum SlotBinding: Sendable {
    case none
    case value
    /// A possibly external value.
    case external
    /// A key and the number of its entity.
    case keyAndEntity

    init(_ slot: SlotLayout) {
        switch slot {
        case .transient: self = .none
        case .attribute(_, let kind): self = kind == .external ? .external : .value
        case .reference(let reference): self = reference.entityColumn == nil ? .value : .keyAndEntity
        }
    }
}

struct ReferenceColumn: Hashable, Sendable {
    let column: String
    /// The column of the destination's `Z_ENT`; nil when the destination has no subentities.
    let entityColumn: String?
    /// Entity index.
    let destination: Int
    /// The column of the position in the inverse relationship, if that is ordered.
    let orderColumn: String?
}

enum ToManyLayout: Hashable, Sendable {
    case transient
    case foreignKey(ForeignKey)
    case join(JoinSide)
}

/// A to-many relationship stored as a column of the destination's table.
struct ForeignKey: Hashable, Sendable {
    let destination: Int
    let table: String
    let column: String
    let orderColumn: String?
    /// Whether no to-one relationship uses the column: links write it.
    let isHidden: Bool
}

/// One side's view of a many-to-many relationship.
struct JoinSide: Hashable, Sendable {
    let destination: Int
    let table: String
    let ownColumn: String
    let otherColumn: String
    let orderColumn: String?
    /// Whether the relationship is its own inverse: each join record exists in both directions.
    let isSymmetric: Bool
    /// Index of the inverse in the destination's `toMany`.
    let inverse: Int
}

struct JoinTable: Hashable, Sendable {
    let name: String
    let first: String
    let second: String
    let orderColumns: [String]
    /// Root entities of the two columns' keys.
    let firstRoot: Int
    let secondRoot: Int
}

struct TableLayout: Sendable {
    struct Column: Sendable {
        let name: String
        let kind: StorageKind
        /// Index of the entity that declares the property.
        let entity: Int
    }

    struct Index: Sendable {
        let name: String
        let isUnique: Bool
        /// SQL of the indexed columns and of the condition, if any.
        let columns: String
        let condition: String?
    }

    let root: Int
    let name: String
    var columns: [Column]
    var indexes: [Index]
}
