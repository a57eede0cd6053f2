// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The changes from one version of a model to the next, and whether a store can migrate.
///
/// Source: developer.apple.com/documentation/coredata/using_lightweight_migration, for inferable changes;
/// …/creating-a-core-data-model-for-cloudkit, for a synced store: its schema only grows. Differs: a part may have another name, another
/// type of the same kind of field, or be retired: see ``SyncKeys``.
package struct ModelDifference: Sendable {
    package struct Change: Hashable, Sendable {
        /// `Post`, or `Post.title`, with the names of the new version; with the old ones for removed parts.
        package var subject: String
        /// The change, such as "was renamed from 'headline'".
        package var summary: String
        /// The reason why a migration cannot be inferred; nil when it can.
        package var obstacle: String?
        /// Whether the obstacle concerns certain rows only: a store without such rows migrates all the same.
        package var dependsOnRows = false
        /// Whether other devices, which may still have the old version, tolerate the change.
        package var isAllowedWhenSynced: Bool

        init(
            _ subject: String, _ summary: String, obstacle: String? = nil, dependsOnRows: Bool = false, isAllowedWhenSynced: Bool = false
        ) {
            self.subject = subject
            self.summary = summary
            self.obstacle = obstacle
            self.dependsOnRows = dependsOnRows
            self.isAllowedWhenSynced = isAllowedWhenSynced
        }
    }

    /// By subject.
    package private(set) var changes: [Change] = []

    /// Whether rows of the old version can be migrated without a mapping.
    package var isInferable: Bool { changes.allSatisfy { $0.obstacle == nil } }
    /// The obstacles that do not depend on rows.
    package var obstacles: [Change] { changes.filter { $0.obstacle != nil && !$0.dependsOnRows } }
    package var isAllowedWhenSynced: Bool { changes.allSatisfy(\.isAllowedWhenSynced) }

    let old: Model
    let new: Model
    /// Old entities by new name.
    private(set) var origins: [String: Entity] = [:]

    package init(from old: Model, to new: Model) {
        self.old = old
        self.new = new
        origins = Self.matches(old.entities, new.entities, name: \.name, identifier: \.renamingIdentifier)
        compareEntities()
        compareHierarchies()
        changes.sort { ($0.subject, $0.summary) < ($1.subject, $1.summary) }
    }

    /// Pairs parts of both versions: by name, else by renaming identifier, which is the name in the first version.
    static func matches<Part>(
        _ old: [Part], _ new: [Part], name: (Part) -> String, identifier: (Part) -> String?
    ) -> [String: Part] {
        var result: [String: Part] = [:]
        var unmatched = old
        func pair(_ part: Part, where isOrigin: (Part) -> Bool) {
            guard result[name(part)] == nil, let index = unmatched.firstIndex(where: isOrigin) else { return }
            result[name(part)] = unmatched.remove(at: index)
        }
        // An identifier is explicit, and has priority over an equal name. The part that was renamed before has priority over a part that got
        // the first name of that one since.
        let renamed: [(part: Part, canonical: String)] = new.compactMap { part in
            guard let canonical = identifier(part), canonical != name(part) else { return nil }
            return (part, canonical)
        }
        for (part, canonical) in renamed { pair(part) { name($0) == name(part) && identifier($0) == canonical } }
        for (part, canonical) in renamed { pair(part) { identifier($0) == canonical && name($0) != canonical } }
        for (part, canonical) in renamed { pair(part) { name($0) == canonical } }
        for part in new { pair(part) { name($0) == name(part) } }
        for part in new { pair(part) { identifier($0) == name(part) } }
        return result
    }

    /// The entity of the old version that a new entity derives from; nil for a new one.
    package func origin(of entity: String) -> Entity? { origins[entity] }

    // MARK: Entities

    private mutating func compareEntities() {
        for entity in new.entities {
            guard let origin = origins[entity.name] else {
                changes.append(Change(entity.name, "is new", isAllowedWhenSynced: true))
                continue
            }
            changes += nameChanges(entity.name, from: (origin.name, origin.syncName), to: (entity.name, entity.syncName))
            if entity.isAbstract, !origin.isAbstract {
                changes.append(
                    Change(entity.name, "became abstract", obstacle: "its objects would belong to no entity", dependsOnRows: true))
            }
            if origin.isAbstract, !entity.isAbstract {
                changes.append(Change(entity.name, "is not abstract any more", isAllowedWhenSynced: true))
            }
            if origin.uniquenessConstraints != entity.uniquenessConstraints {
                changes.append(Change(entity.name, "has other uniqueness constraints"))
            }
            changes += attributeChanges(of: entity, origin) + relationshipChanges(of: entity, origin) + lensChanges(of: entity, origin)
        }
        let originNames = Set(origins.values.map(\.name))
        for entity in old.entities where !originNames.contains(entity.name) { changes.append(Change(entity.name, "was removed")) }
    }

    /// Another name. The name on the server has to be the one that it had: earlier versions read and write that record type or field.
    func nameChanges(_ subject: String, from old: (name: String, onServer: String), to new: (name: String, onServer: String)) -> [Change] {
        let isSame = old.onServer == new.onServer
        var changes: [Change] = []
        if old.name != new.name { changes.append(Change(subject, "was renamed from '\(old.name)'", isAllowedWhenSynced: isSame)) }
        if !isSame { changes.append(Change(subject, "is '\(new.onServer)' on the server now, where it was '\(old.onServer)'")) }
        return changes
    }

    func chain(of entity: Entity, in model: Model) -> [Entity] {
        var chain = [entity]
        while let parent = chain.last?.superentity, chain.count <= model.entities.count,
            let next = model.entities.first(where: { $0.name == parent })
        {
            chain.append(next)
        }
        return chain
    }

    private mutating func compareHierarchies() {
        for entity in new.entities {
            guard let origin = origins[entity.name] else { continue }
            let parent = entity.superentity.map { origins[$0]?.name ?? $0 }
            guard parent != origin.superentity else { continue }
            let summary = entity.superentity.map { "has the parent '\($0)'" } ?? "has no parent any more"
            changes.append(Change(entity.name, summary))
        }
        let roots = Dictionary(grouping: new.entities) { chain(of: $0, in: new).last?.name ?? $0.name }
        for (root, members) in roots {
            let formerRoots = Set(members.compactMap { origins[$0.name] }.compactMap { chain(of: $0, in: old).last?.name })
            let hierarchies = formerRoots.filter { name in old.entities.contains { $0.superentity == name } }
            guard hierarchies.count > 1 else { continue }
            changes.append(
                Change(
                    root, "joins the hierarchies of \(hierarchies.sorted().map { "'\($0)'" }.joined(separator: " and "))",
                    obstacle: "hierarchies that were apart cannot share a parent"))
        }
    }
}
