// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

/// The tables that a path with to-many relationships, or a SUBQUERY, traverses, each linked to the one before, and the
/// member that it yields.
struct CollectionChain {
    fileprivate(set) var steps: [(step: CollectionStep, scope: QueryScope)]
    /// The scope where the keys of ``rest`` start: the last table, or one joined to it.
    fileprivate(set) var end: QueryScope
    /// To-one relationships and an attribute after the last to-many step.
    fileprivate(set) var remainingKeys: ArraySlice<String>
    /// Predicates of subqueries.
    fileprivate(set) var conditions: [SQLFragment] = []
    /// A union of distinct members, which can be searched but not counted.
    fileprivate(set) var isDistinct = false
}

extension PredicateTranslator {
    private static let unions: Set<String> = [
        "@unionOfObjects", "@unionOfArrays", "@unionOfSets", "@distinctUnionOfObjects", "@distinctUnionOfArrays",
        "@distinctUnionOfSets",
    ]

    /// - Returns: The collection of an expression, nil for other expressions.
    func collection(_ expression: Expression) throws(StoreError) -> CollectionChain? {
        if case .subquery(let inner, let variable, let predicate) = expression {
            return try subquery(inner, variable, predicate)
        }
        if let (keys, scope) = path(expression) {
            let plain = keys.filter { !Self.unions.contains($0) }
            if plain.contains(where: { $0.hasPrefix("@") }) { return nil }
            guard case .collection(let step) = try target(plain[...], in: scope) else { return nil }
            var chain = CollectionChain(steps: [], end: scope, remainingKeys: [])
            try extend(&chain, by: step)
            chain.isDistinct = keys.contains { $0.hasPrefix("@distinct") }
            return chain
        }
        guard case .path(let base, let keys) = expression, !keys.contains(where: { $0.hasPrefix("@") }),
            var chain = try collection(base)
        else { return nil }
        switch try target(chain.remainingKeys + keys, in: chain.end) {
        case .operand: chain.remainingKeys += keys
        case .collection(let step): try extend(&chain, by: step)
        }
        return chain
    }

    private func extend(_ chain: inout CollectionChain, by first: CollectionStep) throws(StoreError) {
        var step = first
        while true {
            let scope = step.owner.member(of: step.destination)
            chain.steps.append((step, scope))
            chain.end = scope
            chain.remainingKeys = step.remainingKeys
            guard case .collection(let next) = try target(step.remainingKeys, in: scope) else { return }
            step = next
        }
    }

    private func subquery(
        _ collection: Expression, _ variable: String, _ predicate: PredicateKit.Predicate
    ) throws(StoreError) -> CollectionChain {
        guard var chain = try self.collection(collection) else {
            throw refusal("a SUBQUERY needs a to-many relationship: \(collection.formatDescription)")
        }
        chain.end = try member(chain.remainingKeys, in: chain.end)
        chain.remainingKeys = []
        var inner = self
        inner.variables[variable] = chain.end
        chain.conditions.append(try inner.condition(predicate))
        return chain
    }

    /// The object at the end of to-one relationships.
    private func member(_ keys: ArraySlice<String>, in scope: QueryScope) throws(StoreError) -> QueryScope {
        var scope = scope
        for key in keys {
            let placed = try layout.entity(scope.entity)
            guard case .slot(let slot)? = layout.model.entities[scope.entity].location(of: key),
                case .reference(let reference) = placed.slots[slot]
            else { throw refusal("a SUBQUERY goes over objects, and \(placed.name).\(key) is an attribute") }
            scope = scope.destination(key, reference, table: try layout.entity(reference.destination).table)
        }
        return scope
    }

    /// A member as an operand.
    private func member(of chain: CollectionChain) throws(StoreError) -> SQLOperand {
        guard case .operand(let operand) = try target(chain.remainingKeys, in: chain.end) else {
            throw refusal("a collection of collections cannot be compared")
        }
        return operand
    }

    /// True if some member meets the condition.
    func exists(
        _ chain: CollectionChain, _ condition: (SQLOperand) throws(StoreError) -> SQLFragment
    ) throws(StoreError) -> SQLFragment {
        let holds = try condition(try member(of: chain))
        return "EXISTS (SELECT 1" + (try source(of: chain)) + " AND (" + holds + "))"
    }

    /// Call it after translating all expressions about the members, since that adds joins.
    private func source(of chain: CollectionChain) throws(StoreError) -> SQLFragment {
        var tables: [String] = []
        var links: [String] = []
        for (step, scope) in chain.steps {
            let (from, link) = try source(step, scope)
            tables.append(from)
            links.append(link)
        }
        let head = SQLFragment(" FROM \(tables.joined(separator: ", ")) WHERE \(links.joined(separator: " AND "))")
        return chain.conditions.reduce(head) { $0 + " AND (" + $1 + ")" }
    }

    private func source(_ step: CollectionStep, _ scope: QueryScope) throws(StoreError) -> (from: String, link: String) {
        let table = identifier(try layout.entity(step.destination).table)
        switch step.members {
        case .transient: throw refusal("a transient relationship is not in the store")
        case .foreignKey(let key):
            return (
                "\(table) \(scope.alias)\(scope.joinClauses)",
                "\(scope.alias).\(identifier(key.column)) = \(step.owner.alias).Z_PK"
            )
        case .join(let side):
            let pairs = "j\(scope.alias)"
            return (
                """
                \(identifier(side.table)) \(pairs) JOIN \(table) \(scope.alias) \
                ON \(scope.alias).Z_PK = \(pairs).\(identifier(side.otherColumn))\(scope.joinClauses)
                """,
                "\(pairs).\(identifier(side.ownColumn)) = \(step.owner.alias).Z_PK"
            )
        }
    }

    // MARK: Operators

    /// `items.@count`, `items.@sum.price`, `items.price.@sum`, `SUBQUERY(…).@count`.
    func aggregate(of base: Expression, _ keys: [String]) throws(StoreError) -> SQLOperand {
        let path = keys.joined(separator: ".")
        guard let operatorIndex = keys.firstIndex(where: { $0.hasPrefix("@") && !Self.unions.contains($0) }) else {
            throw toManyRefusal(.keyPath(keys))
        }
        let name = keys[operatorIndex]
        guard name != "@count" || operatorIndex == keys.count - 1 else { throw refusal("@count is the last key of a path: \(path)") }
        var remainingKeys = keys
        remainingKeys.remove(at: operatorIndex)
        if remainingKeys.contains(where: { $0.hasPrefix("@") && !Self.unions.contains($0) }) {
            throw refusal("one collection operator is allowed in a path: \(path)")
        }
        guard let chain = try collection(remainingKeys.isEmpty ? base : base.appending(remainingKeys)) else {
            throw refusal("\(name) needs a to-many relationship: \(path)")
        }
        let functions = ["@count": "count:", "@sum": "sum:", "@avg": "average:", "@min": "min:", "@max": "max:"]
        guard let function = functions[name] else { throw refusal("\(name) cannot be expressed in SQL") }
        return try aggregate(function, of: chain)
    }

    /// - Parameter function: One of `sum:`, `count:`, `min:`, `max:`, `average:`, `median:`, `mode:`, `stddev:`.
    func aggregate(_ function: String, of chain: CollectionChain) throws(StoreError) -> SQLOperand {
        if chain.isDistinct { throw refusal("\(function) of distinct members cannot be expressed in SQL") }
        func select(_ value: SQLFragment) throws(StoreError) -> SQLFragment {
            "(SELECT " + value + (try source(of: chain)) + ")"
        }
        if function == "count:" {
            // Looked up, so that unknown keys fail.
            _ = try member(of: chain)
            return SQLOperand(try select(SQLFragment("COUNT(*)")), .number)
        }
        let value = try member(of: chain)
        let isOrder = function == "min:" || function == "max:"
        guard value.kind.isNumber || (isOrder && (value.kind == .date || value.kind == .text)) else {
            throw refusal("\(function) of \(value.kind.name) cannot be expressed in SQL")
        }
        let plain = ["sum:": "SUM", "average:": "AVG", "min:": "MIN", "max:": "MAX"]
        if value.kind != .decimal, let name = plain[function] {
            let result = SQLFragment("\(name)(") + value.sql + ")"
            let kind: SQLOperand.Kind = isOrder ? value.kind : .number
            return SQLOperand(try select(function == "sum:" ? "IFNULL(" + result + ", 0)" : result), kind)
        }
        let head = SQLFragment("TARN_AGGREGATE(?, ?, ", [.text(value.kind.letter), .text(function)])
        let isDecimal = value.kind == .decimal && (isOrder || function == "sum:")
        let result = head + value.sql + ")"
        return SQLOperand(
            try select(function == "sum:" ? "IFNULL(" + result + ", 0)" : result), isDecimal ? .decimal : .number)
    }
}
