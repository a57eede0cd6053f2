// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The sign-in of operators with a password and a code, and their sign-out.
extension ConsolePages {
    private static let keptSeconds: Int64 = 14 * 86_400

    static func cookie(_ token: String, isKept: Bool, _ request: ServiceRequest) -> (name: String, value: String) {
        cookie.header(token, seconds: isKept ? keptSeconds : nil, request)
    }

    func signIn(_ request: ServiceRequest) async throws -> ServiceResponse {
        guard request.method == "POST" else {
            // The way around the hint at the link of the first run.
            guard console.firstRun.isOpen(now: console.service.now) else { return Page.redirect("/console") }
            return signInPage(status: 200)
        }
        // Login CSRF: a page of another origin must not start a session of another account.
        guard Self.isOwnPage(request) else {
            return Page.problem("Sign in on the console's own page.", status: 403)
        }
        let form = try QueryItems(form: try await request.form(atMost: 16_384))
        do {
            if let challenge = form["challenge"] {
                return try await respond(toCode: form["code"] ?? "", challenge, request, next: form["next"])
            }
            let place = SignInPlace.console(isKept: form["keep"] != nil)
            let result = try await console.service.signIns.signIn(
                name: form["name"] ?? "", password: form["password"] ?? "", to: place, network: request.network)
            switch result {
            case .signedIn(let token):
                return Page.redirect(Self.next(form["next"]), headers: [Self.cookie(token, isKept: place.isKept, request)])
            case .needsCode(let challenge): return Self.codePage(challenge, next: form["next"])
            }
        } catch let error as WireError {
            return signInPage(problem: SignInPages.sentence(error), status: error.code.httpStatus, next: form["next"])
        }
    }

    /// The sign-in page in place of a page. The form has the page's address, which signing in opens.
    func signInPage(insteadOf request: ServiceRequest) -> ServiceResponse {
        // Scripts and downloads must not take the page for their file.
        let isFile = [".json", ".csv"].contains { request.path.hasSuffix($0) }
        let address = request.query.isEmpty ? request.path : "\(request.path)?\(request.query)"
        let isForm = request.method != "GET" && request.path != "/console/signout"
        return signInPage(
            problem: isForm ? "The session has ended, and nothing of the form was saved. Sign in to open its page again." : nil,
            status: request.method == "GET" && !isFile ? 200 : 403, next: isFile || request.path == "/console/signout" ? nil : address)
    }

    private static let nextBytesMax = 4096

    /// The address that signing in opens: that of a form or cookie, if it is one of the console.
    static func next(_ address: String?) -> String {
        guard let address, address.utf8.count <= nextBytesMax, address.hasPrefix("/console/"),
            address.utf8.allSatisfy({ 33...126 ~= $0 && $0 != UInt8(ascii: "\\") })
        else { return "/console" }
        return address
    }

    /// Returns `false` for a form that a browser sends from a page of another origin.
    static func isOwnPage(_ request: ServiceRequest) -> Bool {
        let site = request.header("sec-fetch-site")
        guard let origin = request.header("origin") else { return true }
        return origin == request.baseURL && (site == nil || site == "same-origin")
    }

    private func respond(
        toCode code: String, _ challenge: String, _ request: ServiceRequest, next: String?
    ) async throws -> ServiceResponse {
        do {
            let (token, place) = try await console.service.secondFactors.signIn(
                challenge: challenge, code: code, containerIdentifier: "", environment: .production, network: request.network)
            return Page.redirect(Self.next(next), headers: [Self.cookie(token, isKept: place.isKept, request)])
        } catch let error as WireError where error.code != .authenticationRequired {
            return Self.codePage(challenge, problem: SignInPages.sentence(ofCode: error), status: error.code.httpStatus, next: next)
        }
    }

    func signInPage(problem: String? = nil, status: Int, next: String? = nil) -> ServiceResponse {
        var values: [String: Any] = ["console": true]
        if let next { values["next"] = next }
        if let problem { values["problem"] = problem }
        // The provider knows the public address alone, which does not have the console if the console has its own.
        if console.part == .all, let provider = console.service.providerSignIns.providerName {
            values["provider"] = provider
            let next = Self.next(next)
            if next != "/console" { values["providerNext"] = QueryItems.encode(next) }
        }
        return Page.html("signin", values, title: "Sign in", status: status)
    }

    static func codePage(_ challenge: String, problem: String? = nil, status: Int = 200, next: String? = nil) -> ServiceResponse {
        var values: [String: Any] = ["console": true, "challenge": challenge]
        if let next { values["next"] = next }
        if let problem { values["problem"] = problem }
        return Page.html("signincode", values, title: "Sign in", status: status)
    }

    func signOut(_ visit: Visit) async throws -> ServiceResponse {
        guard visit.isPost else { return Page.redirect("/console") }
        if let token = visit.request.cookie(Self.cookie) { try await console.service.sessions.signOut(token: token) }
        return Page.redirect(
            "/console", headers: [Self.cookie.removal(visit.request), ConsentPage.cookie.removal(visit.request)])
    }
}
