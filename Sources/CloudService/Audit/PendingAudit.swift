// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// The audit log's event of a change that is being made: the first transaction that commits for the change has the event, too.
///
/// ```
/// command   transaction 1        transaction 2 …
///           change, event        change
/// ```
///
/// A process that dies between two transactions of a long change, such as the removal of an account, has left the event. One that dies before
/// the first has changed nothing.
package final class PendingAudit: Sendable {
    @TaskLocal package static var current: PendingAudit?

    private enum State {
        /// No transaction has committed.
        case waiting
        /// A transaction in flight has the event.
        case inFlight
        case stored
    }

    package let event: AuditEvent
    private let state = Mutex(State.waiting)

    package init(_ event: AuditEvent) { self.event = event }

    /// Returns `true` for the one transaction that is to store the event.
    package func begin() -> Bool {
        state.withLock { state in
            guard case .waiting = state else { return false }
            state = .inFlight
            return true
        }
    }

    package func end(isStored: Bool) { state.withLock { $0 = isStored ? .stored : .waiting } }

    /// Runs a transaction that stores the event if no earlier one has.
    package static func store<Value>(
        _ transaction: (_ event: AuditEvent?) async throws -> Value
    ) async throws -> Value {
        guard let pending = current, pending.begin() else { return try await transaction(nil) }
        do {
            let value = try await transaction(pending.event)
            pending.end(isStored: true)
            return value
        } catch {
            pending.end(isStored: false)
            throw error
        }
    }
}

extension AuditStorage {
    /// Makes a change, and stores its event with it: in the first transaction that `body` commits, or after `body` if it commits none.
    package func recording<Value>(_ event: AuditEvent, _ body: () async throws -> Value) async throws -> Value {
        let pending = PendingAudit(event)
        return try await PendingAudit.$current.withValue(pending) {
            let value = try await body()
            // A change without a transaction, such as a backup.
            if pending.begin() { try await append(event) }
            return value
        }
    }
}
