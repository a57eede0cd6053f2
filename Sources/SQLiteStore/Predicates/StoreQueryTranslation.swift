// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import PredicateKit

/// A query as SQL.
struct StoreQueryTranslation {
    private let query: StoreQuery
    private let entity: EntityLayout

    /// - Throws: ``StoreError`` with `.unsupportedPredicate` and the reason.
    init(_ query: StoreQuery, _ layout: StoreLayout, _ store: SQLiteStore) throws(StoreError) {
        self.query = query
        entity = try layout.entity(query.entity)
        guard query.predicate == nil, query.sort.isEmpty else {
            throw StoreError(.unsupportedPredicate, "the predicate cannot be expressed in SQL")
        }
    }

    func rows() -> SQLFragment { select(entity.shape.selectList("t0")) }
    func keys() -> SQLFragment { select("t0.Z_PK, t0.Z_ENT") }
    func count() -> SQLFragment { select("COUNT(*)") }

    private func select(_ what: String) -> SQLFragment {
        SQLFragment("SELECT \(what) FROM \(identifier(entity.table)) t0")
    }
}
