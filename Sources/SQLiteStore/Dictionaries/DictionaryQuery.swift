// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import PredicateKit

/// A query for values computed from rows, or from groups of rows.
package struct DictionaryQuery: Sendable {
    package struct Column: Sendable {
        package var name: String
        package var expression: Expression

        package init(_ name: String, _ expression: Expression) {
            self.name = name
            self.expression = expression
        }
    }

    /// The rows and their order; a sort key may be the name of a column.
    package var rows: StoreQuery
    package var columns: [Column]
    /// Expressions that group rows: equal values form one group.
    package var groups: [Expression] = []
    /// The condition on groups; it may name columns, also as variables.
    package var having: PredicateKit.Predicate?
    package var isDistinct = false

    package init(_ rows: StoreQuery, columns: [Column]) {
        self.rows = rows
        self.columns = columns
    }

    /// Whether results are groups, not rows.
    package var isGrouped: Bool { !groups.isEmpty || columns.contains { $0.expression.isAggregate } }
}

extension Expression {
    static let aggregateFunctions: Set<String> = ["sum:", "count:", "min:", "max:", "average:"]
    static let aggregateOperators = ["@sum": "sum:", "@count": "count:", "@min": "min:", "@max": "max:", "@avg": "average:"]

    /// Whether the value is computed from many rows. Values over the members of a row's own relationship count, too,
    /// until the translation distinguishes them.
    package var isAggregate: Bool {
        switch self {
        case .function(let name, let arguments):
            (Self.aggregateFunctions.contains(name) && arguments.count == 1) || arguments.contains(where: \.isAggregate)
        case .keyPath(let keys): keys.contains { Self.aggregateOperators[$0] != nil }
        case .conditional(_, let first, let second): first.isAggregate || second.isAggregate
        default: false
        }
    }
}
