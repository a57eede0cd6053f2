// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Changes of an entity's properties.

extension ModelDifference {
    /// Properties that an entity declares in the old version, or inherits there and declares in the new one.
    private func candidates<Property>(_ entity: Entity, _ origin: Entity, _ properties: (Entity) -> [Property]) -> [Property] {
        properties(origin) + chain(of: origin, in: old).dropFirst().flatMap(properties)
    }

    /// Whether a property still exists for the objects of an entity, moved up or down the hierarchy.
    private func isElsewhere<Property>(
        _ property: Property, of origin: Entity, _ properties: (Entity) -> [Property], _ name: (Property) -> String,
        _ identifier: (Property) -> String?
    ) -> Bool {
        new.entities.contains { entity in
            guard let other = origins[entity.name] else { return properties(entity).contains { name($0) == name(property) } }
            let isRelated =
                chain(of: other, in: old).contains { $0.name == origin.name }
                || chain(of: origin, in: old).contains { $0.name == other.name }
            return isRelated && properties(entity).contains { name($0) == name(property) || identifier($0) == name(property) }
        }
    }

    /// - Parameter isRequired: Whether earlier versions show no object without the property.
    private func removal(_ name: String, _ syncName: String, of origin: Entity, _ entity: Entity, isRequired: Bool) -> Change {
        let subject = "\(origin.name).\(name)"
        guard retiredNames(of: entity).contains(syncName) else {
            return Change(subject, "was removed")
        }
        if isRequired { return Change(subject, "was retired, and earlier versions require it") }
        return Change(subject, "was retired", isAllowedWhenSynced: true)
    }

    func attributeChanges(of entity: Entity, _ origin: Entity) -> [Change] {
        var changes: [Change] = []
        let matches = Self.matches(
            candidates(entity, origin, \.attributes), entity.attributes, name: \.name, identifier: \.renamingIdentifier)
        for attribute in entity.attributes {
            let subject = "\(entity.name).\(attribute.name)"
            guard let former = matches[attribute.name] else {
                let isFillable =
                    attribute.isOptional || attribute.isTransient || !attribute.defaultValue.isNull || attribute.derivationExpression != nil
                changes.append(
                    Change(
                        subject, "is new", obstacle: isFillable ? nil : "it is required and has no default value",
                        dependsOnRows: true, isAllowedWhenSynced: isFillable))
                continue
            }
            changes += nameChanges(subject, from: (former.name, former.syncName), to: (attribute.name, attribute.syncName))
            changes += differences(former, attribute, subject)
        }
        let matchedNames = Set(matches.values.map(\.name))
        for attribute in origin.attributes where !matchedNames.contains(attribute.name) {
            if isElsewhere(attribute, of: origin, \.attributes, \.name, \.renamingIdentifier) { continue }
            if attribute.isTransient || attribute.derivationExpression != nil {
                // It has no field on the server.
                changes.append(Change("\(origin.name).\(attribute.name)", "was removed", isAllowedWhenSynced: true))
                continue
            }
            let isRequired = !attribute.isOptional && attribute.defaultValue.isNull
            changes.append(removal(attribute.name, attribute.syncName, of: origin, entity, isRequired: isRequired))
        }
        return changes
    }

    private func differences(_ before: Attribute, _ now: Attribute, _ subject: String) -> [Change] {
        var changes: [Change] = []
        if before.type != now.type {
            // Nothing stores the value of a transient attribute.
            let isFitting = before.type.becomes(now.type) || before.isTransient || now.isTransient
            changes.append(
                Change(
                    subject, "changed from \(before.type) to \(now.type)",
                    obstacle: isFitting ? nil : "a value's type cannot be changed by inference",
                    // The field's type is the same one. A version keeps a value that its type cannot hold, and shows none.
                    isAllowedWhenSynced: isFitting))
        } else if now.type == .composite {
            changes += elementDifferences(old.elements(of: before), new.elements(of: now), subject)
        }
        if before.isOptional, !now.isOptional, !now.isTransient {
            let hasDefault = !now.defaultValue.isNull
            changes.append(
                Change(
                    subject, "is required now", obstacle: hasDefault ? nil : "it has no default value for rows without one",
                    dependsOnRows: true, isAllowedWhenSynced: hasDefault))
        }
        if !before.isOptional, now.isOptional { changes.append(Change(subject, "is optional now", isAllowedWhenSynced: true)) }
        if before.isTransient != now.isTransient {
            changes.append(
                Change(subject, now.isTransient ? "is not stored any more" : "is stored now", isAllowedWhenSynced: !now.isTransient))
        }
        if before.derivationExpression != now.derivationExpression {
            changes.append(Change(subject, "is derived in another way", isAllowedWhenSynced: true))
        }
        if before.valueTransformerName != now.valueTransformerName {
            // Stored bytes are unchanged. Source: the version hashes in stores that Apple's framework wrote are equal
            // with and without a transformer's name, so such a change needs no migration there.
            changes.append(Change(subject, "has another transformer, which must decode the old one's data", isAllowedWhenSynced: true))
        }
        if before.allowsCloudEncryption != now.allowsCloudEncryption {
            changes.append(
                Change(subject, now.allowsCloudEncryption ? "is encrypted in the cloud now" : "is not encrypted in the cloud any more"))
        }
        return changes
    }

    /// Changes inside a composite attribute.
    private func elementDifferences(_ old: [Attribute], _ new: [Attribute], _ subject: String) -> [Change] {
        let matches = Self.matches(old, new, name: \.name, identifier: \.renamingIdentifier)
        var changes: [Change] = []
        for element in new {
            let path = "\(subject).\(element.name)"
            guard let former = matches[element.name] else {
                changes.append(Change(path, "is new", isAllowedWhenSynced: true))
                continue
            }
            changes += nameChanges(path, from: (former.name, former.syncName), to: (element.name, element.syncName))
            changes += differences(former, element, path)
        }
        let matchedNames = Set(matches.values.map(\.name))
        return changes + old.filter { !matchedNames.contains($0.name) }.map { Change("\(subject).\($0.name)", "was removed") }
    }

    func relationshipChanges(of entity: Entity, _ origin: Entity) -> [Change] {
        var changes: [Change] = []
        let matches = Self.matches(
            candidates(entity, origin, \.relationships), entity.relationships, name: \.name, identifier: \.renamingIdentifier)
        for relationship in entity.relationships {
            let subject = "\(entity.name).\(relationship.name)"
            guard let former = matches[relationship.name] else {
                changes.append(Change(subject, "is new", isAllowedWhenSynced: relationship.isOptional))
                continue
            }
            changes += nameChanges(subject, from: (former.name, former.syncName), to: (relationship.name, relationship.syncName))
            changes += differences(former, relationship, subject)
        }
        let matchedNames = Set(matches.values.map(\.name))
        for relationship in origin.relationships where !matchedNames.contains(relationship.name) {
            if isElsewhere(relationship, of: origin, \.relationships, \.name, \.renamingIdentifier) { continue }
            changes.append(removal(relationship.name, relationship.syncName, of: origin, entity, isRequired: !relationship.isOptional))
        }
        return changes
    }

    private func differences(_ before: Relationship, _ now: Relationship, _ subject: String) -> [Change] {
        var changes: [Change] = []
        if !before.isToMany, now.isToMany { changes.append(Change(subject, "is to-many now")) }
        if before.isToMany, !now.isToMany {
            changes.append(Change(subject, "is to-one now", obstacle: "nothing says which of several objects stays", dependsOnRows: true))
        }
        if before.isOrdered != now.isOrdered {
            changes.append(Change(subject, now.isOrdered ? "is ordered now" : "is not ordered any more"))
        }
        if before.isOptional, !now.isOptional { changes.append(Change(subject, "is required now")) }
        if !before.isOptional, now.isOptional { changes.append(Change(subject, "is optional now", isAllowedWhenSynced: true)) }
        let destination = origins[now.destination]?.name ?? now.destination
        if destination != before.destination {
            // A relationship to an entity may become one to the entity's parent.
            let isWider = new.entities.contains { entity in
                origins[entity.name]?.name == before.destination && chain(of: entity, in: new).contains { $0.name == now.destination }
            }
            changes.append(
                Change(
                    subject, "leads to '\(now.destination)', not to '\(before.destination)'",
                    obstacle: isWider ? nil : "objects of one entity cannot stand in for those of another"))
        }
        return changes
    }
}

extension AttributeType {
    /// Whether stored values of this type are valid as the other type without conversion.
    ///
    /// Differs: the type changes that Apple's framework infers are not documented; these need no conversion.
    package func becomes(_ other: AttributeType) -> Bool {
        let integers: [AttributeType] = [.integer16, .integer32, .integer64]
        switch self {
        case .integer16, .integer32, .integer64: return integers.contains(other)
        case .boolean: return self == other || integers.contains(other)
        case .float, .double: return other == .float || other == .double
        default: return self == other
        }
    }
}
