// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// State transitions at the end of an operation: its outcome, and the choice of the next operation.
extension SyncMachine {
    // MARK: The next operation

    mutating func startNext(_ turn: inout Turn) {
        switch work.popFirst() {
        case .reset(let reset): state = .resetting(begin(.reset(reset), &turn), reset)
        case .setUp: state = .settingUp(begin(.setUp, &turn))
        case .import(let isPushed): state = .importing(begin(.fetchPage(ImportRound(isPushed: isPushed)), &turn), ImportProgress())
        case .export: plan(ExportProgress(scope: quotaPause == nil ? .all : .deletions, size: sizeOfNextBatch), &turn)
        case nil:
            if let quotaPause {
                waitForQuota(quotaPause, &turn)
            } else {
                streak.settle()
                lastSuccess = turn.now
                state = .idle
            }
        }
    }

    private mutating func begin(_ operation: Operation, _ turn: inout Turn) -> OperationID {
        let id = OperationID(number: nextNumber())
        turn.effects.append(.perform(operation, id))
        return id
    }

    private mutating func plan(_ progress: ExportProgress, _ turn: inout Turn) {
        state = .planning(begin(.plan(progress.scope, progress.size), &turn), progress)
    }

    /// Items are saved independently after ``conflictRoundsMax`` rounds, so that a client that keeps changing one record does not block the
    /// other records of a save.
    private var sizeOfNextBatch: RequestSize {
        var size = requestSize
        size.isAtomic = streak.conflictRounds < Self.conflictRoundsMax
        return size
    }

    private mutating func send(_ plan: ExportPlan, _ progress: ExportProgress, _ turn: inout Turn) {
        pendingCount = plan.pendingCount
        isPendingCountStale = false
        rejection = plan.rejection
        guard let batch = plan.batch, !batch.items.isEmpty else { return startNext(&turn) }
        var progress = progress
        progress.received = 0
        state = .sending(begin(.send(batch, pendingCount: plan.pendingCount, progress.size), &turn), batch, progress)
    }

    /// Opens the push stream unless it is open.
    mutating func listen(_ turn: inout Turn) { if work.takePushStream() { turn.effects.append(.listen) } }

    // MARK: Outcomes

    mutating func finished(_ outcome: Outcome, _ turn: inout Turn) {
        switch outcome {
        case .done, .pageApplied, .batchSettled: streak.activity = nil
        // Planning is local: it proves nothing about the server.
        case .batchPlanned, .failed: break
        }
        switch (state, outcome) {
        case (_, .failed(let failure)): failed(failure, &turn)
        case (.settingUp, .done):
            streak.attempts = 0
            work.scheduleBoth()
            listen(&turn)
            startNext(&turn)
        case (.resetting(_, let reset), .done):
            if reset != .fetchAgain { work.setUp = true }
            work.scheduleBoth()
            startNext(&turn)
        case (.importing(_, let progress), .pageApplied(let count, let remaining, let next)):
            streak.attempts = 0
            if let next {
                let done = count.added(to: progress.done)
                let total = remaining.map { done + $0 }
                state = .importing(begin(.fetchPage(next), &turn), ImportProgress(done: done, total: total))
            } else {
                streak.fullFetches = 0
                startNext(&turn)
            }
        case (.planning(_, let progress), .batchPlanned(let plan)): send(plan, progress, &turn)
        case (.sending(_, let batch, let progress), .batchSettled(let verdict, let next)): settled(verdict, of: batch, progress, next, &turn)
        case (.quarantining(_, let failure, _), .batchSettled(let verdict, _)):
            work.scheduleExport()
            // The item was only moved to the end of the queue: the next one shows whether the item was the cause.
            guard verdict.failed > 0 else { return wait(failure, &turn) }
            streak.attempts = 0
            pendingCount = max(0, pendingCount - verdict.failed)
            startNext(&turn)
        case (.settingUp, _), (.resetting, _), (.importing, _), (.planning, _), (.sending, _), (.quarantining, _), (.stopped, _), (.idle, _),
            (.waiting, _), (.paused, _), (.halted, _):
            // The operation is repeated.
            failed(CloudFailure(.internalError, "a sync operation ended with the outcome of another one"), &turn)
        }
    }

    private mutating func settled(
        _ verdict: BatchVerdict, of batch: ExportBatch, _ previous: ExportProgress, _ next: ExportPlan?, _ turn: inout Turn
    ) {
        var progress = previous
        pendingCount = max(0, pendingCount - verdict.accepted - verdict.failed)
        progress.done += verdict.accepted + verdict.failed
        if case .sending(let id, let batch, _) = state { state = .sending(id, batch, progress) }
        work.scheduleExport()
        // An accepted item may have freed storage.
        if verdict.accepted > 0 { quotaPause = nil }
        if let failure = verdict.requestFailure, failure.code != .quotaExceeded || verdict.accepted == 0 {
            return failed(failure, &turn)
        }
        if verdict.isTooLarge {
            requestSize.halve(batch.items.count)
        } else if verdict.isProgress {
            streak.attempts = 0
            requestSize = requestSize.afterAcceptance
        }
        if verdict.leavesUnapplied { work.scheduleImport() }
        if verdict.needImport > 0 {
            work.scheduleImport()
            streak.conflictRounds += 1
            if streak.conflictRounds > Self.conflictRoundsMax {
                return wait(CloudFailure(.zoneBusy, "other devices keep changing the same records"), &turn)
            }
        }
        if verdict.postponed > 0, !verdict.isProgress, !verdict.isTooLarge || verdict.postponement?.retryAfter != nil {
            return failed(verdict.postponement ?? CloudFailure(.serverResponseLost, "the server did not answer for every record"), &turn)
        }
        if verdict.needImport > 0 { return startNext(&turn) }
        work.cancelExport()
        progress.scope = .all
        progress.size = sizeOfNextBatch
        if let next { return send(next, progress, &turn) }
        plan(progress, &turn)
    }
}
