// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// How many items a request has: half as many after a refusal, and twice as many after each that was taken, up to what the
/// server is known to take.
package struct RequestSize: Hashable, Sendable, CustomStringConvertible {
    /// Items at most.
    package private(set) var items: Int
    /// What `items` grows to.
    private var limit: Int
    private let most: Int
    /// Requests that were taken since the limit was set.
    private var taken = 0
    /// Whether nothing of what is sent is saved if an item is refused. A client that meets conflicts again and again does without.
    package var isAtomic = true

    /// Requests that a server has to take before it is asked whether it takes more.
    private static let takenBeforeMore = 8

    package init(most: Int) {
        self.most = most
        (items, limit) = (most, most)
    }

    /// That of the request after one of which something was accepted.
    package var afterAcceptance: RequestSize {
        var next = self
        next.taken += 1
        if next.taken == Self.takenBeforeMore {
            next.taken = 0
            next.limit = min(most, limit * 2)
        }
        next.items = min(next.limit, items * 2)
        return next
    }

    /// A request went that had no more than these.
    mutating func had(_ count: Int) { items = min(items, count) }

    /// Something among these items was refused: it is found by halves.
    mutating func halve(_ count: Int) { items = max(1, count / 2) }

    /// The server says that a request is too large. It would say so again.
    mutating func lowerLimit() {
        halve(items)
        limit = items
        taken = 0
    }

    package var description: String { "itemsMax: \(items)" }
}
