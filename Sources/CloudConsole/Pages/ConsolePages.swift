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

    let console: Console

    /// A signed-in operator and where the page is.
    struct Visit: Sendable {
        var account: Int64
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

        /// The consent, if it is for a container and environment.
        func consent(for container: String, _ environment: CloudEnvironment) -> Consent? {
            consent.flatMap { $0.containerIdentifier == container && $0.environment == environment ? $0 : nil }
        }
    }

    func respond(to request: ServiceRequest) async throws -> ServiceResponse {
        if request.path == "/console/signin" { return Page.ofSignIn(try await signIn(request)) }
        if request.path == FirstRun.path { return Page.ofSignIn(try await FirstRunPages(pages: self).respond(to: request)) }
        guard let visit = try await visit(request) else {
            if PageRequests.isOne(request) { throw WireError(.authenticationRequired, "request needs authorization") }
            if request.method == "GET", console.firstRun.isOpen(now: console.service.now) { return FirstRunPages.welcome() }
            return signInPage(status: request.method == "GET" ? 200 : 403)
        }
        guard visit.profile.isOperator else {
            try await audit(visit, outcome: .refused)
            return Page.problem(
                "This console is for operators. An operator makes you one with 'tarn user profile NAME --operator'.", status: 403)
        }
        if PageRequests.isOne(request) { return try await PageRequests(pages: self, visit: visit).respond() }
        if visit.isPost, !ConstantTime.areEqual(visit.fields["form"] ?? "", visit.form) {
            try await audit(visit, outcome: .refused)
            return Page.problem("The form is of another session. Load the page again.", status: 403)
        }
        // Before it is carried out: an act whose event could not be stored does not happen.
        if visit.isPost || visit.looksIntoData { try await audit(visit) }
        switch visit.path.first {
        case nil: return try await overview(visit)
        case "signout": return try await signOut(visit)
        case "users": return try await UserPages(pages: self, visit: visit).respond()
        case "status": return try await StatusPages(pages: self, visit: visit).status()
        case "settings": return StatusPages(pages: self, visit: visit).settings()
        case "backups": return try await BackupPage(pages: self, visit: visit).respond()
        case "second-factor": return try await SecondFactorPage(pages: self, visit: visit).respond()
        case "audit": return try await auditLog(visit)
        case "log":
            if visit.path.count == 2, visit.path[1] == "kept" { return try await RequestArchivePage(pages: self, visit: visit).respond() }
            let values: [String: Any] = console.requestArchive == nil ? [:] : ["kept": true]
            return page("log", values, title: "Request log", visit, scripts: ["/console.js"])
        case "log.json": return Page.json(console.log.json(after: visit.query["after"].flatMap { Int($0) } ?? 0))
        case "c": return try await ContainerPages(pages: self, visit: visit).respond()
        default: return Page.problem("This page does not exist.", status: 404)
        }
    }

    /// Appends what the operator does to the audit log: the page and the form's button, and the account or container concerned.
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
        try await console.service.audit(
            "console.\(page).\(verb)", by: .account(visit.profile.accountName), network: visit.request.network, subject: subject,
            outcome: outcome)
    }

    /// Events a page of the audit log shows.
    private static let auditEventsPerPage = 100

    private func auditLog(_ visit: Visit) async throws -> ServiceResponse {
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

    private func visit(_ request: ServiceRequest) async throws -> Visit? {
        guard request.method == "GET" || request.method == "POST" else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        let key = OperatorKeys.key(of: request)
        guard let token = key ?? request.cookie(Self.cookie) else { return nil }
        let found: (id: [UInt8], session: WebSession, next: String)
        do {
            found = try await console.service.session(ofToken: token)
        } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
            return nil
        }
        // A key in a cookie would open all pages, and be renewed by them.
        guard found.session.use == (key == nil ? .console : .operatorKey),
            let profile = try await console.service.profile(ofAccount: found.session.account)
        else { return nil }
        let isPost = request.method == "POST"
        let body = isPost ? try await request.form(atMost: Self.formBytesMax) : []
        let isForm = isPost && !PageRequests.isOne(request)
        let path = request.path.split(separator: "/").dropFirst().map { QueryItems.decode($0) ?? "" }
        return Visit(
            account: found.session.account, profile: profile, form: console.service.formCode(of: Hex.text(found.id)),
            request: request, query: QueryItems(request.query.replacing("+", with: " ")), fields: QueryItems(form: isForm ? body : []),
            body: body, isPost: isPost, isByKey: key != nil, consent: try await consent(request), path: path,
            headers: [Self.cookie(found.next, isKept: found.session.isKept, request)])
    }

    /// The consent of the cookie; nil if it has expired or was ended.
    private func consent(_ request: ServiceRequest) async throws -> Consent? {
        guard let token = request.cookie(ConsentPage.cookie) else { return nil }
        do {
            return try await console.service.consent(ofToken: token)
        } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
            return nil
        }
    }

    private static let keptSeconds: Int64 = 14 * 86_400

    static func cookie(_ token: String, isKept: Bool, _ request: ServiceRequest) -> (name: String, value: String) {
        cookie.header(token, seconds: isKept ? keptSeconds : nil, request)
    }

    private func signIn(_ request: ServiceRequest) async throws -> ServiceResponse {
        guard request.method == "POST" else {
            // The way around the hint at the link of the first run.
            guard console.firstRun.isOpen(now: console.service.now) else { return Page.redirect("/console") }
            return signInPage(status: 200)
        }
        // Login CSRF: a page of another origin must not start a session of another account.
        guard Self.isOwnPage(request) else {
            return Page.problem("Sign in on the console's own page.", status: 403)
        }
        let form = QueryItems(form: try await request.form(atMost: 16_384))
        do {
            if let challenge = form["challenge"] { return try await respond(toCode: form["code"] ?? "", challenge, request) }
            let place = SignInPlace.console(isKept: form["keep"] != nil)
            let result = try await console.service.signIn(
                name: form["name"] ?? "", password: form["password"] ?? "", to: place, network: request.network)
            switch result {
            case .signedIn(let token): return Page.redirect("/console", headers: [Self.cookie(token, isKept: place.isKept, request)])
            case .needsCode(let challenge): return Self.codePage(challenge)
            }
        } catch let error as WireError {
            return signInPage(problem: SignInPages.sentence(error), status: error.code.httpStatus)
        }
    }

    /// Returns `false` for a form that a browser sends from a page of another origin.
    static func isOwnPage(_ request: ServiceRequest) -> Bool {
        let site = request.header("sec-fetch-site")
        guard let origin = request.header("origin") else { return true }
        return origin == request.baseURL && (site == nil || site == "same-origin")
    }

    private func respond(toCode code: String, _ challenge: String, _ request: ServiceRequest) async throws -> ServiceResponse {
        do {
            let (token, place) = try await console.service.signIn(
                challenge: challenge, code: code, containerIdentifier: "", environment: .production, network: request.network)
            return Page.redirect("/console", headers: [Self.cookie(token, isKept: place.isKept, request)])
        } catch let error as WireError where error.code != .authenticationRequired {
            return Self.codePage(challenge, problem: SignInPages.sentence(ofCode: error), status: error.code.httpStatus)
        }
    }

    func signInPage(problem: String? = nil, status: Int) -> ServiceResponse {
        var values: [String: Any] = ["console": true]
        if let problem { values["problem"] = problem }
        // The provider knows the public address alone, which does not have the console if the console has its own.
        if console.part == .all, let provider = console.service.identityProviderName { values["provider"] = provider }
        return Page.html("signin", values, title: "Sign in", status: status)
    }

    static func codePage(_ challenge: String, problem: String? = nil, status: Int = 200) -> ServiceResponse {
        var values: [String: Any] = ["console": true, "challenge": challenge]
        if let problem { values["problem"] = problem }
        return Page.html("signincode", values, title: "Sign in", status: status)
    }

    private func signOut(_ visit: Visit) async throws -> ServiceResponse {
        guard visit.isPost else { return Page.redirect("/console") }
        if let token = visit.request.cookie(Self.cookie) { try await console.service.signOut(token: token) }
        return Page.redirect(
            "/console", headers: [Self.cookie.removal(visit.request), ConsentPage.cookie.removal(visit.request)])
    }

    private func overview(_ visit: Visit) async throws -> ServiceResponse {
        let usage = try await console.storage.containerUsage()
        let containers = try await console.storage.containers().map { name -> [String: Any] in
            var container: [String: Any] = [
                "name": name,
                "environments": CloudEnvironment.allCases.map { environment -> [String: Any] in
                    let one = usage.first { $0.containerIdentifier == name && $0.environment == environment }
                    let databases = one?.databases ?? 0
                    return [
                        "address": "/console/c/\(name)/\(environment.rawValue)/types",
                        "name": environment == .development ? "Development" : "Production",
                        "databases": "\(databases) \(databases == 1 ? "database" : "databases")",
                        "records": FieldText.bytes(one?.usage.records ?? 0), "files": FieldText.bytes(one?.usage.assets ?? 0),
                    ]
                },
            ]
            if let time = console.history.lastUse(of: name) { container["lastUse"] = FieldText.date(time) }
            return container
        }
        return page("overview", ["containers": containers], title: "Containers", visit)
    }

    /// A page with the menu and the operator's name.
    func page(
        _ template: String, _ values: [String: Any], title: String, _ visit: Visit, container: String? = nil,
        environment: CloudEnvironment = .development, scripts: [String] = [], status: Int = 200
    ) -> ServiceResponse {
        // Each page has a letter of its own, for the keyboard.
        var menu = [MenuItem("Containers", "/console", key: "c")]
        if let container {
            let base = "/console/c/\(container)/\(environment.rawValue)"
            menu += [
                MenuItem("Types", base + "/types", key: "t"), MenuItem("Records", base + "/records", key: "r"),
                MenuItem("Zones", base + "/zones", key: "z"), MenuItem("Subscriptions", base + "/subscriptions", key: "b"),
                MenuItem("Schema", base + "/schema", key: "s"), MenuItem("Roles", base + "/roles", key: "o"),
                MenuItem("Tokens", base + "/tokens", key: "k"), MenuItem("Reach", base + "/reach", key: "e"),
            ]
        }
        menu += [
            MenuItem("Users", "/console/users", key: "u"), MenuItem("Log", "/console/log", key: "l"),
            MenuItem("Status", "/console/status", key: "h"), MenuItem("Audit", "/console/audit", key: "a"),
            MenuItem("Settings", "/console/settings", key: "i"), MenuItem("Backups", "/console/backups", key: "y"),
            MenuItem("Second factor", "/console/second-factor", key: "f"),
        ]
        var values = values
        if let container {
            let other: CloudEnvironment = environment == .development ? .production : .development
            values["container"] = container
            values["environment"] = environment.rawValue
            if environment == .production { values["isProduction"] = true }
            values["other"] = "to \(other.rawValue)"
            values["otherAddress"] = "/console/c/\(container)/\(other.rawValue)/\(visit.path.dropFirst(3).first ?? "types")"
            values["base"] = "/console/c/\(container)/\(environment.rawValue)"
            if let consent = visit.consent(for: container, environment) {
                values["consent"] = ["person": consent.accountName, "until": FieldText.date(consent.until)]
            }
        }
        return Page.html(
            template, values, title: title, status: status,
            menu: menu.map { item -> [String: Any] in
                let isAbove = item.address != "/console" && visit.request.path.hasPrefix(item.address + "/")
                return [
                    "name": item.name, "address": item.address, "key": item.key, "isHere": visit.request.path == item.address || isAbove,
                ]
            },
            person: visit.profile.accountName, form: visit.form, scripts: scripts, headers: visit.headers)
    }
}

/// A page in the menu.
private struct MenuItem {
    let name: String
    let address: String
    /// The letter that opens it after `g`.
    let key: String

    init(_ name: String, _ address: String, key: String) {
        self.name = name
        self.address = address
        self.key = key
    }
}
