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
        try await console.service.audit.append(
            "console.\(page).\(verb)", by: .account(visit.profile.accountName), network: visit.request.network,
            subject: subject + credential, outcome: outcome)
    }

    /// Events a page of the audit log shows.
    private static let auditEventsPerPage = 100
    /// Events that a page with a filter examines; the next page goes on behind them.
    private static let auditEventsExamined = 20_000

    func auditLog(_ visit: Visit) async throws -> ServiceResponse {
        let filter = AuditFilter(visit.query)
        let limit = filter.isEmpty ? Self.auditEventsPerPage : 1000
        var last = visit.query["before"].flatMap { Int64($0) }
        var shown: [AuditEvent] = []
        var (examined, isEnd) = (0, false)
        repeat {
            let events = try await console.storage.auditEvents(before: last, limit: limit)
            isEnd = events.count < limit
            for (number, event) in events {
                guard shown.count < Self.auditEventsPerPage else {
                    isEnd = false
                    break
                }
                (last, examined) = (number, examined + 1)
                if filter.matches(event) { shown.append(event) }
            }
        } while !isEnd && shown.count < Self.auditEventsPerPage && examined < Self.auditEventsExamined
        var values: [String: Any] = [
            "text": filter.text,
            "events": shown.map { event in
                [
                    "time": FieldText.date(event.time), "actor": event.actor, "network": event.network, "action": event.action,
                    "subject": event.subject, "outcome": event.outcome.rawValue,
                ]
            },
        ]
        if filter.isRefused { values["isRefused"] = true }
        if !filter.isEmpty { values["isFiltered"] = true }
        if !isEnd, let last { values["older"] = "/console/audit?" + RecordQuery.text([("before", "\(last)")] + filter.items) }
        if !isEnd, shown.count < Self.auditEventsPerPage { values["examined"] = examined }
        return page("audit", values, title: "Audit log", visit)
    }
}

/// The filter of the audit log's page, from the items of its address.
private struct AuditFilter {
    /// Part of the actor, the network, the action or the subject; empty for all.
    let text: String
    /// Whether events with a refusal are listed alone.
    let isRefused: Bool

    init(_ items: QueryItems) {
        text = (items["text"] ?? "").trimmed
        isRefused = items["outcome"] == AuditEvent.Outcome.refused.rawValue
    }

    var isEmpty: Bool { text.isEmpty && !isRefused }

    var items: [(String, String)] {
        (text.isEmpty ? [] : [("text", text)]) + (isRefused ? [("outcome", AuditEvent.Outcome.refused.rawValue)] : [])
    }

    func matches(_ event: AuditEvent) -> Bool {
        guard !isRefused || event.outcome == .refused else { return false }
        let word = text.lowercased()
        return word.isEmpty || [event.actor, event.network, event.action, event.subject].contains { $0.lowercased().contains(word) }
    }
}
