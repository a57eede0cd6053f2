// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What changed from one version of a model to the next, and what a store can make of it.
///
/// Source: developer.apple.com/documentation/coredata/using_lightweight_migration, for what can be inferred;
/// …/creating-a-core-data-model-for-cloudkit, for what a synced store allows: its schema only grows.
package struct ModelDifference: Sendable {
    package struct Change: Hashable, Sendable {
        /// `Post`, or `Post.title`, by the names of the new version; by the old ones for what was removed.
        package var subject: String
        /// Such as "was renamed from 'headline'".
        package var what: String
        /// Why a migration cannot be inferred; nil when it can.
        package var obstacle: String?
        /// Whether other devices, which may have the old version still, can live with it.
        package var isAllowedWhenSynced: Bool

        init(_ subject: String, _ what: String, obstacle: String? = nil, isAllowedWhenSynced: Bool = false) {
            self.subject = subject
            self.what = what
            self.obstacle = obstacle
            self.isAllowedWhenSynced = isAllowedWhenSynced
        }
    }

    /// By subject.
    package private(set) var changes: [Change] = []

    /// Whether rows of the old version can be carried over without instructions.
    package var isInferable: Bool { changes.allSatisfy { $0.obstacle == nil } }
    package var isAllowedWhenSynced: Bool { changes.allSatisfy(\.isAllowedWhenSynced) }

    private let old: Model
    private let new: Model
    /// New name to old entity.
    private var origins: [String: Entity] = [:]

    package init(from old: Model, to new: Model) {
        self.old = old
        self.new = new
        origins = Self.matches(old.entities, new.entities, name: \.name, identifier: \.renamingIdentifier)
        compareEntities()
        compareHierarchies()
        changes.sort { ($0.subject, $0.what) < ($1.subject, $1.what) }
    }

    /// Pairs what is the same in both versions: by name, else by renaming identifier, which is the name that the first
    /// version gave.
    static func matches<Part>(
        _ old: [Part], _ new: [Part], name: (Part) -> String, identifier: (Part) -> String?
    ) -> [String: Part] {
        var result: [String: Part] = [:]
        var left = old
        func take(_ part: Part, where isOrigin: (Part) -> Bool) {
            guard result[name(part)] == nil, let index = left.firstIndex(where: isOrigin) else { return }
            result[name(part)] = left.remove(at: index)
        }
        // An identifier is the author's word, and goes before a name that happens to be the same.
        for part in new {
            guard let canonical = identifier(part), canonical != name(part) else { continue }
            take(part) { name($0) == canonical || identifier($0) == canonical }
        }
        for part in new { take(part) { name($0) == name(part) } }
        for part in new { take(part) { identifier($0) == name(part) } }
        return result
    }

    // MARK: Entities

    private mutating func compareEntities() {
        for entity in new.entities {
            guard let origin = origins[entity.name] else {
                changes.append(Change(entity.name, "is new", isAllowedWhenSynced: true))
                continue
            }
            if origin.name != entity.name { changes.append(Change(entity.name, "was renamed from '\(origin.name)'")) }
            if entity.isAbstract, !origin.isAbstract {
                changes.append(Change(entity.name, "became abstract", obstacle: "its objects would belong to no entity"))
            }
            if origin.isAbstract, !entity.isAbstract { changes.append(Change(entity.name, "is not abstract any more", isAllowedWhenSynced: true)) }
            if origin.uniquenessConstraints != entity.uniquenessConstraints {
                changes.append(Change(entity.name, "has other uniqueness constraints"))
            }
            compareAttributes(of: entity, origin)
            compareRelationships(of: entity, origin)
        }
        let kept = Set(origins.values.map(\.name))
        for entity in old.entities where !kept.contains(entity.name) { changes.append(Change(entity.name, "was removed")) }
    }

    private func chain(of entity: Entity, in model: Model) -> [Entity] {
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
            let what = entity.superentity.map { "has the parent '\($0)'" } ?? "has no parent any more"
            changes.append(Change(entity.name, what))
        }
        let roots = Dictionary(grouping: new.entities) { chain(of: $0, in: new).last?.name ?? $0.name }
        for (root, members) in roots {
            let before = Set(members.compactMap { origins[$0.name] }.compactMap { chain(of: $0, in: old).last?.name })
            let hierarchies = before.filter { name in old.entities.contains { $0.superentity == name } }
            guard hierarchies.count > 1 else { continue }
            changes.append(
                Change(
                    root, "joins the hierarchies of \(hierarchies.sorted().map { "'\($0)'" }.joined(separator: " and "))",
                    obstacle: "hierarchies that were apart cannot share a parent"))
        }
    }

    // MARK: Properties

    /// Those that an entity declares in the old version, or inherits there and declares in the new one.
    private func candidates<Property>(_ entity: Entity, _ origin: Entity, _ properties: (Entity) -> [Property]) -> [Property] {
        properties(origin) + chain(of: origin, in: old).dropFirst().flatMap(properties)
    }

    /// Whether a property is still there for the objects of an entity, moved up or down the hierarchy.
    private func isElsewhere<Property>(
        _ property: Property, of origin: Entity, _ properties: (Entity) -> [Property], _ name: (Property) -> String,
        _ identifier: (Property) -> String?
    ) -> Bool {
        new.entities.contains { entity in
            guard let other = origins[entity.name] else { return properties(entity).contains { name($0) == name(property) } }
            let isRelated = chain(of: other, in: old).contains { $0.name == origin.name } || chain(of: origin, in: old).contains { $0.name == other.name }
            return isRelated && properties(entity).contains { name($0) == name(property) || identifier($0) == name(property) }
        }
    }

    private mutating func compareAttributes(of entity: Entity, _ origin: Entity) {
        let matches = Self.matches(
            candidates(entity, origin, \.attributes), entity.attributes, name: \.name, identifier: \.renamingIdentifier)
        for attribute in entity.attributes {
            let subject = "\(entity.name).\(attribute.name)"
            guard let before = matches[attribute.name] else {
                let isFillable = attribute.isOptional || attribute.isTransient || !attribute.defaultValue.isNull || attribute.derivationExpression != nil
                changes.append(
                    Change(
                        subject, "is new", obstacle: isFillable ? nil : "it is required and has no default value",
                        isAllowedWhenSynced: isFillable))
                continue
            }
            if before.name != attribute.name { changes.append(Change(subject, "was renamed from '\(before.name)'")) }
            changes += differences(before, attribute, subject)
        }
        let kept = Set(matches.values.map(\.name))
        for attribute in origin.attributes where !kept.contains(attribute.name) {
            if isElsewhere(attribute, of: origin, \.attributes, \.name, \.renamingIdentifier) { continue }
            changes.append(Change("\(origin.name).\(attribute.name)", "was removed"))
        }
    }

    private func differences(_ before: Attribute, _ now: Attribute, _ subject: String) -> [Change] {
        var changes: [Change] = []
        if before.type != now.type {
            changes.append(Change(subject, "changed from \(before.type) to \(now.type)", obstacle: "a value's type cannot be changed by inference"))
        }
        if before.isOptional, !now.isOptional, !now.isTransient {
            let hasDefault = !now.defaultValue.isNull
            changes.append(
                Change(
                    subject, "is required now", obstacle: hasDefault ? nil : "it has no default value for rows without one",
                    isAllowedWhenSynced: hasDefault))
        }
        if !before.isOptional, now.isOptional { changes.append(Change(subject, "is optional now", isAllowedWhenSynced: true)) }
        if before.isTransient != now.isTransient {
            changes.append(Change(subject, now.isTransient ? "is not stored any more" : "is stored now", isAllowedWhenSynced: !now.isTransient))
        }
        if before.derivationExpression != now.derivationExpression {
            changes.append(Change(subject, "is derived in another way", isAllowedWhenSynced: true))
        }
        if before.valueTransformerName != now.valueTransformerName {
            changes.append(Change(subject, "has another transformer", obstacle: "stored values were written by the old one"))
        }
        if before.allowsCloudEncryption != now.allowsCloudEncryption {
            changes.append(Change(subject, now.allowsCloudEncryption ? "is encrypted in the cloud now" : "is not encrypted in the cloud any more"))
        }
        return changes
    }

    private mutating func compareRelationships(of entity: Entity, _ origin: Entity) {
        let matches = Self.matches(
            candidates(entity, origin, \.relationships), entity.relationships, name: \.name, identifier: \.renamingIdentifier)
        for relationship in entity.relationships {
            let subject = "\(entity.name).\(relationship.name)"
            guard let before = matches[relationship.name] else {
                changes.append(Change(subject, "is new", isAllowedWhenSynced: relationship.isOptional))
                continue
            }
            if before.name != relationship.name { changes.append(Change(subject, "was renamed from '\(before.name)'")) }
            changes += differences(before, relationship, subject)
        }
        let kept = Set(matches.values.map(\.name))
        for relationship in origin.relationships where !kept.contains(relationship.name) {
            if isElsewhere(relationship, of: origin, \.relationships, \.name, \.renamingIdentifier) { continue }
            changes.append(Change("\(origin.name).\(relationship.name)", "was removed"))
        }
    }

    private func differences(_ before: Relationship, _ now: Relationship, _ subject: String) -> [Change] {
        var changes: [Change] = []
        if !before.isToMany, now.isToMany { changes.append(Change(subject, "is to-many now")) }
        if before.isToMany, !now.isToMany {
            changes.append(Change(subject, "is to-one now", obstacle: "nothing says which of several objects stays"))
        }
        if before.isOrdered != now.isOrdered { changes.append(Change(subject, now.isOrdered ? "is ordered now" : "is not ordered any more")) }
        if before.isOptional, !now.isOptional { changes.append(Change(subject, "is required now")) }
        if !before.isOptional, now.isOptional { changes.append(Change(subject, "is optional now", isAllowedWhenSynced: true)) }
        let destination = origins[now.destination]?.name ?? now.destination
        if destination != before.destination {
            changes.append(
                Change(
                    subject, "leads to '\(now.destination)', not to '\(before.destination)'",
                    obstacle: "objects of one entity cannot stand in for those of another"))
        }
        return changes
    }
}
