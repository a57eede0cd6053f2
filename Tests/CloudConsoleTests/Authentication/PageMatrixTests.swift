// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

@testable import CloudConsole

/// Each page of the console, with each role and each kind of request. The pages are those of the routes: a route without a row does not
/// compile.
@Suite struct PageMatrixTests {
    enum Role: CaseIterable {
        case anonymous
        /// A user with the web session of an app in the console's cookie.
        case user
        /// Signed in to the console, and no operator.
        case nonOperator
        /// Signed in more than five minutes ago.
        case unconfirmedOperator
        case confirmedOperator

        var isOperator: Bool { self == .unconfirmedOperator || self == .confirmedOperator }
        var hasSession: Bool { isOperator || self == .nonOperator }
    }

    enum Kind: CaseIterable {
        case get, postWithoutCode, postWithCodeOfAnotherSession
        /// With the code of the sender's session; one without a session has another's.
        case post
    }

    /// A page, and its responses to an operator.
    private struct Page {
        var path: String
        var get = 200
        /// The form that is posted.
        var fields: [String: String] = [:]
        var post = 200
        var needsConfirmation = false
        var isSignOut = false
    }

    private static let development = "/console/c/\(Village.container)/development"
    private static let production = "/console/c/\(Village.container)/production"

    private static func pages(_ route: ConsolePages.Route) -> [Page] {
        let path = "/console/\(route.rawValue)"
        switch route {
        case .overview: return [Page(path: "/console")]
        case .users:
            return [
                Page(path: path, post: 400), Page(path: "\(path)/cy/devices.json"),
                Page(path: "\(path)/cy", fields: ["do": "password", "password": "battery staple"], post: 303, needsConfirmation: true),
            ]
        case .devices, .devicesFile, .status, .settings, .backups, .audit, .logFile: return [Page(path: path)]
        // The console keeps no requests here.
        case .log: return [Page(path: path), Page(path: "\(path)/kept", get: 404, post: 404)]
        case .secondFactor: return [Page(path: path, post: 400)]
        case .container: return [Page(path: path, get: 404, post: 404)] + ContainerPages.Route.allCases.flatMap { pages($0) }
        case .signOut: return [Page(path: path, get: 303, post: 303, isSignOut: true)]
        }
    }

    private static func pages(_ route: ContainerPages.Route) -> [Page] {
        let path = "\(development)/\(route.rawValue)"
        switch route {
        case .types: return [Page(path: path), Page(path: "\(path)/Plant", fields: ["do": "add-field"])]
        case .schema: return [Page(path: path, fields: ["do": "deploy", "confirmed": "x"], needsConfirmation: true)]
        case .tokens:
            return [
                Page(path: path, post: 400),
                Page(
                    path: "\(production)/tokens", fields: ["do": "add-token", "label": "x", "origins": "https://app.example.org"],
                    needsConfirmation: true),
            ]
        case .roles, .subscriptions: return [Page(path: path)]
        case .reach: return [Page(path: path, post: 404)]
        case .records, .consent: return [Page(path: path, post: 400)]
        case .zones:
            return [
                Page(path: path, fields: ["zone": "_reserved"]), Page(path: "\(path)/private/Garden/delete", post: 400),
                Page(
                    path: "\(path)/private/Garden/shares", fields: ["do": "stop-share", "confirmed": "x", "share": "none"], post: 404,
                    needsConfirmation: true),
            ]
        }
    }

    /// Signing out is last.
    private static let allPages =
        ConsolePages.Route.allCases.filter { $0 != .signOut }.flatMap { pages($0) } + pages(ConsolePages.Route.signOut)

    private static func status(_ page: Page, _ role: Role, _ kind: Kind) -> Int {
        switch (role, kind) {
        // The sign-in page, also in place of a script's file.
        case (.anonymous, .get), (.user, .get): page.path.hasSuffix(".json") ? 403 : 200
        case (.anonymous, _), (.user, _): 403
        case (.nonOperator, .get): page.isSignOut ? page.get : 403
        case (.nonOperator, .post): page.isSignOut ? page.post : 403
        case (_, .postWithoutCode), (_, .postWithCodeOfAnotherSession): 403
        case (_, .get): page.get
        case (.unconfirmedOperator, .post): page.needsConfirmation ? 200 : page.post
        case (.confirmedOperator, .post): page.post
        }
    }

    private let village: Village
    private var sessions: [Role: BrowserSession] = [:]
    private var codes: [Role: String] = [:]

    init() async throws {
        let (village, first) = try await BrowserSession.signedIn()
        self.village = village
        for name in ["bo", "cy"] {
            _ = try await village.villager(name)
            try await village.store.setPassword("correct horse", ofUser: name)
        }
        village.clock.advance(seconds: Confirmations.minutesValid * 60)
        let user = BrowserSession(village, console: first.console)
        let place = SignInPlace(containerIdentifier: Village.container, environment: .development, isKept: false)
        let result = try await village.service.signIns.signIn(name: "bo", password: "correct horse", to: place, network: "")
        guard case .signedIn(let token) = result else { throw WireError(.internalError, "no session") }
        user.setCookie(ConsolePages.cookie.name, to: token, path: ConsolePages.cookie.path)
        sessions = [.anonymous: BrowserSession(village, console: first.console), .user: user, .unconfirmedOperator: first]
        sessions[.nonOperator] = try await Self.signedIn("bo", village, first.console)
        sessions[.confirmedOperator] = try await Self.signedIn("mia", village, first.console)
        for (role, session) in sessions where role.hasSession { codes[role] = await session.get("/console").form }
    }

    private static func signedIn(_ name: String, _ village: Village, _ console: Console) async throws -> BrowserSession {
        let session = BrowserSession(village, console: console)
        let answer = await session.post("/console/signin", ["name": name, "password": "correct horse"], code: "")
        try #require(answer.status == 303)
        return session
    }

    /// The code of the forms of a session that is not the role's.
    private func foreignCode(_ role: Role) -> String? { codes[role == .confirmedOperator ? .unconfirmedOperator : .confirmedOperator] }

    private func send(_ page: Page, _ role: Role, _ kind: Kind) async throws -> BrowserSession.Answer {
        let session = try #require(sessions[role])
        let code: String?
        switch kind {
        case .get: return await session.get(page.path)
        case .postWithoutCode: code = nil
        case .postWithCodeOfAnotherSession: code = foreignCode(role)
        case .post: code = codes[role] ?? foreignCode(role)
        }
        var fields = page.fields
        fields["form"] = code
        return await session.send("POST", page.path, fields.map { "\($0.key)=\(QueryItems.encode($0.value))" }.joined(separator: "&"))
    }

    @Test func eachPageRespondsByRoleAndFormCode() async throws {
        // The confirmed operator is last: before, no act that needs a confirmation is carried out.
        for role in Role.allCases {
            if role == .confirmedOperator {
                #expect(try await village.store.account(named: "cy", password: "battery staple") == nil)
                #expect(try await village.store.apiTokens().isEmpty)
            }
            for page in Self.allPages {
                for kind in Kind.allCases {
                    let answer = try await send(page, role, kind)
                    #expect(answer.status == Self.status(page, role, kind), "\(role) \(kind) \(page.path)")
                    let asks = role == .unconfirmedOperator && kind == .post && page.needsConfirmation
                    #expect(answer.text.contains("name=\"confirm-password\"") == asks, "\(role) \(kind) \(page.path)")
                    let hasMenu = answer.text.contains("href=\"/console/audit\"")
                    #expect(role.isOperator || !hasMenu, "\(role) \(kind) \(page.path)")
                    if !role.hasSession, kind == .get { #expect(answer.text.contains("name=\"password\""), "\(page.path)") }
                }
            }
        }
        #expect(try await village.store.account(named: "cy", password: "battery staple") != nil)
        #expect(try await village.store.apiTokens().count == 1)
    }

    /// Requests of the protocol that the pages' scripts send have the code in a header, reads included.
    @Test(arguments: Role.allCases)
    func requestsOfPagesNeedAnOperatorAndACode(_ role: Role) async throws {
        let session = try #require(sessions[role])
        let path = "\(PageAddress.api)/database/1/\(Village.container)/development/private/zones/list"
        for kind in [Kind.postWithoutCode, .postWithCodeOfAnotherSession, .post] {
            let code: String? =
                switch kind {
                case .get, .postWithoutCode: nil
                case .postWithCodeOfAnotherSession: foreignCode(role)
                case .post: codes[role] ?? foreignCode(role)
                }
            let answer = await session.send("GET", path, "", headers: code.map { [PageRequests.codeHeader: $0] } ?? [:])
            let status = !role.hasSession ? 421 : role.isOperator && kind == .post ? 200 : 403
            #expect(answer.status == status, "\(kind)")
        }
    }

    /// Pages that begin a session have no code: a form of another origin is refused with any session.
    @Test(arguments: Role.allCases)
    func formsThatBeginASessionAreOfTheirOwnOrigin(_ role: Role) async throws {
        let session = try #require(sessions[role])
        for (path, status) in [("/console/signin", 303), (FirstRun.path, 403)] {
            #expect(await session.get(path).status == status, "\(path)")
            #expect(await session.post(path, ["name": "mia"], code: "", origin: "https://evil.example").status == 403, "\(path)")
        }
    }
}
