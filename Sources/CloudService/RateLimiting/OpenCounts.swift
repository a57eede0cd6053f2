// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Counts what each holder has open: connections and anonymous push streams of networks, and push streams of accounts.
package final class OpenCounts: Sendable {
    private let most: Int
    private let counts = Mutex<[String: Int]>([:])

    /// - Parameter most: Of one holder; 0 means no limit.
    package init(atMost most: Int) { self.most = most }

    /// Places that are held now.
    package var count: Int { counts.withLock { $0.values.reduce(0, +) } }

    /// - Parameter holder: A network, or a requester's account.
    /// - Returns: Nil if the holder has as many as it may.
    package func place(for holder: String) -> Place? {
        let isFree = counts.withLock { counts in
            let count = counts[holder, default: 0]
            guard most == 0 || count < most else { return false }
            counts[holder] = count + 1
            return true
        }
        return isFree ? Place(self, holder) : nil
    }

    private func remove(_ holder: String) {
        counts.withLock { counts in
            let count = counts[holder, default: 0] - 1
            counts[holder] = count > 0 ? count : nil
        }
    }

    /// One of a holder's places. It ends with its last reference at the latest.
    package final class Place: Sendable {
        private let counts: OpenCounts
        private let holder: String
        private let isHeld = Mutex(true)

        fileprivate init(_ counts: OpenCounts, _ holder: String) {
            self.counts = counts
            self.holder = holder
        }

        deinit { end() }

        package func end() {
            let wasHeld = isHeld.withLock { isHeld in
                defer { isHeld = false }
                return isHeld
            }
            if wasHeld { counts.remove(holder) }
        }
    }
}
