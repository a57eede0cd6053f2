// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel

@testable import MirroringCore

/// Machines in every state, events and outcomes, for sweeps over all pairs.
enum Sample {
    static let now = Date(timeIntervalSinceReferenceDate: 1000)
    /// The identifier of the first operation, which every sample has left behind.
    static let lateID = SyncMachine.OperationID(number: 0)

    static func batch(_ count: Int) -> ExportBatch {
        let items = (0..<count).map { index in
            ExportBatch.Item(
                operation: .create, record: Record(recordName: "r\(index)", recordType: "CD_Post"), uploads: [], mark: 1, isLink: false)
        }
        return ExportBatch(items: items, zone: MirrorZone(number: MirrorZone.home, id: ZoneID(zoneName: "home")))
    }

    static func plan(_ count: Int, pending: Int, rejection: String? = nil) -> ExportPlan {
        ExportPlan(batch: count > 0 ? batch(count) : nil, pendingCount: pending, rejection: rejection)
    }

    static let failures = AppErrorCode.allCases.flatMap { code in
        [CloudFailure(code, "reason"), CloudFailure(code, "reason", retryAfter: .seconds(5))]
    }

    static var verdicts: [BatchVerdict] {
        let changes: [(inout BatchVerdict) -> Void] = [
            { _ in }, { $0.accepted = 2 }, { $0.failed = 1 }, { $0.needImport = 1 }, { $0.postponed = 2 },
            { ($0.postponed, $0.isTooLarge) = (2, true) }, { ($0.accepted, $0.requestFailure) = (1, CloudFailure(.quotaExceeded, "full")) },
            { $0.requestFailure = CloudFailure(.zoneNotFound, "gone") }, { $0.aborted = 2 },
        ]
        return changes.map { change in
            var verdict = BatchVerdict()
            change(&verdict)
            return verdict
        }
    }

    static var outcomes: [SyncMachine.Outcome] {
        let count = ChangeCount(received: 3)
        return [.done, .pageApplied(count, next: nil), .pageApplied(count, remaining: 2, next: ImportRound())]
            + [plan(0, pending: 0), plan(2, pending: 5), plan(0, pending: 1, rejection: "no")].map { .batchPlanned($0) }
            + verdicts.flatMap { [.batchSettled($0), .batchSettled($0, next: plan(1, pending: 1))] } + failures.map { .failed($0) }
    }

    static var events: [SyncMachine.Event] {
        let others: [SyncMachine.Event] = [
            .started, .stopped, .paused, .resumed, .accountChanged, .storeChanged, .pushArrived, .pushConnected, .pushDisconnected,
            .pendingCounted(7), .itemsReceived(1), .syncRequested(SyncMachine.WaiterID(number: 1)),
        ]
        return others + (0...8).map { .timerFired(SyncMachine.TimerID(number: $0)) }
            + (0...8).flatMap { number in outcomes.map { .finished(SyncMachine.OperationID(number: number), $0) } }
    }

    /// The outcome that ends a state's operation.
    static func success(of state: SyncMachine.State) -> SyncMachine.Outcome {
        switch state {
        case .importing: return .pageApplied(ChangeCount(), next: nil)
        case .planning: return .batchPlanned(plan(0, pending: 0))
        case .sending(_, let batch, _):
            var verdict = BatchVerdict()
            verdict.accepted = batch.items.count
            return .batchSettled(verdict)
        case .quarantining:
            var verdict = BatchVerdict()
            verdict.failed = 1
            return .batchSettled(verdict)
        case .stopped, .settingUp, .resetting, .idle, .waiting, .paused, .halted: return .done
        }
    }

    /// A machine in each state, with and without a quota pause.
    static var states: [(name: String, machine: SyncMachine)] {
        func run(_ outcomes: [SyncMachine.Outcome], then events: [SyncMachine.Event] = []) -> SyncMachine {
            var machine = SyncMachine(itemsMax: 8)
            _ = machine.handle(.started, now: now, jitter: 0.5)
            for outcome in outcomes {
                guard let id = machine.operationOrTimer.operation else { break }
                _ = machine.handle(.finished(id, outcome), now: now, jitter: 0.5)
            }
            for event in events { _ = machine.handle(event, now: now, jitter: 0.5) }
            return machine
        }
        let page = SyncMachine.Outcome.pageApplied(ChangeCount(received: 1), next: nil)
        let sending = [.done, page, .batchPlanned(plan(2, pending: 3))]
        func failed(_ code: AppErrorCode, retryAfter: Duration? = nil) -> SyncMachine.Outcome {
            .failed(CloudFailure(code, "reason", retryAfter: retryAfter))
        }
        let idle = [.done, page, .batchPlanned(plan(0, pending: 0))]
        return [
            ("stopped", SyncMachine(itemsMax: 8)), ("settingUp", run([])), ("importing", run([.done])), ("planning", run([.done, page])),
            ("sending", run(sending)), ("idle", run(idle)), ("paused", run(idle, then: [.paused])),
            ("pausedWhileSending", run(sending, then: [.paused])), ("stoppedAgain", run(idle, then: [.stopped])),
            ("resetting", run([.done, failed(.changeTokenExpired)])), ("removingRows", run([.done, failed(.userDeletedZone)])),
            ("quarantining", run([.done, page, .batchPlanned(plan(1, pending: 1)), failed(.invalidArguments)])),
            ("offline", run([failed(.networkUnavailable)])), ("waiting", run([.done, failed(.serviceUnavailable)])),
            ("waitingForTheServersDelay", run([.done, failed(.serviceUnavailable, retryAfter: .seconds(60))])),
            ("halted", run([failed(.notAuthenticated)])), ("haltedFinally", run([failed(.badContainer)])),
            ("planningInQuotaPause", run(sending + [failed(.quotaExceeded)])),
            ("waitingForQuota", run(sending + [failed(.quotaExceeded), .batchPlanned(plan(0, pending: 3))])),
            ("importingInQuotaPause", run(sending + [failed(.quotaExceeded), .batchPlanned(plan(0, pending: 3))], then: [.pushArrived])),
        ]
    }
}

extension SyncMachine {
    enum Awaited: Hashable {
        case operation(OperationID)
        case timer(TimerID)
        case none

        var operation: OperationID? { if case .operation(let id) = self { id } else { nil } }
        var timer: TimerID? { if case .timer(let timer) = self { timer } else { nil } }
    }

    /// The operation or timer that the state waits for.
    var operationOrTimer: Awaited {
        switch state {
        case .settingUp(let id), .importing(let id, _), .planning(let id, _), .sending(let id, _, _), .quarantining(let id, _, _),
            .resetting(let id, _):
            .operation(id)
        case .waiting(let wait): .timer(wait.timer)
        case .stopped, .idle, .paused, .halted: .none
        }
    }

    var quotaTimer: TimerID? { quotaPause?.timer }
}

extension SyncMachine.Event {
    var isOutcome: Bool { if case .finished = self { true } else { false } }
}

extension SyncMachine.Effect {
    var isReport: Bool { if case .report = self { true } else { false } }
}
