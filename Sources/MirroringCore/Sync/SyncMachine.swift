// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import Foundation

/// The state machine of one store's sync: set-up, import, export, push; one operation at a time.
///
///     ┌──────────┐    ┌───────────┐  conflict  ┌──────────┐    ┌──────┐
///     │ settingUp├───▶│ importing │◀───────────┤ planning │───▶│ idle │
///     └────▲─────┘    └─────┬─────┘            │ sending  │    └──┬───┘
///          │                └─────────────────▶└──────────┘       │ push, save
///          │ timer, push connected                                ▼
///     ┌────┴─────┐   any failure   import precedes export, so that sent changes were merged
///     │ waiting  │◀───────────────
///     └──────────┘
///
/// A value without I/O. The shell performs one operation at a time, reports its outcome with the identifier of the operation, and passes on
/// the events around it. An outcome with an older identifier is late and changes nothing.
///
/// Invariant: a state with an operation has performed exactly one `.perform` effect and waits for its outcome; ``State/waiting(_:)`` has a
/// timer.
package struct SyncMachine: Sendable {
    package enum State: Hashable, Sendable {
        case stopped
        case settingUp(OperationID)
        case importing(OperationID, ImportProgress)
        case planning(OperationID, ExportProgress)
        case sending(OperationID, ExportBatch, ExportProgress)
        case quarantining(OperationID, CloudFailure, ExportProgress)
        case resetting(OperationID, Reset)
        case idle
        case waiting(Wait)
        case paused
        case halted(Halt)
    }

    package struct ImportProgress: Hashable, Sendable {
        /// Records of this import so far.
        var done = 0
        /// With those that are still to come; nil if the server doesn't count them.
        var total: Int?
    }

    package struct ExportProgress: Hashable, Sendable {
        var scope = ExportScope.all
        /// How many items the batch may have.
        var size: RequestSize
        /// Items that the server accepted or rejected since planning began.
        var done = 0
        /// Items of the batch in flight that the server has stored or staged.
        var received = 0
    }

    package struct Wait: Hashable, Sendable {
        let timer: TimerID
        /// Whether the server is unreachable, rather than rejecting requests.
        let isOffline: Bool
        /// Whether the server named the delay.
        let isDelayFromServer: Bool
        let reason: String
    }

    /// No attempt is made before an event that may remove the cause.
    package struct Halt: Hashable, Sendable {
        let failure: CloudFailure
        /// Whether only another configuration, or the next launch, ends it.
        let isFinal: Bool
    }

    /// Conflicts in a row after which the next attempt waits.
    package static let conflictRoundsMax = 3
    /// Items of a request. A server with a lower limit receives fewer.
    ///
    /// Source: Apple's `CKModifyRecordsOperation` documentation (400 items).
    package static let itemsPerRequest = 400
    /// Failures in a row, of a kind that may be the server's fault, after which an item that was sent alone is quarantined.
    package static let singleItemAttemptsMax = 4

    package internal(set) var state = State.stopped
    var work = PendingWork()
    var streak = FailureStreak()
    /// Changes that are not on the server.
    var pendingCount = 0
    /// Whether a save during an operation is missing in ``pendingCount``.
    var isPendingCountStale = false
    /// Why the server rejected a change permanently, as the last plan found it.
    var rejection: String?
    /// nil unless the user's storage is full.
    var quotaPause: QuotaPause?
    var requestSize: RequestSize
    var lastSuccess: Date?
    private var reportedStatus: SyncStatus?
    private var lastNumber = 0
    private var waiters: [WaiterID] = []

    /// One call of ``handle(_:now:jitter:)``: its inputs, and the effects so far.
    struct Turn {
        let now: Date
        let jitter: Double
        var effects: [Effect] = []
    }

    /// - Parameter itemsMax: Items of a request.
    package init(itemsMax: Int = itemsPerRequest, lastSuccess: Date? = nil) {
        requestSize = RequestSize(most: itemsMax)
        self.lastSuccess = lastSuccess
    }

    // MARK: Events

    /// Returns the effects of an event, in the order in which the shell carries them out.
    ///
    /// - Parameters:
    ///   - now: The time of the shell's clock.
    ///   - jitter: A random number from 0 to 1, for the spread of delays.
    package mutating func handle(_ event: Event, now: Date, jitter: Double) -> [Effect] {
        var turn = Turn(now: now, jitter: jitter)
        switch event {
        case .started: if state == .stopped { startNext(&turn) }
        case .stopped: interrupt(.stopped, &turn)
        case .paused: interrupt(.paused, &turn)
        case .resumed: if state == .paused { startNext(&turn) }
        case .accountChanged: accountChanged(&turn)
        case .storeChanged: storeChanged(&turn)
        case .pushArrived:
            work.schedulePushedImport()
            serverChanged(&turn)
        case .pushConnected: pushConnected(&turn)
        case .pushDisconnected:
            if state == .idle {
                work.scheduleImport()
                wait(CloudFailure(.networkUnavailable, "the server cannot be reached"), &turn)
            }
        case .timerFired(let timer): timerFired(timer, &turn)
        case .pendingCounted(let count): pendingCounted(count)
        case .itemsReceived(let count):
            if case .sending(let id, let batch, var progress) = state {
                progress.received = count
                state = .sending(id, batch, progress)
            }
        case .syncRequested(let waiter): syncRequested(waiter, &turn)
        case .finished(let id, let outcome): if id == operation { finished(outcome, &turn) }
        }
        let status = status
        if status != reportedStatus {
            reportedStatus = status
            turn.effects.append(.report(status))
        }
        // After the status, so that a resumed caller finds the status that belongs to the outcome.
        resumeWaiters(&turn)
        return turn.effects
    }

    private var operation: OperationID? {
        switch state {
        case .settingUp(let id), .importing(let id, _), .planning(let id, _), .sending(let id, _, _), .quarantining(let id, _, _),
            .resetting(let id, _):
            id
        case .stopped, .idle, .waiting, .paused, .halted: nil
        }
    }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Ends the operation, whose effect on the server is in doubt: both directions are due again.
    private mutating func interrupt(_ next: State, _ turn: inout Turn) {
        if let operation { turn.effects.append(.cancel(operation)) }
        switch state {
        case .settingUp: work.setUp = true
        case .resetting(_, let reset): work.reset = reset
        case .stopped, .importing, .planning, .sending, .quarantining, .idle, .waiting, .paused, .halted: break
        }
        work.scheduleBoth()
        quotaPause = nil
        switch state {
        case .stopped: return
        case .halted(let halt) where halt.isFinal && next != .stopped: return
        case .settingUp, .importing, .planning, .sending, .quarantining, .resetting, .idle, .waiting, .paused, .halted: state = next
        }
    }

    /// Nothing else runs before a set-up has identified the account.
    private mutating func accountChanged(_ turn: inout Turn) {
        work.scheduleSetUpForAccount()
        switch state {
        case .stopped, .paused: return
        // A final halt ends as well: the configuration changed.
        case .halted: state = .idle
        case .settingUp, .importing, .planning, .sending, .quarantining, .resetting, .idle, .waiting: interrupt(.idle, &turn)
        }
        streak.reset()
        quotaPause = nil
        work.scheduleBoth()
        startNext(&turn)
    }

    private mutating func storeChanged(_ turn: inout Turn) {
        work.scheduleExport()
        switch state {
        case .idle: startNext(&turn)
        case .waiting where isWaitingForQuota: startNext(&turn)
        case .waiting, .paused, .halted: turn.effects.append(.countPending)
        case .stopped, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: isPendingCountStale = true
        }
    }

    /// The server may have new changes. An event from it proves that it can be reached.
    private mutating func serverChanged(_ turn: inout Turn) {
        switch state {
        case .idle:
            streak.attempts = 0
            startNext(&turn)
        case .waiting(let wait) where wait.isOffline:
            streak.attempts = 0
            startNext(&turn)
        case .halted(let halt) where !halt.isFinal:
            streak.attempts = 0
            startNext(&turn)
        case .waiting where isWaitingForQuota: startNext(&turn)
        case .waiting, .halted, .stopped, .paused, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: break
        }
    }

    private mutating func pushConnected(_ turn: inout Turn) {
        work.scheduleBoth()
        // The cause of the failure may be gone as well. Only a delay that the server named is kept.
        guard case .waiting(let wait) = state, !wait.isDelayFromServer else { return serverChanged(&turn) }
        streak.attempts = 0
        quotaPause = nil
        startNext(&turn)
    }

    private mutating func timerFired(_ timer: TimerID, _ turn: inout Turn) {
        if quotaPause?.timer == timer {
            quotaPause = nil
            work.scheduleExport()
        }
        if case .waiting(let wait) = state, wait.timer == timer { startNext(&turn) }
    }

    /// A count that arrives after planning counted is stale.
    private mutating func pendingCounted(_ count: Int) {
        switch state {
        case .stopped, .settingUp, .importing, .resetting, .waiting, .paused, .halted: pendingCount = count
        case .idle, .planning, .sending, .quarantining: break
        }
    }

    private mutating func syncRequested(_ waiter: WaiterID, _ turn: inout Turn) {
        waiters.append(waiter)
        work.scheduleBoth()
        if quotaPause?.isLengthFromServer == false { quotaPause = nil }
        switch state {
        case .waiting(let wait) where wait.isDelayFromServer: return
        case .halted(let halt) where halt.isFinal: return
        case .idle, .waiting, .halted:
            streak.attempts = 0
            startNext(&turn)
        case .stopped, .paused, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: return
        }
    }

    private mutating func resumeWaiters(_ turn: inout Turn) {
        if waiters.isEmpty { return }
        let failure: CloudFailure?
        switch state {
        case .idle: failure = nil
        case .paused: failure = CloudFailure(.operationCancelled, "syncing is paused")
        case .halted(let halt): failure = halt.failure
        case .stopped, .settingUp, .importing, .planning, .sending, .quarantining, .resetting, .waiting: return
        }
        turn.effects.append(.resume(waiters, failure: failure))
        waiters = []
    }

    // MARK: Status

    package var status: SyncStatus {
        let activity: SyncStatus.Activity =
            switch state {
            case .stopped, .paused: .paused
            case .settingUp, .resetting: streak.activity ?? .starting
            case .importing(_, let progress): streak.activity ?? .importing(done: progress.done, total: progress.total)
            case .planning(_, let progress), .quarantining(_, _, let progress):
                streak.activity ?? (progress.done > 0 ? .exporting(done: progress.done, total: progress.done + pendingCount) : idleActivity)
            case .sending(_, _, let progress):
                streak.activity ?? .exporting(done: progress.done + progress.received, total: progress.done + pendingCount)
            case .idle: idleActivity
            case .waiting(let wait): wait.isOffline ? .offline : .error(reason: wait.reason)
            case .halted(let halt): .error(reason: halt.failure.reason)
            }
        var status = SyncStatus(activity: activity, pendingCount: pendingCount, lastSuccess: lastSuccess)
        if case .halted(let halt) = state { status.isSignedOut = halt.failure.code == .notAuthenticated }
        return status
    }

    /// A permanent rejection stays visible: a change of the user's is not on the server.
    private var idleActivity: SyncStatus.Activity { rejection.map { .error(reason: $0) } ?? .idle }
}
