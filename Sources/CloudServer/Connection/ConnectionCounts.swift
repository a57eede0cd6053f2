// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import NIOCore
import Synchronization

/// Open connections by network, so that one network cannot take all descriptors.
///
/// Connections from this machine and from trusted gateways are not counted: they carry requests of many clients.
final class ConnectionCounts: Sendable {
    private let most: Int
    private let isUncounted: @Sendable (NetworkAddress) -> Bool
    private let counts = Mutex<[String: Int]>([:])

    /// - Parameter most: Of one network; 0 means no limit.
    init(atMost most: Int, isUncounted: @escaping @Sendable (NetworkAddress) -> Bool) {
        self.most = most
        self.isUncounted = isUncounted
    }

    /// Networks with an open connection.
    var networkCount: Int { counts.withLock { $0.count } }

    /// Counts a connection until it is closed.
    ///
    /// - Returns: `false` if its network has as many as it may; the connection is not counted then.
    func add(_ address: NetworkAddress?) -> Bool {
        guard most > 0, let address, !isUncounted(address) else { return true }
        return counts.withLock { counts in
            let count = counts[address.network, default: 0]
            guard count < most else { return false }
            counts[address.network] = count + 1
            return true
        }
    }

    /// Called once for each connection that was added.
    func remove(_ address: NetworkAddress?) {
        guard most > 0, let address, !isUncounted(address) else { return }
        counts.withLock { counts in
            let count = counts[address.network, default: 0] - 1
            counts[address.network] = count > 0 ? count : nil
        }
    }
}
