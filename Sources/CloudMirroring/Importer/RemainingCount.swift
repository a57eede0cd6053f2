// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore

/// The number of changes of a zone that later pages bring.
///
/// The server counts on request, which costs it time: once for a zone, and again where it did not count far enough or other clients wrote
/// concurrently.
struct RemainingCount: Sendable {
    /// Changes to read before a server that did not count is asked again.
    static let changesUntilRetry = 10_000

    private var zone: Int64?
    /// nil if it is unknown.
    private(set) var count: Int?
    private var changesUntilRequest = 0

    /// Whether the server has to count with the next page of a zone.
    mutating func isDue(_ zone: Int64) -> Bool {
        if self.zone != zone { self = RemainingCount(zone: zone) }
        return count == nil && changesUntilRequest <= 0
    }

    mutating func take(_ page: FetchedPage, wasAsked: Bool) {
        if let counted = page.remaining {
            count = counted
        } else if wasAsked {
            changesUntilRequest = Self.changesUntilRetry
        } else {
            changesUntilRequest -= page.changeCount
            count = count.map { $0 - page.changeCount }
        }
        if let left = count, left <= 0, page.moreComing { (count, changesUntilRequest) = (nil, 0) }
        if !page.moreComing { self = RemainingCount() }
    }

    /// Adds changes of a page that was taken, and that is fetched again.
    mutating func giveBack(_ changes: Int) { count = count.map { $0 + changes } }
}

extension ImportPage {
    /// Records and deletions.
    var changeCount: Int { records.count + deletions.count }
}
