// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What notifications brought of the home zone, until it is imported.
package struct PushedPages: Hashable, Sendable {
    private var page: ImportPage?
    /// Whether all that this device sent since a page was fetched is known to have met nothing that others sent. Else what
    /// others sent before may be told only now, as if it had come after; a page that is fetched says how things are.
    private var isInStep = false

    package init() {}

    /// - Parameter new: What the last notification brought; nil if that was nothing, or nothing of the home zone: what came
    ///   before is then no longer all there is.
    package mutating func take(_ new: ImportPage?) { page = new?.following(page) }

    /// What is to be imported instead of a page that is fetched. It is given once.
    ///
    /// - Parameter isWanted: Whether nothing but notifications tells of changes.
    package mutating func give(isWanted: Bool) -> ImportPage? {
        defer { page = nil }
        return isWanted && isReady ? page : nil
    }

    /// Whether there is a page to be given where nothing but notifications tells of changes.
    package var isReady: Bool { isInStep && page != nil }

    /// A page that was fetched reached the end of the zone.
    package mutating func fetched() { isInStep = true }

    /// A request of this device is on its way.
    ///
    /// - Returns: To be given back to ``sent(wasInStep:)`` if the server says that nothing of others lay before the request.
    package mutating func sends() -> Bool {
        defer { isInStep = false }
        return isInStep
    }

    package mutating func sent(wasInStep: Bool) { isInStep = wasInStep }
}
