// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Synchronization

/// Lets calls through until it is closed. Closing waits for those that are under way.
///
/// GRDB's connections are not safe to use while they are being closed: a read that has waited for its turn meanwhile
/// gets a connection that is none any more.
final class CallGate: Sendable {
    private let isClosed = Mutex(false)
    private let calls = DispatchGroup()

    /// - Throws: ``StoreError`` after the gate was closed.
    func pass<T>(_ body: () throws -> T) throws -> T {
        guard enter() else { throw StoreError(.other, "the store was closed") }
        defer { leave() }
        return try body()
    }

    /// - Returns: false after the gate was closed. Else ``leave()`` ends the call.
    func enter() -> Bool {
        isClosed.withLock { isClosed in
            if !isClosed { calls.enter() }
            return !isClosed
        }
    }

    func leave() { calls.leave() }

    /// Waits for calls that are under way; there are no later ones.
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
