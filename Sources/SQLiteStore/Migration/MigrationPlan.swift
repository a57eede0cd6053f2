// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The mapping of an old store to a new one; computed before anything is changed.
///
///     entities   keep their numbers; a hierarchy keeps its table, even if its root is renamed
///     rows       stay, unless their entity changed hierarchies: those move, with new keys
///     columns    of remaining properties stay, renamed with their properties
///     others     are created, filled, or dropped
struct MigrationPlan {
    /// From one hierarchy to another, each by its root: in the old model, in the new model.
    struct Route: Hashable {
        let from: Int
        let to: Int
    }

    struct FileState {
        /// Of each table, upper case.
        let columns: [String: [String]]
        /// Last used keys by `Z_ENT`.
        let maxima: [Int64: Int64]
        let numbers: [String: Int64]
    }

    let old: StoreLayout
    let model: ResolvedModel
    /// New entities that the store holds.
    let included: [Int]
    let file: FileState
    /// New entity to the old one that it derives from.
    private(set) var origins: [Int: Int] = [:]
    /// Old entity to the new one derived from it; nil for removed ones.
    private(set) var images: [Int: Int] = [:]
    private(set) var properties: [Int: PropertyOrigins] = [:]
    /// Old root by the new root that takes over its table.
    private(set) var primaries: [Int: Int] = [:]
    /// The offset added to keys on a route. Rows move on these routes only.
    private(set) var offsets: [Route: Int64] = [:]
    /// Last used key of each new root.
    private(set) var maxima: [Int: Int64] = [:]
    /// Old roots with rows that are moved or deleted, or must be rewritten.
    private(set) var disturbed: Set<Int> = []
    /// Constraints for the builder of the new layout.
    var existing = StoreLayoutBuilder.Existing()
    /// Renamed columns, by old root.
    var columnRenames: [Int: [String: String]] = [:]
    /// To-many relationships with unchanged storage, by new entity and index.
    var unchangedRelationships: Set<EntityRelationship> = []

    /// - Throws: ``StoreError`` with `.notInferable`.
    init(old: StoreLayout, model: ResolvedModel, included: [Int], difference: ModelDifference, file: FileState) throws(StoreError) {
        self.old = old
        self.model = model
        self.included = included
        self.file = file
        for index in included {
            guard let name = difference.origin(of: model.entities[index].name)?.name, let origin = old.model.entity(named: name) else {
                continue
            }
            origins[index] = origin.index
            images[origin.index] = index
            properties[index] = PropertyOrigins(of: model.entities[index], in: origin)
        }
        try checkTypes()
        route()
        number()
        nameColumns()
        placeRelationships()
    }

    func oldRoot(_ entity: Int) -> Int { old.model.entities[entity].root }
    func newRoot(_ entity: Int) -> Int { model.entities[entity].root }
    func oldEntity(_ index: Int) -> StoredEntity {
        guard let entity = old.entities[index] else { preconditionFailure("an old layout is made of all entities of its model") }
        return entity
    }
    static func table(of entity: ResolvedEntity) -> String { "Z" + entity.name.uppercased() }

    /// Old entities without a successor.
    var removed: [Int] { old.model.entities.map(\.index).filter { images[$0] == nil } }
    var roots: [Int] { included.filter { newRoot($0) == $0 } }

    /// Whether the rows of a new entity come from another table.
    func isMoved(_ entity: Int) -> Bool {
        guard let origin = origins[entity] else { return false }
        return primaries[newRoot(entity)] != oldRoot(origin)
    }

    /// The offset added to the keys of an old entity's rows; nil when they do not reach the new hierarchy.
    func offset(_ oldEntity: Int, to newEntity: Int) -> Int64? { offsets[Route(from: oldRoot(oldEntity), to: newRoot(newEntity))] }

    /// A column's name after renames.
    func current(_ column: String, of oldRoot: Int) -> String { columnRenames[oldRoot]?[column] ?? column }

    /// The new root that takes over an old root's table.
    func owner(of oldRoot: Int) -> Int? { primaries.first { $0.value == oldRoot }?.key }

    /// The name of an old root's table during the migration.
    func currentTable(_ oldRoot: Int) -> String {
        owner(of: oldRoot).map { Self.table(of: model.entities[$0]) } ?? Self.leftover(oldRoot)
    }

    static func leftover(_ oldRoot: Int) -> String { "TARNSTORE_LEFT_\(oldRoot)" }

    /// Slots of an old entity with values that may be in files, and that the new model has no property for.
    func droppedExternalSlots(of entity: StoredEntity) -> [Int] {
        let places = images[entity.index].flatMap { properties[$0]?.slots } ?? []
        return entity.externalSlots.filter { !places.contains(PropertyLocation.slot($0)) }
    }

    // MARK: Decisions

    /// Checks a case that the comparison by declaring entity misses: a property that moved in its hierarchy and changed
    /// its type.
    private func checkTypes() throws(StoreError) {
        for (entity, origin) in origins.sorted(by: { $0.key < $1.key }) {
            for (slot, place) in (properties[entity]?.slots ?? []).enumerated() {
                guard case .attribute(let now) = model.entities[entity].slots[slot], case .slot(let index)? = place,
                    case .attribute(let formerAttribute) = old.model.entities[origin].slots[index],
                    !now.isTransient, !formerAttribute.isTransient, !formerAttribute.type.becomes(now.type)
                else { continue }
                let subject = "\(model.entities[entity].name).\(now.name)"
                throw StoreError(
                    .notInferable, "how to migrate the store cannot be inferred",
                    detail: "\(subject) changed from \(formerAttribute.type) to \(now.type)")
            }
        }
    }

    private mutating func route() {
        for root in old.model.entities where root.root == root.index {
            let heirs = included.filter { entity in origins[entity].map { oldRoot($0) == root.index } ?? false }
            guard let owner = images[root.index].map(newRoot) ?? heirs.first.map(newRoot) else { continue }
            if primaries[owner] == nil { primaries[owner] = root.index }
        }
        for root in roots {
            var next: Int64 = 0
            let sources = model.entities[root].hierarchy.compactMap { origins[$0].map(oldRoot) }
            let primary = primaries[root].map { [$0] } ?? []
            var visited: Set<Int> = []
            for source in primary + sources where visited.insert(source).inserted {
                offsets[Route(from: source, to: root)] = next
                next += file.maxima[oldEntity(source).number] ?? 0
            }
            maxima[root] = next
        }
        for entity in old.model.entities {
            let stays = images[entity.index].map { !isMoved($0) && keepsAncestors(entity, $0) } ?? false
            if !stays { disturbed.insert(entity.root) }
        }
        // Moved rows get new keys, so rows that reference them must be rewritten.
        for (route, _) in offsets where primaries[route.to] != route.from { disturbed.insert(route.from) }
    }

    /// Whether references to the entity through an ancestor stay valid.
    private func keepsAncestors(_ old: ResolvedEntity, _ new: Int) -> Bool {
        var ancestor = old.superentity
        while let index = ancestor {
            if let image = images[index], !model.entities[image].hierarchy.contains(new) { return false }
            ancestor = self.old.model.entities[index].superentity
        }
        return true
    }

    private mutating func number() {
        for (entity, origin) in origins { existing.numbers[model.entities[entity].name] = oldEntity(origin).number }
        existing.lastNumber = file.numbers.values.filter { $0 < 16_000 }.max() ?? 0
        existing.recorded = RecordedModel()
        for index in included { existing.recorded?.entities[model.entities[index].name] = RecordedEntity(number: 0) }
        let tables = Set(old.model.entities.filter { $0.root == $0.index }.map { oldEntity($0.index).table.uppercased() })
        existing.columns = file.columns.filter { !tables.contains($0.key) }
        for (root, primary) in primaries { existing.columns[Self.table(of: model.entities[root])] = physical(primary) }
    }

    func physical(_ oldRoot: Int) -> [String] { file.columns[oldEntity(oldRoot).table.uppercased()] ?? [] }
}

/// A relationship of a new entity.
struct EntityRelationship: Hashable {
    let entity: Int
    let location: PropertyLocation
}
