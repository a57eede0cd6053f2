// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import GRDB
import Synchronization

/// Connections for reads that take less time than a switch of threads: they run on the caller's thread, and no read
/// waits for one. What turns out to be long is given up, and goes to a thread of its own; see ``ReadAllowance``.
final class BriefReaders: Sendable {
    private struct State {
        var free: [DatabaseQueue]
        var isClosed = false
    }

    private let all: [DatabaseQueue]
    private let state: Mutex<State>

    /// Opens as many connections as threads may read concurrently.
    init(path: String, _ configuration: Configuration) throws {
        all = try (0..<min(4, max(1, ProcessInfo.processInfo.activeProcessorCount))).map { _ in
            try DatabaseQueue(path: path, configuration: configuration)
        }
        state = Mutex(State(free: all))
    }

    /// Reads from one state of the database.
    ///
    /// - Returns: Nil if no connection is free, or the read is a long one.
    /// - Throws: What `body` throws.
    func read<Value>(_ body: (Database, ReadAllowance) throws -> Value) throws -> Value? {
        guard let connection = state.withLock({ $0.isClosed ? nil : $0.free.popLast() }) else { return nil }
        defer { state.withLock { $0.free.append(connection) } }
        do {
            return try connection.unsafeRead { db in
                try db.run("BEGIN")
                defer { try? db.run("COMMIT") }
                return try body(db, ReadAllowance())
            }
        } catch is ReadIsLong {
            return nil
        }
    }

    /// Closes the connections, once running reads have ended.
    func close() throws {
        state.withLock { $0.isClosed = true }
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
