// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// Limits of forms and requests, before and after the console knows the operator.
@Suite struct PageLimitTests {
    private struct BodyWasRead: Error {}

    /// The status of a form with a body that fails the request if it is read.
    private static func status(ofUnreadableFormFrom isOperator: Bool, _ path: String) async throws -> Int? {
        let (village, _) = try await BrowserSession.signedIn(isOperator: isOperator)
        let result = try await village.service.signIns.signIn(
            name: "mia", password: "correct horse", to: .console(isKept: false), network: "")
        guard case .signedIn(let token) = result else { return nil }
        let body = AsyncThrowingStream<[UInt8], any Error>(unfolding: { throw BodyWasRead() })
        let request = ServiceRequest(
            method: "POST", path: path, headers: ["cookie": "tarn_console=\(token)"], body: .stream(body), baseURL: "http://tarn.example")
        return await Console(service: village.service, storage: village.store).respond(to: request)?.status
    }

    @Test func theBodyOfAFormIsReadForOperatorsOnly() async throws {
        #expect(try await Self.status(ofUnreadableFormFrom: false, "/console/users") == 403)
        #expect(try await Self.status(ofUnreadableFormFrom: true, "/console/users") == 500)
        #expect(try await Self.status(ofUnreadableFormFrom: false, "/console/signout") == 500, "it has the form's code")
    }

    @Test func aLargeSignOutFormIsRejected() async throws {
        let (_, other) = try await BrowserSession.signedIn(isOperator: false)
        #expect(await other.send("POST", "/console/signout", String(repeating: "x", count: 16_385)).status == 413)
    }

    @Test func aFormWithTooManyItemsIsRejected() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        let form = try #require(await visitor.get("/console").form)
        func post(_ page: String, items: Int) async -> BrowserSession.Answer {
            let body = (["form=\(form)"] + (1..<items).map { "v.\($0).a=" }).joined(separator: "&")
            return await visitor.send("POST", page, body)
        }
        #expect(await post("/console/users", items: 2001).status == 413)
        #expect(await post("/console/users", items: 2001).text.contains("more than 2000 items"))
        // The name of an account is missing.
        #expect(await post("/console/users", items: 2000).status == 400)
        // A record has controls for the elements of its lists.
        #expect(await post("\(ConsoleTests.base)/records/public/_defaultZone/p%3C1%3E", items: 2001).status == 303)
    }

    @Test func itemsOfAFormAreCountedBeforeTheyAreDecoded() throws {
        #expect(try QueryItems(form: Array("a=1&b=2".utf8), atMost: 2)["b"] == "2")
        #expect(throws: WireError.self) { try QueryItems(form: Array("a=1&b=2".utf8), atMost: 1) }
    }

    /// Three requests a minute.
    private static func village() async throws -> Village {
        var limits = Limits()
        limits.requestsPerMinute = 3
        let village = try Village(limits: limits)
        _ = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        try await village.store.setPassword("correct horse", ofUser: "mia")
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        return village
    }

    @Test(arguments: ["/console", "/console/signin", "/console/first-run", "/consents", "/signin"])
    func pagesForAnonymousBrowsersCountAgainstTheirNetwork(_ page: String) async throws {
        let village = try await Self.village()
        let visitor = BrowserSession(village)
        for _ in 0..<3 { #expect(await visitor.get(page).status != 429) }
        let refused = await visitor.get(page)
        #expect(refused.status == 429)
        #expect(refused.headers.contains { $0.name == "Retry-After" && $0.value == "20" })
        #expect(refused.text.contains("again in 20 seconds"))
        #expect(await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "").status == 429)
        village.clock.advance(seconds: 20)
        #expect(await visitor.get(page).status != 429)
    }

    @Test func pagesOfASessionCountAgainstItsAccount() async throws {
        let village = try await Self.village()
        let visitor = BrowserSession(village)
        #expect(await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "").status == 303)
        for _ in 0..<3 { #expect(await visitor.get("/console/audit").status == 200) }
        #expect(await visitor.get("/console/audit").status == 429)
        // The budget is that of the account, not of its network.
        #expect(await BrowserSession(village).get("/console").status == 200)
    }
}
