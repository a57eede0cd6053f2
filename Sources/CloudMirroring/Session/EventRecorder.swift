// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import ObjectGraph
import Synchronization

/// Stores the events of operations in the file, and posts them.
struct EventRecorder: Sendable {
    /// The event of the operation that runs.
    struct Step {
        let event: EventTable.Row
        /// The event with its end, once the transaction that did the operation's work has stored it.
        var stored: EventTable.Row?
    }

    let sync: StoreSync

    /// Stores and posts the begin of an operation.
    ///
    /// - Returns: nil for an operation that is local to this device.
    func begin(_ operation: SyncMachine.Operation) -> EventTable.Row? {
        guard let type = NSPersistentCloudKitContainer.EventType(operation) else { return nil }
        let event = EventTable.Row(identifier: UUID(), type: type.rawValue, started: sync.file.now)
        let isBrief = sync.state.withLock { state in
            state.step = Step(event: event)
            // Pushed changes are at hand and do not wait for this write: the event is stored at its end.
            if case .fetchPage(let round) = operation { return round.isPushed && state.importer.pushed.isReady }
            return false
        }
        sync.later { [self] in
            // The operation itself reports a file that cannot be written.
            if !isBrief { try? sync.file.events.begin(event) }
            post(event)
        }
        return event
    }

    /// Stores and posts the end of an operation.
    func end(_ begun: EventTable.Row?, _ failure: CloudFailure?) {
        let stored = sync.state.withLock { state in
            defer { state.step = nil }
            return failure == nil ? state.step?.stored : nil
        }
        guard var event = begun else { return }
        event.ended = stored?.ended ?? sync.file.now
        event.failure = failure
        sync.later { [self, event] in
            if stored == nil { try? sync.file.events.end(event) }
            post(event)
        }
    }

    /// Returns the present operation's event as it ends now if nothing fails, to be stored with the operation's work.
    func endingNow() -> EventTable.Row? {
        guard var event = sync.state.withLock({ $0.step?.event }) else { return nil }
        event.ended = sync.file.now
        return event
    }

    /// - Parameter ending: The result of ``endingNow()``, which a transaction has stored.
    func didStore(_ ending: EventTable.Row?) {
        sync.state.withLock { if $0.step?.event.identifier == ending?.identifier { $0.step?.stored = ending } }
    }

    /// Makes the status and the present operation's event name the account change that was just stored.
    func nameAccountChange() async throws {
        try await sync.readAccountChange()
        sync.state.withLock { $0.details.accountChangeEvent = $0.step?.event.identifier }
    }

    private func post(_ row: EventTable.Row) {
        let change = sync.state.withLock { $0.details.accountChangeEvent == row.identifier ? $0.details.accountChange : nil }
        guard let event = NSPersistentCloudKitContainer.Event(row, storeIdentifier: sync.store.identifier ?? "", accountChange: change)
        else { return }
        sync.observer.event(event)
    }
}
