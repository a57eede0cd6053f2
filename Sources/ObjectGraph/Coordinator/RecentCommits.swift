// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The last saves through a coordinator, which tell whether a conflict is with one of its contexts or with another
/// process.
struct RecentCommits {
    private static let commitsMax = 64
    private static let keysMax = 20_000

    private var commits: [StoreCommit] = []
    private var keys = 0

    mutating func add(_ new: [StoreCommit]) {
        for commit in new where commit.changedKeys <= Self.keysMax {
            commits.append(commit)
            keys += commit.changedKeys
        }
        while commits.count > Self.commitsMax || keys > Self.keysMax { keys -= commits.removeFirst().changedKeys }
    }

    func contain(_ key: RowKey) -> Bool {
        commits.contains { $0.store == key.store && ($0.updated.contains(key) || $0.deleted.contains(key)) }
    }
}

extension StoreCommit {
    fileprivate var changedKeys: Int { updated.count + deleted.count }
}
