// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// The state of a store's sync, for people.
package struct SyncStatus: Hashable, Sendable {
    package enum Activity: Hashable, Sendable {
        /// Import and export are complete.
        case idle
        /// The set-up of account, zone and subscription runs.
        case starting
        /// - Parameters:
        ///   - done: Records so far.
        ///   - total: Records of the whole import; nil if the server does not count them.
        case importing(done: Int, total: Int?)
        /// - Parameters:
        ///   - done: Records that the server has. Records of a rejected save are sent, and counted, again.
        case exporting(done: Int, total: Int)
        case offline
        case paused
        case error(reason: String)
    }

    package var activity: Activity
    /// Records and links that are not on the server.
    package var pendingCount: Int
    /// When import and export were last complete.
    package var lastSuccess: Date?
    /// Withheld records.
    package var incompleteCount = 0
    /// Changes that the server rejected permanently and that are still on the device.
    package var rejectedCount = 0
    /// Objects with quarantined values.
    package var unreadableCount = 0
    /// The latest account change that the app has not acknowledged.
    package var accountChange: AccountChange?
    /// Whether the store does not sync because the user is signed out.
    package var isSignedOut = false

    /// Whether the store needs no attention before the user signs in: it has no pending changes.
    package var isSignedOutAndEmpty: Bool { isSignedOut && pendingCount == 0 }

    package init(activity: Activity, pendingCount: Int = 0, lastSuccess: Date? = nil) {
        self.activity = activity
        self.pendingCount = pendingCount
        self.lastSuccess = lastSuccess
    }
}
