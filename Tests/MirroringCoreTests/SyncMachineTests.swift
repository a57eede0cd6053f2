// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import Testing

/// The life of a mirror, told as what happens and what it does then.
@Suite struct SyncMachineTests {
    /// A machine with its last operation and timer, so that answers can be given by what they are about.
    private struct Script {
        var machine = SyncMachine(itemsMax: 8)
        private var operation: SyncMachine.OperationID?
        private var timer: SyncMachine.TimerID?
        private var clock = Date(timeIntervalSinceReferenceDate: 0)

        /// - Returns: The effects in words.
        mutating func tell(_ event: SyncMachine.Event) -> [String] {
            clock += 1
            return machine.handle(event, now: clock, unit: 1).map { effect in
                switch effect {
                case .perform(let operation, let id):
                    self.operation = id
                    return "\(operation)"
                case .cancel: return "cancel"
                case .listen: return "listen"
                case .wait(let seconds, let timer):
                    self.timer = timer
                    return "wait \(seconds)"
                case .countPending: return "count"
                case .answer(let asks, let failure): return "answer \(asks.map(\.number)) \(failure.map { "\($0.code)" } ?? "quiet")"
                case .report(let status): return "[\(status.activity)\(status.pendingCount > 0 ? " \(status.pendingCount) pending" : "")]"
                }
            }
        }

        mutating func finish(_ outcome: SyncMachine.Outcome) -> [String] { operation.map { tell(.finished($0, outcome)) } ?? [] }
        mutating func fail(_ code: CloudFailure.Code, retryAfter: Double? = nil) -> [String] {
            finish(.failed(CloudFailure(code, "reason", retryAfter: retryAfter)))
        }
        mutating func fire() -> [String] { timer.map { tell(.timerFired($0)) } ?? [] }
        mutating func settle(_ change: (inout BatchVerdict) -> Void) -> [String] {
            var verdict = BatchVerdict()
            change(&verdict)
            return finish(.batchSettled(verdict))
        }

        /// Up to the first quiet moment.
        static var idle: Script {
            var script = Script()
            _ = script.tell(.started)
            _ = script.finish(.done)
            _ = script.finish(.pageApplied(records: 0, moreComing: false))
            _ = script.finish(.batchPlanned(count: 0, pending: 0, refusal: nil))
            return script
        }
    }

    @Test func itSetsUpThenImportsThenExportsThenListens() {
        var script = Script()
        #expect(script.tell(.started) == ["setUp", "[starting]"])
        #expect(script.finish(.done) == ["listen", "fetchChanges", "[importing(done: 0, total: nil)]"])
        #expect(script.finish(.pageApplied(records: 5, moreComing: true)) == ["fetchChanges", "[importing(done: 5, total: nil)]"])
        #expect(script.finish(.pageApplied(records: 2, moreComing: false)) == ["planExport(itemsMax: 8)", "[idle]"])
        #expect(script.finish(.batchPlanned(count: 2, pending: 3, refusal: nil)) == ["sendBatch", "[exporting(done: 0, total: 3) 3 pending]"])
        #expect(script.settle { $0.accepted = 2 } == ["planExport(itemsMax: 8)", "[exporting(done: 2, total: 3) 1 pending]"])
        #expect(script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil)) == ["sendBatch"])
        #expect(script.settle { $0.accepted = 1 } == ["planExport(itemsMax: 8)", "[exporting(done: 3, total: 3)]"])
        #expect(script.finish(.batchPlanned(count: 0, pending: 0, refusal: nil)) == ["[idle]"])
        #expect(script.machine.status.lastSuccess != nil)
    }

    @Test func aFullStorageHoldsUpOnlyWhatNeedsRoom() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
        // What was deleted before goes at once.
        #expect(script.fail(.quotaExceeded) == ["wait 3600.0", "planRoom(itemsMax: 8)", "[error(reason: \"reason\") 1 pending]"])
        #expect(script.finish(.batchPlanned(count: 0, pending: 1, refusal: nil)) == [])
        #expect(script.tell(.pushArrived) == ["fetchPushed"])
        #expect(script.finish(.pageApplied(records: 1, moreComing: false)) == [])
        #expect(script.tell(.storeChanged) == ["planRoom(itemsMax: 8)"])
        _ = script.finish(.batchPlanned(count: 1, pending: 2, refusal: nil))
        // Once there may be room everything else is tried again.
        #expect(script.settle { $0.accepted = 1 }.first == "planExport(itemsMax: 8)")
        _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
        _ = script.fail(.quotaExceeded)
        _ = script.finish(.batchPlanned(count: 0, pending: 1, refusal: nil))
        #expect(script.fire().first == "planExport(itemsMax: 8)")
        // What is refused although it needs no room is not tried again and again.
        _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
        _ = script.fail(.quotaExceeded)
        #expect(script.fail(.quotaExceeded) == [])
        // A failure in between has a wait of its own.
        _ = script.tell(.pushArrived)
        #expect(script.fail(.serviceUnavailable).first == "wait 1.0")
        #expect(script.tell(.pushArrived) == [])
        #expect(script.fire().first == "fetchChanges")
        #expect(script.finish(.pageApplied(records: 0, moreComing: false)) == ["wait 3594.0"])
        _ = script.tell(.pushArrived)
        // Whoever asks does not wait for the hour to be over.
        _ = script.tell(.asked(SyncMachine.AskID(number: 1)))
        #expect(script.finish(.pageApplied(records: 0, moreComing: false)).first == "fetchChanges")
        #expect(script.finish(.pageApplied(records: 0, moreComing: false)).first == "planExport(itemsMax: 8)")
    }

    @Test func whatADeletionOfTheSameRequestMadeRoomForIsSentAtOnce() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 2, pending: 2, refusal: nil))
        let effects = script.settle {
            $0.accepted = 1
            $0.postponed = 1
            $0.requestFailure = CloudFailure(.quotaExceeded, "reason")
        }
        #expect(effects.first == "planExport(itemsMax: 8)")
    }

    @Test func whatIsStillToComeIsShownWhereItIsKnown() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.finish(.pageApplied(records: 200, moreComing: true, remaining: 250)).last == "[importing(done: 200, total: Optional(450))]")
        // Others write meanwhile.
        #expect(script.finish(.pageApplied(records: 200, moreComing: true, remaining: 60)).last == "[importing(done: 400, total: Optional(460))]")
        #expect(script.finish(.pageApplied(records: 10, moreComing: true)).last == "[importing(done: 410, total: nil)]")
    }

    /// Pages that come in between do not make it impatient.
    @Test func fetchingThatBeginsAnewAgainAndAgainWaits() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        for _ in 1..<RetryPolicy.attemptsMax {
            #expect(script.fail(.changeTokenExpired).first?.hasPrefix("reset(") == true)
            _ = script.finish(.done)
            _ = script.finish(.pageApplied(records: 1, moreComing: true))
        }
        #expect(script.fail(.changeTokenExpired).first == "wait 256.0")
        #expect(script.fire().first?.hasPrefix("reset(") == true)
        _ = script.finish(.done)
        // Everything came once: that was it.
        _ = script.finish(.pageApplied(records: 1, moreComing: false))
        _ = script.finish(.batchPlanned(count: 0, pending: 0, refusal: nil))
        _ = script.tell(.pushArrived)
        #expect(script.fail(.changeTokenExpired).first?.hasPrefix("reset(") == true)
    }

    @Test func newsDuringAnOperationWaitForItsEnd() {
        var script = Script.idle
        #expect(script.tell(.pushArrived) == ["fetchPushed", "[importing(done: 0, total: nil)]"])
        #expect(script.tell(.pushArrived) == [] && script.tell(.storeChanged) == [])
        #expect(script.finish(.pageApplied(records: 1, moreComing: false)) == ["fetchPushed"])
        #expect(script.finish(.pageApplied(records: 0, moreComing: false)) == ["planExport(itemsMax: 8)", "[idle]"])
    }

    @Test func lateAnswersChangeNothing() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        let before = script
        #expect(script.tell(.paused) == ["cancel", "[paused]"])
        var late = script
        #expect(late.finish(.batchPlanned(count: 1, pending: 1, refusal: nil)) == [])
        #expect(script.tell(.resumed) == ["fetchChanges", "[importing(done: 0, total: nil)]"])
        script = before
        #expect(script.tell(.stopped) == ["cancel", "[paused]"] && script.tell(.pushArrived) == [] && script.fire() == [])
    }

    @Test func offlineItCountsWhatWaitsAndTriesAgainSoonAtFirst() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
        #expect(script.fail(.networkUnavailable) == ["wait 1.0", "[offline 1 pending]"])
        #expect(script.tell(.storeChanged) == ["count"] && script.tell(.pendingCounted(2)) == ["[offline 2 pending]"])
        // It says offline until the server has answered.
        #expect(script.fire() == ["planExport(itemsMax: 8)"])
        #expect(script.fail(.networkFailure).first == "wait 2.0")
        #expect(script.fire().first == "planExport(itemsMax: 8)" && script.fail(.networkFailure).first == "wait 4.0")
        // The push connection stands again: no more waiting, and what was missed is fetched first.
        #expect(script.tell(.connected).first == "fetchChanges")
        #expect(script.fail(.networkFailure).first == "wait 1.0")
    }

    @Test func whatIsSavedDuringAnOperationThatFailsIsCounted() {
        var script = Script()
        _ = script.tell(.started)
        #expect(script.tell(.storeChanged) == [])
        #expect(script.fail(.incompatibleVersion) == ["count", "listen", "[error(reason: \"reason\")]"])
        #expect(script.tell(.pendingCounted(3)) == ["[error(reason: \"reason\") 3 pending]"])
        #expect(script.tell(.connected) == ["setUp", "[starting 3 pending]"] && script.fail(.incompatibleVersion).first?.hasPrefix("[") == true)
    }

    @Test func aCountThatComesAfterEverythingWasSentIsOld() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
        _ = script.fail(.networkUnavailable)
        #expect(script.tell(.storeChanged) == ["count"])
        _ = script.fire()
        _ = script.finish(.batchPlanned(count: 2, pending: 2, refusal: nil))
        _ = script.settle { $0.accepted = 2 }
        #expect(script.finish(.batchPlanned(count: 0, pending: 0, refusal: nil)) == ["[idle]"])
        #expect(script.tell(.pendingCounted(2)) == [])
    }

    @Test func whatWasRefusedIsNeverShownAsRest() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        #expect(script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil)).last == "[exporting(done: 0, total: 1) 1 pending]")
        #expect(script.settle { $0.failed = 1 } == ["planExport(itemsMax: 8)", "[exporting(done: 1, total: 1)]"])
        #expect(script.finish(.batchPlanned(count: 0, pending: 0, refusal: "no")) == ["[error(reason: \"no\")]"])
    }

    @Test func aLostPushConnectionIsALostNetworkOnlyWhileIdle() {
        var script = Script.idle
        #expect(script.tell(.networkLost) == ["wait 1.0", "[offline]"])
        #expect(script.fire() == ["fetchChanges"])
        #expect(script.tell(.networkLost) == [])
        #expect(script.finish(.pageApplied(records: 1, moreComing: true)) == ["fetchChanges", "[importing(done: 1, total: nil)]"])
    }

    @Test func aServerThatAnswersAgainEndsWaitingUnlessItAskedForIt() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.fail(.serviceUnavailable).first == "wait 1.0" && script.tell(.pushArrived) == [])
        #expect(script.tell(.connected).first == "fetchChanges")
        #expect(script.fail(.serviceUnavailable, retryAfter: 60).first == "wait 60.0" && script.tell(.connected) == [])
    }

    @Test func whatFailsAtFirstListensForTheServer() {
        var script = Script()
        _ = script.tell(.started)
        #expect(script.fail(.notAuthenticated) == ["listen", "[error(reason: \"reason\")]"])
        #expect(script.tell(.connected).first == "setUp" && script.finish(.done).first == "fetchChanges")
        script = Script()
        _ = script.tell(.started)
        #expect(script.fail(.badContainer) == ["[error(reason: \"reason\")]"])
    }

    @Test func aConflictIsImportedBeforeItIsSentAgainAndNotForEver() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        for round in 1...4 {
            _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
            let effects = script.settle { $0.needImport = 1 }
            #expect(effects.first == (round < 4 ? "fetchChanges" : "wait 1.0"))
            if round < 4 { _ = script.finish(.pageApplied(records: 1, moreComing: false)) }
        }
        #expect(script.fire().first == "fetchChanges")
    }

    @Test func aBatchThatIsTooLargeIsHalvedAndGrowsAgain() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 8, pending: 20, refusal: nil))
        #expect(script.fail(.limitExceeded).first == "planExport(itemsMax: 4)")
        _ = script.finish(.batchPlanned(count: 4, pending: 20, refusal: nil))
        #expect(script.settle { ($0.postponed, $0.isTooLarge) = (4, true) }.first == "planExport(itemsMax: 2)")
        _ = script.finish(.batchPlanned(count: 2, pending: 20, refusal: nil))
        #expect(script.settle { $0.accepted = 2 }.first == "planExport(itemsMax: 4)")
    }

    @Test func aServerThatRefusedARequestAsTooLargeIsAskedAgainAfterAWhile() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 8, pending: 100, refusal: nil))
        #expect(script.fail(.limitExceeded).first == "planExport(itemsMax: 4)")
        for round in 1...8 {
            _ = script.finish(.batchPlanned(count: 4, pending: 100, refusal: nil))
            #expect(script.settle { $0.accepted = 4 }.first == "planExport(itemsMax: \(round < 8 ? 4 : 8))")
        }
        // A request has no more than there is: half of that is what is tried next.
        _ = script.finish(.batchPlanned(count: 3, pending: 3, refusal: nil))
        #expect(script.fail(.limitExceeded).first == "planExport(itemsMax: 1)")
    }

    @Test func theItemBecauseOfWhichARequestIsRefusedIsFoundByHalvesAndPutAside() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        for (count, half) in [(8, 4), (4, 2), (2, 1)] {
            _ = script.finish(.batchPlanned(count: count, pending: 8, refusal: nil))
            #expect(script.fail(.invalidArguments).first == "planExport(itemsMax: \(half))")
        }
        _ = script.finish(.batchPlanned(count: 1, pending: 8, refusal: nil))
        #expect(script.fail(.invalidArguments).first?.hasPrefix("quarantine") == true)
        #expect(script.settle { $0.failed = 1 }.first == "planExport(itemsMax: 1)")
        #expect(script.finish(.batchPlanned(count: 1, pending: 7, refusal: "refused")).first == "sendBatch")
        #expect(script.settle { $0.accepted = 1 }.first == "planExport(itemsMax: 2)")
    }

    @Test func whatMayBeTheServersFaultSendsAnItemToTheEndOnceItFailedAloneSeveralTimes() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 2, pending: 2, refusal: nil))
        #expect(script.fail(.internalError).first == "wait 1.0")
        for seconds in [2.0, 4.0] {
            #expect(script.fire().first == "planExport(itemsMax: 1)")
            _ = script.finish(.batchPlanned(count: 1, pending: 2, refusal: nil))
            #expect(script.fail(.internalError).first == "wait \(seconds)")
        }
        _ = script.fire()
        _ = script.finish(.batchPlanned(count: 1, pending: 2, refusal: nil))
        #expect(script.fail(.internalError).first?.hasPrefix("quarantine") == true)
        // It went to the end of the queue; the others are sent, after a wait.
        #expect(script.settle { _ in }.first == "wait 8.0")
        #expect(script.fire().first == "planExport(itemsMax: 1)")
        _ = script.finish(.batchPlanned(count: 1, pending: 2, refusal: nil))
        #expect(script.settle { $0.accepted = 1 }.first == "planExport(itemsMax: 2)")
    }

    @Test func resetsAreDoneBeforeAnythingElse() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.fail(.changeTokenExpired) == ["reset(MirroringCore.SyncMachine.Reset.fetchAgain)", "[starting]"])
        #expect(script.finish(.done) == ["fetchChanges", "[importing(done: 0, total: nil)]"])
        #expect(script.fail(.zoneNotFound).first == "reset(MirroringCore.SyncMachine.Reset.uploadAgain)")
        #expect(script.finish(.done) == ["setUp"] && script.finish(.done) == ["fetchChanges", "[importing(done: 0, total: nil)]"])
        #expect(script.fail(.userDeletedZone).first == "reset(MirroringCore.SyncMachine.Reset.removeRows)")
        // A reset that fails is tried again.
        #expect(script.fail(.serviceUnavailable, retryAfter: 7).first == "wait 7.0")
        #expect(script.fire().first == "reset(MirroringCore.SyncMachine.Reset.removeRows)")
    }

    @Test func errorsThatNeedSomebodyPauseAndOthersStop() {
        var script = Script.idle
        _ = script.tell(.pushArrived)
        #expect(script.fail(.notAuthenticated) == ["[error(reason: \"reason\")]"])
        #expect(script.tell(.storeChanged) == ["count"] && script.tell(.pushArrived).first == "fetchChanges")
        #expect(script.fail(.badContainer) == ["[error(reason: \"reason\")]"])
        #expect(script.tell(.pushArrived) == [] && script.tell(.resumed) == [])
    }

    @Test func whoAsksIsToldWhenBothDirectionsAreQuietOrNothingWillHappen() {
        var script = Script.idle
        let one = SyncMachine.AskID(number: 1), two = SyncMachine.AskID(number: 2)
        #expect(script.tell(.asked(one)) == ["fetchChanges", "[importing(done: 0, total: nil)]"])
        // Asked during a round: another one follows, and both are answered after it.
        #expect(script.tell(.asked(two)) == [])
        #expect(script.finish(.pageApplied(records: 0, moreComing: false)) == ["fetchChanges"])
        #expect(script.finish(.pageApplied(records: 0, moreComing: false)) == ["planExport(itemsMax: 8)", "[idle]"])
        #expect(script.finish(.batchPlanned(count: 0, pending: 0, refusal: nil)) == ["[idle]", "answer [1, 2] quiet"])
        // What is tried again by itself is waited for, and tried at once.
        _ = script.tell(.pushArrived)
        _ = script.fail(.networkFailure)
        #expect(script.tell(.asked(one)) == ["fetchChanges"])
        #expect(script.fail(.notAuthenticated) == ["[error(reason: \"reason\")]", "answer [1] notAuthenticated"])
        _ = script.tell(.paused)
        #expect(script.tell(.asked(two)) == ["answer [2] operationCancelled"])
    }

    @Test func aRefusalForGoodStaysVisible() {
        var script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
        _ = script.settle { $0.failed = 1 }
        #expect(script.finish(.batchPlanned(count: 0, pending: 0, refusal: "refused")) == ["[error(reason: \"refused\")]"])
        #expect(script.tell(.pushArrived).first == "fetchPushed")
    }

    // MARK: Accounts

    @Test func anotherAccountIsFoundOutBeforeAnythingElse() {
        var script = Script.idle
        #expect(script.tell(.accountChanged) == ["setUp", "[starting]"])
        #expect(script.finish(.done) == ["listen", "fetchChanges", "[importing(done: 0, total: nil)]"])

        script = Script.idle
        _ = script.tell(.storeChanged)
        _ = script.finish(.batchPlanned(count: 1, pending: 1, refusal: nil))
        #expect(script.tell(.accountChanged) == ["cancel", "setUp", "[starting 1 pending]"])
    }

    @Test(arguments: [CloudFailure.Code.badContainer, .notAuthenticated, .networkUnavailable])
    func whoSignsInIsAskedNoMatterWhatStoodInTheWay(_ code: CloudFailure.Code) {
        var script = Script()
        _ = script.tell(.started)
        _ = script.fail(code)
        #expect(script.tell(.accountChanged).first == "setUp")
        #expect(script.finish(.done).contains("listen"))
    }

    @Test func whoSignsInDuringAPauseIsAskedAfterIt() {
        var script = Script.idle
        _ = script.tell(.paused)
        #expect(script.tell(.accountChanged) == [])
        #expect(script.tell(.resumed).first == "setUp")
        var stopped = Script()
        #expect(stopped.tell(.accountChanged) == ["[paused]"])
    }
}
