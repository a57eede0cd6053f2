// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Synchronization

/// The connection that a mirror was set up with. Connections are told apart by the objects that carry them; what is no object
/// cannot be told apart, and counts as the one there was.
final class SetUpConnection: Sendable {
    private let transport = Mutex<(any CloudTransport)?>(nil)

    func use(_ transport: any CloudTransport) { self.transport.withLock { $0 = transport } }

    func forget() { transport.withLock { $0 = nil } }

    /// Whether something was set up with a connection, which it still is.
    func isInUse(_ other: any CloudTransport) -> Bool { transport.withLock { $0.map { Self.isSame($0, other) } ?? false } }

    /// Whether nothing speaks against a connection: a mirror that was not set up knows of no other.
    func mayBeUsed(_ other: any CloudTransport) -> Bool { transport.withLock { $0.map { Self.isSame($0, other) } ?? true } }

    private static func isSame(_ one: any CloudTransport, _ other: any CloudTransport) -> Bool {
        guard type(of: one) is AnyClass, type(of: other) is AnyClass else { return type(of: one) == type(of: other) }
        return (one as AnyObject) === (other as AnyObject)
    }
}
