// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension SyncMachine {
    package struct OperationID: Hashable, Sendable { let number: Int }
    package struct TimerID: Hashable, Sendable { let number: Int }

    /// A caller that waits until import and export are idle.
    package struct WaiterID: Hashable, Sendable {
        package let number: Int

        package init(number: Int) { self.number = number }
    }

    package enum Reset: Hashable, Sendable {
        /// Forget the token: fetch and merge everything again, and delete the records that the full fetch does not show.
        case fetchAgain
        /// Forget the server's versions: upload everything again, under the same names.
        case uploadAgain
        /// The server was restored from a backup: fetch everything again, and upload records with versions that the backup lacks.
        case uploadLost(after: RestoredVersion)
        /// The user deleted the data: delete the mirrored rows and all sync metadata.
        case removeRows
    }

    /// Which changes a batch may carry.
    package enum ExportScope: Hashable, Sendable {
        case all
        /// Changes that a server with full storage accepts: deletions.
        case deletions
    }

    /// The operations of the shell, one at a time. Each carries all its arguments.
    package enum Operation: Hashable, Sendable {
        case setUp
        /// Fetch one change page, and apply the pages of its zone once they are complete.
        case fetchPage(ImportRound)
        /// Read history and plan a batch of at most so many items.
        case plan(ExportScope, RequestSize)
        /// Send a batch and store the server's response.
        ///
        /// - Parameter pendingCount: Changes that are not on the server, the batch included.
        case send(ExportBatch, pendingCount: Int, RequestSize)
        /// Quarantine the only item of a batch: reject it permanently if the failure is certain to be the item's, else move it to the end
        /// of the queue.
        case quarantine(ExportBatch, CloudFailure)
        case reset(Reset)
    }

    package enum Outcome: Hashable, Sendable {
        /// A set-up or a reset ended.
        case done
        /// - Parameters:
        ///   - count: Changes of the page, and of pages that were dropped.
        ///   - remaining: Changes that later pages bring; nil if the server doesn't count them.
        ///   - next: Where the import continues; nil at its end.
        case pageApplied(ChangeCount, remaining: Int? = nil, next: ImportRound?)
        case batchPlanned(ExportPlan)
        /// - Parameter next: The batch that was planned while this one was in flight, if it is still valid.
        case batchSettled(BatchVerdict, next: ExportPlan? = nil)
        case failed(CloudFailure)
    }

    package enum Event: Hashable, Sendable {
        case started
        case stopped
        case paused
        case resumed
        /// Another user may have signed in or out, or another server may be configured.
        case accountChanged
        /// A process saved changes.
        case storeChanged
        case pushArrived
        /// The push stream is open. Notifications before this moment were not received.
        case pushConnected
        case pushDisconnected
        case timerFired(TimerID)
        case finished(OperationID, Outcome)
        case pendingCounted(Int)
        /// The server has stored or staged so many items of the batch in flight.
        case itemsReceived(Int)
        /// A caller waits until import and export are idle, and both begin now.
        case syncRequested(WaiterID)
    }

    package enum Effect: Hashable, Sendable {
        case perform(Operation, OperationID)
        /// Cancel the operation. Its outcome is ignored.
        case cancel(OperationID)
        /// Open the push stream and keep it open.
        case listen
        case wait(Duration, TimerID)
        case countPending
        case report(SyncStatus)
        /// Import and export have been idle since these callers began to wait, or a failure needs an action of the app or the user.
        case resume([WaiterID], failure: CloudFailure?)
    }
}
