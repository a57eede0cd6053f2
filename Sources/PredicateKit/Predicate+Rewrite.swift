// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension Predicate {
    /// Replaces expressions. `change` is called for inner expressions first.
    package func mapExpressions(_ change: (Expression) -> Expression) -> Predicate {
        switch self {
        case .value, .block: self
        case .and(let predicates): .and(predicates.map { $0.mapExpressions(change) })
        case .or(let predicates): .or(predicates.map { $0.mapExpressions(change) })
        case .not(let predicate): .not(predicate.mapExpressions(change))
        case .comparison(var comparison):
            {
                comparison.left = comparison.left.map(change)
                comparison.right = comparison.right.map(change)
                return .comparison(comparison)
            }()
        }
    }

    /// - Returns: The predicate with values for its variables. Variables without a value stay; iterators of subqueries
    ///   are not replaced.
    package func substituting(_ values: [String: PredicateValue]) -> Predicate {
        let replaced = mapExpressions { expression in
            if case .variable(let name) = expression, let value = values[name] { return .constant(value) }
            return expression
        }
        return values.isEmpty || !hasBlock ? replaced : replaced.binding(values)
    }

    /// The variables that ``substituting(_:)`` replaces.
    package var variables: Set<String> {
        var names: Set<String> = []
        _ = mapExpressions { expression in
            if case .variable(let name) = expression { names.insert(name) }
            return expression
        }
        return names
    }

    /// Blocks receive the values as bindings.
    private func binding(_ values: [String: PredicateValue]) -> Predicate {
        switch self {
        case .value, .comparison: return self
        case .and(let parts): return .and(parts.map { $0.binding(values) })
        case .or(let parts): return .or(parts.map { $0.binding(values) })
        case .not(let part): return .not(part.binding(values))
        case .block(let block):
            let bound = values.compactMapValues(\.foundationValue)
            return .block(
                PredicateBlock(
                    NSPredicate { object, bindings in
                        let all = bound.merging(bindings ?? [:]) { _, later in later }
                        return block.reference.evaluate(with: object, substitutionVariables: all)
                    }))
        }
    }
}

extension Predicate {
    /// Whether the predicate calls code of an app.
    package var hasBlock: Bool {
        switch self {
        case .value, .comparison: false
        case .and(let parts), .or(let parts): parts.contains(where: \.hasBlock)
        case .not(let part): part.hasBlock
        case .block: true
        }
    }

    /// The same form for predicates that differ only in the types of their numbers.
    package var canonical: Predicate { mapExpressions(Expression.simplest) }
}

extension Expression {
    package var canonical: Expression { map(Self.simplest) }

    fileprivate static func simplest(_ expression: Expression) -> Expression {
        if case .constant(let value) = expression { return .constant(value.comparable.canonical) }
        return expression
    }

    func map(_ change: (Expression) -> Expression) -> Expression {
        let mapped: Expression =
            switch self {
            case .constant, .keyPath, .selfObject, .variable, .anyKey: self
            case .path(let base, let keys): .path(of: base.map(change), keys)
            case .function(let name, let arguments): .function(name, arguments.map { $0.map(change) })
            case .aggregate(let members): .aggregate(members.map { $0.map(change) })
            case .subquery(let collection, let variable, let predicate):
                .subquery(
                    collection.map(change), variable: variable,
                    predicate.mapExpressions { $0 == .variable(variable) ? $0 : change($0) })
            case .conditional(let predicate, let first, let second):
                .conditional(predicate.mapExpressions(change), first.map(change), second.map(change))
            case .combination(let operation, let first, let second):
                .combination(operation, first.map(change), second.map(change))
            case .message(let target, let name, let arguments):
                .message(target.map(change), name, arguments.map { $0.map(change) })
            case .block(let block, let arguments): .block(block, arguments.map { $0.map(change) })
            }
        return change(mapped)
    }

    /// Evaluates an expression that has the same value for every object: constants, aggregates and functions of them.
    ///
    /// - Returns: nil when the value depends on the object, on a variable, or on a random source.
    /// - Throws: ``PredicateFailure`` with `.unknownFunction`.
    package func constantValue(now: () -> Double) throws(PredicateFailure) -> PredicateValue? {
        switch self {
        case .constant(let value): return value.comparable
        case .keyPath, .selfObject, .variable, .subquery, .conditional, .anyKey, .block: return nil
        case .path(let base, let keys): return try base.constantValue(now: now)?.value(at: keys[...])
        case .aggregate(let members): return try Self.constants(members, now).map { .list($0) }
        case .function(let name, let arguments):
            if PredicateFunctions.volatile.contains(name), name != "now" { return nil }
            guard let values = try Self.constants(arguments, now) else { return nil }
            return try PredicateFunctions.apply(name, values, now: now)
        case .combination(let operation, let first, let second):
            guard let values = try Self.constants([first, second], now) else { return nil }
            return PredicateFunctions.combine(operation, values[0], values[1])
        case .message(let target, let name, let arguments):
            guard let values = try Self.constants([target] + arguments, now) else { return nil }
            return try PredicateMethods.apply(name, to: values[0], Array(values.dropFirst()))
        }
    }

    private static func constants(
        _ expressions: [Expression], _ now: () -> Double
    ) throws(PredicateFailure) -> [PredicateValue]? {
        var values: [PredicateValue] = []
        for expression in expressions {
            guard let value = try expression.constantValue(now: now) else { return nil }
            values.append(value)
        }
        return values
    }
}
