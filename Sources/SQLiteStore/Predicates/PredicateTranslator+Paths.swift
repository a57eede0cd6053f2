// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

extension PredicateTranslator {
    /// Keys and the object they start from; nil unless the expression is a path from an object of the query.
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
        let remainingKeys = keys.dropFirst()
        if key == "self" || key == "SELF" { return try target(remainingKeys, in: scope) }
        if entity.composites[key] != nil, let part = remainingKeys.first {
            return try target(["\(key).\(part)"] + remainingKeys.dropFirst(), in: scope)
        }
        if key == "entity", entity.location(of: key) == nil { return .operand(try self.entity(of: scope, remainingKeys)) }
        guard let location = entity.location(of: key) else {
            throw refusal("keypath \(key) not found in entity \(entity.name)")
        }
        let placed = try layout.entity(scope.entity)
        switch location {
        case .toMany(let index):
            return .collection(
                CollectionStep(
                    owner: scope, members: placed.toMany[index], destination: entity.toMany[index].destination,
                    remainingKeys: remainingKeys))
        case .slot(let slot):
            switch placed.slots[slot] {
            case .transient: throw refusal("\(entity.name).\(key) is transient, so it is not in the store")
            case .attribute(let column, let kind):
                let value = SQLOperand(
                    SQLFragment("\(scope.alias).\(identifier(column))"), entity.slots[slot].isTransformable ? .encoded : .init(kind))
                if remainingKeys.isEmpty { return .operand(value) }
                guard remainingKeys == ["length"], value.kind == .text else {
                    throw refusal("\(entity.name).\(key) is an attribute and has no keys")
                }
                return .operand(try apply("length:", [value]))
            case .reference(let reference):
                if remainingKeys.isEmpty || remainingKeys == ["objectID"] || remainingKeys == ["self"] {
                    let root = layout.model.entities[reference.destination].root
                    return .operand(
                        SQLOperand(SQLFragment("\(scope.alias).\(identifier(reference.column))"), .object(root: root)))
                }
                let table = try layout.entity(reference.destination).table
                return try target(remainingKeys, in: scope.destination(key, reference, table: table))
            }
        }
    }

    /// `entity` and `entity.name`.
    private func entity(of scope: QueryScope, _ remainingKeys: ArraySlice<String>) throws(StoreError) -> SQLOperand {
        let number = SQLFragment("\(scope.alias).Z_ENT")
        if remainingKeys.isEmpty { return SQLOperand(number, .entity) }
        guard remainingKeys == ["name"] else { throw refusal("of an entity only its name can be compared") }
        let root = layout.model.entities[scope.entity].root
        let relatives = layout.entities.compactMap { $0 }.filter { $0.root == root }
        let cases = relatives.map { SQLFragment(" WHEN \($0.number) THEN ?", [.text($0.name)]) }
        return SQLOperand("CASE " + number + .joined(cases, "") + " END", .text)
    }
}
