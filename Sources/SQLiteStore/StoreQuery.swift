// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import PredicateKit

/// A query for rows of an entity, and their order.
package struct StoreQuery: Sendable {
    /// Index of the entity.
    package var entity: Int
    package var includesSubentities: Bool
    package var predicate: PredicateKit.Predicate?
    /// Ties are ordered by primary key.
    package var sort: [SortKey]
    package var limit: Int?
    package var offset: Int

    package init(
        entity: Int, includesSubentities: Bool = true, predicate: PredicateKit.Predicate? = nil, sort: [SortKey] = [],
        limit: Int? = nil, offset: Int = 0
    ) {
        self.entity = entity
        self.includesSubentities = includesSubentities
        self.predicate = predicate
        self.sort = sort
        self.limit = limit
        self.offset = offset
    }
}
