// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

/// One table of a statement under its alias, and the tables joined to it along to-one relationships.
final class QueryScope {
    let alias: String
    /// Index of the entity for property lookups.
    let entity: Int
    private var joined: [String: QueryScope] = [:]
    private var order: [(join: String, scope: QueryScope)] = []
    private let names: AliasSource

    init(entity: Int, names: AliasSource) {
        self.entity = entity
        self.names = names
        alias = names.next()
    }

    /// - Returns: The scope at the other end of a to-one relationship, joined once for all uses.
    func destination(_ key: String, _ reference: ReferenceColumn, table: String) -> QueryScope {
        if let existing = joined[key] { return existing }
        let scope = QueryScope(entity: reference.destination, names: names)
        joined[key] = scope
        let condition = "\(scope.alias).Z_PK = \(alias).\(identifier(reference.column))"
        order.append((" LEFT JOIN \(identifier(table)) \(scope.alias) ON \(condition)", scope))
        return scope
    }

    /// Each join follows the one it starts from.
    var joinClauses: String { order.map { $0.join + $0.scope.joinClauses }.joined() }

    /// A scope for members of a collection, in a separate statement.
    func member(of entity: Int) -> QueryScope { QueryScope(entity: entity, names: names) }
}

/// Gives aliases `t0`, `t1`, … within one statement.
final class AliasSource {
    private var count = 0

    func next() -> String {
        defer { count += 1 }
        return "t\(count)"
    }
}

/// A to-many step of a path: its start, its destination, and the keys after it.
struct CollectionStep {
    let owner: QueryScope
    let members: ToManyLayout
    let destination: Int
    let remainingKeys: ArraySlice<String>
}

/// The end of a path.
enum PathTarget {
    case operand(SQLOperand)
    case collection(CollectionStep)
}
