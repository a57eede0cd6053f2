// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Pushed changes of the home zone that are not imported yet.
package struct PushedPages: Hashable, Sendable {
    private var page: ImportPage?
    /// Whether no change of another device lies between this device's requests since the last fetched page. Otherwise a notification may
    /// carry an older change after a newer one; a fetched page has the present state.
    private var isInStep = false

    package init() {}

    /// - Parameter new: The changes of the last notification; nil without changes of the home zone: then earlier ones are incomplete.
    package mutating func take(_ new: ImportPage?) { page = new?.following(page) }

    /// Removes and returns the page to import without a request.
    ///
    /// - Parameter isWanted: Whether notifications are the only reason for the import.
    package mutating func give(isWanted: Bool) -> ImportPage? {
        defer { page = nil }
        return isWanted && isReady ? page : nil
    }

    /// Whether there is a page to import without a request.
    package var isReady: Bool { isInStep && page != nil }

    /// A page that was fetched reached the end of the zone.
    package mutating func fetched() { isInStep = true }

    /// A request of this device is in flight.
    ///
    /// - Returns: The argument of ``sent(wasInStep:)``, if the response shows that no change of another device precedes the request.
    package mutating func sends() -> Bool {
        defer { isInStep = false }
        return isInStep
    }

    package mutating func sent(wasInStep: Bool) { isInStep = wasInStep }
}
