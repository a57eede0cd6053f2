// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel
package import PredicateKit

/// The effect of a batch request on the rows of one store.
package struct BatchOutcome: Sendable {
    /// The number of rows that the request itself inserted, updated or deleted.
    package var count = 0
    /// The keys below are listed only if the caller or history needs them.
    package var inserted: [RowKey] = []
    package var updated: [RowKey] = []
    package var deleted: [RowKey] = []
    /// Owners of to-many relationships that lost or gained members.
    package var relationshipOwners: Set<RowKey> = []

    package init() {}
}

/// The resolution of a batch insert's collision with a uniqueness constraint.
package enum BatchConflictRule: Sendable {
    /// The whole request fails.
    case refuse
    /// The stored row is unchanged.
    case keepStored
    /// The stored row gets the given values.
    case update
    /// The stored row gets all values, including defaults.
    case overwrite
}

/// The source of a batch insert's rows. It must not use the store during the insert.
package protocol BatchRowSource: AnyObject {
    /// - Returns: One value per slot of the entity; nil at the end.
    func next() throws -> ContiguousArray<StoredValue>?

    /// The slots of the last row with given values; the others have their defaults.
    var givenSlots: [Int] { get }
}

/// New values for all rows of a query.
package struct BatchUpdate: Sendable {
    package enum Value: Sendable {
        case constant(StoredValue)
        /// Computed from the row's own columns.
        case expression(PredicateKit.Expression)
    }

    /// Its limit, offset and order have no effect.
    package var query: StoreQuery
    /// Attributes, and to-one relationships that need only one column.
    package var values: [(slot: Int, value: Value)]

    package init(_ query: StoreQuery, values: [(slot: Int, value: Value)]) {
        self.query = query
        self.values = values
    }
}

/// Any number of primary keys as one argument of a statement.
struct KeyList {
    static let condition = "IN (SELECT value FROM json_each(?))"

    let argument: SQLValue

    init(_ keys: some Sequence<Int64>) {
        var text = "["
        for key in keys {
            if text.utf8.count > 1 { text += "," }
            text += String(key)
        }
        argument = .text(text + "]")
    }
}
