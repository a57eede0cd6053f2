// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

extension ModelChecks {
    // MARK: Derived attributes

    /// Checks the key path inside `path`, `path.@count`, `path.@sum.price` or `function:(path)`.
    ///
    /// Anything else, such as `now()`, names no property.
    mutating func checkDerivation(of attribute: Attribute, in entity: Entity) {
        guard let expression = attribute.derivationExpression else { return }
        var path = expression[...]
        if let open = path.range(of: ":(") {
            guard path.hasSuffix(")") else { return }  // Another check reports that it cannot be read.
            path = path[open.upperBound...].dropLast()
        }
        let keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let first = keys.first, SwiftName.isIdentifier(first) else { return }

        var current = entity
        for (position, key) in keys.enumerated() where !key.hasPrefix("@") {
            let family = ancestry(of: current)
            if let relationship = family.flatMap(\.relationships).first(where: { $0.name == key }) {
                guard let destination = entities[relationship.destination] else { return }
                current = destination
                continue
            }
            let source = family.flatMap(\.attributes).first { $0.name == key }
            let isAttribute = source != nil
            if source?.isTransient == true, !attribute.isTransient {
                warning(entity.name, attribute.name, "is derived from '\(path)', where '\(key)' is transient: no store can compute it")
            }
            if !isAttribute || position + 1 < keys.count {
                error(
                    entity.name, attribute.name,
                    isAttribute
                        ? "is derived from '\(path)', where '\(key)' is an attribute and leads nowhere"
                        : "is derived from '\(path)', and \(current.name) has no property '\(key)'")
                return
            }
        }
    }

    // MARK: Composites

    mutating func checkComposites() {
        for (name, group) in Dictionary(grouping: model.composites, by: \.name).sorted(by: { $0.key < $1.key })
        where group.count > 1 {
            error(name, nil, "is declared as a composite \(group.count) times")
        }
        for composite in model.composites {
            for attribute in composite.attributes {
                if let used = attribute.compositeName, !model.composites.contains(where: { $0.name == used }) {
                    error(composite.name, attribute.name, "is made of an unknown composite '\(used)'")
                }
            }
            let names = composite.attributes.map(\.name)
            for name in Set(names).sorted() where names.count(where: { $0 == name }) > 1 {
                error(composite.name, name, "is declared twice")
            }
            if reaches(composite.name, from: composite) {
                error(composite.name, nil, "is a composite that contains itself")
            }
        }
    }

    private func reaches(_ goal: String, from composite: Composite) -> Bool {
        var seen: Set<String> = []
        var open = composite.attributes.compactMap(\.compositeName)
        while let name = open.popLast() {
            if name == goal { return true }
            guard seen.insert(name).inserted else { continue }
            open += model.composites.filter { $0.name == name }.flatMap(\.attributes).compactMap(\.compositeName)
        }
        return false
    }

    // MARK: Configurations and fetch requests

    mutating func checkModelLevel() {
        for (name, members) in model.configurations.sorted(by: { $0.key < $1.key }) {
            for member in members where entities[member] == nil {
                error("configuration '\(name)'", nil, "has an unknown entity '\(member)'")
            }
        }
        var seen: Set<String> = []
        for template in model.fetchTemplates {
            if entities[template.entity] == nil {
                error("fetch request '\(template.name)'", nil, "fetches an unknown entity '\(template.entity)'")
            }
            checkPredicate(of: template, "fetch request '\(template.name)'", nil)
            if !seen.insert(template.name).inserted {
                error("fetch request '\(template.name)'", nil, "is declared twice")
            }
        }
    }
}
