// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// How a store of the public database is read: by the server's feed, or by queries where it has none.
///
/// Servers behind one address may disagree, as while they are updated one after the other. Each change of the way costs a
/// fetch of everything, so that after ``changesMax`` of them a store stays with queries, which all servers answer, until
/// the app is launched again.
final class PublicWays: Sendable {
    static let changesMax = 4

    private struct State {
        var hasFeed = false
        var changes = 0
        var knowsSaveGroups = false
    }

    private let state = Mutex(State())

    /// Whether the server had a feed when it was asked last.
    var hasFeed: Bool {
        get { state.withLock { $0.hasFeed && $0.changes < Self.changesMax } }
        set { state.withLock { $0.hasFeed = newValue } }
    }

    /// Whether the server has executed requests of a group together.
    var knowsSaveGroups: Bool {
        get { state.withLock(\.knowsSaveGroups) }
        set { state.withLock { $0.knowsSaveGroups = newValue } }
    }

    /// Whether the feed is to be asked for.
    var mayHaveFeed: Bool { state.withLock { $0.changes < Self.changesMax } }

    /// What was read one way has to be read anew the other way.
    func change() { state.withLock { $0.changes += 1 } }
}
