// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import MirroringCore
import Synchronization

/// Makes events of a mirror's operations and posts them in order.
final class EventLog: Sendable {
    typealias Event = NSPersistentCloudKitContainer.Event

    private let open = Mutex<[SyncMachine.OperationID: Event]>([:])
    private let storeIdentifier: String
    private let now: @Sendable () -> Date
    private let queue: DispatchQueue
    private let post: @Sendable (Event) -> Void

    /// - Parameter post: Called on `queue`.
    init(
        storeIdentifier: String, now: @escaping @Sendable () -> Date, queue: DispatchQueue,
        post: @escaping @Sendable (Event) -> Void
    ) {
        self.storeIdentifier = storeIdentifier
        self.now = now
        self.queue = queue
        self.post = post
    }

    func began(_ operation: SyncMachine.Operation, _ id: SyncMachine.OperationID) {
        guard let type = NSPersistentCloudKitContainer.EventType(operation) else { return }
        let event = Event(identifier: UUID(), storeIdentifier: storeIdentifier, type: type, startDate: now())
        open.withLock { $0[id] = event }
        queue.async { self.post(event) }
    }

    func ended(_ id: SyncMachine.OperationID, _ failure: CloudFailure?) {
        guard let began = open.withLock({ $0.removeValue(forKey: id) }) else { return }
        let event = Event(
            identifier: began.identifier, storeIdentifier: storeIdentifier, type: began.type, startDate: began.startDate,
            endDate: now(), error: failure.map { CKError($0) })
        queue.async { self.post(event) }
    }
}
