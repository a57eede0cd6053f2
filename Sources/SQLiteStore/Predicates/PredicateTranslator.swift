// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

/// Translates a predicate into an SQL condition, or reports why it cannot.
///
/// A condition is either *exact*, 1 or 0, or it may be null for false: SQL's third value is harmless in a WHERE clause
/// but survives a NOT, so everything below a NOT is made exact.
struct PredicateTranslator {
    let layout: StoreLayout
    let storeNumber: UInt16
    let now: () -> Double
    let root: QueryScope
    /// Iterators of the subqueries that enclose the translated expression.
    var variables: [String: QueryScope] = [:]
    /// Whether functions apply to all rows of a group instead of one row's value.
    var isAggregating = false

    func condition(_ predicate: PredicateKit.Predicate, exact: Bool = false) throws(StoreError) -> SQLFragment {
        switch predicate {
        case .value(let value): return SQLFragment(value ? "1" : "0")
        case .not(let predicate): return "NOT (" + (try condition(predicate, exact: true)) + ")"
        case .and(let predicates):
            return try joined(
                Self.flattened(predicates) { if case .and(let inner) = $0 { inner } else { nil } }, " AND ", empty: "1", exact)
        case .or(let predicates):
            return try joined(Self.flattened(predicates) { if case .or(let inner) = $0 { inner } else { nil } }, " OR ", empty: "0", exact)
        case .comparison(let comparison): return try condition(comparison, exact: exact)
        case .block:
            throw refusal(
                "a predicate made from a block cannot run in a store; write it as a format, or filter the results")
        }
    }

    /// The operands of nested predicates of one kind: apps and `#Predicate` combine two at a time, and SQLite limits the
    /// depth of parentheses.
    private static func flattened(
        _ predicates: [PredicateKit.Predicate], _ operands: (PredicateKit.Predicate) -> [PredicateKit.Predicate]?
    ) -> [PredicateKit.Predicate] {
        var result: [PredicateKit.Predicate] = []
        var waiting = Array(predicates.reversed())
        while let predicate = waiting.popLast() {
            if let inner = operands(predicate) { waiting += inner.reversed() } else { result.append(predicate) }
        }
        return result
    }

    private func joined(
        _ predicates: [PredicateKit.Predicate], _ word: String, empty: String, _ exact: Bool
    ) throws(StoreError) -> SQLFragment {
        if predicates.isEmpty { return SQLFragment(empty) }
        var parts: [SQLFragment] = []
        for predicate in predicates { parts.append("(" + (try condition(predicate, exact: exact)) + ")") }
        return .tree(parts, word)
    }

    private func condition(_ comparison: Comparison, exact: Bool) throws(StoreError) -> SQLFragment {
        if comparison.modifier != .direct { return try quantified(comparison) }
        if let collection = try collection(comparison.left) {
            guard comparison.operator == .contains else { throw toManyRefusal(comparison.left) }
            return try exists(collection) { (member) throws(StoreError) in
                try compare(member, .equalTo, try operand(comparison.right), comparison.options, exact: false)
            }
        }
        if comparison.operator == .in, let collection = try collection(comparison.right) {
            return try exists(collection) { (member) throws(StoreError) in
                try compare(member, .equalTo, try operand(comparison.left), comparison.options, exact: false)
            }
        }
        return try condition(try operand(comparison.left), comparison, exact: exact)
    }

    private func condition(
        _ left: SQLOperand, _ comparison: Comparison, exact: Bool
    ) throws(StoreError) -> SQLFragment {
        switch comparison.operator {
        case .in: return try membership(of: left, in: comparison.right, comparison.options, exact: exact)
        case .between: return try between(left, comparison.right, comparison.options, exact: exact)
        default:
            return try compare(
                left, comparison.operator, try operand(comparison.right), comparison.options, exact: exact)
        }
    }

    // MARK: Any, all

    private func quantified(_ comparison: Comparison) throws(StoreError) -> SQLFragment {
        guard let collection = try collection(comparison.left) else {
            throw refusal("ANY and ALL need a to-many relationship on the left: \(comparison.left.formatDescription)")
        }
        let isAll = comparison.modifier == .all
        let existence = try exists(collection) { (member) throws(StoreError) in
            let holds = try condition(member, comparison, exact: isAll)
            return isAll ? "NOT (" + holds + ")" : holds
        }
        return comparison.modifier == .any ? existence : "NOT " + existence
    }

    // MARK: Errors

    func refusal(_ reason: String) -> StoreError {
        StoreError(.unsupportedPredicate, "the predicate cannot be expressed in SQL", detail: reason)
    }

    func toManyRefusal(_ expression: Expression) -> StoreError {
        refusal("to-many key not allowed here, use ANY, ALL, NONE, @count or SUBQUERY: \(expression.formatDescription)")
    }
}
