// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel
package import PredicateKit

/// What a batch request did to the rows of one store.
package struct BatchOutcome: Sendable {
    /// Rows that the request itself inserted, updated or deleted.
    package var count = 0
    /// The keys below are listed only when somebody wants them, or history does.
    package var inserted: [RowKey] = []
    package var updated: [RowKey] = []
    package var deleted: [RowKey] = []
    /// Rows whose to-many relationships lost or gained members.
    package var relationshipOwners: Set<RowKey> = []

    package init() {}
}

/// What becomes of a row of a batch insert when a uniqueness constraint finds another row with its values.
package enum BatchConflictRule: Sendable {
    /// The whole request fails.
    case refuse
    /// The stored row stays as it is.
    case keepStored
    /// The stored row gets the values that were given.
    case update
    /// The stored row gets all values, defaults included.
    case overwrite
}

/// Gives the rows of a batch insert one after the other. It must not use the store meanwhile.
package protocol BatchRowSource: AnyObject {
    /// - Returns: One value per slot of the entity; nil when there are no more rows.
    func next() throws -> ContiguousArray<StoredValue>?

    /// The slots of the last row that were given a value; the others have their default.
    var givenSlots: [Int] { get }
}

/// New values for every row that a query finds.
package struct BatchUpdate: Sendable {
    package enum Value: Sendable {
        case constant(StoredValue)
        /// Computed from the row's own columns.
        case expression(PredicateKit.Expression)
    }

    /// Its limit, offset and order play no part.
    package var query: StoreQuery
    /// Attributes, and to-one relationships that can be told by one column.
    package var values: [(slot: Int, value: Value)]

    package init(_ query: StoreQuery, values: [(slot: Int, value: Value)]) {
        self.query = query
        self.values = values
    }
}

/// Primary keys as one argument of a statement, however many they are.
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
