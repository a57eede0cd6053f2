// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import ObjectGraph
import Synchronization

extension Mirror {
    /// Writes down that a step begins, and tells of it.
    ///
    /// - Returns: nil for what happens on this device only.
    func began(_ operation: SyncMachine.Operation) -> EventTable.Row? {
        guard let type = NSPersistentCloudKitContainer.EventType(operation) else { return nil }
        let event = EventTable.Row(identifier: UUID(), type: type.rawValue, started: file.now)
        // What a notification brought is there at once, and is not to wait for this: it is written when it is over.
        let isBrief = operation == .fetchPushed && pushed.withLock { $0.isReady }
        underWayEvent.withLock { $0 = (event, nil) }
        later {
            // A file that cannot be written stops the step itself, which says so.
            if !isBrief { try? self.file.begin(event) }
            self.tell(event)
        }
        return event
    }

    func ended(_ event: EventTable.Row?, _ failure: CloudFailure?) {
        let written = underWayEvent.withLock { state in
            defer { state = (nil, nil) }
            return failure == nil ? state.written : nil
        }
        guard var event else { return }
        event.ended = written?.ended ?? file.now
        event.failure = failure
        let ended = event
        later {
            if written == nil { try? self.file.end(ended) }
            self.tell(ended)
        }
    }

    /// The event of the step that is under way, as it ends now if nothing fails: to be written along with what the step did.
    func ending() -> EventTable.Row? {
        underWayEvent.withLock { state in
            guard var event = state.event else { return nil }
            event.ended = file.now
            return event
        }
    }

    func wrote(ending event: EventTable.Row?) {
        underWayEvent.withLock { if $0.event?.identifier == event?.identifier { $0.written = event } }
    }

    /// Reads the latest change that the app has not acknowledged, for the status.
    func showAccountChange() async throws {
        let latest = try await onQueue { try self.file.accountChanges().last }
        accountChange.withLock { $0.change = latest }
    }

    /// Lets status and the event of the present step name the change that was just noted.
    func nameAccountChange() async throws {
        try await showAccountChange()
        let event = underWayEvent.withLock { $0.event?.identifier }
        accountChange.withLock { $0.event = event }
    }

    private func tell(_ row: EventTable.Row) {
        let change = accountChange.withLock { $0.event == row.identifier ? $0.change : nil }
        guard let event = NSPersistentCloudKitContainer.Event(row, storeIdentifier: store.identifier ?? "", accountChange: change) else { return }
        observer.event(event)
    }
}
