// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Predicate {
    /// The same predicate with expressions replaced. `change` sees inner expressions first.
    package func mapExpressions(_ change: (Expression) -> Expression) -> Predicate {
        switch self {
        case .value: self
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

    /// - Returns: The predicate with values for its variables. Names that are not given stay variables; iterators of
    ///   subqueries are theirs.
    package func substituting(_ values: [String: PredicateValue]) -> Predicate {
        mapExpressions { expression in
            if case .variable(let name) = expression, let value = values[name] { return .constant(value) }
            return expression
        }
    }
}

extension Expression {
    func map(_ change: (Expression) -> Expression) -> Expression {
        let mapped: Expression =
            switch self {
            case .constant, .keyPath, .selfObject, .variable: self
            case .path(let base, let keys): .path(of: base.map(change), keys)
            case .function(let name, let arguments): .function(name, arguments.map { $0.map(change) })
            case .aggregate(let members): .aggregate(members.map { $0.map(change) })
            case .subquery(let collection, let variable, let predicate):
                .subquery(
                    collection.map(change), variable: variable,
                    predicate.mapExpressions { $0 == .variable(variable) ? $0 : change($0) })
            case .conditional(let predicate, let first, let second):
                .conditional(predicate.mapExpressions(change), first.map(change), second.map(change))
            }
        return change(mapped)
    }

    /// The value of an expression that is the same for every object: constants, aggregates and functions of them.
    ///
    /// - Returns: nil when the value depends on the object, on a variable, or on chance.
    /// - Throws: ``PredicateFailure`` with `.unknownFunction`.
    package func constantValue(now: () -> Double) throws(PredicateFailure) -> PredicateValue? {
        switch self {
        case .constant(let value): return value
        case .keyPath, .selfObject, .variable, .subquery, .conditional: return nil
        case .path(let base, let keys): return try base.constantValue(now: now)?.value(at: keys[...])
        case .aggregate(let members): return try Self.constants(members, now).map { .list($0) }
        case .function(let name, let arguments):
            if PredicateFunctions.volatile.contains(name), name != "now" { return nil }
            guard let values = try Self.constants(arguments, now) else { return nil }
            return try PredicateFunctions.apply(name, values, now: now)
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
