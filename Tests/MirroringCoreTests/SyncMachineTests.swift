// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import MirroringCore
import Testing

/// The state machine of sync: events and the effects of each.
@Suite struct SyncMachineTests {
    /// A machine with its last operation and timer, so that a script gives outcomes without identifiers.
    private struct Script {
        var machine = SyncMachine(itemsMax: 8)
        private var operation: SyncMachine.OperationID?
        private var timer: SyncMachine.TimerID?
        private var clock = Date(timeIntervalSinceReferenceDate: 0)

        /// - Returns: The effects in words.
        mutating func tell(_ event: SyncMachine.Event) -> [String] {
            clock += 1
            return machine.handle(event, now: clock, jitter: 1).map { effect in
                switch effect {
                case .perform(let operation, let id):
                    self.operation = id
                    return operation.name
                case .cancel: return "cancel"
                case .listen: return "listen"
                case .wait(let delay, let timer):
                    self.timer = timer
                    return "wait \(delay / .seconds(1))"
                case .countPending: return "count"
                case .resume(let waiters, let failure): return "resume \(waiters.map(\.number)) \(failure.map { "\($0.code)" } ?? "idle")"
                case .report(let status): return "[\(status.activity)\(status.pendingCount > 0 ? " \(status.pendingCount) pending" : "")]"
                }
            }
        }

        mutating func finish(_ outcome: SyncMachine.Outcome) -> [String] { operation.map { tell(.finished($0, outcome)) } ?? [] }
        mutating func fail(_ code: AppErrorCode, retryAfter: Duration? = nil) -> [String] {
            finish(.failed(CloudFailure(code, "reason", retryAfter: retryAfter)))
        }
        mutating func fire() -> [String] { timer.map { tell(.timerFired($0)) } ?? [] }
        mutating func settle(next: ExportPlan? = nil, _ change: (inout BatchVerdict) -> Void) -> [String] {
            var verdict = BatchVerdict()
            change(&verdict)
            return finish(.batchSettled(verdict, next: next))
        }
        mutating func plan(_ count: Int, pending: Int, rejection: String? = nil) -> [String] {
            finish(.batchPlanned(Sample.plan(count, pending: pending, rejection: rejection)))
        }
        mutating func page(_ received: Int, dropped: Int = 0, moreComing: Bool = false, remaining: Int? = nil) -> [String] {
            let count = ChangeCount(received: received, dropped: dropped)
            return finish(.pageApplied(count, remaining: remaining, next: moreComing ? ImportRound() : nil))
        }

        /// Up to the first idle state.
        static var idle: Script {
            var script = Script()
            _ = script.tell(.started)
            _ = script.finish(.done)
            _ = script.page(0)
            _ = script.plan(0, pending: 0)
            return script
        }
    }

    @Test func operationsRunInTheOrderSetUpImportExport() {
        var script = Script()
        #expect(script.tell(.started) == ["setUp", "[starting]"])
        #expect(script.finish(.done) == ["listen", "fetchPage", "[importing(done: 0, total: nil)]"])
        #expect(script.page(5, moreComing: true) == ["fetchPage", "[importing(done: 5, total: nil)]"])
        #expect(script.page(2) == ["plan(8)", "[idle]"])
        #expect(script.plan(2, pending: 3) == ["send", "[exporting(done: 0, total: 3) 3 pending]"])
        #expect(script.settle { $0.accepted = 2 } == ["plan(8)", "[exporting(done: 2, total: 3) 1 pending]"])
        #expect(script.plan(1, pending: 1) == ["send"])
        #expect(script.settle { $0.accepted = 1 } == ["plan(8)", "[exporting(done: 3, total: 3)]"])
        #expect(script.plan(0, pending: 0) == ["[idle]"])
        #expect(script.machine.status.lastSuccess != nil)
    }

    @Test func aQuotaPauseAppliesOnlyToChangesThatNeedStorage() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(1, pending: 1)
        // Earlier deletions are sent without delay.
        #expect(script.fail(.quotaExceeded) == ["wait 3600.0", "planDeletions(8)", "[error(reason: \"reason\") 1 pending]"])
        #expect(script.plan(0, pending: 1) == [])
        #expect(script.tell(.pushArrived) == ["fetchPage pushed"])
        #expect(script.page(1) == [])
        #expect(script.tell(.storeChanged) == ["planDeletions(8)"])
        _ = script.plan(1, pending: 2)
        // Once there may be room everything else is tried again.
        #expect(script.settle { $0.accepted = 1 }.first == "plan(8)")
        _ = script.plan(1, pending: 1)
        _ = script.fail(.quotaExceeded)
        _ = script.plan(0, pending: 1)
        #expect(script.fire().first == "plan(8)")
        // An item that is rejected although it needs no storage is not retried endlessly.
        _ = script.plan(1, pending: 1)
        _ = script.fail(.quotaExceeded)
        #expect(script.fail(.quotaExceeded) == [])
        // A failure in between has a wait of its own.
        _ = script.tell(.pushArrived)
        #expect(script.fail(.serviceUnavailable).first == "wait 1.0")
        #expect(script.tell(.pushArrived) == [])
        #expect(script.fire().first == "fetchPage")
        #expect(script.page(0) == ["wait 3594.0"])
        _ = script.tell(.pushArrived)
        // A sync request does not wait for the end of the hour.
        _ = script.tell(.syncRequested(SyncMachine.WaiterID(number: 1)))
        #expect(script.page(0).first == "fetchPage")
        #expect(script.page(0).first == "plan(8)")
    }

    @Test func aDeletionOfTheSameRequestEndsTheQuotaPause() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(2, pending: 2)
        let effects = script.settle {
            $0.accepted = 1
            $0.postponed = 1
            $0.requestFailure = CloudFailure(.quotaExceeded, "reason")
        }
        #expect(effects.first == "plan(8)")
    }

    @Test func importProgressHasATotalIfTheServerSendsCounts() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.page(200, moreComing: true, remaining: 250).last == "[importing(done: 200, total: Optional(450))]")
        // Other devices write concurrently.
        #expect(script.page(200, moreComing: true, remaining: 60).last == "[importing(done: 400, total: Optional(460))]")
        #expect(script.page(10, moreComing: true).last == "[importing(done: 410, total: nil)]")
        // Pages were dropped and are fetched again, some of them of an earlier attempt that did not count.
        #expect(script.page(0, dropped: 400, moreComing: true).last == "[importing(done: 10, total: nil)]")
        #expect(script.page(0, dropped: 20, moreComing: true).last == "[importing(done: 0, total: nil)]")
    }

    /// Pages that come in between do not make it impatient.
    @Test func repeatedFullFetchesBackOff() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        for _ in 1..<RetryPolicy.attemptsMax {
            #expect(script.fail(.changeTokenExpired).first?.hasPrefix("reset(") == true)
            _ = script.finish(.done)
            _ = script.page(1, moreComing: true)
        }
        #expect(script.fail(.changeTokenExpired).first == "wait 256.0")
        #expect(script.fire().first?.hasPrefix("reset(") == true)
        _ = script.finish(.done)
        // Everything came once: that was it.
        _ = script.page(1)
        _ = script.plan(0, pending: 0)
        _ = script.tell(.pushArrived)
        #expect(script.fail(.changeTokenExpired).first?.hasPrefix("reset(") == true)
    }

    @Test func eventsDuringAnOperationWaitForItsEnd() {
        var script = Script.idle
        #expect(script.tell(.pushArrived) == ["fetchPage pushed", "[importing(done: 0, total: nil)]"])
        #expect(script.tell(.pushArrived) == [])
        #expect(script.tell(.storeChanged) == [])
        #expect(script.page(1) == ["fetchPage pushed"])
        #expect(script.page(0) == ["plan(8)", "[idle]"])
    }

    @Test func lateOutcomesChangeNothing() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        let before = script
        #expect(script.tell(.paused) == ["cancel", "[paused]"])
        var late = script
        #expect(late.plan(1, pending: 1) == [])
        #expect(script.tell(.resumed) == ["fetchPage", "[importing(done: 0, total: nil)]"])
        script = before
        #expect(script.tell(.stopped) == ["cancel", "[paused]"])
        #expect(script.tell(.pushArrived) == [])
        #expect(script.fire() == [])
    }

    @Test func offlineItCountsPendingChangesAndRetriesWithBackoff() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(1, pending: 1)
        #expect(script.fail(.networkUnavailable) == ["wait 1.0", "[offline 1 pending]"])
        #expect(script.tell(.storeChanged) == ["count"])
        #expect(script.tell(.pendingCounted(2)) == ["[offline 2 pending]"])
        // It says offline until the server has answered.
        #expect(script.fire() == ["plan(8)"])
        #expect(script.fail(.networkFailure).first == "wait 2.0")
        #expect(script.fire().first == "plan(8)")
        #expect(script.fail(.networkFailure).first == "wait 4.0")
        // The push stream is open again: the delay ends, and missed changes are fetched first.
        #expect(script.tell(.pushConnected).first == "fetchPage")
        #expect(script.fail(.networkFailure).first == "wait 1.0")
    }

    @Test func savesDuringAFailedOperationAreCounted() {
        var script = Script()
        _ = script.tell(.started)
        #expect(script.tell(.storeChanged) == [])
        #expect(script.fail(.incompatibleVersion) == ["count", "listen", "[error(reason: \"reason\")]"])
        #expect(script.tell(.pendingCounted(3)) == ["[error(reason: \"reason\") 3 pending]"])
        #expect(script.tell(.pushConnected) == ["setUp", "[starting 3 pending]"])
        #expect(script.fail(.incompatibleVersion).first?.hasPrefix("[") == true)
    }

    @Test func aPendingCountTakenBeforeAnExportIsStale() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(1, pending: 1)
        _ = script.fail(.networkUnavailable)
        #expect(script.tell(.storeChanged) == ["count"])
        _ = script.fire()
        _ = script.plan(2, pending: 2)
        _ = script.settle { $0.accepted = 2 }
        #expect(script.plan(0, pending: 0) == ["[idle]"])
        #expect(script.tell(.pendingCounted(2)) == [])
    }

    @Test func aPermanentRejectionIsNotShownAsIdle() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        #expect(script.plan(1, pending: 1).last == "[exporting(done: 0, total: 1) 1 pending]")
        #expect(script.settle { $0.failed = 1 } == ["plan(8)", "[exporting(done: 1, total: 1)]"])
        #expect(script.plan(0, pending: 0, rejection: "no") == ["[error(reason: \"no\")]"])
    }

    @Test func aClosedPushStreamMeansOfflineOnlyWhileIdle() {
        var script = Script.idle
        #expect(script.tell(.pushDisconnected) == ["wait 1.0", "[offline]"])
        #expect(script.fire() == ["fetchPage"])
        #expect(script.tell(.pushDisconnected) == [])
        #expect(script.page(1, moreComing: true) == ["fetchPage", "[importing(done: 1, total: nil)]"])
    }

    @Test func anOpenPushStreamEndsABackoffButNotADelayOfTheServer() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.fail(.serviceUnavailable).first == "wait 1.0")
        #expect(script.tell(.pushArrived) == [])
        #expect(script.tell(.pushConnected).first == "fetchPage")
        #expect(script.fail(.serviceUnavailable, retryAfter: .seconds(60)).first == "wait 60.0")
        #expect(script.tell(.pushConnected) == [])
    }

    @Test func aFailedSetUpOpensThePushStream() {
        var script = Script()
        _ = script.tell(.started)
        #expect(script.fail(.notAuthenticated) == ["listen", "[error(reason: \"reason\")]"])
        #expect(script.tell(.pushConnected).first == "setUp")
        #expect(script.finish(.done).first == "fetchPage")
        script = Script()
        _ = script.tell(.started)
        #expect(script.fail(.badContainer) == ["[error(reason: \"reason\")]"])
    }

    @Test func repeatedConflictsBackOff() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        for round in 1...4 {
            _ = script.plan(1, pending: 1)
            let effects = script.settle { $0.needImport = 1 }
            #expect(effects.first == (round < 4 ? "fetchPage" : "wait 1.0"))
            if round < 4 { _ = script.page(1) }
        }
        #expect(script.fire().first == "fetchPage")
    }

    @Test func anImportFollowsRecordsWithValuesThatTheRowsLack() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(2, pending: 2)
        #expect(script.settle { ($0.accepted, $0.leavesUnapplied) = (2, true) }.first?.hasPrefix("plan") == true)
        #expect(script.plan(0, pending: 0).first == "fetchPage")
    }

    /// A list is refused, and the update that goes with it is saved: both would be sent again immediately, for ever.
    @Test func anUpdateWithoutAValueIsNoProgress() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        for delay in ["1.0", "2.0"] {
            _ = script.plan(2, pending: 2)
            let effects = script.settle {
                ($0.accepted, $0.withoutValue, $0.postponed) = (1, 1, 1)
                $0.postponement = CloudFailure(.zoneBusy, "reason")
            }
            #expect(effects.first == "wait \(delay)")
            #expect(script.fire().first == "plan(8)")
        }
    }

    @Test func aBatchThatIsTooLargeIsHalvedAndGrowsAgain() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(8, pending: 20)
        #expect(script.fail(.limitExceeded).first == "plan(4)")
        _ = script.plan(4, pending: 20)
        #expect(script.settle { ($0.postponed, $0.isTooLarge) = (4, true) }.first == "plan(2)")
        _ = script.plan(2, pending: 20)
        #expect(script.settle { $0.accepted = 2 }.first == "plan(4)")
    }

    @Test func aLargerRequestIsTriedAfterSeveralAcceptedOnes() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(8, pending: 100)
        #expect(script.fail(.limitExceeded).first == "plan(4)")
        for round in 1...8 {
            _ = script.plan(4, pending: 100)
            #expect(script.settle { $0.accepted = 4 }.first == "plan(\(round < 8 ? 4 : 8))")
        }
        // A request has at most the pending items: half of them are sent next.
        _ = script.plan(3, pending: 3)
        #expect(script.fail(.limitExceeded).first == "plan(1)")
    }

    @Test func aPoisonItemIsFoundByBisectionAndQuarantined() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        for (count, half) in [(8, 4), (4, 2), (2, 1)] {
            _ = script.plan(count, pending: 8)
            #expect(script.fail(.invalidArguments).first == "plan(\(half))")
        }
        _ = script.plan(1, pending: 8)
        #expect(script.fail(.invalidArguments).first?.hasPrefix("quarantine") == true)
        #expect(script.settle { $0.failed = 1 }.first == "plan(1)")
        #expect(script.plan(1, pending: 7, rejection: "refused").first == "send")
        #expect(script.settle { $0.accepted = 1 }.first == "plan(2)")
    }

    @Test func anItemThatFailsAloneRepeatedlyMovesToTheEndOfTheQueue() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(2, pending: 2)
        #expect(script.fail(.internalError).first == "wait 1.0")
        for seconds in [2.0, 4.0] {
            #expect(script.fire().first == "plan(1)")
            _ = script.plan(1, pending: 2)
            #expect(script.fail(.internalError).first == "wait \(seconds)")
        }
        _ = script.fire()
        _ = script.plan(1, pending: 2)
        #expect(script.fail(.internalError).first?.hasPrefix("quarantine") == true)
        // It went to the end of the queue; the others are sent, after a wait.
        #expect(script.settle { _ in }.first == "wait 8.0")
        #expect(script.fire().first == "plan(1)")
        _ = script.plan(1, pending: 2)
        #expect(script.settle { $0.accepted = 1 }.first == "plan(2)")
    }

    @Test func resetsRunFirst() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.fail(.changeTokenExpired) == ["reset(fetchAgain)", "[starting]"])
        #expect(script.finish(.done) == ["fetchPage", "[importing(done: 0, total: nil)]"])
        #expect(script.fail(.zoneNotFound).first == "reset(uploadAgain)")
        #expect(script.finish(.done) == ["setUp"])
        #expect(script.finish(.done) == ["fetchPage", "[importing(done: 0, total: nil)]"])
        #expect(script.fail(.userDeletedZone).first == "reset(removeRows)")
        // A reset that fails is tried again.
        #expect(script.fail(.serviceUnavailable, retryAfter: .seconds(7)).first == "wait 7.0")
        #expect(script.fire().first == "reset(removeRows)")
    }

    @Test(arguments: [("3f", true), ("3F", false), ("", false), ("10000000000000", false)])
    func aRestoredServerGetsLostVersions(tag: String, isComparable: Bool) {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        var error = WireError(.badRequest, "reason", nativeCode: .changeTokenExpired)
        error.isHistoryLost = true
        error.restoredChangeTag = tag
        let reset = isComparable ? "reset(uploadLost(after: MirroringCore.RestoredVersion(changeTag: \"\(tag)\")))" : "reset(uploadAgain)"
        #expect(script.finish(.failed(CloudFailure(error))).first == reset)
        #expect(script.finish(.done) == ["setUp"])
    }

    @Test func failuresThatNeedAnActionHalt() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.fail(.notAuthenticated) == ["[error(reason: \"reason\")]"])
        #expect(script.tell(.storeChanged) == ["count"])
        #expect(script.tell(.pushArrived).first == "fetchPage")
        #expect(script.fail(.badContainer) == ["[error(reason: \"reason\")]"])
        #expect(script.tell(.pushArrived) == [])
        #expect(script.tell(.resumed) == [])
    }

    @Test func waitersResumeWhenIdleOrHalted() {
        var script = Script.idle
        let one = SyncMachine.WaiterID(number: 1), two = SyncMachine.WaiterID(number: 2)
        #expect(script.tell(.syncRequested(one)) == ["fetchPage", "[importing(done: 0, total: nil)]"])
        // Asked during a round: another one follows, and both are answered after it.
        #expect(script.tell(.syncRequested(two)) == [])
        #expect(script.page(0) == ["fetchPage"])
        #expect(script.page(0) == ["plan(8)", "[idle]"])
        #expect(script.plan(0, pending: 0) == ["[idle]", "resume [1, 2] idle"])
        // A sync request waits for an operation that is retried, and starts the retry.
        _ = script.tell(.pushArrived)
        _ = script.fail(.networkFailure)
        #expect(script.tell(.syncRequested(one)) == ["fetchPage"])
        #expect(script.fail(.notAuthenticated) == ["[error(reason: \"reason\")]", "resume [1] notAuthenticated"])
        _ = script.tell(.paused)
        #expect(script.tell(.syncRequested(two)) == ["resume [2] operationCancelled"])
    }

    @Test func aPermanentRejectionStaysVisible() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(1, pending: 1)
        _ = script.settle { $0.failed = 1 }
        #expect(script.plan(0, pending: 0, rejection: "refused") == ["[error(reason: \"refused\")]"])
        #expect(script.tell(.pushArrived).first == "fetchPage pushed")
    }

    // MARK: Accounts

    @Test func anAccountChangeRunsASetUpFirst() {
        var script = Script.idle
        #expect(script.tell(.accountChanged) == ["setUp", "[starting]"])
        #expect(script.finish(.done) == ["listen", "fetchPage", "[importing(done: 0, total: nil)]"])

        script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(1, pending: 1)
        #expect(script.tell(.accountChanged) == ["cancel", "setUp", "[starting 1 pending]"])
    }

    @Test(arguments: [AppErrorCode.badContainer, .notAuthenticated, .networkUnavailable])
    func anAccountChangeEndsEveryHalt(_ code: AppErrorCode) {
        var script = Script()
        _ = script.tell(.started)
        _ = script.fail(code)
        #expect(script.tell(.accountChanged).first == "setUp")
        #expect(script.finish(.done).contains("listen"))
    }

    @Test func anAccountChangeDuringAPauseWaitsForItsEnd() {
        var script = Script.idle
        _ = script.tell(.paused)
        #expect(script.tell(.accountChanged) == [])
        #expect(script.tell(.resumed).first == "setUp")
        var stopped = Script()
        #expect(stopped.tell(.accountChanged) == ["[paused]"])
    }

    // MARK: Batches

    @Test func thePipelinedBatchIsSentWithoutAnotherPlan() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.plan(2, pending: 5)
        #expect(
            script.settle(next: Sample.plan(3, pending: 3)) { $0.accepted = 2 } == ["send", "[exporting(done: 2, total: 5) 3 pending]"])
        #expect(script.tell(.itemsReceived(2)) == ["[exporting(done: 4, total: 5) 3 pending]"])
        #expect(script.settle { $0.accepted = 3 } == ["plan(8)", "[exporting(done: 5, total: 5)]"])
    }

    /// Changes that an earlier import read may have changed since the interruption.
    @Test func anInterruptedImportRestarts() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        var round = ImportRound()
        round.isHomeRead = true
        #expect(script.finish(.pageApplied(ChangeCount(received: 1), next: round)).first == "fetchPage after the home zone")
        _ = script.tell(.paused)
        #expect(script.tell(.resumed).first == "fetchPage")
    }

    @Test func effectsCarryTheirBatch() {
        var machine = SyncMachine(itemsMax: 8)
        var clock = Date(timeIntervalSinceReferenceDate: 0)
        func handle(_ event: SyncMachine.Event) -> (SyncMachine.Operation, SyncMachine.OperationID)? {
            clock += 1
            return machine.handle(event, now: clock, jitter: 1).lazy.compactMap { effect in
                if case .perform(let operation, let id) = effect { (operation, id) } else { nil }
            }.first
        }
        let plan = Sample.plan(1, pending: 1)
        var step = handle(.started)
        for outcome in [SyncMachine.Outcome.done, .pageApplied(ChangeCount(), next: nil), .batchPlanned(plan)] {
            step = step.flatMap { handle(.finished($0.1, outcome)) }
        }
        guard case .send(let sent, 1, _)? = step?.0 else { return #expect(Bool(false), "a planned batch is sent") }
        #expect(sent == plan.batch)
        let failure = CloudFailure(.invalidArguments, "reason")
        step = step.flatMap { handle(.finished($0.1, .failed(failure))) }
        #expect(step?.0 == plan.batch.map { .quarantine($0, failure) })
    }

    // MARK: Every state and every event

    /// Every event in every state: no trap; the state's operation or timer is the one of the last effect; a late outcome is ignored.
    @Test func everyEventIsHandledInEveryState() {
        for (name, script) in Sample.states {
            for event in Sample.events {
                var machine = script
                let before = machine.operationOrTimer
                let effects = machine.handle(event, now: Sample.now, jitter: 0.5)
                let performed = effects.compactMap { if case .perform(_, let id) = $0 { id } else { nil } }
                let timers = effects.compactMap { if case .wait(_, let timer) = $0 { timer } else { nil } }
                #expect(performed.count <= 1, "\(name), \(event)")
                switch machine.operationOrTimer {
                case .operation(let id): #expect(performed.last ?? before.operation == id, "\(name), \(event)")
                case .timer(let timer): #expect(timers.last ?? before.timer ?? machine.quotaTimer == timer, "\(name), \(event)")
                case .none: #expect(performed.isEmpty, "\(name), \(event)")
                }
                // An operation that another one or a rest replaces is cancelled, unless its outcome was the event.
                if case .operation(let id) = before, machine.operationOrTimer != before {
                    #expect(effects.contains(.cancel(id)) != event.isOutcome, "\(name), \(event)")
                }
                #expect(machine.status.pendingCount >= 0, "\(name), \(event)")
            }
        }
    }

    @Test func aLateOutcomeIsIgnoredInEveryState() {
        for (name, script) in Sample.states {
            for outcome in Sample.outcomes {
                var machine = script
                let state = machine.state
                #expect(
                    machine.handle(.finished(Sample.lateID, outcome), now: Sample.now, jitter: 0.5).allSatisfy { $0.isReport }, "\(name)")
                #expect(machine.state == state, "\(name), \(outcome)")
            }
        }
    }

    /// Every outcome of every operation leads to a state that goes on, and to idle once the operations succeed.
    @Test func everyOutcomeInEveryStateEndsIdle() {
        for (name, script) in Sample.states {
            for outcome in Sample.outcomes {
                var machine = script
                guard let id = machine.operationOrTimer.operation else { continue }
                var effects = machine.handle(.finished(id, outcome), now: Sample.now, jitter: 0.5)
                if case .halted = machine.state { effects = machine.handle(.accountChanged, now: Sample.now, jitter: 0.5) }
                var steps = 0
                while machine.state != .idle, steps < 40 {
                    steps += 1
                    let event: SyncMachine.Event
                    switch machine.operationOrTimer {
                    case .operation(let id): event = .finished(id, Sample.success(of: machine.state))
                    case .timer(let timer): event = .timerFired(timer)
                    case .none: event = .resumed
                    }
                    effects = machine.handle(event, now: Sample.now + Double(steps) * 4000, jitter: 0.5)
                }
                #expect(machine.state == .idle, "\(name), \(outcome): \(machine.state) \(effects)")
            }
        }
    }
}

extension SyncMachine.Operation {
    fileprivate var name: String {
        switch self {
        case .setUp: "setUp"
        case .fetchPage(let round): round.isPushed ? "fetchPage pushed" : round.isHomeRead ? "fetchPage after the home zone" : "fetchPage"
        case .plan(.all, let size): "plan(\(size.items))"
        case .plan(.deletions, let size): "planDeletions(\(size.items))"
        case .send: "send"
        case .quarantine: "quarantine"
        case .reset(let reset): "reset(\(reset))"
        }
    }
}
