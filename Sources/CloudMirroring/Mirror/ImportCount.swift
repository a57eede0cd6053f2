// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore

/// How much of the zone that is being read is still to come. Counting costs the server something, so that it is asked once,
/// and again only where it counted no further, or others wrote meanwhile.
struct ImportCount: Sendable {
    /// Changes that are read before a server that did not say is asked again.
    static let changesUntilAsked = 10_000

    private var zone: Int64?
    /// nil where it is not known.
    private(set) var remaining: Int?
    private var unasked = 0

    /// Whether the server is to count with the next page of a zone.
    mutating func isDue(_ zone: Int64) -> Bool {
        if self.zone != zone { self = ImportCount(zone: zone) }
        return remaining == nil && unasked <= 0
    }

    mutating func take(_ page: ImportPage, wasAsked: Bool) {
        if let counted = page.remaining {
            remaining = counted
        } else if wasAsked {
            unasked = Self.changesUntilAsked
        } else {
            unasked -= page.changeCount
            remaining = remaining.map { $0 - page.changeCount }
        }
        if let left = remaining, left <= 0, page.moreComing { (remaining, unasked) = (nil, 0) }
        if !page.moreComing { self = ImportCount() }
    }

    /// Changes of a page that was taken, and that are asked for once more.
    mutating func giveBack(_ count: Int) { remaining = remaining.map { $0 + count } }
}

extension ImportPage {
    /// Records and deletions.
    var changeCount: Int { records.count + deletions.count }
}
