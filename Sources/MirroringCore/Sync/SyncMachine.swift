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
    package struct OperationID: Hashable, Sendable { let number: Int }
    package struct TimerID: Hashable, Sendable { let number: Int }

    /// Somebody who waits for both directions to be quiet.
    package struct AskID: Hashable, Sendable {
        package let number: Int

        package init(number: Int) { self.number = number }
    }

    package enum Reset: Hashable, Sendable {
        /// Forget the token; everything is fetched and merged again, and what does not come is deleted.
        case fetchAgain
        /// Forget what the server had; everything is sent again, under the same names.
        case uploadAgain
        /// The user deleted the data: delete the mirrored rows and all bookkeeping.
        case removeRows
    }

    package enum Operation: Hashable, Sendable {
        case setUp
        /// Fetch one page and apply it.
        case fetchChanges
        /// Read history and prepare a batch of at most so many items.
        case planExport(itemsMax: Int)
        /// Send the batch that was prepared last and settle it.
        case sendBatch
        /// Put the only item of the batch that was sent last aside, so that it holds nothing else up: marked as refused if
        /// the failure is certain, else at the end of the queue.
        case quarantine(CloudFailure)
        case reset(Reset)
    }

    package enum Outcome: Hashable, Sendable {
        case done
        /// - Parameter remaining: Changes that are still to come, where that is known.
        case pageApplied(records: Int, moreComing: Bool, remaining: Int? = nil)
        /// - Parameters:
        ///   - pending: All that waits to be sent, the batch included.
        ///   - refusal: Why something was refused for good and is not sent again, if something was.
        case batchPlanned(count: Int, pending: Int, refusal: String?)
        case batchSettled(BatchVerdict)
        case failed(CloudFailure)
    }

    package enum Event: Hashable, Sendable {
        case started
        case stopped
        case paused
        case resumed
        case accountUnavailable(reason: String)
        /// Somebody saved.
        case storeChanged
        case pushArrived
        /// The push connection stands: what was pushed before is not known.
        case connected
        case networkLost
        case timerFired(TimerID)
        case finished(OperationID, Outcome)
        case pendingCounted(Int)
        /// Somebody waits until both directions are quiet, and wants a round to begin now.
        case asked(AskID)
    }

    package enum Effect: Hashable, Sendable {
        case perform(Operation, OperationID)
        /// Stop what is being performed; its answer is not wanted.
        case cancel(OperationID)
        /// Open the push connection and keep it open.
        case listen
        case wait(seconds: Double, TimerID)
        case countPending
        case report(SyncStatus)
        /// Both directions are quiet since these asked, or nothing will happen by itself, for a reason.
        case answer([AskID], failure: CloudFailure?)
    }

    private enum State: Hashable {
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
    private struct Wishes: Hashable {
        var reset: Reset?
        var setUp = true
        var importing = true
        var exporting = true
    }

    /// Rounds of conflict in a row after which the next attempt waits.
    package static let conflictRoundsMax = 3
    /// Failures in a row, of what may be the server's own fault, after which an item that was sent alone is put aside.
    package static let aloneAttemptsMax = 4

    private var state = State.stopped
    private var wishes = Wishes()
    private var isListening = false
    private var attempt = 0
    /// How often fetching began anew since everything was imported last.
    private var fetchesAgain = 0
    private var conflictRounds = 0
    private var pending = 0
    /// Whether something was saved while an operation ran.
    private var isCountDue = false
    /// Items that the server took or refused since something was last planned from the start.
    private var sent = 0
    private var refusal: String?
    /// Why nothing is tried any more, while that is so.
    private var halt: CloudFailure?
    /// What stood in the way last. It stays the status while the next attempt runs, until the server answers.
    private var trouble: SyncStatus.Activity?
    private var itemsMax: Int
    private let itemsLimit: Int
    private var lastSuccess: Date?
    private var lastReported: SyncStatus?
    private var nextNumber = 0
    private var asks: [AskID] = []

    /// - Parameter itemsMax: Items of a request.
    package init(itemsMax: Int = 200, lastSuccess: Date? = nil) {
        itemsLimit = itemsMax
        self.itemsMax = itemsMax
        self.lastSuccess = lastSuccess
    }

    package var status: SyncStatus {
        let activity: SyncStatus.Activity =
            switch state {
            case .stopped, .paused: .paused
            case .settingUp, .resetting: trouble ?? .starting
            case .importing(_, let done, let total): trouble ?? .importing(done: done, total: total)
            case .planning, .quarantining: trouble ?? (sent > 0 ? .exporting(done: sent, total: sent + pending) : resting)
            case .sending: trouble ?? .exporting(done: sent, total: sent + pending)
            case .idle: resting
            case .waiting(_, let isOffline, _, let reason): isOffline ? .offline : .error(reason: reason)
            case .halted(let reason, _): .error(reason: reason)
            }
        return SyncStatus(activity: activity, pendingCount: pending, lastSuccess: lastSuccess)
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
        case .accountUnavailable(let reason):
            halt = CloudFailure(.accountTemporarilyUnavailable, reason)
            interrupt(.halted(reason: reason, isFinal: false), &effects)
        case .storeChanged: storeChanged(now, &effects)
        case .pushArrived: somethingIsNew(now, &effects)
        case .connected:
            wishes.exporting = true
            // Whatever stood in the way may be gone, too; only what the server asked for is waited for.
            if case .waiting(_, _, isAsked: false, _) = state {
                attempt = 0
                wishes.importing = true
                next(now, &effects)
            } else {
                somethingIsNew(now, &effects)
            }
        case .networkLost:
            if state == .idle {
                wishes.importing = true
                wait(failureOffline, now, unit, &effects)
            }
        case .timerFired(let timer): if case .waiting(timer, _, _, _) = state { next(now, &effects) }
        case .pendingCounted(let count): pending = count
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
        if case .halted(_, isFinal: true) = state, new != .stopped { return }
        if state == .stopped { return }
        state = new
    }

    private mutating func asked(_ ask: AskID, _ now: Date, _ effects: inout [Effect]) {
        asks.append(ask)
        wishes.importing = true
        wishes.exporting = true
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
        case .waiting, .paused, .halted: effects.append(.countPending)
        case .stopped, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: isCountDue = true
        }
    }

    /// Something is new on the server, or may be; that it could say so means that it can be reached.
    private mutating func somethingIsNew(_ now: Date, _ effects: inout [Effect]) {
        wishes.importing = true
        switch state {
        case .idle, .waiting(_, isOffline: true, _, _), .halted(_, isFinal: false):
            attempt = 0
            next(now, &effects)
        case .waiting, .stopped, .paused, .halted, .settingUp, .importing, .planning, .sending, .quarantining, .resetting: break
        }
    }
}

// MARK: - Steps

extension SyncMachine {
    private mutating func next(_ now: Date, _ effects: inout [Effect]) {
        if let reset = wishes.reset {
            wishes.reset = nil
            state = .resetting(begin(.reset(reset), &effects), reset)
        } else if wishes.setUp {
            wishes.setUp = false
            state = .settingUp(begin(.setUp, &effects))
        } else if wishes.importing {
            wishes.importing = false
            state = .importing(begin(.fetchChanges, &effects), done: 0, total: nil)
        } else if wishes.exporting {
            wishes.exporting = false
            sent = 0
            state = .planning(begin(.planExport(itemsMax: itemsMax), &effects))
        } else {
            attempt = 0
            conflictRounds = 0
            sent = 0
            lastSuccess = now
            state = .idle
        }
    }

    private mutating func begin(_ operation: Operation, _ effects: inout [Effect]) -> OperationID {
        nextNumber += 1
        let id = OperationID(number: nextNumber)
        effects.append(.perform(operation, id))
        return id
    }

    private mutating func finished(_ outcome: Outcome, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        switch outcome {
        case .done, .pageApplied, .batchSettled: trouble = nil
        // Planning is local, and proves nothing about the server.
        case .batchPlanned, .failed: break
        }
        switch (state, outcome) {
        case (_, .failed(let failure)): failed(failure, now, unit, &effects)
        case (.settingUp, .done):
            attempt = 0
            wishes.importing = true
            wishes.exporting = true
            listen(&effects)
            next(now, &effects)
        case (.resetting(_, let reset), .done):
            if reset != .fetchAgain { wishes.setUp = true }
            wishes.importing = true
            wishes.exporting = true
            next(now, &effects)
        case (.importing(_, let done, _), .pageApplied(let records, let moreComing, let remaining)):
            attempt = 0
            if moreComing {
                state = .importing(begin(.fetchChanges, &effects), done: done + records, total: remaining.map { done + records + $0 })
            } else {
                fetchesAgain = 0
                next(now, &effects)
            }
        case (.planning, .batchPlanned(let count, let waiting, let refusal)):
            pending = waiting
            isCountDue = false
            self.refusal = refusal
            if count > 0 {
                state = .sending(begin(.sendBatch, &effects), count: count)
            } else {
                next(now, &effects)
            }
        case (.sending(_, let count), .batchSettled(let verdict)):
            settled(verdict, of: count, now, unit, &effects)
        case (.quarantining(_, let failure), .batchSettled(let verdict)):
            wishes.exporting = true
            // An item that only went to the end of the queue: the next one shows whether it was the item.
            guard verdict.failed > 0 else { return wait(failure, now, unit, &effects) }
            attempt = 0
            pending = max(0, pending - verdict.failed)
            next(now, &effects)
        case (.settingUp, _), (.resetting, _), (.importing, _), (.planning, _), (.sending, _), (.quarantining, _), (.stopped, _), (.idle, _),
            (.waiting, _), (.paused, _), (.halted, _):
            preconditionFailure("an operation finishes with an outcome of its own kind")
        }
    }

    private mutating func listen(_ effects: inout [Effect]) {
        guard !isListening else { return }
        isListening = true
        effects.append(.listen)
    }

    private mutating func settled(
        _ verdict: BatchVerdict, of count: Int, _ now: Date, _ unit: Double, _ effects: inout [Effect]
    ) {
        pending = max(0, pending - verdict.accepted - verdict.failed)
        sent += verdict.accepted + verdict.failed
        wishes.exporting = true
        if let failure = verdict.requestFailure { return failed(failure, now, unit, &effects) }
        if verdict.isTooLarge {
            itemsMax = max(1, count / 2)
        } else if verdict.accepted > 0 {
            attempt = 0
            itemsMax = min(itemsLimit, itemsMax * 2)
        }
        if verdict.needImport > 0 {
            wishes.importing = true
            conflictRounds += 1
            if conflictRounds > Self.conflictRoundsMax {
                let failure = CloudFailure(.zoneBusy, "other devices keep changing the same records")
                return wait(failure, now, unit, &effects)
            }
        }
        if verdict.postponed > 0, verdict.accepted == 0, !verdict.isTooLarge || verdict.postponement?.retryAfter != nil {
            let failure = verdict.postponement ?? CloudFailure(.serverResponseLost, "the server did not answer for every record")
            return failed(failure, now, unit, &effects)
        }
        if verdict.needImport > 0 { return next(now, &effects) }
        wishes.exporting = false
        state = .planning(begin(.planExport(itemsMax: itemsMax), &effects))
    }

    private mutating func failed(_ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        switch state {
        case .settingUp: wishes.setUp = true
        case .importing: wishes.importing = true
        case .planning: wishes.exporting = true
        case .sending(_, let count):
            wishes.exporting = true
            if isolate(failure, in: count, now, &effects) { return }
        case .quarantining(_, let reason):
            // The store could not be written; whatever comes of it, the item is sent no more often than before.
            wishes.exporting = true
            wait(CloudFailure(.serviceUnavailable, reason.reason), now, unit, &effects)
            return
        case .resetting(_, let reset): wishes.reset = reset
        case .stopped, .idle, .waiting, .paused, .halted: break
        }
        wait(failure, now, unit, &effects)
        // The push connection is what notices first that the server can be reached.
        if case .halted(_, isFinal: true) = state { return }
        listen(&effects)
    }

    /// Looks for the item because of which a whole request was refused: by halves, and alone it is put aside.
    ///
    /// - Returns: Whether that is what happens next. What may be the server's own fault is waited for as well; an item that
    ///   failed alone several times is sent after all others.
    private mutating func isolate(_ failure: CloudFailure, in count: Int, _ now: Date, _ effects: inout [Effect]) -> Bool {
        let isCertain = failure.code == .invalidArguments
        guard isCertain || [.internalError, .serverRejectedRequest].contains(failure.code) else { return false }
        if count > 1 {
            itemsMax = max(1, count / 2)
            if isCertain { next(now, &effects) }
            return isCertain
        }
        guard isCertain || attempt + 1 >= Self.aloneAttemptsMax else { return false }
        state = .quarantining(begin(.quarantine(failure), &effects), failure)
        return true
    }

    private mutating func wait(_ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        attempt += 1
        // What was saved while the operation ran is not among what waits yet.
        if isCountDue { effects.append(.countPending) }
        isCountDue = false
        switch RetryPolicy.decide(failure, attempt: attempt, unit: unit) {
        case .wait(let seconds, let isOffline, let reason):
            nextNumber += 1
            let timer = TimerID(number: nextNumber)
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
            itemsMax = max(1, itemsMax / 2)
            retry(failure, now, unit, &effects)
        case .importFirst:
            wishes.importing = true
            retry(failure, now, unit, &effects)
        }
    }

    /// At once for the first times, then like any failure.
    private mutating func retry(_ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        if attempt < RetryPolicy.attemptsMax { return next(now, &effects) }
        wait(CloudFailure(.serverRejectedRequest, failure.reason), now, unit, &effects)
    }

    /// At once for the first times, then after a wait: it is never given up. Pages that come in between do not count: of
    /// servers behind one address each may refuse what the other one gave.
    private mutating func resetSoon(_ reset: Reset, _ failure: CloudFailure, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
        wishes.reset = reset
        if reset == .fetchAgain {
            fetchesAgain += 1
            attempt = max(attempt, fetchesAgain)
        }
        if attempt < RetryPolicy.attemptsMax { return next(now, &effects) }
        wait(CloudFailure(.serviceUnavailable, failure.reason), now, unit, &effects)
    }
}
