// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension Predicate {
    /// Evaluates the predicate for an object in memory.
    ///
    /// Values of different kinds are not equal and have no order, so comparing them is false rather than an error.
    ///
    /// - Parameters:
    ///   - variables: Values of the predicate's variables, by name without `$`.
    ///   - now: Seconds since 2001-01-01 UTC, for `now()`.
    /// - Throws: ``PredicateFailure``: `.unboundVariable`, `.unknownFunction` or `.invalidPattern`.
    package func evaluate(
        on subject: PredicateValue, variables: [String: PredicateValue] = [:], now: @escaping () -> Double
    ) throws(PredicateFailure) -> Bool {
        try Evaluation(root: subject, variables: variables, now: now).isTrue(self)
    }
}

extension Expression {
    /// Evaluates the expression for an object; errors as for ``Predicate/evaluate(on:variables:now:)``.
    package func value(
        on subject: PredicateValue, variables: [String: PredicateValue] = [:], now: @escaping () -> Double
    ) throws(PredicateFailure) -> PredicateValue {
        try Evaluation(root: subject, variables: variables, now: now).value(self)
    }
}

/// The evaluation of one object with one set of variables.
struct Evaluation {
    let root: PredicateValue
    var variables: [String: PredicateValue]
    let now: () -> Double

    func isTrue(_ predicate: Predicate) throws(PredicateFailure) -> Bool {
        switch predicate {
        case .value(let value): return value
        case .not(let predicate): return try !isTrue(predicate)
        case .and(let predicates):
            for predicate in predicates where try !isTrue(predicate) { return false }
            return true
        case .or(let predicates):
            for predicate in predicates where try isTrue(predicate) { return true }
            return false
        case .comparison(let comparison): return try isTrue(comparison)
        case .block(let block):
            let bindings = variables.compactMapValues(\.foundationValue)
            return block.reference.evaluate(
                with: root.foundationValue, substitutionVariables: bindings.isEmpty ? nil : bindings)
        }
    }

    private func isTrue(_ comparison: Comparison) throws(PredicateFailure) -> Bool {
        let left = try value(comparison.left)
        let right = try value(comparison.right)
        if comparison.modifier == .direct { return try holds(left, right, comparison) }
        let members: [PredicateValue] =
            switch left {
            case .list(let members): members
            case .null: []
            default: [left]
            }
        for member in members {
            let isTrue = try holds(member, right, comparison)
            switch comparison.modifier {
            case .any: if isTrue { return true }
            case .all: if !isTrue { return false }
            case .direct: break
            }
        }
        return comparison.modifier != .any
    }

    private func holds(
        _ left: PredicateValue, _ right: PredicateValue, _ comparison: Comparison
    ) throws(PredicateFailure) -> Bool {
        let options = comparison.options
        func order() -> Int? { PredicateValue.order(left, right, options) }
        switch comparison.operator {
        case .equalTo: return PredicateValue.areEqual(left, right, options)
        case .notEqualTo: return !PredicateValue.areEqual(left, right, options)
        case .lessThan: return order() == -1
        case .lessThanOrEqualTo: return order().map { $0 <= 0 } ?? false
        case .greaterThan: return order() == 1
        case .greaterThanOrEqualTo: return order().map { $0 >= 0 } ?? false
        case .between:
            guard case .list(let bounds) = right, bounds.count == 2,
                let low = PredicateValue.order(left, bounds[0], options),
                let high = PredicateValue.order(left, bounds[1], options)
            else { return false }
            return low >= 0 && high <= 0
        case .in:
            if case .list(let members) = right {
                return members.contains { PredicateValue.areEqual(left, $0, options) }
            }
            if case .object(let object) = right, let dictionary = object.reference as? DictionarySubject {
                return dictionary.members.contains { PredicateValue.areEqual(left, $0, options) }
            }
            guard let text = right.text, let part = left.text else { return false }
            return try StringMatching.matches(text, .contains, part, options)
        case .contains:
            if case .list(let members) = left {
                return members.contains { PredicateValue.areEqual($0, right, options) }
            }
            fallthrough
        case .beginsWith, .endsWith, .like, .matches:
            guard let text = left.text, let pattern = right.text else { return false }
            return try StringMatching.matches(text, comparison.operator, pattern, options)
        }
    }

    // MARK: Expressions

    func value(_ expression: Expression) throws(PredicateFailure) -> PredicateValue {
        switch expression {
        case .constant(let value): return value.comparable
        case .selfObject: return root
        case .keyPath(let keys): return root.value(at: keys[...])
        case .path(let base, let keys): return try value(base).value(at: keys[...])
        case .variable(let name):
            guard let value = variables[name] else { throw PredicateFailure(.unboundVariable, "$\(name) has no value") }
            return value
        case .aggregate(let members): return .list(try values(members))
        case .function(let name, let arguments):
            return try PredicateFunctions.apply(name, try values(arguments), now: now)
        case .conditional(let predicate, let first, let second):
            return try isTrue(predicate) ? value(first) : value(second)
        case .subquery(let collection, let variable, let predicate):
            guard case .list(let members) = try value(collection) else { return .list([]) }
            var inner = self
            var matching: [PredicateValue] = []
            for member in members {
                inner.variables[variable] = member
                if try inner.isTrue(predicate) { matching.append(member) }
            }
            return .list(matching)
        case .combination(let operation, let first, let second):
            return PredicateFunctions.combine(operation, try value(first), try value(second))
        case .message(let target, let name, let arguments):
            return try PredicateMethods.apply(name, to: try value(target), try values(arguments))
        case .anyKey: throw PredicateFailure(.unsupported, "ANYKEY has no value for an object")
        case .block(let block, let arguments):
            let context = NSMutableDictionary(dictionary: variables.compactMapValues(\.foundationValue))
            return PredicateValue(block.body(root.foundationValue, arguments.map { NSExpression(tree: $0) }, context))
        }
    }

    private func values(_ expressions: [Expression]) throws(PredicateFailure) -> [PredicateValue] {
        var values: [PredicateValue] = []
        for expression in expressions { values.append(try value(expression)) }
        return values
    }
}

extension PredicateValue {
    /// Follows keys; a to-many step yields a list, and further keys apply to its members.
    package func value(at keys: ArraySlice<String>) -> PredicateValue {
        guard let key = keys.first else { return self }
        let remainingKeys = keys.dropFirst()
        if key.hasPrefix("@") { return collect(key, remainingKeys) }
        switch self {
        case .list(let members):
            // An operator may be at the end of the path: items.price.@sum is items.@sum.price.
            var values: [PredicateValue] = []
            for member in members {
                switch member.value(forKey: key) {
                case .list(let inner): values += inner
                case let value: values.append(value)
                }
            }
            return PredicateValue.list(values).value(at: remainingKeys)
        default: return value(forKey: key).value(at: remainingKeys)
        }
    }

    private func value(forKey key: String) -> PredicateValue {
        if key == "self" || key == "SELF" { return self }
        guard case .object(let object) = self else {
            // As on Apple's platforms, where key-value coding of text, numbers and dates calls their methods.
            guard PredicateMethods.isKnown(key, 0) else { return .null }
            return (try? PredicateMethods.apply(key, to: self, [])) ?? .null
        }
        if let subject = object.reference as? any PredicateSubject { return subject.predicateValue(forKey: key) }
        return Self.stored(key, in: Mirror(reflecting: object.reference))
    }

    /// A stored property of an object without key-value coding, which Linux lacks.
    private static func stored(_ key: String, in mirror: Mirror) -> PredicateValue {
        if let child = mirror.children.first(where: { $0.label == key }) { return PredicateValue(child.value) }
        return mirror.superclassMirror.map { stored(key, in: $0) } ?? .null
    }

    private func collect(_ name: String, _ rest: ArraySlice<String>) -> PredicateValue {
        // A union is a collection: an operator behind its keys applies to it as a whole.
        if name.contains("nionOf"), let next = rest.firstIndex(where: { $0.hasPrefix("@") }) {
            return collect(name, rest[..<next]).value(at: rest[next...])
        }
        let members: [PredicateValue]
        switch self {
        // Each member is asked for the keys: `@max.people.@count` is the largest of the counts.
        case .list(let own) where rest.contains { $0.hasPrefix("@") }: members = own.map { $0.value(at: rest) }
        default:
            switch value(at: rest) {
            case .list(let values): members = values
            case .null: members = []
            case let value: members = [value]
            }
        }
        switch name {
        case "@count":
            if case .list(let own) = self { return .int(Int64(own.count)) }
            return .int(isNull ? 0 : 1)
        case "@sum": return PredicateFunctions.statistics("sum:", members)
        case "@avg": return PredicateFunctions.statistics("average:", members)
        case "@min": return PredicateFunctions.statistics("min:", members)
        case "@max": return PredicateFunctions.statistics("max:", members)
        case "@unionOfObjects", "@unionOfArrays", "@unionOfSets": return .list(members)
        case "@distinctUnionOfObjects", "@distinctUnionOfArrays", "@distinctUnionOfSets":
            return .list(PredicateFunctions.distinct(members))
        default: return .null
        }
    }
}
