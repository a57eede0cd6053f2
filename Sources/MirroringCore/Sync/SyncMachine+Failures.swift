// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// State transitions after failures: retry, wait, pause for quota, quarantine, reset, halt.
extension SyncMachine {
    mutating func failed(_ failure: CloudFailure, _ turn: inout Turn) {
        switch state {
        case .settingUp: work.setUp = true
        case .importing: work.scheduleImport()
        case .planning: work.scheduleExport()
        case .sending(_, let batch, let progress):
            work.scheduleExport()
            if isolate(failure, in: batch, progress, &turn) { return }
            if failure.code == .limitExceeded { requestSize.had(batch.items.count) }
        case .quarantining(_, let cause, _):
            // The store could not be written. The item is not sent more often than before.
            work.scheduleExport()
            return wait(CloudFailure(.serviceUnavailable, cause.reason), &turn)
        case .resetting(_, let reset): work.reset = reset
        case .stopped, .idle, .waiting, .paused, .halted: break
        }
        switch state {
        case .planning where failure.code == .quotaExceeded, .sending where failure.code == .quotaExceeded: pauseForQuota(failure, &turn)
        case .planning, .sending, .settingUp, .importing, .quarantining, .resetting, .stopped, .idle, .waiting, .paused, .halted:
            wait(failure, &turn)
        }
        // The push stream is the first to notice that the server can be reached.
        if case .halted(let halt) = state, halt.isFinal { return }
        listen(&turn)
    }

    // MARK: Waiting

    mutating func wait(_ failure: CloudFailure, _ turn: inout Turn) {
        streak.attempts += 1
        countIfStale(&turn)
        switch RetryPolicy.decide(failure, attempt: streak.attempts, jitter: turn.jitter) {
        case .wait(let delay, let isOffline, let reason):
            let timer = TimerID(number: nextNumber())
            quotaPause?.timer = nil
            state = .waiting(Wait(timer: timer, isOffline: isOffline, isDelayFromServer: failure.retryAfter != nil, reason: reason))
            streak.activity = isOffline ? .offline : .error(reason: reason)
            turn.effects.append(.wait(delay, timer))
        case .pause: state = .halted(Halt(failure: failure, isFinal: false))
        case .stop: state = .halted(Halt(failure: failure, isFinal: true))
        case .fetchAgain: reset(.fetchAgain, failure, &turn)
        case .uploadAgain: reset(failure.restoredVersion.map { Reset.uploadLost(after: $0) } ?? .uploadAgain, failure, &turn)
        case .removeRows: reset(.removeRows, failure, &turn)
        case .split:
            requestSize.lowerLimit()
            retry(failure, &turn)
        case .importFirst:
            work.scheduleImport()
            retry(failure, &turn)
        }
    }

    /// A save during the operation is missing in the count.
    private mutating func countIfStale(_ turn: inout Turn) {
        if isPendingCountStale { turn.effects.append(.countPending) }
        isPendingCountStale = false
    }

    /// Retries without a delay, from ``RetryPolicy/attemptsMax`` on with backoff.
    private mutating func retry(_ failure: CloudFailure, _ turn: inout Turn) {
        if streak.attempts < RetryPolicy.attemptsMax { return startNext(&turn) }
        wait(CloudFailure(.serverRejectedRequest, failure.reason), &turn)
    }

    /// Resets without a delay, from ``RetryPolicy/attemptsMax`` on with backoff; there is no last attempt.
    private mutating func reset(_ reset: Reset, _ failure: CloudFailure, _ turn: inout Turn) {
        work.reset = reset
        if reset == .fetchAgain {
            streak.fullFetches += 1
            streak.attempts = max(streak.attempts, streak.fullFetches)
        }
        if streak.attempts < RetryPolicy.attemptsMax { return startNext(&turn) }
        wait(CloudFailure(.serviceUnavailable, failure.reason), &turn)
    }

    // MARK: Quarantine

    /// Searches for the item that makes the server reject a whole request: by halves; alone, it is quarantined.
    ///
    /// - Returns: Whether the search decided what happens next. A failure that may be the server's fault waits as well; an item that failed
    ///   alone several times is moved behind all others.
    private mutating func isolate(
        _ failure: CloudFailure, in batch: ExportBatch, _ progress: ExportProgress, _ turn: inout Turn
    ) -> Bool {
        let isCertain = failure.code == .invalidArguments
        guard isCertain || [.internalError, .serverRejectedRequest].contains(failure.code) else { return false }
        if batch.items.count > 1 {
            requestSize.halve(batch.items.count)
            if isCertain { startNext(&turn) }
            return isCertain
        }
        guard isCertain || streak.attempts + 1 >= Self.singleItemAttemptsMax else { return false }
        let id = OperationID(number: nextNumber())
        turn.effects.append(.perform(.quarantine(batch, failure), id))
        state = .quarantining(id, failure, progress)
        return true
    }

    // MARK: Quota

    /// Whether the only thing left to do is to wait for storage.
    var isWaitingForQuota: Bool {
        guard let timer = quotaPause?.timer, case .waiting(let wait) = state else { return false }
        return wait.timer == timer
    }

    /// The server has no storage left: deletions, which may be behind in the queue, are sent first.
    private mutating func pauseForQuota(_ failure: CloudFailure, _ turn: inout Turn) {
        countIfStale(&turn)
        // A deletion that is rejected for the quota as well is not retried before the pause ends.
        if quotaPause == nil { work.scheduleExport() } else { work.cancelExport() }
        var pause = quotaPause ?? QuotaPause(failure, now: turn.now)
        streak.activity = .error(reason: failure.reason)
        _ = startTimer(of: &pause, &turn)
        quotaPause = pause
        startNext(&turn)
    }

    /// Everything that needs no storage was sent.
    mutating func waitForQuota(_ present: QuotaPause, _ turn: inout Turn) {
        var pause = present
        streak.settle()
        streak.activity = .error(reason: pause.reason)
        let timer = startTimer(of: &pause, &turn)
        quotaPause = pause
        state = .waiting(Wait(timer: timer, isOffline: false, isDelayFromServer: pause.isLengthFromServer, reason: pause.reason))
    }

    private mutating func startTimer(of pause: inout QuotaPause, _ turn: inout Turn) -> TimerID {
        if let timer = pause.timer { return timer }
        let timer = TimerID(number: nextNumber())
        pause.timer = timer
        turn.effects.append(.wait(pause.remaining(at: turn.now), timer))
        return timer
    }
}
