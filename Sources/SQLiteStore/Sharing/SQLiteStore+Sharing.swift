// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import Synchronization

// The store as seen by those who share it.

extension SQLiteStore {
    /// The store as it is now, to be read from later; the same object as long as nothing is written.
    ///
    /// - Returns: nil for a store in memory, which keeps no earlier states.
    /// - Throws: ``StoreError``.
    package func currentGeneration() throws -> StoreGeneration? {
        guard let keeper = generations else { return nil }
        do { return try translatingErrors { try keeper.newest() } } catch { throw StoreError(error) }
    }

    /// Moves the log into the file and empties it, as far as readers allow. Stores do so by themselves from time to time.
    ///
    /// - Throws: ``StoreError``; what was saved is in the log or in the file then.
    package func checkpoint() throws {
        guard let pool = database as? DatabasePool else { return }
        do {
            try translatingErrors { try inTurn { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.passive) } } }
        } catch { throw StoreError(error) }
    }

    /// Calls `changed` after each commit of another process, or of another store on the same file in this one; once
    /// for several that come together. What this store writes is not reported.
    ///
    /// Asking again replaces the function. A store in memory has no others and never calls.
    ///
    /// - Throws: ``StoreError`` with `.notPermitted` when the file cannot be watched.
    package func watchOthers(_ changed: @escaping @Sendable () -> Void) throws {
        guard let url else { return }
        let check = OthersCheck(database, gate, inTurn: { [weak self] in try self?.inTurn($0) }, changed)
        try translatingErrors { try check.begin() }
        let watch = try FileWatch(url: url) { check.schedule() }
        self.watch.withLock { $0 = watch }
    }
}

/// Asks the writing connection whether somebody else has committed. It is the only one of this store that commits, so
/// whatever it has not done itself was done by others.
///
/// The kernel reports what a writer puts into the log before that is a commit, and nothing afterwards. So the question
/// waits until the writer is done: for the turn, and for SQLite's own lock, which programs take that know no turns.
///
/// Source: sqlite.org, "PRAGMA data_version" and "Write-Ahead Logging".
private final class OthersCheck: Sendable {
    private struct State {
        var version: Int64 = 0
        var isScheduled = false
    }

    private let state = Mutex(State())
    private let database: any DatabaseWriter
    private let gate: CallGate
    private let inTurn: @Sendable (() throws -> Void) throws -> Void
    private let changed: @Sendable () -> Void

    init(
        _ database: any DatabaseWriter, _ gate: CallGate, inTurn: @escaping @Sendable (() throws -> Void) throws -> Void,
        _ changed: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.gate = gate
        self.inTurn = inTurn
        self.changed = changed
    }

    func begin() throws {
        let version = try database.writeWithoutTransaction { try Int64.fetchOne($0, sql: "PRAGMA data_version") }
        state.withLock { $0.version = version ?? 0 }
    }

    /// Returns at once; the writer's queue may be busy with a save of our own.
    func schedule() {
        let isFirst = state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isFirst, gate.enter() else { return }
        database.asyncWriteWithoutTransaction { [self] database in
            defer { gate.leave() }
            state.withLock { $0.isScheduled = false }
            // Of a file that others hold too long nobody knows.
            guard let version = try? versionAfterWriters(database) else { return changed() }
            let isNew = state.withLock { state in
                defer { state.version = version }
                return state.version != version
            }
            if isNew { changed() }
        }
    }

    private func versionAfterWriters(_ database: Database) throws -> Int64? {
        var version: Int64?
        let connection = Connection(database)
        try inTurn {
            // Who may only read cannot wait, and asks again with the next write.
            version = try connection.transaction(database.configuration.readonly ? .reading : .writing) {
                try connection.first("PRAGMA data_version") { $0.int(0) }
            }
        }
        return version
    }
}
