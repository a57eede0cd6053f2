// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import ObjectGraph
import Testing

@testable import CloudMirroring

/// What contexts merge after an import of several pages.
struct JoinedCommitTests {
    private func key(_ number: Int64) -> RowKey { RowKey(store: 0, entity: 0, primaryKey: number) }

    private func commit(
        inserted: [Int64] = [], updated: [Int64] = [], deleted: [Int64] = [], owners: Set<Int64> = []
    ) -> StoreCommit {
        var commit = StoreCommit(store: 0)
        commit.inserted = inserted.map(key)
        commit.updated = updated.map(key)
        commit.deleted = deleted.map(key)
        commit.relationshipOwners = Set(owners.map(key))
        return commit
    }

    private func joined(_ parts: StoreCommit...) -> StoreCommit {
        var joined = JoinedCommit(store: 0)
        for part in parts { joined.append(part) }
        return joined.commit()
    }

    @Test func nothingIsAnEmptyCommit() {
        #expect(joined().isEmpty)
        #expect(joined(commit()).isEmpty)
    }

    @Test func insertionsKeepTheirOrder() {
        let all = joined(commit(inserted: [3, 1]), commit(), commit(inserted: [2]))
        #expect(all.inserted == [key(3), key(1), key(2)])
        #expect(all.updated.isEmpty)
        #expect(all.deleted.isEmpty)
        #expect(all.relationshipOwners.isEmpty)
    }

    @Test func eachRowIsListedOnce() {
        let all = joined(
            commit(inserted: [1, 2], updated: [7]), commit(updated: [1, 7, 8], deleted: [2, 9]), commit(inserted: [9], deleted: [8]))
        #expect(all.inserted == [key(1)])
        #expect(all.updated == [key(7), key(9)], "a row that is deleted and inserted again is updated")
        #expect(all.deleted == [key(8)])
    }

    /// A later page may relate a row that an earlier one inserted: its relationships are new with it.
    @Test func ownersAreRowsThatWereThere() {
        let all = joined(commit(inserted: [1]), commit(inserted: [2], owners: [1, 5]), commit(deleted: [6], owners: [6]))
        #expect(all.inserted == [key(1), key(2)])
        #expect(all.relationshipOwners == [key(5)])
    }
}
