// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// The life of one mirror: set up, import, export, listen; one thing at a time.
///
///     ┌──────────┐    ┌───────────┐  conflict  ┌──────────┐    ┌──────┐
///     │ settingUp├───▶│ importing │◀───────────┤ planning │───▶│ idle │
///     └────▲─────┘    └─────┬─────┘            │ sending  │    └──┬───┘
///          │                └─────────────────▶└──────────┘       │ push, save
///          │ timer, connected                                     ▼
///     ┌────┴─────┐   any failure   import comes before export, so that what is sent was merged
///     │ waiting  │◀───────────────
///     └──────────┘
///
/// The shell performs one operation at a time, says when it finished with the identifier that it was given, and
/// feeds what happens around it. An answer with an older identifier is late and changes nothing.
package struct SyncMachine: Sendable {
    enum State: Hashable {
        case stopped
        case settingUp(OperationID)
        case importing(OperationID, done: Int, total: Int?)
        case planning(OperationID)
        case sending(OperationID, count: Int)
        case quarantining(OperationID, CloudFailure)
        case resetting(OperationID, Reset)
        case idle
        /// - Parameter isAsked: Whether the server said how long to wait.
        case waiting(TimerID, isOffline: Bool, isAsked: Bool, reason: String)
        case paused
        case halted(reason: String, isFinal: Bool)
    }

    /// What is still to be done when nothing is being done.
    struct Wishes: Hashable {
        var reset: Reset?
        var setUp = true
        var importing = true { didSet { isPushedOnly = false } }
        /// Whether it is only because of notifications that something is to be imported.
        private(set) var isPushedOnly = false
        var exporting = true

        mutating func importPushed() {
            let isOther = importing && !isPushedOnly
            importing = true
            isPushedOnly = !isOther
        }
    }

    /// Rounds of conflict in a row after which the next attempt waits.
    package static let conflictRoundsMax = 3
    /// Items of a request at most, unless somebody says otherwise. A server that takes fewer says so, and gets fewer.
    ///
    /// Source: Apple's `CKModifyRecordsOperation` documentation (400 items).
    package static let itemsPerRequest = 400

    /// Failures in a row, of what may be the server's own fault, after which an item that was sent alone is put aside.
    package static let aloneAttemptsMax = 4

    var state = State.stopped
    var wishes = Wishes()
    var isListening = false
    var attempt = 0
    /// How often fetching began anew since everything was imported last.
    var fetchesAgain = 0
    var conflictRounds = 0
    var pending = 0
    /// Whether something was saved while an operation ran.
    var isCountDue = false
    /// Items that the server took or refused since something was last planned from the start.
    var sent = 0
    /// Items of the batch that is being sent that the server has, saved or staged.
    var received = 0
    var refusal: String?
    /// Why nothing is tried any more, while that is so.
    var halt: CloudFailure?
    /// What stood in the way last. It stays the status while the next attempt runs, until the server answers.
    var trouble: SyncStatus.Activity?
    /// While the user's storage is full.
    var hold: Hold?
    var requestSize: RequestSize
    var lastSuccess: Date?
    private var lastReported: SyncStatus?
    var nextNumber = 0
    private var asks: [AskID] = []

    /// - Parameter itemsMax: Items of a request.
    package init(itemsMax: Int = itemsPerRequest, lastSuccess: Date? = nil) {
        requestSize = RequestSize(most: itemsMax)
        self.lastSuccess = lastSuccess
    }

    package var status: SyncStatus {
        let activity: SyncStatus.Activity =
            switch state {
            case .stopped, .paused: .paused
            case .settingUp, .resetting: trouble ?? .starting
            case .importing(_, let done, let total): trouble ?? .importing(done: done, total: total)
            case .planning, .quarantining: trouble ?? (sent > 0 ? .exporting(done: sent, total: sent + pending) : resting)
            case .sending: trouble ?? .exporting(done: sent + received, total: sent + pending)
            case .idle: resting
            case .waiting(_, let isOffline, _, let reason): isOffline ? .offline : .error(reason: reason)
            case .halted(let reason, _): .error(reason: reason)
            }
        var status = SyncStatus(activity: activity, pendingCount: pending, lastSuccess: lastSuccess)
        if case .halted = state { status.isSignedOut = halt?.code == .notAuthenticated }
        return status
    }

    /// A refusal stays visible: everything else goes on, but something of the user's is not on the server.
    private var resting: SyncStatus.Activity { refusal.map { .error(reason: $0) } ?? .idle }

    /// - Parameters:
    ///   - now: Read by the shell's clock.
    ///   - unit: A random number from 0 to 1, for the spread of delays.
    package mutating func handle(_ event: Event, now: Date, unit: Double) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .started: if state == .stopped { next(now, &effects) }
        case .stopped: interrupt(.stopped, &effects)
        case .paused: interrupt(.paused, &effects)
        case .resumed: if state == .paused { next(now, &effects) }
        case .accountChanged: accountChanged(now, &effects)
        case .storeChanged: storeChanged(now, &effects)
        case .pushArrived:
            wishes.importPushed()
            somethingIsNew(now, &effects)
        case .connected:
            wishes.exporting = true
            wishes.importing = true
            // Whatever stood in the way may be gone, too; only what the server asked for is waited for.
            if case .waiting(_, _, isAsked: false, _) = state {
                attempt = 0
                hold = nil
                next(now, &effects)
            } else {
                somethingIsNew(now, &effects)
            }
        case .networkLost:
            if state == .idle {
                wishes.importing = true
                wait(failureOffline, now, unit, &effects)
            }
        case .timerFired(let timer):
            endHold(timer)
            if case .waiting(timer, _, _, _) = state { next(now, &effects) }
        case .pendingCounted(let count): counted(count)
        case .itemsReceived(let count): if case .sending = state { received = count }
        case .asked(let ask): asked(ask, now, &effects)
        case .finished(let id, let outcome): if id == operation { finished(outcome, now, unit, &effects) }
        }
        let status = status
        if status != lastReported {
            lastReported = status
            effects.append(.report(status))
        }
        // Whoever asked finds the status that goes with the answer.
        answer(&effects)
        return effects
    }

    private var failureOffline: CloudFailure { CloudFailure(.networkUnavailable, "the server cannot be reached") }

    private var operation: OperationID? {
        switch state {
        case .settingUp(let id), .importing(let id, _, _), .planning(let id), .sending(let id, _), .quarantining(let id, _),
            .resetting(let id, _):
            id
        case .stopped, .idle, .waiting, .paused, .halted: nil
        }
    }

    // MARK: From outside

    private mutating func interrupt(_ new: State, _ effects: inout [Effect]) {
        if let operation { effects.append(.cancel(operation)) }
        // What was under way may or may not have happened: both directions are looked at again.
        switch state {
        case .settingUp: wishes.setUp = true
        case .resetting(_, let reset): wishes.reset = reset
        default: break
        }
        wishes.importing = true
        wishes.exporting = true
        hold = nil
        if case .halted(_, isFinal: true) = state, new != .stopped { return }
        if state == .stopped { return }
        state = new
    }

    /// Nothing goes on before it is known whose the database is; what stood in the way may be gone.
    private mutating func accountChanged(_ now: Date, _ effects: inout [Effect]) {
        wishes.setUp = true
        // The connection that stands is the other user's.
        isListening = false
        switch state {
        case .stopped: return
        case .paused: break
        case .halted:
            // Also what was given up for good: what is configured now is something else.
            state = .idle
            resume(now, &effects)
        case .settingUp, .importing, .planning, .sending, .quarantining, .resetting, .idle, .waiting:
            interrupt(.idle, &effects)
            resume(now, &effects)
        }
    }

    private mutating func resume(_ now: Date, _ effects: inout [Effect]) {
        attempt = 0
        conflictRounds = 0
        halt = nil
        trouble = nil
        hold = nil
        wishes.importing = true
        wishes.exporting = true
        next(now, &effects)
    }

    private mutating func asked(_ ask: AskID, _ now: Date, _ effects: inout [Effect]) {
        asks.append(ask)
        wishes.importing = true
        wishes.exporting = true
        if hold?.isAsked == false { hold = nil }
        switch state {
        case .idle, .waiting(_, _, isAsked: false, _), .halted(_, isFinal: false):
            attempt = 0
            next(now, &effects)
        case .waiting, .stopped, .paused, .halted, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: break
        }
    }

    /// Tells those who wait when there is nothing left to wait for.
    private mutating func answer(_ effects: inout [Effect]) {
        if asks.isEmpty { return }
        let failure: CloudFailure?
        switch state {
        case .idle: failure = nil
        case .paused: failure = CloudFailure(.operationCancelled, "syncing is paused")
        case .halted(let reason, _): failure = halt ?? CloudFailure(.internalError, reason)
        case .stopped, .settingUp, .importing, .planning, .sending, .quarantining, .resetting, .waiting: return
        }
        effects.append(.answer(asks, failure: failure))
        asks = []
    }

    private mutating func storeChanged(_ now: Date, _ effects: inout [Effect]) {
        wishes.exporting = true
        switch state {
        case .idle: next(now, &effects)
        case .waiting where isHeld: next(now, &effects)
        case .waiting, .paused, .halted: effects.append(.countPending)
        case .stopped, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: isCountDue = true
        }
    }

    /// A count that comes late, since planning began to count, is older than what is known.
    private mutating func counted(_ count: Int) {
        switch state {
        case .stopped, .settingUp, .importing, .resetting, .waiting, .paused, .halted: pending = count
        case .idle, .planning, .sending, .quarantining: break
        }
    }

    /// Something is new on the server, or may be; that it could say so means that it can be reached.
    private mutating func somethingIsNew(_ now: Date, _ effects: inout [Effect]) {
        switch state {
        case .idle, .waiting(_, isOffline: true, _, _), .halted(_, isFinal: false):
            attempt = 0
            next(now, &effects)
        case .waiting where isHeld: next(now, &effects)
        case .waiting, .stopped, .paused, .halted, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: break
        }
    }
}
