// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel

/// Whether a model can be mirrored. All violations are found together.
///
/// Source: *Creating a Core Data Model for CloudKit*; which delete rules pass is observed.
package enum CloudModelRules {
    package struct Violation: Hashable, Sendable {
        package let entity: String
        package let property: String?
        /// A sentence without a subject: "must be optional or have a default value".
        package let what: String

        package var description: String { "\(property.map { "\(entity).\($0)" } ?? entity) \(what)" }
    }

    /// Fields of a record type. Each long-able attribute takes two.
    package static let fieldsPerTypeMax = 256
    /// Fields that every record type has: the entity's name, and the receipt of a move between zones with its asset.
    private static let fieldsOfEveryType = 3

    /// - Parameters:
    ///   - configuration: The store's configuration; nil for all entities.
    ///   - isPublic: Whether the database is the public one, where encryption is impossible.
    ///   - allowed: Extensions beyond Apple's rules that the app permits.
    ///   - lenses: Those of the app's code.
    package static func violations(
        of model: ResolvedModel, configuration: String? = nil, isPublic: Bool = false, allowing allowed: ModelExtensions = [],
        lenses: [Lens] = []
    ) -> [Violation] {
        let entities = model.entities(inConfiguration: configuration) ?? []
        let included = Set(entities.map(\.index))
        var violations = LensRules.violations(of: lenses, in: model)
        for entity in entities {
            check(names: entity, &violations)
            violations += LensRules.violations(of: entity, in: model, lenses)
            if allowed.contains(.uniquenessConstraints) {
                for property in Set(entity.declaration.uniquenessConstraints.joined()).sorted() {
                    check(unique: property, of: entity, &violations)
                }
            } else if !entity.declaration.uniquenessConstraints.isEmpty {
                violations.append(Violation(entity: entity.name, property: nil, what: "must not have uniqueness constraints"))
            }
            for attribute in entity.declaration.attributes where attribute.isPersisted {
                if attribute.type == .composite {
                    check(leavesOf: attribute, of: entity, allowed, &violations)
                } else {
                    check(attribute, of: entity, allowed, &violations)
                }
            }
            if isPublic {
                for attribute in entity.declaration.attributes where attribute.isPersisted && attribute.allowsCloudEncryption {
                    violations.append(
                        Violation(entity: entity.name, property: attribute.name, what: "cannot be encrypted in the public database"))
                }
            }
            for relationship in entity.declaration.relationships where !relationship.isTransient {
                check(relationship, of: entity, model, included, allowed, &violations)
            }
        }
        check(syncNamesOf: entities, model, &violations)
        for root in Set(entities.map(\.root)).sorted() { check(root: root, entities, model, allowed, &violations) }
        return violations
    }

    private static func check(names entity: ResolvedEntity, _ violations: inout [Violation]) {
        func isClean(_ name: String) -> Bool {
            guard let first = name.unicodeScalars.first, first.isASCII, first.properties.isAlphabetic else { return false }
            return name.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_")
            }
        }
        let what = "has a name with other characters than letters, digits and underscores, or that does not start with a letter"
        if !isClean(entity.name) { violations.append(Violation(entity: entity.name, property: nil, what: what)) }
        let declared = entity.declaration.attributes.map(\.name) + entity.declaration.relationships.map(\.name)
        for name in declared where !isClean(name) { violations.append(Violation(entity: entity.name, property: name, what: what)) }
        if entity.syncName != entity.name, !isClean(entity.syncName) {
            violations.append(Violation(entity: entity.name, property: nil, what: onServer(entity.syncName)))
        }
        let names =
            entity.declaration.attributes.map { ($0.name, $0.syncName) } + entity.declaration.relationships.map { ($0.name, $0.syncName) }
        for (name, syncName) in names where name != syncName && !isClean(syncName) {
            violations.append(Violation(entity: entity.name, property: name, what: onServer(syncName)))
        }
        func onServer(_ name: String) -> String { "is '\(name)' on the server: a name there has letters, digits and underscores only" }
    }

    /// A name on the server belongs to one entity, or to one property of an entity, and is never given again.
    private static func check(syncNamesOf entities: [ResolvedEntity], _ model: ResolvedModel, _ violations: inout [Violation]) {
        var owners: [String: String] = [:]
        for entity in entities {
            if let owner = owners.updateValue(entity.name, forKey: entity.syncName) {
                violations.append(
                    Violation(entity: entity.name, property: nil, what: "has the name of \(owner) on the server, '\(entity.syncName)'"))
            }
            let retired = model.retiredNames(ofHierarchy: entity.root)
            var properties: [String: String] = [:]
            let names = entity.slots.map { ($0.name, $0.syncName) } + entity.toMany.map { ($0.name, $0.declaration.syncName) }
            for (name, syncName) in names {
                if let other = properties.updateValue(name, forKey: syncName) {
                    violations.append(
                        Violation(entity: entity.name, property: name, what: "has the name of \(other) on the server, '\(syncName)'"))
                }
                if retired.contains(syncName) {
                    violations.append(
                        Violation(
                            entity: entity.name, property: name, what: "has the name of a retired property on the server, '\(syncName)'"))
                }
            }
        }
    }

    /// Record names follow from the values, on the device: encrypted values, and values that do not survive a round trip unchanged, cannot
    /// be part of them.
    private static func check(unique property: String, of entity: ResolvedEntity, _ violations: inout [Violation]) {
        var what: String?
        if case .slot(let slot)? = entity.location(of: property), case .attribute(let attribute) = entity.slots[slot] {
            if attribute.allowsCloudEncryption { what = "is part of a uniqueness constraint and cannot be encrypted" }
            if !attribute.isMirrored || [.binaryData, .transformable].contains(attribute.type) {
                what = "is part of a uniqueness constraint and has a type that cannot be"
            }
        } else {
            what = "is part of a uniqueness constraint and isn't an attribute"
        }
        if let what { violations.append(Violation(entity: entity.name, property: property, what: what)) }
    }

    private static func check(
        leavesOf composite: Attribute, of entity: ResolvedEntity, _ allowed: ModelExtensions, _ violations: inout [Violation]
    ) {
        for case .attribute(let leaf) in entity.slots where leaf.name.hasPrefix(composite.name + ".") {
            check(leaf, of: entity, allowed, &violations)
        }
    }

    private static func check(
        _ attribute: Attribute, of entity: ResolvedEntity, _ allowed: ModelExtensions, _ violations: inout [Violation]
    ) {
        func violated(_ what: String) { violations.append(Violation(entity: entity.name, property: attribute.name, what: what)) }
        if attribute.type.cloudType == nil { violated("has a type that cannot be mirrored") }
        if let policy = attribute.userInfo[MergePolicy.userInfoKey], MergePolicy(rawValue: policy)?.fits(attribute.type) != true {
            violated("has a syncPolicy that does not exist or does not fit its type")
        }
        if attribute.isRequired, !allowed.contains(.requiredValues) { violated("must be optional or have a default value") }
    }

    private static func check(
        _ relationship: Relationship, of entity: ResolvedEntity, _ model: ResolvedModel, _ included: Set<Int>,
        _ allowed: ModelExtensions, _ violations: inout [Violation]
    ) {
        func violated(_ what: String) { violations.append(Violation(entity: entity.name, property: relationship.name, what: what)) }
        if !relationship.isOptional, relationship.isToMany || !allowed.contains(.requiredValues) { violated("must be optional") }
        if relationship.inverse == nil { violated("must have an inverse") }
        if relationship.isOrdered, !allowed.contains(.orderedRelationships) { violated("must not be ordered") }
        if relationship.deleteRule == .deny, !allowed.contains(.denyDeleteRule) { violated("must not have the delete rule Deny") }
        if let destination = model.entity(named: relationship.destination), !included.contains(destination.index) {
            violated("leaves the store's configuration")
        }
    }

    /// All entities below a root share its record type.
    ///
    /// Source: it is documented that every record has `CD_entityName`; Apple's treatment of an attribute of that name is not.
    private static func check(
        root: Int, _ entities: [ResolvedEntity], _ model: ResolvedModel, _ allowed: ModelExtensions, _ violations: inout [Violation]
    ) {
        var owners: [String: (entity: String, property: PropertyMapping)] = [:]
        var count = fieldsOfEveryType
        for entity in entities where entity.root == root {
            for property in PropertyMapping.all(of: entity, in: model, allowed) {
                guard let owner = owners[property.fieldName] else {
                    owners[property.fieldName] = (entity.name, property)
                    count += property.fieldNames.count
                    if !property.isOwn, let field = property.fieldNames.first(where: MirrorNames.taken.contains) {
                        violations.append(
                            Violation(
                                entity: entity.name, property: property.modelName,
                                what: "needs the field \(field), which records have for something else"))
                    }
                    continue
                }
                if owner.property.fieldType != property.fieldType || owner.property.name != property.name {
                    violations.append(
                        Violation(
                            entity: entity.name, property: property.modelName,
                            what: "has another type than \(owner.entity).\(owner.property.modelName), with which it shares a field"))
                }
            }
        }
        for (_, owner) in owners.sorted(by: { $0.key < $1.key }) {
            guard let field = owner.property.assetFieldName, let other = owners[field] else { continue }
            violations.append(
                Violation(
                    entity: other.entity, property: other.property.modelName,
                    what: "needs the field \(field), where long values of \(owner.entity).\(owner.property.modelName) go"))
        }
        if count > fieldsPerTypeMax {
            violations.append(
                Violation(
                    entity: model.entities[root].name, property: nil,
                    what: "and its subentities need \(count) fields, more than the \(fieldsPerTypeMax) of a record type"))
        }
    }
}

extension PropertyMapping {
    fileprivate var fieldNames: [String] { [fieldName, assetFieldName].compactMap(\.self) }

    fileprivate var fieldType: String {
        switch kind {
        case .attribute(let attribute): "\(attribute.type.cloudType?.rawValue ?? "")\(isEncrypted ? " encrypted" : "")"
        case .toOne, .rank: "STRING"
        case .merged: "NAMES"
        }
    }
}
