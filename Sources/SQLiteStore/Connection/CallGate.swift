// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Synchronization

/// Admits calls until it is closed. Closing waits for the calls in flight.
///
/// GRDB's connections must not be used during close: a read queued behind `close()` would use a closed connection.
final class CallGate: Sendable {
    private let isClosed = Mutex(false)
    private let calls = DispatchGroup()

    /// - Throws: ``StoreError`` after the gate was closed.
    func pass<T>(_ body: () throws -> T) throws -> T {
        guard enter() else { throw StoreError(.other, "the store was closed") }
        defer { leave() }
        return try body()
    }

    /// - Returns: false after the gate was closed. Otherwise the caller must call ``leave()``.
    func enter() -> Bool {
        isClosed.withLock { isClosed in
            if !isClosed { calls.enter() }
            return !isClosed
        }
    }

    func leave() { calls.leave() }

    /// Waits for the calls in flight, and rejects later ones.
    ///
    /// - Returns: false if it was closed before.
    func close() -> Bool {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        if isFirst { calls.wait() }
        return isFirst
    }
}
