// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// The time during which the user's storage is full: only imports run, and deletions, which free storage.
package struct QuotaPause: Hashable, Sendable {
    /// When the pause ends.
    let end: Date
    /// How long the pause was when it began. A clock that is set back does not make it longer.
    let length: Duration
    /// Whether the server named the length.
    let isLengthFromServer: Bool
    let reason: String
    /// The timer that ends the pause; nil after another wait replaced it.
    var timer: SyncMachine.TimerID?

    /// - Parameter failure: The `.quotaExceeded` failure that begins the pause.
    init(_ failure: CloudFailure, now: Date) {
        length = failure.retryAfter ?? RetryPolicy.quotaDelay
        end = now + length / .seconds(1)
        isLengthFromServer = failure.retryAfter != nil
        reason = failure.reason
    }

    /// Returns the rest of the pause, at least zero.
    func remaining(at now: Date) -> Duration { min(.clamped(seconds: end.timeIntervalSince(now)), length) }
}
