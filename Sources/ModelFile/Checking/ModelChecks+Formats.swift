// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

/// Predicates and expressions that a model holds as text. At run time one that cannot be read ends the process.
extension ModelChecks {
    mutating func checkFormats(of entity: Entity) {
        if let format = entity.spotlightDisplayNameExpression { checkExpression(format, entity.name, nil, "a display name for search") }
        for attribute in entity.attributes {
            guard let format = attribute.derivationExpression else { continue }
            checkExpression(format, entity.name, attribute.name, "a derivation expression")
        }
        for property in entity.fetchedProperties { checkPredicate(of: property.request, entity.name, property.name) }
        for index in entity.indexes {
            if let format = index.partialPredicateFormat { checkPredicate(format, on: entity, entity.name, index.name) }
            for element in index.elements {
                guard let format = element.expressionFormat else { continue }
                checkExpression(format, entity.name, index.name, "an expression")
                warning(entity.name, index.name, "is an index on an expression; stores leave it out")
            }
        }
    }

    mutating func checkPredicate(of template: FetchTemplate, _ owner: String, _ property: String?) {
        guard let format = template.predicateFormat else { return }
        checkPredicate(format, on: entities[template.entity], owner, property)
    }

    private mutating func checkExpression(_ format: String, _ owner: String, _ property: String?, _ what: String) {
        do throws(PredicateFailure) {
            _ = try Expression(format: format)
        } catch {
            self.error(owner, property, "has \(what) that cannot be read: '\(format)', \(error.description)")
        }
    }

    private mutating func checkPredicate(_ format: String, on entity: Entity?, _ owner: String, _ property: String?) {
        let predicate: Predicate
        do throws(PredicateFailure) {
            predicate = try Predicate(format: format)
        } catch {
            return self.error(owner, property, "has a predicate that cannot be read: '\(format)', \(error.description)")
        }
        guard let entity else { return }
        var unknown: [String] = []
        for path in predicate.keyPaths {
            guard let first = path.first, !first.hasPrefix("@"), !Self.keysOfEveryObject.contains(first) else { continue }
            let family = ancestry(of: entity)
            let names = family.flatMap { $0.attributes.map(\.name) + $0.relationships.map(\.name) + $0.fetchedProperties.map(\.name) }
            if !names.contains(first), !unknown.contains(first) { unknown.append(first) }
        }
        for key in unknown { warning(owner, property, "has a predicate that asks for '\(key)', which \(entity.name) does not have") }
    }

    private static let keysOfEveryObject: Set = ["self", "SELF", "entity", "objectID"]
}

extension Predicate {
    /// The key paths that start at the object under test.
    fileprivate var keyPaths: [[String]] {
        switch self {
        case .value, .block: []
        case .comparison(let comparison): comparison.left.keyPaths + comparison.right.keyPaths
        case .and(let parts), .or(let parts): parts.flatMap(\.keyPaths)
        case .not(let part): part.keyPaths
        }
    }
}

extension Expression {
    fileprivate var keyPaths: [[String]] {
        switch self {
        case .constant, .selfObject, .variable, .anyKey, .block: []
        case .keyPath(let path): [path]
        case .path(let base, _): base.keyPaths
        case .function(_, let parts), .aggregate(let parts): parts.flatMap(\.keyPaths)
        // Inside, keys without the variable start at the object under test, too.
        case .subquery(let base, _, let predicate): base.keyPaths + predicate.keyPaths
        case .conditional(let test, let first, let second): test.keyPaths + first.keyPaths + second.keyPaths
        case .combination(_, let first, let second): first.keyPaths + second.keyPaths
        case .message(let target, _, let parts): target.keyPaths + parts.flatMap(\.keyPaths)
        }
    }
}
