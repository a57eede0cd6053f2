// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// What a mirror does at the moment, for people.
package struct SyncStatus: Hashable, Sendable {
    package enum Activity: Hashable, Sendable {
        /// Everything that was known is exchanged.
        case idle
        /// Zone, subscription and account are being looked after.
        case starting
        /// - Parameters:
        ///   - done: Records so far.
        ///   - total: With those that are still to come; nil where the server does not say, or counts no further.
        case importing(done: Int, total: Int?)
        /// - Parameters:
        ///   - done: Records that the server has. Those of a save that it rejects are sent, and counted, again.
        case exporting(done: Int, total: Int)
        case offline
        case paused
        case error(reason: String)
    }

    package var activity: Activity
    /// Records and links that wait to be sent.
    package var pendingCount: Int
    /// When everything was last exchanged.
    package var lastSuccess: Date?
    /// Records that are not shown because something that their objects need has not come.
    package var incompleteCount = 0
    /// Changes that the server rejected permanently and that are still on the device.
    package var rejectedCount = 0
    /// The latest account change that the app has not acknowledged.
    package var accountChange: AccountChange?
    /// Whether nothing is synced because nobody is signed in.
    package var isSignedOut = false

    /// Whether the store needs no attention until somebody signs in: nothing of it waits to be sent.
    package var isSignedOutAndEmpty: Bool { isSignedOut && pendingCount == 0 }

    package init(activity: Activity, pendingCount: Int = 0, lastSuccess: Date? = nil) {
        self.activity = activity
        self.pendingCount = pendingCount
        self.lastSuccess = lastSuccess
    }
}
