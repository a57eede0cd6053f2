// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// What networks hold open: connections, or push streams without a signed-in user. Push streams of accounts are counted alike.
package final class NetworkCounts: Sendable {
    private let most: Int
    private let counts = Mutex<[String: Int]>([:])

    /// - Parameter most: Of one network; 0 means no limit.
    package init(atMost most: Int) { self.most = most }

    /// - Parameter network: The prefix of an address, its bytes with dots between them.
    static func isOfThisMachine(_ network: String) -> Bool { network.hasPrefix("127.") || network == "0.0.0.0.0.0.0.0" }

    /// Places that are held now.
    package var count: Int { counts.withLock { $0.values.reduce(0, +) } }

    /// - Returns: Nil if the network has as many as it may.
    package func place(for network: String) -> Place? {
        let isFree = counts.withLock { counts in
            let count = counts[network, default: 0]
            guard most == 0 || count < most else { return false }
            counts[network] = count + 1
            return true
        }
        return isFree ? Place(self, network) : nil
    }

    private func remove(_ network: String) {
        counts.withLock { counts in
            let count = counts[network, default: 0] - 1
            counts[network] = count > 0 ? count : nil
        }
    }

    /// One of a network's places. It ends with its last reference at the latest.
    package final class Place: Sendable {
        private let counts: NetworkCounts
        private let network: String
        private let isHeld = Mutex(true)

        fileprivate init(_ counts: NetworkCounts, _ network: String) {
            self.counts = counts
            self.network = network
        }

        deinit { end() }

        package func end() {
            let wasHeld = isHeld.withLock { isHeld in
                defer { isHeld = false }
                return isHeld
            }
            if wasHeld { counts.remove(network) }
        }
    }
}
