// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine

/// The audit log, and the names of accounts in it.
package struct AuditTrail: ServiceSubject {
    let core: ServiceCore
    let refusals: RefusalGate
    /// Writes events of the audit log to the process's log, too.
    let log: @Sendable (AuditEvent) -> Void

    /// Appends an event to the audit log and writes it to the process's log.
    ///
    /// An operator's action gets a response only after its event is durable. A refusal with an event that cannot be stored stays a refusal.
    package func append(
        _ action: String, by actor: AuditEvent.Actor, network: String, subject: String, outcome: AuditEvent.Outcome = .done
    ) async throws {
        let event = AuditEvent(time: surroundings.now(), actor: actor, network: network, action: action, subject: subject, outcome: outcome)
        log(event)
        guard outcome == .refused else { return try await accounts.append(event) }
        guard case .store(let suppressed) = refusals.take(now: event.time) else { return }
        if suppressed > 0 {
            var note = event
            note.action = "refusals.not-listed"
            note.subject = "\(suppressed) more refusals in the minute before"
            try? await accounts.append(note)
        }
        try? await accounts.append(event)
    }

    /// The name of an account in the audit log.
    func subject(ofAccount account: Int64?) async throws -> String {
        guard let account, let profile = try await accounts.profile(ofAccount: account) else { return "unknown account" }
        return profile.accountName
    }
}
