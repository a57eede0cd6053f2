// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Detects a server that returns the same positions of pages again and again: reading would never end.
///
/// It compares each position with one earlier one, which it replaces after 1, 2, 4, 8 … pages: a cycle of any length is found within a few
/// of its rounds, and the memory does not grow with the number of pages.
///
/// Source: R. P. Brent, *An Improved Monte Carlo Factorization Algorithm* (1980), on finding cycles.
package struct PagePositions: Hashable, Sendable {
    /// The error of a client that stops reading.
    package static let complaint =
        "the server returned a position of its pages that it had returned before, and reading them would never end; if the error stays, report it to the server's operator"

    /// The position behind the last page.
    private var last: String?
    private var checkpoint: String?
    private var pagesSinceCheckpoint = 0
    private var pagesMax = 1

    package init() {}

    /// Adds a page that others follow.
    ///
    /// A page that does not follow the last one begins a new series: a client may read the same pages again.
    ///
    /// - Parameters:
    ///   - position: The position of the request; nil at the beginning.
    ///   - next: The position behind the page.
    /// - Returns: `false` if the series was at that position before.
    package mutating func advance(from position: String?, to next: String) -> Bool {
        if last == nil || position != last {
            self = PagePositions()
            checkpoint = position
        }
        guard next != checkpoint, next != position else {
            self = PagePositions()
            return false
        }
        last = next
        pagesSinceCheckpoint += 1
        if pagesSinceCheckpoint == pagesMax {
            checkpoint = next
            pagesSinceCheckpoint = 0
            pagesMax *= 2
        }
        return true
    }
}
