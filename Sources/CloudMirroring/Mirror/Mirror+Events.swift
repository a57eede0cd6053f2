// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import ObjectGraph

extension Mirror {
    /// Writes down that a step begins, and tells of it.
    ///
    /// - Returns: nil for what happens on this device only.
    func began(_ operation: SyncMachine.Operation) async -> EventTable.Row? {
        guard let type = NSPersistentCloudKitContainer.EventType(operation) else { return nil }
        let event = EventTable.Row(identifier: UUID(), type: type.rawValue, started: file.now)
        // A file that cannot be written stops the step itself, which says so.
        try? await onQueue { try self.file.begin(event) }
        tell(event)
        return event
    }

    func ended(_ event: EventTable.Row?, _ failure: CloudFailure?) async {
        guard var event else { return }
        event.ended = file.now
        event.failure = failure
        let ended = event
        try? await onQueue { try self.file.end(ended) }
        tell(ended)
    }

    private func tell(_ row: EventTable.Row) {
        guard let event = NSPersistentCloudKitContainer.Event(row, storeIdentifier: store.identifier ?? "") else { return }
        observer.event(event)
    }
}
