// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension SyncMachine {
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
        /// The same, where a notification is all that tells of changes: what it brought need not be asked for.
        case fetchPushed
        /// Read history and prepare a batch of at most so many items.
        case planExport(RequestSize)
        /// The same of what needs no room in a storage that is full: deletions.
        case planRoom(RequestSize)
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
        /// Another user may be signed in, or somebody where nobody was, or another server be configured.
        case accountChanged
        /// Somebody saved.
        case storeChanged
        case pushArrived
        /// The push connection stands: what was pushed before is not known.
        case connected
        case networkLost
        case timerFired(TimerID)
        case finished(OperationID, Outcome)
        case pendingCounted(Int)
        /// The server has so many items of the batch that is being sent.
        case itemsReceived(Int)
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
}
