// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import PredicateKit

/// Values computed from rows, or from groups of rows, instead of the rows themselves.
package struct DictionaryQuery: Sendable {
    package struct Column: Sendable {
        package var name: String
        package var expression: Expression

        package init(_ name: String, _ expression: Expression) {
            self.name = name
            self.expression = expression
        }
    }

    /// Which rows, in which order; a key of the order may be the name of a column.
    package var rows: StoreQuery
    package var columns: [Column]
    /// Rows with equal values of these are one group.
    package var groups: [Expression] = []
    /// Which groups; columns may be named by their name or as variables.
    package var having: PredicateKit.Predicate?
    package var isDistinct = false

    package init(_ rows: StoreQuery, columns: [Column]) {
        self.rows = rows
        self.columns = columns
    }

    /// Whether the results are not one for each row.
    package var isGrouped: Bool { !groups.isEmpty || columns.contains { $0.expression.isAggregate } }
}

extension Expression {
    static let aggregateFunctions: Set<String> = ["sum:", "count:", "min:", "max:", "average:"]
    static let aggregateOperators = ["@sum": "sum:", "@count": "count:", "@min": "min:", "@max": "max:", "@avg": "average:"]

    /// Whether the value comes from many rows. What is computed over the members of a row's own relationship is taken
    /// for such a value, too; that is found out when it is translated.
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
