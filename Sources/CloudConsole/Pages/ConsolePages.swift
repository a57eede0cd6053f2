// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// The operator's pages. Without an operator's session, every address shows the sign-in page.
struct ConsolePages {
    static let cookie = PageCookie(name: "tarn_console", path: "/console")
    /// Bytes of a form. A record of the largest size has three bytes for each of its own, and the controls' names.
    static let formBytesMax = 6_000_000
    /// Bytes of a form without texts of a person: that of Sign out.
    static let smallFormBytesMax = 16_384
    /// Items of a form, except for those that have controls for each field of a record or type.
    static let formItemsMax = 2000

    let console: Console

    /// The pages of a session, by the first component of their paths below `/console`.
    enum Route: String, CaseIterable {
        /// The only one without a component.
        case overview = ""
        case users, devices, status, settings, backups, audit, log
        case devicesFile = "devices.json"
        case logFile = "log.json"
        case secondFactor = "second-factor"
        case container = "c"
        case signOut = "signout"

        /// - Parameter path: A component that could not be decoded is empty.
        init?(path: [String]) {
            guard path.first?.isEmpty != true else { return nil }
            self.init(rawValue: path.first ?? Route.overview.rawValue)
        }
    }

    /// A signed-in operator and where the page is.
    struct Visit: Sendable {
        var account: Int64
        /// Identifier of the session.
        var session: [UInt8]
        /// When the session began, in milliseconds since 1970 UTC.
        var started: Int64
        var profile: AccountProfile
        /// In every form of the pages, so that no other page can send them.
        var form: String
        var request: ServiceRequest
        var query: QueryItems
        /// Empty for a page that is asked for.
        var fields: QueryItems
        /// The body of a request that is not a form.
        var body: [UInt8]
        var isPost: Bool
        /// Whether the session's token came as an operator's key, and not as a cookie.
        var isByKey = false
        /// A person's permission to read their data, if the operator entered one.
        var consent: Consent?
        /// The path below `/console`.
        var path: [String]
        /// The token that follows, for the cookie.
        var headers: [(name: String, value: String)]

        /// `true` for pages that show the contents of databases.
        var looksIntoData: Bool { path.first == "c" && path.count > 3 && ["records", "zones", "subscriptions"].contains(path[3]) }

        /// `true` for pages whose display is in the audit log: records, accounts with their networks and devices, and requests. What these
        /// pages poll, such as `log.json`, isn't.
        var isLook: Bool {
            guard !(path.first == "users" && path.dropFirst(2).first == UserPages.devicesFile) else { return false }
            return looksIntoData || path.first.map { ["users", "devices", "log"].contains($0) } ?? false
        }

        /// The consent, if it is for a container and environment.
        func consent(for container: String, _ environment: CloudEnvironment) -> Consent? {
            consent.flatMap { $0.containerIdentifier == container && $0.environment == environment ? $0 : nil }
        }
    }

    func respond(to request: ServiceRequest) async throws -> ServiceResponse {
        guard PageRequests.isOne(request) else { return try await answer(request) }
        do {
            return try await answer(request)
        } catch {
            return PageRequests.response(to: error)
        }
    }

    private func answer(_ request: ServiceRequest) async throws -> ServiceResponse {
        if request.path == "/console/signin" || request.path == FirstRun.path {
            try console.service.budgets.take(ofPagesFrom: request.network)
            guard request.path == FirstRun.path else { return Page.ofSignIn(try await signIn(request)) }
            return Page.ofSignIn(try await FirstRunPages(pages: self).respond(to: request))
        }
        guard let visit = try await visit(request) else {
            try console.service.budgets.take(ofPagesFrom: request.network)
            if PageRequests.isOne(request) {
                if OperatorKeys.key(of: request) != nil {
                    try await console.service.audit.append(
                        "console.api.key", by: .anonymous, network: request.network, subject: "unknown key", outcome: .refused)
                }
                throw WireError(.authenticationRequired, "request needs authorization")
            }
            if request.method == "GET", console.firstRun.isOpen(now: console.service.now) { return FirstRunPages.welcome() }
            return signInPage(insteadOf: request)
        }
        // Other people than operators sign out with the refusal's own button.
        guard visit.profile.isOperator || visit.path == ["signout"] else {
            if PageRequests.isOne(request) { try console.service.budgets.take(ofAccount: visit.account) }
            try await audit(visit, outcome: .refused)
            let text = "This console is for operators. An operator makes you one with 'tarn user profile NAME --operator'."
            if PageRequests.isOne(request) { throw WireError(.accessDenied, text) }
            return problem(text, status: 403, visit)
        }
        if PageRequests.isOne(request) { return try await PageRequests(pages: self, visit: visit).respond() }
        do {
            return try await respond(to: visit)
        } catch {
            return problem(error, visit)
        }
    }

    /// A page of a session.
    private func respond(to visit: Visit) async throws -> ServiceResponse {
        if visit.isPost, !ConstantTime.areEqual(visit.fields["form"] ?? "", visit.form) {
            try await audit(visit, outcome: .refused)
            return problem("The form is of another session. Load the page again.", status: 403, visit)
        }
        if let page = try await ConfirmationPage(pages: self, visit: visit).respond() { return page }
        // Before the act: without a stored event it does not happen.
        if visit.isPost || visit.isLook { try await audit(visit) }
        switch Route(path: visit.path) {
        case .overview: return try await OverviewPage(pages: self, visit: visit).respond()
        case .signOut: return try await signOut(visit)
        case .users: return try await UserPages(pages: self, visit: visit).respond()
        case .devices: return try await DevicePages(pages: self, visit: visit).all()
        case .devicesFile: return try await DevicePages(pages: self, visit: visit).allJSON()
        case .status: return try await StatusPages(pages: self, visit: visit).status()
        case .settings: return StatusPages(pages: self, visit: visit).settings()
        case .backups: return try await BackupPage(pages: self, visit: visit).respond()
        case .secondFactor: return try await SecondFactorPage(pages: self, visit: visit).respond()
        case .audit: return try await auditLog(visit)
        case .log:
            if visit.path.count == 2, visit.path[1] == "kept" { return try await RequestArchivePage(pages: self, visit: visit).respond() }
            return try await RequestLogPage(pages: self, visit: visit).respond()
        case .logFile: return try await RequestLogPage(pages: self, visit: visit).json()
        case .container: return try await ContainerPages(pages: self, visit: visit).respond()
        case nil: return problem("This page does not exist.", status: 404, visit)
        }
    }
}
