// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Where each property of a model stands in the tables of one store. A value: made once when the store is opened.
///
///     root entity     → table Z<NAME>, shared by its heirs, told apart by Z_ENT
///     attribute       → column Z<NAME>, numbered when siblings use a name twice
///     to-one          → column with the destination's Z_PK, and Z<n>_<NAME> with its Z_ENT where heirs exist
///     one-to-many     → the inverse's column
///     many-to-many    → table Z_<n><NAME> with a column for each side
struct StoreLayout: Sendable {
    let model: ResolvedModel
    /// By entity index; nil for entities that are not in the store's configuration.
    let entities: [EntityLayout?]
    let tables: [TableLayout]
    let joins: [JoinTable]
    /// What is written into the store, so that a later model can be compared with this one.
    let recorded: RecordedModel
    let derivedColumns: [DerivedColumn]
    /// Most attributes any entity keeps in the history of its deleted rows.
    let tombstoneCount: Int
    /// Where large values are kept; nil for a store in memory, which keeps them in its tables.
    var external: ExternalFolder?
    private let indexByNumber: [Int64: Int]

    init(
        model: ResolvedModel, entities: [EntityLayout?], tables: [TableLayout], joins: [JoinTable],
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

    /// - Throws: ``StoreError`` with `.notFound` for an entity that is not in the store's configuration.
    func entity(_ index: Int) throws(StoreError) -> EntityLayout {
        guard entities.indices.contains(index), let entity = entities[index] else {
            let name = entities.indices.contains(index) ? model.entities[index].name : "entity \(index)"
            throw StoreError(.notFound, "the store has no such entity", detail: name)
        }
        return entity
    }

    var hasExternalValues: Bool { external != nil && entities.contains { $0?.externalSlots.isEmpty == false } }

    func entityIndex(number: Int64) -> Int? { indexByNumber[number] }
}

/// A class, because bulk reads and writes hand it on for each row.
final class EntityLayout: Sendable {
    let index: Int
    let name: String
    /// `Z_ENT`.
    let number: Int64
    /// Index of the entity whose table and keys this one shares.
    let root: Int
    let rootNumber: Int64
    let table: String
    let slots: [SlotLayout]
    let toMany: [ToManyLayout]
    /// Persisted properties sorted by name: what the bits of a history row's `ZCOLUMNS` stand for.
    let historyProperties: [String]
    /// Slots of attributes that history keeps when a row is deleted, by attribute name.
    let tombstoneSlots: [Int]
    /// `Z_ENT` of this entity and its heirs.
    let hierarchyNumbers: [Int64]
    /// The whole table belongs to this entity and its heirs, so reads need no condition on `Z_ENT`.
    let ownsTable: Bool
    /// How rows of this entity and its heirs are read.
    let shape: ReadShape
    /// Reads one row by its primary key.
    let rowSQL: String
    /// Takes `Z_PK`, `Z_ENT`, then what the slots hold.
    let insertSQL: String
    /// What each slot binds; the same as ``slots`` without the names, so that bulk writes copy no text.
    let bindings: [SlotBinding]
    /// To-one slots whose other end is an ordered relationship.
    let orderedSlots: [Int]
    /// Slots whose values may be kept in files.
    let externalSlots: [Int]
    /// Bits of ``historyProperties`` by slot and by to-many relationship; nil for what is not persisted.
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
    /// Transient: lives in memory only.
    case transient
    case attribute(column: String, StorageKind)
    case reference(ReferenceColumn)
}

/// How many arguments of a statement a slot takes.
enum SlotBinding: Sendable {
    case none
    case value
    /// A value that may be kept in a file.
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
    /// Holds the destination's `Z_ENT`; nil when the destination has no heirs.
    let entityColumn: String?
    /// Entity index.
    let destination: Int
    /// Holds the place in the ordered to-many relationship at the other end, if that is ordered.
    let orderColumn: String?
}

enum ToManyLayout: Hashable, Sendable {
    case transient
    case foreignKey(ForeignKey)
    case join(JoinSide)
}

/// A to-many relationship that is kept in a column of the destination's table.
struct ForeignKey: Hashable, Sendable {
    let destination: Int
    let table: String
    let column: String
    let orderColumn: String?
    /// No to-one relationship stands behind the column: links write it.
    let isHidden: Bool
}

/// One side's view of a many-to-many relationship.
struct JoinSide: Hashable, Sendable {
    let destination: Int
    let table: String
    let ownColumn: String
    let otherColumn: String
    let orderColumn: String?
    /// The relationship is its own inverse: each pair is kept in both directions.
    let isSymmetric: Bool
    /// Index of the inverse in the destination's `toMany`.
    let inverse: Int
}

struct JoinTable: Hashable, Sendable {
    let name: String
    let first: String
    let second: String
    let orderColumns: [String]
    /// Root entities whose keys the two columns hold.
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
        /// Text of the indexed columns and of the condition, if any.
        let columns: String
        let condition: String?
    }

    let root: Int
    let name: String
    var columns: [Column]
    var indexes: [Index]
}
