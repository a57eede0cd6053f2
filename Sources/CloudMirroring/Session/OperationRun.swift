// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Logging
import MirroringCore
import ObjectGraph
import Synchronization

/// Carries out one operation of the machine and records its event.
struct OperationRun: Sendable {
    let sync: StoreSync

    func outcome(of operation: SyncMachine.Operation) async -> SyncMachine.Outcome {
        let recorder = EventRecorder(sync: sync)
        let event = recorder.begin(operation)
        let outcome = await result(of: operation)
        let failure = outcome.failure
        if let failure {
            sync.logger.debug("operation failed", metadata: ["code": "\(failure.code)", "store": "\(sync.store.identifier ?? "")"])
        }
        // A local operation that succeeds proves nothing about the server.
        if failure != nil || event != nil { sync.state.withLock { $0.details.lastFailure = failure } }
        let quarantined = sync.state.withLock { state in
            defer { state.details.newlyUnreadable = [] }
            return state.details.newlyUnreadable
        }
        recorder.end(event, failure ?? CloudFailure(quarantining: quarantined))
        return outcome
    }

    private func result(of operation: SyncMachine.Operation) async -> SyncMachine.Outcome {
        await prepare(for: operation)
        do {
            switch operation {
            case .setUp:
                try await AccountSetUp(sync: sync).run()
                return .done
            case .fetchPage(let round): return try await Importer(sync: sync).fetchPage(round)
            case .plan(.all, let size): return .batchPlanned(try await Exporter(sync: sync).plan(size))
            case .plan(.deletions, let size): return .batchPlanned(try await Exporter(sync: sync).planDeletions(size))
            case .send(let batch, let pendingCount, let size):
                return try await Exporter(sync: sync).send(batch, pendingCount: pendingCount, size)
            case .quarantine(let batch, let failure):
                return .batchSettled(try await sync.onQueue { [file = sync.file] in try file.exports.quarantine(batch, failure) })
            case .reset(let reset):
                try await sync.merge(try await sync.onQueue { [file = sync.file] in try file.resets.reset(reset) })
                try await sync.readAccountChange()
                return .done
            }
        } catch {
            sync.state.withLock { $0.importer.homeRow = nil }
            return .failed(await Importer(sync: sync).explanation(of: CloudFailure(error)))
        }
    }

    /// Discards state that the operation makes stale.
    private func prepare(for operation: SyncMachine.Operation) async {
        switch operation {
        case .plan, .send: break
        case .setUp, .fetchPage, .quarantine, .reset:
            sync.state.withLock { $0.exporter.pendingCount.invalidate() }
            await Exporter(sync: sync).abandonPipelinedRequest()
            sync.state.withLock { $0.exporter.hasImported = true }
        }
        switch operation {
        case .plan, .fetchPage: break
        case .setUp, .send, .quarantine, .reset: sync.state.withLock { $0.importer.homeRow = nil }
        }
    }
}

extension SyncMachine.Outcome {
    /// The failure that the event reports: that of the whole operation, or of items that are not retried.
    fileprivate var failure: CloudFailure? {
        switch self {
        case .failed(let failure): failure
        case .batchSettled(let verdict, _): verdict.firstFailure
        case .done, .pageApplied, .batchPlanned: nil
        }
    }
}
