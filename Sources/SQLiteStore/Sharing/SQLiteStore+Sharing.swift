// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import Synchronization

// Snapshots, checkpoints, and commits of other processes.

extension SQLiteStore {
    /// Returns the newest state of the store, for later reads; the same object until the next write.
    ///
    /// - Returns: nil for an in-memory store, which keeps no earlier states.
    /// - Throws: ``StoreError``.
    package func currentGeneration() throws -> StoreGeneration? {
        guard let keeper = generations else { return nil }
        do { return try translatingErrors { try keeper.newest() } } catch { throw StoreError(error) }
    }

    /// Checkpoints and truncates the log, as far as readers allow. Stores also checkpoint by themselves.
    ///
    /// - Throws: ``StoreError``; saved rows are in the log or in the file then.
    package func checkpoint() throws {
        guard let pool = database as? DatabasePool else { return }
        do {
            try translatingErrors { try inTurn { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.passive) } } }
        } catch { throw StoreError(error) }
    }

    /// Calls `changed` after each commit of another process, or of another store on the same file in this one; once for
    /// several in short succession. Does not report this store's own writes.
    ///
    /// Calling it again replaces the function. Never calls for an in-memory store.
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

/// Checks by the writing connection whether another connection has committed. Only this connection of the store commits,
/// so any other version change is another connection's.
///
/// The kernel reports writes to the log before they are committed, and nothing afterwards. So the check waits until the
/// writer is done: for the lock, and for SQLite's own lock, which programs without this library take.
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

    /// Returns immediately; the writer's queue may be busy with a save of this store.
    func schedule() {
        let isFirst = state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isFirst, gate.enter() else { return }
        database.asyncWriteWithoutTransaction { [self] database in
            defer { gate.leave() }
            state.withLock { $0.isScheduled = false }
            // After a time-out the state is unknown: reports a change.
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
            // A read-only connection cannot wait; the next write triggers the check again.
            version = try connection.transaction(database.configuration.readonly ? .reading : .writing) {
                try connection.first("PRAGMA data_version") { $0.int(0) }
            }
        }
        return version
    }
}
