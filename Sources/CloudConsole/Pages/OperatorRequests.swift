// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Acts that commands on other machines request with an operator's key: `POST /console/api/operator/NAME`.
///
/// Pages have forms for their acts, some of which need a confirmation: a session's cookie is not accepted here.
struct OperatorRequests {
    /// A schema is the largest, and JSON escapes its quotation marks and line breaks.
    static let bodyBytesMax = 2 * ContainerSchema.textBytesMax

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    /// The name of the act that a request asks for; nil for another request.
    static func name(in request: ServiceRequest) -> String? {
        request.path.hasPrefix(PageAddress.acts) ? String(request.path.dropFirst(PageAddress.acts.count)) : nil
    }

    /// Performs an act of an operator, once it is in the audit log.
    func respond(to name: String) async throws -> ServiceResponse {
        guard visit.isByKey else {
            try await audit(OperatorActs.named(name)?.name ?? "operator", "session of the console", .refused)
            throw WireError(.accessDenied, "The request needs an operator's key: 'tarn user operator-key NAME' makes one.")
        }
        guard visit.request.method == "POST", let type = OperatorActs.named(name) else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        let act = try type.init(try FlatObject(json: visit.body))
        let console = pages.console
        let desk = OperatorDesk(service: console.service, storage: console.storage, removals: console.removals)
        do {
            let body = try await console.service.admitted(visit.account) {
                do {
                    try await act.checkKey(of: visit.profile.accountName, at: desk)
                } catch let error as WireError where error.code == .accessDenied {
                    try await audit(type.name, act.subject, .refused)
                    throw error
                }
                try await audit(type.name, act.subject, .done)
                return try await act.perform(at: desk).object.encoded()
            }
            return Page.json(body)
        } catch {
            return PageRequests.response(to: error, user: act.user)
        }
    }

    private func audit(_ act: String, _ subject: String, _ outcome: AuditEvent.Outcome) async throws {
        try await pages.console.service.audit(
            "console.api.\(act)", by: .account(visit.profile.accountName), network: visit.request.network, subject: subject,
            outcome: outcome)
    }
}
