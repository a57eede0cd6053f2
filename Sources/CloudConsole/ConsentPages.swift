// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// The page on which users permit an operator to read their private data, and revoke the permission: `/consents`.
///
/// It belongs to the address of the apps: users sign in with a password, at the identity provider, or with a device's token.
/// The page shows the token of a new consent once. The user sends it to the operator, and the operator enters it in the console.
struct ConsentPages {
    static let path = "/consents"
    private static let cookie = PageCookie(name: "tarn_consents", path: path)
    private static let formBytesMax = 16_384

    let console: Console

    private var service: CloudService { console.service }

    /// A signed-in user of the page.
    private struct Visit {
        var session: WebSession
        var accountName: String
        /// In every form of the page, so that no other page can send them.
        var form: String
        /// The token that follows, for the cookie.
        var next: String
    }

    func respond(to request: ServiceRequest) async -> ServiceResponse {
        do {
            switch request.method {
            case "GET":
                guard let visit = try await visit(request) else { return signInPage() }
                return try await page(visit, request)
            case "POST":
                // Login CSRF: a page of another origin must not start a session of another account.
                guard ConsolePages.isOwnPage(request) else { return Page.problem("Use the server's own page for consents.", status: 403) }
                let form = try QueryItems(form: try await request.form(atMost: Self.formBytesMax))
                guard let visit = try await visit(request), form["do"] != nil else {
                    return Page.ofSignIn(try await signIn(form, request))
                }
                guard ConstantTime.areEqual(form["form"] ?? "", visit.form) else {
                    return Page.problem("The form is of another session. Load the page again.", status: 403)
                }
                return try await change(form, visit, request)
            default: return Page.problem("This page does not exist.", status: 404)
            }
        } catch let error as WireError {
            return Page.problem(error)
        } catch {
            return Page.problem("The server could not carry out the request. Try again later.", status: 500)
        }
    }

    /// Takes the request out of the budget of its account, or of its network without one.
    private func visit(_ request: ServiceRequest) async throws -> Visit? {
        guard let visit = try await session(of: request) else {
            try service.budgets.take(ofPagesFrom: request.network)
            return nil
        }
        try service.budgets.take(ofAccount: visit.session.account)
        return visit
    }

    private func session(of request: ServiceRequest) async throws -> Visit? {
        guard let token = request.cookie(Self.cookie) else { return nil }
        do {
            let (id, session, next) = try await service.sessions.session(ofToken: token)
            guard session.use == .consentPage, let profile = try await service.directory.profile(ofAccount: session.account) else {
                return nil
            }
            return Visit(
                session: session, accountName: profile.accountName, form: service.formCode(of: Hex.text(id)), next: next)
        } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
            return nil
        }
    }

    // MARK: Sign-in

    private func signIn(_ form: QueryItems, _ request: ServiceRequest) async throws -> ServiceResponse {
        do {
            if let challenge = form["challenge"] {
                let token = try await service.secondFactors.signIn(
                    challenge: challenge, code: form["code"] ?? "", containerIdentifier: SignInPlace.consentPage.containerIdentifier,
                    environment: SignInPlace.consentPage.environment, network: request.network
                ).token
                return Page.redirect(Self.path, headers: [Self.cookie.header(token, request)])
            }
            if let token = form["token"], !token.isEmpty {
                let session = try await service.consents.signIn(toConsentPageWith: token, network: request.network)
                return Page.redirect(Self.path, headers: [Self.cookie.header(session, request)])
            }
            let result = try await service.signIns.signIn(
                name: form["name"] ?? "", password: form["password"] ?? "", to: .consentPage, network: request.network)
            switch result {
            case .signedIn(let token): return Page.redirect(Self.path, headers: [Self.cookie.header(token, request)])
            case .needsCode(let challenge): return codePage(challenge)
            }
        } catch let error as WireError {
            if let challenge = form["challenge"], error.code != .authenticationRequired {
                return codePage(challenge, problem: SignInPages.sentence(ofCode: error), status: error.code.httpStatus)
            }
            let isToken = form["token"].map { !$0.isEmpty } == true && error.code == .authenticationFailed
            return signInPage(
                problem: isToken ? "The device's token is wrong or was revoked." : SignInPages.sentence(error),
                status: error.code.httpStatus)
        }
    }

    /// Continues a sign-in at the identity provider.
    func page(afterProvider result: SignInResult, _ request: ServiceRequest) -> ServiceResponse {
        switch result {
        case .signedIn(let token):
            // A page instead of a redirect: the provider's page began the navigation, so that a `Strict` cookie would not be sent with it.
            Page.html(
                "providerdone", ["address": Self.path, "name": "the page of consents"], title: "Signed in",
                headers: [("Refresh", "0; url=\(Self.path)"), Self.cookie.header(token, request)])
        case .needsCode(let challenge): codePage(challenge)
        }
    }

    private func signInPage(problem: String? = nil, status: Int = 200) -> ServiceResponse {
        var values: [String: Any] = ["consents": true]
        if let problem { values["problem"] = problem }
        if let provider = service.providerSignIns.providerName { values["provider"] = provider }
        return Page.html("consentsignin", values, title: "Consents to read your data", status: status)
    }

    private func codePage(_ challenge: String, problem: String? = nil, status: Int = 200) -> ServiceResponse {
        var values: [String: Any] = ["consents": true, "challenge": challenge]
        if let problem { values["problem"] = problem }
        return Page.html("signincode", values, title: "Sign in", status: status)
    }

    // MARK: Consents

    private func change(_ form: QueryItems, _ visit: Visit, _ request: ServiceRequest) async throws -> ServiceResponse {
        switch form["do"] {
        case "give":
            let environment = form["environment"].flatMap { CloudEnvironment(rawValue: $0) } ?? .production
            let (token, until) = try await service.consents.give(
                in: visit.session, containerIdentifier: form["container"] ?? "", environment: environment,
                hours: form["hours"].flatMap { Int($0) } ?? 0, network: request.network)
            return try await page(visit, request, given: (token, until))
        case "end":
            let ended = try await consents(of: visit).first { $0.id == form["id"] }
            // Sessions of other uses are not this page's to end.
            if let ended {
                try await console.storage.endSessions(ofUser: visit.accountName, id: ended.id)
                try await service.audit.append(
                    "consent.ended", by: .account(visit.accountName), network: request.network, subject: "consent \(ended.id)")
            }
            return Page.redirect(Self.path)
        case "signout":
            if let token = request.cookie(Self.cookie) { try await service.sessions.signOut(token: token) }
            return Page.redirect(Self.path, headers: [Self.cookie.removal(request)])
        default: throw WireError(.badRequest, "The form has an unknown kind.")
        }
    }

    private func consents(of visit: Visit) async throws -> [AccountAccess] {
        try await console.storage.accesses(ofUser: visit.accountName).filter {
            if case .session(.consent, _) = $0.kind { true } else { false }
        }
    }

    private func page(_ visit: Visit, _ request: ServiceRequest, given: (token: String, until: Int64)? = nil) async throws
        -> ServiceResponse
    {
        // The last look is stored once a minute.
        let consents = try await consents(of: visit).compactMap { access -> [String: Any]? in
            guard case .session(.consent(let container, let until), _) = access.kind, until > service.now else { return nil }
            return [
                "id": access.id, "container": container, "given": FieldText.date(access.began), "until": FieldText.date(until),
                "look": access.lastUse.map { FieldText.date($0.time) } ?? "not yet",
            ]
        }
        let containers = try await service.directory.containers(ofAccount: visit.session.account)
        var values: [String: Any] = [
            "account": visit.accountName, "consents": consents, "containers": containers,
            "hours": Consents.hours.map {
                ["hours": $0, "name": $0 < 24 ? CountText.text($0, "hour") : CountText.text($0 / 24, "day")]
                    as [String: Any]
            },
        ]
        if !containers.isEmpty { values["hasContainers"] = true }
        if let given { values["given"] = ["token": given.token, "until": FieldText.date(given.until)] }
        return Page.html(
            "consents", values, title: "Consents to read your data", form: visit.form, headers: [Self.cookie.header(visit.next, request)])
    }
}
