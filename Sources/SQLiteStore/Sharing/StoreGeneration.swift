// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import Synchronization

/// A snapshot of a store at one moment, unaffected by later writes.
///
/// It is an open read transaction on its own connection; the log cannot restart while it lives, so it ends with its last
/// owner, or when the store is closed.
package final class StoreGeneration: Sendable {
    private let snapshot: Mutex<DatabaseSnapshot?>
    /// The data version when the snapshot was taken; nil if a write was in flight.
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

/// The snapshots of this thread's reads, for the duration of a call.
package enum GenerationScope {
    private static let current = ThreadValue<[UInt16: StoreGeneration]>()

    static func generation(of store: UInt16) -> StoreGeneration? { current.value?[store] }

    /// - Parameter generations: By store number. Stores without one are read in their newest state.
    package static func with<T>(_ generations: [UInt16: StoreGeneration], _ body: () throws -> T) rethrows -> T {
        // Most reads are unpinned, and not nested in a pinned one.
        if generations.isEmpty, current.value == nil { return try body() }
        return try current.with(generations, body)
    }
}

/// The open snapshots of one store, and the connection that detects later writes.
final class GenerationKeeper: Sendable {
    private struct State {
        var watch: DatabaseQueue?
        var isClosed = false
        var openGenerations: [WeakGeneration] = []
    }

    private struct WeakGeneration { weak var generation: StoreGeneration? }

    private let state = Mutex(State())
    private let pool: DatabasePool

    init(_ pool: DatabasePool) { self.pool = pool }

    /// - Returns: The open snapshot if nothing was written since, else a new one.
    func newest() throws -> StoreGeneration {
        try state.withLock { state in
            guard !state.isClosed else { throw StoreError(.notFound, "the store was closed") }
            state.openGenerations.removeAll { $0.generation == nil }
            let versionBefore = try Self.version(&state.watch, pool)
            if let last = state.openGenerations.last?.generation, last.head == versionBefore { return last }
            let snapshot = try pool.makeSnapshot()
            let after = try Self.version(&state.watch, pool)
            let generation = StoreGeneration(snapshot, head: versionBefore == after ? after : nil)
            state.openGenerations.append(WeakGeneration(generation: generation))
            return generation
        }
    }

    func close() {
        let (openGenerations, watch) = state.withLock { state in
            state.isClosed = true
            defer { (state.openGenerations, state.watch) = ([], nil) }
            return (state.openGenerations.compactMap(\.generation), state.watch)
        }
        for generation in openGenerations { generation.end() }
        try? watch?.close()
    }

    /// Changes whenever another connection has committed; this connection never writes.
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
