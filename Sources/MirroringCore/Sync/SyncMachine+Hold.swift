// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What goes on while the user's storage is full: imports, and deletions, which make room.
extension SyncMachine {
    /// Until when only what needs no room is sent.
    struct Hold: Hashable {
        let until: Date
        let seconds: Double
        /// Whether the server said how long to wait.
        let isAsked: Bool
        let reason: String
        /// Ends the hold; nil when another wait took its place.
        var timer: TimerID?
    }

    /// Whether nothing is done but to wait for room.
    var isHeld: Bool {
        guard let timer = hold?.timer, case .waiting(timer, _, _, _) = state else { return false }
        return true
    }

    /// Room was asked for and there was none: what was deleted meanwhile, or before and is behind in the queue, goes first.
    mutating func holdUp(_ failure: CloudFailure, _ now: Date, _ effects: inout [Effect]) {
        if isCountDue { effects.append(.countPending) }
        isCountDue = false
        // What is refused although it needs no room does not go any sooner.
        wishes.exporting = hold == nil
        let seconds = failure.retryAfter ?? RetryPolicy.quotaSeconds
        hold = hold ?? Hold(until: now + seconds, seconds: seconds, isAsked: failure.retryAfter != nil, reason: failure.reason)
        trouble = .error(reason: failure.reason)
        _ = holdTimer(now, &effects)
        next(now, &effects)
    }

    /// Nothing is left to be done that needs no room.
    mutating func waitForRoom(_ now: Date, _ effects: inout [Effect]) {
        guard let hold else { preconditionFailure("only a storage that was full is waited for") }
        attempt = 0
        conflictRounds = 0
        trouble = .error(reason: hold.reason)
        state = .waiting(holdTimer(now, &effects), isOffline: false, isAsked: hold.isAsked, reason: hold.reason)
    }

    private mutating func holdTimer(_ now: Date, _ effects: inout [Effect]) -> TimerID {
        guard let held = hold else { preconditionFailure("what ends a hold belongs to one") }
        if let timer = held.timer { return timer }
        nextNumber += 1
        let timer = TimerID(number: nextNumber)
        hold?.timer = timer
        // A clock that was put back does not make it longer.
        effects.append(.wait(seconds: min(max(0, held.until.timeIntervalSince(now)), held.seconds), timer))
        return timer
    }

    /// The time is over, whatever is being done.
    mutating func endHold(_ timer: TimerID) {
        guard hold?.timer == timer else { return }
        hold = nil
        wishes.exporting = true
    }
}
