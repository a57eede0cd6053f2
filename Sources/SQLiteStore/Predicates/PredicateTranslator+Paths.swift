// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

extension PredicateTranslator {
    /// - Returns: The to-many step that an expression leads to, nil for anything else.
    func collection(_ expression: Expression) throws(StoreError) -> CollectionStep? {
        guard let (keys, scope) = path(expression) else { return nil }
        if keys.contains(where: { $0.hasPrefix("@") }) { return nil }
        if case .collection(let step) = try target(keys[...], in: scope) { return step }
        return nil
    }

    /// Keys and the object they start from; nil for expressions that are no path from an object of the query.
    func path(_ expression: Expression) -> (keys: [String], scope: QueryScope)? {
        switch expression {
        case .keyPath(let keys): return (keys, root)
        case .selfObject: return ([], root)
        case .variable(let name): return variables[name].map { ([], $0) }
        case .path(let base, let keys): return path(base).map { ($0.keys + keys, $0.scope) }
        default: return nil
        }
    }

    /// Follows keys from an object to a column, an object or a collection.
    func target(_ keys: ArraySlice<String>, in scope: QueryScope) throws(StoreError) -> PathTarget {
        let entity = layout.model.entities[scope.entity]
        guard let key = keys.first, key != "objectID" || keys.count > 1 else {
            return .operand(SQLOperand(SQLFragment("\(scope.alias).Z_PK"), .object(root: entity.root)))
        }
        let rest = keys.dropFirst()
        if key == "self" || key == "SELF" { return try target(rest, in: scope) }
        if entity.composites[key] != nil, let part = rest.first {
            return try target(["\(key).\(part)"] + rest.dropFirst(), in: scope)
        }
        guard let location = entity.location(of: key) else {
            throw refusal("keypath \(key) not found in entity \(entity.name)")
        }
        let placed = try layout.entity(scope.entity)
        switch location {
        case .toMany(let index):
            return .collection(
                CollectionStep(
                    owner: scope, members: placed.toMany[index], destination: entity.toMany[index].destination,
                    rest: rest))
        case .slot(let slot):
            switch placed.slots[slot] {
            case .transient: throw refusal("\(entity.name).\(key) is transient, so it is not in the store")
            case .attribute(let column, let kind):
                guard rest.isEmpty else { throw refusal("\(entity.name).\(key) is an attribute and has no keys") }
                return .operand(SQLOperand(SQLFragment("\(scope.alias).\(identifier(column))"), .init(kind)))
            case .reference(let reference):
                if rest.isEmpty || rest == ["objectID"] || rest == ["self"] {
                    let root = layout.model.entities[reference.destination].root
                    return .operand(
                        SQLOperand(SQLFragment("\(scope.alias).\(identifier(reference.column))"), .object(root: root)))
                }
                let table = try layout.entity(reference.destination).table
                return try target(rest, in: scope.destination(key, reference, table: table))
            }
        }
    }

    // MARK: Operators on collections

    /// `items.@count`, `items.@sum.price`, `items.price.@sum`.
    func aggregate(_ keys: [String], in scope: QueryScope) throws(StoreError) -> SQLOperand {
        guard let place = keys.firstIndex(where: { $0.hasPrefix("@") }),
            !keys[(place + 1)...].contains(where: { $0.hasPrefix("@") })
        else { throw refusal("one collection operator is allowed in a path: \(keys.joined(separator: "."))") }
        let name = keys[place]
        var path = keys
        path.remove(at: place)
        guard case .collection(let step) = try target(path[...], in: scope) else {
            throw refusal("\(name) needs a to-many relationship: \(keys.joined(separator: "."))")
        }
        if name == "@count" {
            guard step.rest.isEmpty else {
                throw refusal("@count goes with the relationship itself: \(keys.joined(separator: "."))")
            }
            return try counted(step, where: nil)
        }
        return try statistics(name, step, keys)
    }

    /// How many members a collection has, or how many for which a predicate is true.
    func counted(
        _ step: CollectionStep, where predicate: (variable: String, predicate: PredicateKit.Predicate)?
    ) throws(StoreError) -> SQLOperand {
        let scope = step.owner.member(of: step.destination)
        var condition = SQLFragment("")
        if let predicate {
            var inner = self
            inner.variables[predicate.variable] = scope
            condition = " AND (" + (try inner.condition(predicate.predicate)) + ")"
        }
        let source = try source(step, scope)
        return SQLOperand(
            SQLFragment("(SELECT COUNT(*) FROM \(source.from) WHERE \(source.link)") + condition + ")", .number)
    }

    private func statistics(_ name: String, _ step: CollectionStep, _ keys: [String]) throws(StoreError) -> SQLOperand {
        let functions = ["@sum": "SUM", "@avg": "AVG", "@min": "MIN", "@max": "MAX"]
        guard let function = functions[name] else { throw refusal("\(name) cannot be expressed in SQL") }
        let scope = step.owner.member(of: step.destination)
        guard case .operand(let value) = try target(step.rest, in: scope) else {
            throw refusal("two to-many steps in one path: \(keys.joined(separator: "."))")
        }
        let isOrder = name == "@min" || name == "@max"
        guard value.kind == .number || (isOrder && value.kind == .date) || (isOrder && value.kind == .text) else {
            throw refusal("\(name) of \(value.kind.name) cannot be expressed in SQL: \(keys.joined(separator: "."))")
        }
        let source = try source(step, scope)
        let result = name == "@sum" ? "IFNULL(SUM(\(value.sql.text)), 0)" : "\(function)(\(value.sql.text))"
        return SQLOperand(
            SQLFragment("(SELECT \(result) FROM \(source.from) WHERE \(source.link))", value.sql.arguments), value.kind)
    }
}
