// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Events of the pages in the audit log, and the page that lists them.
extension ConsolePages {
    /// Appends the operator's act to the audit log: the page and the form's button, and the account, container and credential concerned.
    func audit(_ visit: Visit, outcome: AuditEvent.Outcome = .done) async throws {
        let isInContainer = visit.path.first == "c" && visit.path.count > 3
        let page = isInContainer ? visit.path[3] : visit.path.first ?? "overview"
        let verb = visit.isPost ? visit.fields["do"] ?? "post" : "look"
        let consent =
            visit.looksIntoData ? CloudEnvironment(rawValue: visit.path[2]).flatMap { visit.consent(for: visit.path[1], $0) } : nil
        let subject =
            isInContainer
            ? "\(visit.path[1]) \(visit.path[2])" + ConsentPage.auditText(consent)
            : visit.path.dropFirst().first ?? visit.fields["account"] ?? "server"
        let isOfCredentials = page == "users" || page == "tokens"
        let credential = visit.isPost && isOfCredentials ? visit.fields["id"].flatMap { $0.isEmpty ? nil : ", \($0)" } ?? "" : ""
        try await console.service.audit(
            "console.\(page).\(verb)", by: .account(visit.profile.accountName), network: visit.request.network,
            subject: subject + credential, outcome: outcome)
    }

    /// Events a page of the audit log shows.
    private static let auditEventsPerPage = 100

    func auditLog(_ visit: Visit) async throws -> ServiceResponse {
        let events = try await console.storage.auditEvents(
            before: visit.query["before"].flatMap { Int64($0) }, limit: Self.auditEventsPerPage)
        var values: [String: Any] = [
            "events": events.map { number, event -> [String: Any] in
                [
                    "time": FieldText.date(event.time), "actor": event.actor, "network": event.network, "action": event.action,
                    "subject": event.subject, "outcome": event.outcome.rawValue,
                ]
            }
        ]
        if events.count == Self.auditEventsPerPage, let last = events.last { values["older"] = "/console/audit?before=\(last.number)" }
        return page("audit", values, title: "Audit log", visit)
    }
}
