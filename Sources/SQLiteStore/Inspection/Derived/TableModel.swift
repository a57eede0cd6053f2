// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// A model guessed from the tables of a store without a readable record of its own.
///
///     entities            from Z_PRIMARYKEY, with their names and parents
///     attributes          from columns: the declared type decides; a column belongs to the entity that all rows with values share
///     to-one              an INTEGER column with an index, an entity column (Z4_OWNER) or an order column (Z_FOK_OWNER)
///     its destination     the entity column's; else the entity with rows of these keys
///     its inverse         another such column with values that lead back, else a new to-many relationship, `car_owner`
///     many-to-many        from tables Z_4TAGS with columns Z_4PEOPLE and Z_7TAGS
///     indexes             from indexes Z_ENTITY_NAME and Z_ENTITY_UNIQUE_…
///
/// Columns are upper case. A name is spelled as in an index or a trigger, else it is lower case; its upper case is always
/// the column's name, so that a store opens with the model.
struct TableModel {
    struct ToOne {
        let owner: Int64
        let name: String
        let destination: Int64
        let table: String
        let column: String
        let isOrdered: Bool
    }

    let connection: Connection
    let outline: StoreOutline
    var notes: [String] = []
    var entities: [Int64: Entity] = [:]
    /// Upper-case names already used in the hierarchy of a root.
    private var used: [Int64: Set<String>] = [:]
    /// Spellings of names, by upper-case name.
    private var spellings: [String: String] = [:]
    /// Root entities by table.
    private var roots: [String: Int64] = [:]
    /// Columns that are part of a relationship, by table.
    private(set) var consumed: [String: Set<String>] = [:]
    private(set) var references: [ToOne] = []

    /// Rows that are sampled to find a destination or an inverse.
    static let sampleSize = 1000

    static func derived(_ connection: Connection, _ outline: StoreOutline) throws -> (model: Model, notes: [String]) {
        var model = TableModel(connection, outline)
        try model.addReferences()
        try model.addAttributes()
        try model.addInverses()
        model.addJoins()
        try model.addIndexes()
        return (Model(entities: model.entities.sorted { $0.key < $1.key }.map(\.value)), model.notes)
    }

    private init(_ connection: Connection, _ outline: StoreOutline) {
        self.connection = connection
        self.outline = outline
        for name in outline.indexes + outline.triggers {
            for part in name.split(separator: "_") where part.contains(where: \.isLowercase) { spellings[part.uppercased()] = String(part) }
        }
        for entity in outline.modelEntities {
            guard Self.isName(entity.name) else {
                notes.append("an entity is left out, since its name is invalid: \(entity.name)")
                continue
            }
            guard outline.table(of: entity.number) != nil, !entities.values.contains(where: { $0.name == entity.name }) else {
                notes.append("\(entity.name) is left out, since it has no table of its own")
                continue
            }
            entities[entity.number] = Entity(name: entity.name, className: entity.name)
            entities[entity.number]?.codeGeneration = .class
        }
        // Without its root, a hierarchy has no table.
        for number in entities.keys where !ancestors(number, root: outline.root(of: number)).allSatisfy({ entities[$0] != nil }) {
            entities[number] = nil
        }
        for number in entities.keys where outline.root(of: number) != number {
            let parent = outline.entities[number].flatMap { entities[$0.parent]?.name }
            entities[number]?.superentity = parent
        }
        for root in outline.roots where entities[root.number] != nil {
            if let table = outline.table(of: root.number) { roots[table] = root.number }
        }
    }

    /// Letters, digits and underscores, not starting with a digit: valid names in Swift and in model files.
    static func isName(_ text: String) -> Bool {
        guard let first = text.first, first.isLetter || first == "_" else { return false }
        return text.utf8.count <= 256 && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    // MARK: Names

    /// - Returns: The property of a column; nil for an invalid name, and for a name already used in the hierarchy.
    mutating func claim(_ column: String, of number: Int64) -> String? {
        let bare = column.dropFirst().uppercased()
        let name = spellings[bare] ?? bare.lowercased()
        guard column.uppercased().hasPrefix("Z"), Self.isName(name), name.uppercased() == bare else { return nil }
        return used[outline.root(of: number), default: []].insert(name.uppercased()).inserted ? name : nil
    }

    // MARK: To-one relationships

    private mutating func addReferences() throws {
        for reference in outline.references {
            guard let root = roots[reference.table] else { continue }
            if let digits = Self.number(reference.column.uppercased()) {
                addHidden(reference, digits)
                continue
            }
            let owner = try owner(of: reference.column, root: root, table: reference.table)
            guard let destination = try destination(of: reference) else {
                notes.append("\(reference.table).\(reference.column) may be a relationship with an unknown destination")
                continue
            }
            guard let name = claim(reference.column, of: root) else { continue }
            consumed[reference.table, default: []].formUnion(
                [reference.column, reference.entityColumn, reference.orderColumn].compactMap { $0?.uppercased() })
            references.append(
                ToOne(
                    owner: owner, name: name, destination: destination, table: reference.table, column: reference.column,
                    isOrdered: reference.orderColumn != nil))
        }
    }

    /// A to-many relationship without inverse: its keys are at the other end, as in Z2CHAPTERS for entity 2.
    private mutating func addHidden(_ reference: StoreOutline.Reference, _ owner: Int64) {
        guard entities[owner] != nil, let far = roots[reference.table] else { return }
        let bare = reference.column.uppercased().dropFirst().drop { $0.isASCII && $0.isNumber }
        guard let name = claim("Z" + bare, of: owner), let destination = entities[far]?.name else { return }
        consumed[reference.table, default: []].formUnion([reference.column, reference.orderColumn].compactMap { $0?.uppercased() })
        entities[owner]?.relationships.append(
            Relationship(name: name, destination: destination, isToMany: true, isOrdered: reference.orderColumn != nil))
    }

    /// `2` for Z2CHAPTERS.
    private static func number(_ column: String) -> Int64? {
        let digits = column.dropFirst().prefix { $0.isASCII && $0.isNumber }
        return digits.isEmpty ? nil : Int64(digits)
    }

    private func destination(of reference: StoreOutline.Reference) throws -> Int64? {
        // An entity column names the declared destination. Without one, the destination has no subentities.
        if let column = reference.entityColumn, let number = Self.number(column.uppercased()) {
            return entities[number] == nil ? nil : number
        }
        let parents = Set(outline.modelEntities.map(\.parent))
        let leaves = outline.modelEntities.filter { !parents.contains($0.number) && entities[$0.number] != nil }
        let named = leaves.first { "Z" + $0.name.uppercased() == reference.column.uppercased() }
        let (table, column) = (identifier(reference.table), identifier(reference.column))
        let sample = "(SELECT \(column) k FROM \(table) WHERE \(column) IS NOT NULL LIMIT \(Self.sampleSize))"
        let (total, distinct) =
            try connection.first("SELECT COUNT(*), COUNT(DISTINCT k) FROM \(sample)") { ($0.int(0), $0.int(1)) } ?? (0, 0)
        if total == 0 { return (named ?? (leaves.count == 1 ? leaves[0] : nil))?.number }
        var best: (number: Int64, score: Double)?
        for leaf in leaves {
            guard let far = outline.table(of: leaf.number).map(identifier) else { continue }
            let matchCount =
                try connection.first(
                    "SELECT COUNT(*) FROM \(sample) r JOIN \(far) d ON d.Z_PK = r.k AND d.Z_ENT = \(leaf.number)"
                ) { $0.int(0) } ?? 0
            // A few may dangle.
            guard matchCount * 10 >= total * 9 else { continue }
            if leaf.number == named?.number { return leaf.number }
            // Keys begin at 1 in every table: of several matches, the table with the largest share of referenced rows is
            // the likeliest.
            let rows =
                try connection.first(
                    "SELECT COUNT(*) FROM (SELECT 1 FROM \(far) WHERE Z_ENT = \(leaf.number) LIMIT 100000)"
                ) { $0.int(0) } ?? 0
            let score = Double(distinct) / Double(max(1, rows))
            if score > best?.score ?? 0 { best = (leaf.number, score) }
        }
        return best?.number
    }

    // MARK: Inverses

    private mutating func addInverses() throws {
        var open = references
        while !open.isEmpty {
            let reference = open.removeFirst()
            guard let owner = entities[reference.owner], let destination = entities[reference.destination] else { continue }
            var relationship = Relationship(name: reference.name, destination: destination.name)
            if let index = try open.firstIndex(where: { try isOneToOne(reference, $0) }) {
                let back = open.remove(at: index)
                relationship.inverse = back.name
                entities[back.owner]?.relationships.append(
                    Relationship(name: back.name, destination: owner.name, inverse: reference.name))
            } else {
                let base = owner.name.prefix(1).lowercased() + owner.name.dropFirst() + "_" + reference.name
                let inverse = freeName(base, root: outline.root(of: reference.destination))
                relationship.inverse = inverse
                entities[reference.destination]?.relationships.append(
                    Relationship(
                        name: inverse, destination: owner.name, inverse: reference.name, isToMany: true, isOrdered: reference.isOrdered))
            }
            entities[reference.owner]?.relationships.append(relationship)
        }
    }

    private mutating func freeName(_ base: String, root: Int64) -> String {
        var (name, suffix) = (base, 1)
        while !used[root, default: []].insert(name.uppercased()).inserted { (name, suffix) = (base + String(suffix), suffix + 1) }
        return name
    }

    /// Whether the destinations of both reference their origins, in all rows of a sample.
    private func isOneToOne(_ a: ToOne, _ b: ToOne) throws -> Bool {
        guard !a.isOrdered, !b.isOrdered, a.owner == b.destination, b.owner == a.destination else { return false }
        func pairs(_ a: ToOne, _ b: ToOne) throws -> (all: Int64, back: Int64) {
            let (from, key) = (identifier(a.table), identifier(a.column))
            return try connection.first(
                """
                SELECT COUNT(*), TOTAL(d.\(identifier(b.column)) = r.Z_PK) FROM \
                (SELECT Z_PK, \(key) k FROM \(from) WHERE \(key) IS NOT NULL LIMIT \(Self.sampleSize)) r \
                JOIN \(identifier(b.table)) d ON d.Z_PK = r.k
                """
            ) { ($0.int(0), $0.int(1)) } ?? (0, 0)
        }
        let (forward, back) = (try pairs(a, b), try pairs(b, a))
        return forward.all > 0 && forward.all == forward.back && back.all == back.back
    }

    // MARK: Many-to-many relationships

    /// A column Z_7TAGS has keys of entity 7, and is named after the relationship to that entity.
    private mutating func addJoins() {
        for join in outline.joins {
            let sides = join.columns.compactMap { side in Self.side(side.name).map { (number: $0.number, name: $0.name) } }
            guard sides.count == 2, entities[sides[0].number] != nil, entities[sides[1].number] != nil else { continue }
            let ordered = Set(join.orderColumns.map { "Z_" + $0.uppercased().dropFirst("Z_FOK_".count) })
            let isSymmetric = sides[0].number == sides[1].number && sides[1].name == sides[0].name + "1"
            let isOrdered = join.columns.map { ordered.contains($0.name.uppercased()) }
            if isSymmetric {
                guard let name = claim("Z" + sides[0].name, of: sides[0].number), let own = entities[sides[0].number]?.name else {
                    continue
                }
                entities[sides[0].number]?.relationships.append(
                    Relationship(name: name, destination: own, inverse: name, isToMany: true, isOrdered: isOrdered.contains(true)))
                continue
            }
            guard let own = entities[sides[0].number]?.name, let far = entities[sides[1].number]?.name,
                let forward = claim("Z" + sides[1].name, of: sides[0].number)
            else { continue }
            guard let backward = claim("Z" + sides[0].name, of: sides[1].number) else { continue }
            entities[sides[0].number]?.relationships.append(
                Relationship(name: forward, destination: far, inverse: backward, isToMany: true, isOrdered: isOrdered[1]))
            entities[sides[1].number]?.relationships.append(
                Relationship(name: backward, destination: own, inverse: forward, isToMany: true, isOrdered: isOrdered[0]))
        }
    }

    /// 7 and TAGS for Z_7TAGS.
    private static func side(_ column: String) -> (number: Int64, name: String)? {
        let digitsAndName = column.uppercased().dropFirst(2)
        let digits = digitsAndName.prefix { $0.isASCII && $0.isNumber }
        return Int64(digits).map { ($0, String(digitsAndName.dropFirst(digits.count))) }
    }
}
