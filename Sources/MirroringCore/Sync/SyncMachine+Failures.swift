// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What is done about a failure.
extension SyncMachine {
    mutating func failed(_ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        switch state {
        case .settingUp: wishes.setUp = true
        case .importing: wishes.importing = true
        case .planning: wishes.exporting = true
        case .sending(_, let count):
            wishes.exporting = true
            if isolate(failure, in: count, now, &effects) { return }
            if failure.code == .limitExceeded { requestSize.had(count) }
        case .quarantining(_, let reason):
            // The store could not be written; whatever comes of it, the item is sent no more often than before.
            wishes.exporting = true
            wait(CloudFailure(.serviceUnavailable, reason.reason), now, unit, &effects)
            return
        case .resetting(_, let reset): wishes.reset = reset
        case .stopped, .idle, .waiting, .paused, .halted: break
        }
        switch state {
        case .planning where failure.code == .quotaExceeded, .sending where failure.code == .quotaExceeded: holdUp(failure, now, &effects)
        default: wait(failure, now, unit, &effects)
        }
        // The push connection is what notices first that the server can be reached.
        if case .halted(_, isFinal: true) = state { return }
        listen(&effects)
    }

    /// Looks for the item because of which a whole request was refused: by halves, and alone it is put aside.
    ///
    /// - Returns: Whether that is what happens next. What may be the server's own fault is waited for as well; an item that
    ///   failed alone several times is sent after all others.
    mutating func isolate(_ failure: CloudFailure, in count: Int, _ now: Date, _ effects: inout [Effect]) -> Bool {
        let isCertain = failure.code == .invalidArguments
        guard isCertain || [.internalError, .serverRejectedRequest].contains(failure.code) else { return false }
        if count > 1 {
            requestSize.halve(count)
            if isCertain { next(now, &effects) }
            return isCertain
        }
        guard isCertain || attempt + 1 >= Self.aloneAttemptsMax else { return false }
        state = .quarantining(begin(.quarantine(failure), &effects), failure)
        return true
    }

    mutating func wait(_ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        attempt += 1
        // What was saved while the operation ran is not among what waits yet.
        if isCountDue { effects.append(.countPending) }
        isCountDue = false
        switch RetryPolicy.decide(failure, attempt: attempt, unit: unit) {
        case .wait(let seconds, let isOffline, let reason):
            nextNumber += 1
            let timer = TimerID(number: nextNumber)
            hold?.timer = nil
            state = .waiting(timer, isOffline: isOffline, isAsked: failure.retryAfter != nil, reason: reason)
            trouble = isOffline ? .offline : .error(reason: reason)
            effects.append(.wait(seconds: seconds, timer))
        case .pause(let reason):
            halt = failure
            state = .halted(reason: reason, isFinal: false)
        case .stop(let reason):
            halt = failure
            state = .halted(reason: reason, isFinal: true)
        case .fetchAgain: resetSoon(.fetchAgain, failure, now, unit, &effects)
        case .uploadAgain: resetSoon(.uploadAgain, failure, now, unit, &effects)
        case .removeRows: resetSoon(.removeRows, failure, now, unit, &effects)
        case .split:
            requestSize.lowerLimit()
            retry(failure, now, unit, &effects)
        case .importFirst:
            wishes.importing = true
            retry(failure, now, unit, &effects)
        }
    }

    /// At once for the first times, then like any failure.
    mutating func retry(_ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        if attempt < RetryPolicy.attemptsMax { return next(now, &effects) }
        wait(CloudFailure(.serverRejectedRequest, failure.reason), now, unit, &effects)
    }

    /// At once for the first times, then after a wait: it is never given up. Pages that come in between do not count: of
    /// servers behind one address each may refuse what the other one gave.
    mutating func resetSoon(_ reset: Reset, _ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        wishes.reset = reset
        if reset == .fetchAgain {
            fetchesAgain += 1
            attempt = max(attempt, fetchesAgain)
        }
        if attempt < RetryPolicy.attemptsMax { return next(now, &effects) }
        wait(CloudFailure(.serviceUnavailable, failure.reason), now, unit, &effects)
    }
}
