// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// What responses have shown of the server: whether it has a change feed of the public database, and whether it executes save groups.
///
/// Servers behind one address may disagree, for example during a rolling update. Each change between feed and queries costs a full fetch,
/// so that after ``changesMax`` of them a store stays with queries, which all servers support, until the next launch.
final class ServerTraits: Sendable {
    static let changesMax = 4

    private struct State {
        var hasPublicFeed = false
        var changes = 0
        var executesSaveGroups = false
    }

    private let state = Mutex(State())

    /// Whether the server had a feed of the public database at the last request.
    var hasPublicFeed: Bool {
        get { state.withLock { $0.hasPublicFeed && $0.changes < Self.changesMax } }
        set { state.withLock { $0.hasPublicFeed = newValue } }
    }

    /// Whether the server has executed the requests of a group in one transaction.
    var executesSaveGroups: Bool {
        get { state.withLock(\.executesSaveGroups) }
        set { state.withLock { $0.executesSaveGroups = newValue } }
    }

    /// Whether a request for the feed is worth an attempt.
    var mayHavePublicFeed: Bool { state.withLock { $0.changes < Self.changesMax } }

    /// Counts a change between feed and queries, after which everything is fetched again.
    func countChange() { state.withLock { $0.changes += 1 } }
}
