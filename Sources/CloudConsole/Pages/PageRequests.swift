// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// Requests of the protocol that the console's own pages send with `/cloudkit.js`: below `/console/api`, as the
/// operator of the session.
///
/// A browser sends the session's cookie with requests of other origins, too (CSRF). So the code of the session's forms is
/// required in a header, which pages of other origins cannot send.
///
/// Commands send them with an operator's key instead of a cookie: ``OperatorKeys``.
struct PageRequests {
    static let prefix = PageAddress.api
    static let codeHeader = "x-tarn-form"

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    static func isOne(_ request: ServiceRequest) -> Bool { request.path.hasPrefix(prefix + "/") }

    /// What pages need. Questions about people and shares are asked elsewhere.
    private static let operations: Set<ServicePath.Operation> = [
        .queryRecords, .lookupRecords, .modifyRecords, .uploadAssets, .listZones, .lookupZones, .databaseChanges, .zoneChanges,
    ]

    func respond() async throws -> ServiceResponse {
        do {
            // Browsers send no bearer token by themselves, so a request with one needs no code.
            guard visit.isByKey || ConstantTime.areEqual(visit.request.header(Self.codeHeader) ?? "", visit.form) else {
                throw WireError(.accessDenied, "the request is of another session: load the page again")
            }
            try pages.console.service.budgets.take(ofAccount: visit.account)
            if let name = OperatorRequests.name(in: visit.request) {
                return try await OperatorRequests(pages: pages, visit: visit).respond(to: name)
            }
            let path = try ServicePath(parsing: String(visit.request.path.dropFirst(Self.prefix.count)))
            guard Self.operations.contains(path.operation), path.operation.accepts(method: visit.request.method) else {
                throw WireError(.notFound, "could not find handler for endpoint")
            }
            var target = ContainerPages(pages: pages, visit: visit)
            (target.container, target.environment) = (path.containerIdentifier, path.environment)
            let call = try await target.call(path.scope, path.operation.changesData ? .writing : .reading)
            let verb = path.operation.rawValue.replacing("/", with: ".")
            try await pages.console.service.audit.append(
                "console.api.\(verb)", by: .account(visit.profile.accountName), network: visit.request.network,
                subject: "\(path.containerIdentifier) \(path.environment.rawValue) \(path.scope.rawValue)"
                    + (path.scope == .public ? "" : ConsentPage.auditText(target.consent)))
            let service = pages.console.service
            return Page.json(
                try await service.admission.run(account: visit.account) { try await service.perform(path.operation, visit.body, as: call) })
        } catch {
            return Self.response(to: error)
        }
    }

    /// A failure as an error of the protocol, which scripts and commands decode.
    ///
    /// - Parameter user: The account that an administrative operation is about.
    static func response(to error: any Error, user: String? = nil) -> ServiceResponse {
        let error = AdminOperations.wireError(of: error, user: user)
        var response = Page.json(error.encoded(), status: error.code.httpStatus)
        if let seconds = error.retryAfter { response.headers.append((HeaderNames.retryAfter, String(Int(seconds.rounded(.up))))) }
        return response
    }
}
