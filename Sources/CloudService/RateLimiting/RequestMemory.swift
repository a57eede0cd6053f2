// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Synchronization

/// Memory that requests take: bodies as they arrive, decoded values, and long responses until they are sent.
///
/// Invariant: all leases together hold at most ``bytesMax``, and those of anonymous senders at most ``bytesOfAnonymous``. A sender with a
/// lease gets no more than ``bytesPerSender``, so that one cannot take the room of all. Responses to changes may exceed it.
package final class RequestMemory: Sendable {
    /// Bytes of a decoded value of a JSON text at most, except for a few kinds of objects.
    static let bytesPerValue = 128
    /// Bytes of the longest response that takes no lease. The limit of connections bounds shorter ones.
    static let unleasedBytesMax = 65_536

    private struct Table {
        var bytes = 0
        var bytesOfAnonymous = 0
        var senders: [RequestBudgets.Sender: Int] = [:]

        mutating func add(_ count: Int, for sender: RequestBudgets.Sender) {
            bytes += count
            if case .network = sender { bytesOfAnonymous += count }
            let held = senders[sender, default: 0] + count
            senders[sender] = held > 0 ? held : nil
        }
    }

    let bytesMax: Int
    var bytesPerSender: Int { bytesMax / 4 }
    /// Of all anonymous senders together: any number of networks leaves room for accounts.
    var bytesOfAnonymous: Int { bytesMax / 2 }
    private let table = Mutex(Table())

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Bytes that requests take now.
    var bytes: Int { table.withLock { $0.bytes } }

    func lease(for sender: RequestBudgets.Sender) -> Lease { Lease(self, sender) }

    /// - Parameter own: Bytes of the lease that takes more. One alone may be longer than a sender's part.
    fileprivate func take(_ count: Int, beside own: Int, for sender: RequestBudgets.Sender) -> Bool {
        table.withLock { table in
            let held = table.senders[sender, default: 0]
            guard table.bytes + count <= bytesMax, held == own || held + count <= bytesPerSender else { return false }
            if case .network = sender, table.bytesOfAnonymous + count > bytesOfAnonymous { return false }
            table.add(count, for: sender)
            return true
        }
    }

    /// - Parameter count: Bytes; fewer than 0 are given back.
    fileprivate func add(_ count: Int, for sender: RequestBudgets.Sender) { table.withLock { $0.add(count, for: sender) } }

    /// What one request takes, or its response. It ends with its last reference at the latest.
    package final class Lease: Sendable {
        private let memory: RequestMemory
        private let sender: RequestBudgets.Sender
        private let bytes = Mutex(0)

        fileprivate init(_ memory: RequestMemory, _ sender: RequestBudgets.Sender) {
            self.memory = memory
            self.sender = sender
        }

        deinit { end() }

        /// - Throws: `WireError` with `.tryAgainLater` without room. Bytes that were taken before are held until ``end()``.
        func take(_ count: Int) throws(WireError) {
            guard memory.take(count, beside: bytes.withLock { $0 }, for: sender) else {
                throw WireError(.tryAgainLater, "the server has no room for the request now", retryAfter: 1)
            }
            bytes.withLock { $0 += count }
        }

        /// For bytes that cannot be dropped.
        func takeBeyondTheLimit(_ count: Int) {
            memory.add(count, for: sender)
            bytes.withLock { $0 += count }
        }

        /// Gives back a part of what was taken.
        package func giveBack(_ count: Int) {
            let held = bytes.withLock { bytes in
                let part = min(bytes, count)
                bytes -= part
                return part
            }
            if held > 0 { memory.add(-held, for: sender) }
        }

        package func end() {
            let held = bytes.withLock { bytes in
                defer { bytes = 0 }
                return bytes
            }
            if held > 0 { memory.add(-held, for: sender) }
        }
    }
}

extension ServicePath.Operation {
    /// Bytes of a request's body at most. Only records are long.
    func bodyBytes(_ limits: Limits, isAnonymous: Bool) -> Int {
        let most = self == .modifyRecords ? limits.requestBodyBytes : min(limits.shortBodyBytes, limits.requestBodyBytes)
        return isAnonymous ? min(limits.anonymousBodyBytes, most) : most
    }
}
