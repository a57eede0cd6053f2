// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What is done next, and what becomes of what was done.
extension SyncMachine {
    mutating func next(_ now: Date, _ effects: inout [Effect]) {
        if let reset = wishes.reset {
            wishes.reset = nil
            state = .resetting(begin(.reset(reset), &effects), reset)
        } else if wishes.setUp {
            wishes.setUp = false
            state = .settingUp(begin(.setUp, &effects))
        } else if wishes.importing {
            let operation: Operation = wishes.isPushedOnly ? .fetchPushed : .fetchChanges
            wishes.importing = false
            state = .importing(begin(operation, &effects), done: 0, total: nil)
        } else if wishes.exporting {
            wishes.exporting = false
            sent = 0
            state = .planning(begin(hold == nil ? .planExport(plannedSize) : .planRoom(plannedSize), &effects))
        } else if hold != nil {
            waitForRoom(now, &effects)
        } else {
            attempt = 0
            conflictRounds = 0
            sent = 0
            lastSuccess = now
            state = .idle
        }
    }

    /// Items are saved one by one after ``conflictRoundsMax`` rounds: who changes one record all the time doesn't hold up the others.
    private var plannedSize: RequestSize {
        var size = requestSize
        size.isAtomic = conflictRounds < Self.conflictRoundsMax
        return size
    }

    mutating func begin(_ operation: Operation, _ effects: inout [Effect]) -> OperationID {
        nextNumber += 1
        let id = OperationID(number: nextNumber)
        effects.append(.perform(operation, id))
        return id
    }

    mutating func finished(_ outcome: Outcome, _ now: Date, _ unit: Double, _ effects: inout [Effect]) {
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
                received = 0
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

    mutating func listen(_ effects: inout [Effect]) {
        guard !isListening else { return }
        isListening = true
        effects.append(.listen)
    }

    mutating func settled(
        _ verdict: BatchVerdict, of count: Int, _ now: Date, _ unit: Double, _ effects: inout [Effect]
    ) {
        pending = max(0, pending - verdict.accepted - verdict.failed)
        sent += verdict.accepted + verdict.failed
        wishes.exporting = true
        // What was taken may have made room.
        if verdict.accepted > 0 { hold = nil }
        if let failure = verdict.requestFailure, failure.code != .quotaExceeded || verdict.accepted == 0 {
            return failed(failure, now, unit, &effects)
        }
        if verdict.isTooLarge {
            requestSize.halve(count)
        } else if verdict.accepted > 0 {
            attempt = 0
            requestSize = requestSize.afterAcceptance
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
        state = .planning(begin(.planExport(plannedSize), &effects))
    }
}
