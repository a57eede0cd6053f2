// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine

extension CloudService {
    /// Appends an event to the audit log and writes it to the process's log.
    ///
    /// An operator's action gets a response only after its event is durable. A refusal with an event that cannot be stored stays a refusal.
    package func audit(
        _ action: String, by actor: AuditEvent.Actor, network: String, subject: String, outcome: AuditEvent.Outcome = .done
    ) async throws {
        let event = AuditEvent(time: surroundings.now(), actor: actor, network: network, action: action, subject: subject, outcome: outcome)
        auditLog(event)
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
}
