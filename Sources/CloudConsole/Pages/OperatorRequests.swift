// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Operations that commands on other machines request with an operator's key: `POST /console/api/operator/NAME`.
///
/// Pages have forms for their operations, some of which need a confirmation: a session's cookie is not accepted here.
struct OperatorRequests {
    /// A schema is the largest, and JSON escapes its quotation marks and line breaks.
    static let bodyBytesMax = 2 * ContainerSchema.textBytesMax

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    /// The name of the operation that a request asks for; nil for another request.
    static func name(in request: ServiceRequest) -> String? {
        request.path.hasPrefix(PageAddress.operations) ? String(request.path.dropFirst(PageAddress.operations.count)) : nil
    }

    /// Performs an administrative operation, once it is in the audit log.
    func respond(to name: String) async throws -> ServiceResponse {
        guard visit.isByKey else {
            try await audit(AdminOperations.named(name)?.name ?? "operator", "session of the console", .refused)
            throw WireError(.accessDenied, "The request needs an operator's key: 'tarn user operator-key NAME' makes one.")
        }
        guard visit.request.method == "POST", let type = AdminOperations.named(name) else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        let operation = try type.init(try FlatObject(json: visit.body))
        let console = pages.console
        let context = AdminContext(service: console.service, storage: console.storage, removals: console.removals)
        do {
            let body = try await console.service.admission.run(account: visit.account) {
                do {
                    try await operation.checkKey(of: visit.profile.accountName, in: context)
                } catch let error as WireError where error.code == .accessDenied {
                    try await audit(type.name, operation.subject, .refused)
                    throw error
                }
                try await audit(type.name, operation.subject, .done)
                return try await operation.perform(in: context).object.encoded()
            }
            return Page.json(body)
        } catch {
            return PageRequests.response(to: error, user: operation.user)
        }
    }

    private func audit(_ operation: String, _ subject: String, _ outcome: AuditEvent.Outcome) async throws {
        try await pages.console.service.audit.append(
            "console.api.\(operation)", by: .account(visit.profile.accountName), network: visit.request.network, subject: subject,
            outcome: outcome)
    }
}
