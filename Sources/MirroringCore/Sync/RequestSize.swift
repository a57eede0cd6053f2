// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// How many items a request has: half as many after a rejection, and twice as many after each accepted request, up to the number that
/// the server accepted before.
package struct RequestSize: Hashable, Sendable, CustomStringConvertible {
    /// The largest number of items.
    package private(set) var items: Int
    /// The number that ``items`` grows to.
    private var limit: Int
    private let most: Int
    /// Requests that the server accepted since the limit was set.
    private var accepted = 0
    /// Whether the server saves nothing of a batch if it rejects an item. A client with repeated conflicts sends batches that are not
    /// atomic.
    package var isAtomic = true

    /// Accepted requests before a larger limit is tried.
    private static let acceptedBeforeGrowth = 8

    package init(most: Int) {
        self.most = most
        (items, limit) = (most, most)
    }

    /// The size of the request after one of which the server accepted an item.
    package var afterAcceptance: RequestSize {
        var next = self
        next.accepted += 1
        if next.accepted == Self.acceptedBeforeGrowth {
            next.accepted = 0
            next.limit = min(most, limit * 2)
        }
        next.items = min(next.limit, items * 2)
        return next
    }

    /// Lowers the size to the number of items that a request had.
    mutating func had(_ count: Int) { items = min(items, count) }

    /// The server rejected one of so many items: halves find it.
    mutating func halve(_ count: Int) { items = max(1, count / 2) }

    /// The server rejects requests of this size.
    mutating func lowerLimit() {
        halve(items)
        limit = items
        accepted = 0
    }

    package var description: String { "itemsMax: \(items)" }
}
