// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Synchronization

/// The connection that the store was set up with. Connections are compared by the identity of their transport; a transport that is a value
/// has no identity, and counts as the same one.
final class SetUpConnection: Sendable {
    private enum State {
        case none
        /// A set-up is about to open a connection.
        /// - Parameter isDoubted: Whether the account may have changed since it began.
        case opening(isDoubted: Bool)
        case open(any CloudTransport)
    }

    private let state = Mutex(State.none)

    func willOpen() { state.withLock { $0 = .opening(isDoubted: false) } }

    /// - Returns: Whether the account may have changed while the connection was opened.
    func use(_ transport: any CloudTransport) -> Bool {
        state.withLock { state in
            defer { state = .open(transport) }
            if case .opening(isDoubted: true) = state { return true }
            return false
        }
    }

    /// A set-up ended. A connection that it opened stays in use.
    func forgetUnopened() { state.withLock { state in if case .opening = state { state = .none } } }

    /// Notes that the account may have changed.
    ///
    /// - Returns: Whether a new set-up is needed: a set-up that has not opened its connection yet identifies the account itself.
    func doubt(_ present: @autoclosure () throws -> any CloudTransport) -> Bool {
        state.withLock { state in
            switch state {
            case .none: return true
            case .opening:
                state = .opening(isDoubted: true)
                return false
            case .open(let transport): return (try? present()).map { !Self.isSame(transport, $0) } ?? true
            }
        }
    }

    /// Returns `true` if no connection was set up yet, or if `other` is the present one.
    func mayBeUsed(_ other: any CloudTransport) -> Bool {
        state.withLock { state in
            if case .open(let transport) = state { return Self.isSame(transport, other) }
            return true
        }
    }

    private static func isSame(_ one: any CloudTransport, _ other: any CloudTransport) -> Bool {
        guard type(of: one) is AnyClass, type(of: other) is AnyClass else { return type(of: one) == type(of: other) }
        return (one as AnyObject) === (other as AnyObject)
    }
}
