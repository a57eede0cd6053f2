// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The page behind the one-time link: it makes the first operator and signs in.
struct FirstRunPages {
    let pages: ConsolePages

    private var console: Console { pages.console }

    func respond(to request: ServiceRequest) async throws -> ServiceResponse {
        let isPost = request.method == "POST"
        // A page of another origin must not submit the form: it would start a session of an account of its choice.
        if isPost, !ConsolePages.isOwnPage(request) { return Page.problem("Make the operator on the page of the link.", status: 403) }
        let form = try QueryItems(form: isPost ? try await request.form(atMost: 16_384) : [])
        let secret = (isPost ? form["secret"] : QueryItems(request.query)["secret"]) ?? ""
        switch console.firstRun.check(secret, console.service) {
        case .valid: break
        case .invalid:
            try await console.service.audit.append(
                "console.first-run", by: .anonymous, network: request.network, subject: "server", outcome: .refused)
            return Self.expired
        case .throttled:
            return Page.problem("Too many wrong links. Wait a minute before the next one.", status: 429)
        }
        guard isPost else {
            // The account of a first project is likely to be the operator's.
            let profiles = try await console.storage.profiles(named: "", .start, limit: 2)
            return page(secret, name: profiles.count == 1 ? profiles[0].accountName : "")
        }
        let (name, password) = (form["account"] ?? "", form["password"] ?? "")
        if let problem = problem(name, password, again: form["again"] ?? "") { return page(secret, name: name, problem: problem) }
        let outcome = try await console.storage.addFirstOperator(
            named: name, password: password, isClaiming: form["claim"] != nil, now: console.service.now)
        switch outcome {
        case .added: break
        case .operatorExists:
            console.firstRun.close()
            return Self.expired
        case .nameTaken(let isClaimable):
            let remedy =
                isClaimable
                ? "It has devices, and no password. Confirm below that it is the operator's, or choose another name."
                : "Somebody signs in to it. Choose another name."
            return page(secret, name: name, problem: "The account \(name) exists. \(remedy)", isClaimable: isClaimable)
        }
        console.firstRun.close()
        try await console.service.audit.append(
            form["claim"] == nil ? "console.first-run" : "console.first-run.claim", by: .account(name), network: request.network,
            subject: name)
        let result = try await console.service.signIns.signIn(
            name: name, password: password, to: .console(isKept: false), network: request.network)
        switch result {
        case .signedIn(let token): return Page.redirect("/console", headers: [ConsolePages.cookie(token, isKept: false, request)])
        case .needsCode(let challenge): return ConsolePages.codePage(challenge)
        }
    }

    private func problem(_ name: String, _ password: String, again: String) -> String? {
        guard AccountName.isValid(name) else { return AccountName.rule }
        if let problem = PasswordRule.problem(password, accountName: name, isOperator: true) { return problem }
        return password == again ? nil : "The two passwords differ."
    }

    private func page(_ secret: String, name: String = "", problem: String? = nil, isClaimable: Bool = false) -> ServiceResponse {
        var values: [String: Any] = ["secret": secret, "name": name, "least": PasswordRule.operatorCharactersMin]
        if let problem { values["problem"] = problem }
        if isClaimable { values["claim"] = true }
        return Page.html(
            "firstrun", values, title: "Make the first operator", status: problem == nil ? 200 : 400, scripts: ["/console-firstrun.js"])
    }

    private static let expired = Page.problem(
        """
        This link does not work: it was used, is over an hour old, or belongs to an earlier start of the server.
        While the server has no operator it prints a new link whenever it starts.
        """, status: 403)

    /// Shown instead of the sign-in page while a link is open, since no account can sign in yet.
    static func welcome() -> ServiceResponse { Page.html("welcome", [:], title: "This server has no operator yet") }
}
