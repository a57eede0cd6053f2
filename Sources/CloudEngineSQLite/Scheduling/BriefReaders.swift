// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import GRDB
import Synchronization
import SystemSupport

/// Connections for reads that take less time than a switch of threads: they run on the caller's thread, and no read
/// waits for one. What turns out to be long is given up, and goes to a thread of its own; see ``ReadAllowance``.
final class BriefReaders: Sendable {
    private struct State {
        var all: [DatabaseQueue] = []
        var free: [DatabaseQueue] = []
        var isClosed = false
    }

    /// As many connections as threads may read concurrently.
    private static let connectionsMax = min(4, Processors.count)

    private let path: String
    private let configuration: Configuration
    private let state = Mutex(State())

    /// Connections are opened when reads need them: each parses the whole schema.
    init(path: String, _ configuration: Configuration) {
        self.path = path
        self.configuration = configuration
    }

    /// - Returns: Nil if all connections are in use or closed, or another one cannot be opened: a read of the pool reports why.
    private func connection() -> DatabaseQueue? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            if let free = state.free.popLast() { return free }
            guard state.all.count < Self.connectionsMax else { return nil }
            guard let connection = try? DatabaseQueue(path: path, configuration: configuration) else { return nil }
            state.all.append(connection)
            return connection
        }
    }

    /// Reads from one state of the database.
    ///
    /// - Returns: Nil if no connection is free, or the read is a long one.
    /// - Throws: What `body` throws.
    func read<Value>(_ body: (Database, ReadAllowance) throws -> Value) throws -> Value? {
        do {
            return try lookUp { db in
                try db.run("BEGIN")
                defer { try? db.run("COMMIT") }
                return try body(db, ReadAllowance())
            }
        } catch is ReadIsLong {
            return nil
        }
    }

    /// Runs a closure on a free connection. One statement needs no transaction.
    ///
    /// - Returns: Nil if no connection is free.
    /// - Throws: What `body` throws.
    func lookUp<Value>(_ body: (Database) throws -> Value) throws -> Value? {
        guard let connection = connection() else { return nil }
        defer { state.withLock { $0.free.append(connection) } }
        return try connection.unsafeRead(body)
    }

    /// Closes the connections, once running reads have ended.
    func close() throws {
        let all = state.withLock { state in
            state.isClosed = true
            return state.all
        }
        for connection in all { try connection.close() }
    }
}

/// The limit of a brief read, in bytes of records.
final class ReadAllowance {
    /// A page of changes as devices ask for it; about a tenth of a millisecond.
    static let bytes = 1 << 18

    private var left = ReadAllowance.bytes

    /// - Throws: ``ReadIsLong`` once it is used up.
    func take(_ bytes: Int) throws {
        left -= bytes
        guard left >= 0 else { throw ReadIsLong() }
    }
}

/// A read takes longer than a brief one may.
struct ReadIsLong: Error {}
