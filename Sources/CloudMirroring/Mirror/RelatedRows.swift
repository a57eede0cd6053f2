// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// Rows that a transaction relates because a relocation has brought them into one zone.
struct RelatedRows: Sendable {
    private var updated: [RowKey] = []
    private var owners: Set<RowKey> = []
    /// Lists that members joined, and that are not in the order of their position keys yet.
    private(set) var unsorted: Set<OrderedList> = []
    /// Rows that may be in a one-sided relationship.
    private var suspects: Set<RowKey> = []

    mutating func add(updated row: Row, target: RowKey, lists: [OrderedList], suspects: Set<RowKey>) {
        updated.append(row.key)
        owners.insert(target)
        unsorted.formUnion(lists)
        self.suspects.formUnion(suspects)
    }

    /// Adds the rows of a repair.
    mutating func add(_ repaired: StoreCommit) {
        updated += repaired.updated
        owners.formUnion(repaired.relationshipOwners)
    }

    /// Returns the rows to check for one-sided relationships, once.
    mutating func takeSuspects() -> Set<RowKey> {
        defer { suspects = [] }
        return suspects
    }

    mutating func add(linked first: RowKey, _ second: RowKey, lists: [OrderedList]) {
        owners.formUnion([first, second])
        unsorted.formUnion(lists)
    }

    mutating func add(unsorted lists: [OrderedList]) { unsorted.formUnion(lists) }

    mutating func sorted(owners: [RowKey]) {
        self.owners.formUnion(owners)
        unsorted = []
    }

    func commit(store: UInt16) -> StoreCommit? {
        if updated.isEmpty, owners.isEmpty { return nil }
        var commit = StoreCommit(store: store)
        commit.updated = updated
        commit.relationshipOwners = owners
        return commit
    }
}
