// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// How far one import has come: the list of changed zones, then the zones, page by page.
///
/// An import that fails begins again with a new round. The zones that are still to be read are in the sync metadata.
package struct ImportRound: Hashable, Sendable {
    /// Whether notifications are the only reason for the import: their changes may replace the first request.
    package var isPushed: Bool
    /// Whether the list of changed zones was read.
    package var isListed = false
    package var isHomeRead = false
    /// Whether the home zone's read resumes in the middle of a pass of queries, where an earlier import failed. Record types before that
    /// point may have changed since. nil before the zone is read.
    package var isResumed: Bool?
    /// Whether the home zone's pages are complete and withheld until the other zones are read: an object that they delete may have been
    /// relocated to one of them.
    package var isHomeWithheld = false

    package init(isPushed: Bool = false) { self.isPushed = isPushed }
}
