// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import Synchronization

/// A store as it was at one moment, however much is written afterwards.
///
/// It is a read transaction held open on a connection of its own; the log cannot begin anew while it lives, so it
/// ends with its last owner, or when the store is closed.
package final class StoreGeneration: Sendable {
    private let snapshot: Mutex<DatabaseSnapshot?>
    /// What the file's watching connection told when the view was taken; nil if somebody wrote just then.
    let head: Int64?

    init(_ snapshot: DatabaseSnapshot, head: Int64?) {
        self.snapshot = Mutex(snapshot)
        self.head = head
    }

    func end() { snapshot.withLock { $0 = nil } }

    /// - Throws: ``StoreError`` with `.notFound` after the store was closed.
    func read<T>(_ body: (Database) throws -> T) throws -> T {
        guard let snapshot = snapshot.withLock({ $0 }) else {
            throw StoreError(.notFound, "the view of the store ended when the store was closed")
        }
        return try snapshot.read(body)
    }
}

/// Which views this thread's reads come from, for the length of a call.
package enum GenerationScope {
    private static let current = ThreadValue<[UInt16: StoreGeneration]>()

    static func generation(of store: UInt16) -> StoreGeneration? { current.value?[store] }

    /// - Parameter generations: By store number. Stores without one are read as they are now.
    package static func with<T>(_ generations: [UInt16: StoreGeneration], _ body: () throws -> T) rethrows -> T {
        // Most reads are of what is there now, inside no other context's reading.
        if generations.isEmpty, current.value == nil { return try body() }
        return try current.with(generations, body)
    }
}

/// The views that are held of one store, and the connection that tells whether the newest is still the newest.
final class GenerationKeeper: Sendable {
    private struct State {
        var watch: DatabaseQueue?
        var isClosed = false
        var held: [WeakGeneration] = []
    }

    private struct WeakGeneration { weak var generation: StoreGeneration? }

    private let state = Mutex(State())
    private let pool: DatabasePool

    init(_ pool: DatabasePool) { self.pool = pool }

    /// - Returns: The view that somebody holds already if nothing was written since, else a new one.
    func newest() throws -> StoreGeneration {
        try state.withLock { state in
            guard !state.isClosed else { throw StoreError(.notFound, "the store was closed") }
            state.held.removeAll { $0.generation == nil }
            let before = try Self.version(&state.watch, pool)
            if let last = state.held.last?.generation, last.head == before { return last }
            let snapshot = try pool.makeSnapshot()
            let after = try Self.version(&state.watch, pool)
            let generation = StoreGeneration(snapshot, head: before == after ? after : nil)
            state.held.append(WeakGeneration(generation: generation))
            return generation
        }
    }

    func close() {
        let (held, watch) = state.withLock { state in
            state.isClosed = true
            defer { (state.held, state.watch) = ([], nil) }
            return (state.held.compactMap(\.generation), state.watch)
        }
        for generation in held { generation.end() }
        try? watch?.close()
    }

    /// Changes whenever any other connection has committed, and this one never writes.
    ///
    /// Source: sqlite.org, "PRAGMA data_version".
    private static func version(_ watch: inout DatabaseQueue?, _ pool: DatabasePool) throws -> Int64 {
        let queue: DatabaseQueue
        if let watch {
            queue = watch
        } else {
            var configuration = pool.configuration
            configuration.readonly = true
            queue = try DatabaseQueue(path: pool.path, configuration: configuration)
            watch = queue
        }
        return try queue.read { try Int64.fetchOne($0, sql: "PRAGMA data_version") ?? 0 }
    }
}
