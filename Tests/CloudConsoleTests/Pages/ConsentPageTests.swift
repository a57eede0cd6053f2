// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import TestBasics
import Testing

/// A person permits an operator to read their private data.
@Suite struct ConsentPageTests {
    private static let base = ConsoleTests.base
    private static let consent = "\(base)/consent"
    private static let list = "\(base)/records?place=private/\(Village.garden)&type=Plant"
    private static let record = "\(base)/records/private/\(Village.garden)/sage"

    private let village: Village
    /// The browser of mia, an operator.
    private let visitor: BrowserSession
    private let bo: Village.Villager
    /// The browser of bo, on the page of consents.
    private let browser: BrowserSession

    init() async throws {
        (village, visitor) = try await BrowserSession.signedIn()
        bo = try await village.villager("bo")
        try await bo.modify([RecordOperation(.create, .plant("sage"))])
        browser = BrowserSession(village)
    }

    private func consents(_ fields: [String: String]) async -> BrowserSession.Answer {
        await browser.post("/consents", fields, code: await browser.get("/consents").form ?? "")
    }

    private func signIn() async throws {
        try #require(await browser.post("/consents", ["token": bo.token], code: "").status == 303)
    }

    /// The text that bo sends to the operator.
    private func given(hours: String = "1") async throws -> String {
        let page = await consents(["do": "give", "container": Village.container, "environment": "development", "hours": hours]).text
        let start = try #require(page.range(of: #"id="consent">"#)?.upperBound, "\(page)")
        return String(page[start...].prefix { $0 != "<" })
    }

    private func events(_ action: String) async throws -> [AuditEvent] {
        try await village.store.auditEvents(before: nil, limit: 100).map(\.event).filter { $0.action == action }
    }

    @Test func anOperatorReadsPrivateDataWithConsentOnly() async throws {
        #expect(await visitor.get(Self.record).status == 404)
        try await signIn()
        let text = try await given()
        #expect(await visitor.post(Self.consent, ["do": "read", "consent": " \(text)\n"]).status == 303)
        let list = await visitor.get(Self.list).text
        #expect(list.contains(">sage</a>"))
        #expect(list.contains("You read the private and shared data of <strong>bo</strong>"))
        #expect(list.contains("bo&#39;s private: Garden (1)"))
        #expect(await visitor.get(Self.record).text.contains("History of this record"))
        #expect(await visitor.get(Self.record + "/history").status == 200)
        #expect(await visitor.ask("private/zones/list", "").text.contains(bo.name))
        #expect(try await events("console.records.look").last { $0.subject.contains("data of bo by consent") } != nil)
        #expect(try await events("console.api.zones.list").first?.subject.contains("data of bo") == true)

        #expect(await visitor.post(Self.consent, ["do": "stop"]).status == 303)
        #expect(await visitor.get(Self.record).status == 404)
    }

    @Test func aConsentIsForReading() async throws {
        try await signIn()
        _ = await visitor.post(Self.consent, ["do": "read", "consent": try await given()])
        #expect(await visitor.post(Self.record, ["do": "delete"]).text.contains("permitted to read, not to change"))
        let zone = "\(Self.base)/zones/private/\(Village.garden)"
        #expect(await visitor.post("\(Self.base)/zones", ["do": "create", "zone": "New"]).text.contains("permitted to read"))
        #expect(await visitor.post(zone + "/delete", ["zone": Village.garden]).status == 403)
        #expect(await visitor.post(zone + "/restore", ["at": "2030-03-17T17:47:40"]).status == 403)
        let change = #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"sage"}}],"zoneID":{"zoneName":"Garden"}}"#
        for scope in ["private", "shared"] { #expect(await visitor.ask("\(scope)/records/modify", change).status == 403) }
        #expect(await visitor.ask("private/assets/upload", "{}").status == 403)
        #expect(try await bo.lookup("sage")[0].record != nil)
        #expect(try await bo.ask(.private, .listZones, nil, ZonesResponse.self).zones.count == 2)
        // The public database is the operator's to change.
        let page = "\(Self.base)/records/public/_defaultZone/p%3C1%3E"
        #expect(await visitor.post(page, ["do": "delete"]).status == 303)
    }

    /// A link gives access after the consent has ended.
    @Test func aConsentShowsNoLinksOfShares() async throws {
        var oneTime = ShareParticipant(participantID: "x-1", identity: UserIdentity(userRecordName: ""), permission: .readOnly)
        oneTime.isOneTime = true
        let share = RecordOperation(.create, .share("share", of: "sage", open: .readOnly, with: [.invited("zoe"), oneTime]))
        try await bo.modify([share])
        let shares = try await bo.ask(
            .private, .lookupRecords, LookupRecordsRequest(recordNames: ["share"], zoneID: bo.zone()), LookupRecordsResponse.self,
            capabilities: [.accessRequests])
        let record = try #require(shares.results.first?.record)
        let link = try #require(record.sharing.shortGUID)
        let personal = try #require(record.sharing.details?.participants.compactMap(\.oneTimeGUID).first)
        try await signIn()
        _ = await visitor.post(Self.consent, ["do": "read", "consent": try await given()])
        let text = await visitor.get("\(Self.base)/zones/private/\(Village.garden)/shares").text
        #expect(text.contains("<td>zoe@example.org</td>"))
        for guid in [link, personal] { #expect(!text.contains(guid)) }
    }

    @Test func aConsentIsForOneContainerAndEnvironment() async throws {
        try await signIn()
        let text = try await given()
        let production = Self.base.replacing("/development", with: "/production")
        let answer = await visitor.post("\(production)/consent", ["do": "read", "consent": text])
        #expect(answer.status == 400)
        #expect(answer.text.contains("is for \(Village.container) in development"))
        _ = await visitor.post(Self.consent, ["do": "read", "consent": text])
        #expect(await !visitor.get("\(production)/zones").text.contains("data of <strong>bo"))
        let other = "/console/c/iCloud.org.example.other/development/zones"
        #expect(await !visitor.get(other).text.contains("data of <strong>bo"))
    }

    @Test func aConsentThatIsEndedOrExpiredShowsNothing() async throws {
        try await signIn()
        let first = try await given()
        _ = await visitor.post(Self.consent, ["do": "read", "consent": first])
        #expect(await visitor.get(Self.record).status == 200)
        try await village.service.requestCredentials.storeUses()
        let page = await browser.get("/consents").text
        #expect(!page.contains("not yet"), "the person sees the last look")
        let id = try #require(page.range(of: #"name="id" value=""#).map { String(page[$0.upperBound...].prefix { $0 != "\"" }) })
        #expect(await consents(["do": "end", "id": id]).status == 303)
        #expect(await visitor.get(Self.record).status == 404, "the page is of the operator's own database")
        #expect(await visitor.post(Self.consent, ["do": "read", "consent": first]).status == 400)
        #expect(await browser.get("/consents").text.contains("Nobody may read"))

        let second = try await given()
        _ = await visitor.post(Self.consent, ["do": "read", "consent": second])
        #expect(await visitor.get(Self.record).status == 200)
        village.clock.advance(seconds: 3601)
        // Sessions of the console outlive half an hour by their use only.
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        #expect(await visitor.get(Self.record).status == 404)
    }

    /// The page of consents shows the last time that the data was read, not the last request of the operator.
    @Test func onlyPagesWithTheDataAreLooks() async throws {
        try await signIn()
        _ = await visitor.post(Self.consent, ["do": "read", "consent": try await given()])
        for path in ["/console/users", Self.consent, "\(Self.base)/types", "\(Self.base)/records/public/_defaultZone/p%3C1%3E"] {
            #expect(await visitor.get(path).status == 200, "\(path)")
        }
        try await village.service.requestCredentials.storeUses()
        #expect(await browser.get("/consents").text.contains("not yet"))
        // The picker of a list names the zones of the private database.
        #expect(await visitor.get("\(Self.base)/records?place=public/_defaultZone&type=Plant").status == 200)
        try await village.service.requestCredentials.storeUses()
        #expect(await !browser.get("/consents").text.contains("not yet"))
    }

    /// A browser may have several operators.
    @Test func signingOutForgetsTheConsent() async throws {
        try await signIn()
        _ = await visitor.post(Self.consent, ["do": "read", "consent": try await given()])
        #expect(await visitor.post("/console/signout", [:]).status == 303)
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        #expect(await visitor.get("\(Self.base)/zones").status == 200)
        #expect(await visitor.get(Self.record).status == 404)
    }

    /// With the account's other sessions.
    @Test func aConsentEndsWithThePersonsDeviceAndPassword() async throws {
        try await signIn()
        _ = await visitor.post(Self.consent, ["do": "read", "consent": try await given()])
        try await village.store.removeDevice(labelled: "tablet", ofUser: "bo")
        #expect(await visitor.get(Self.record).status == 404)
        #expect(await browser.get("/consents").text.contains("Or the token of one of your devices"), "the page's session ended")

        try await village.store.setPassword("battery staple", ofUser: "bo")
        #expect(await browser.post("/consents", ["name": "bo", "password": "battery staple"], code: "").status == 303)
        _ = await visitor.post(Self.consent, ["do": "read", "consent": try await given()])
        #expect(await visitor.get(Self.record).status == 200)
        try await village.store.setPassword("correct battery", ofUser: "bo")
        #expect(await visitor.get(Self.record).status == 404)
    }

    /// Neither text opens anything else.
    @Test func tokensAreGoodForTheirUseOnly() async throws {
        try await signIn()
        let text = try await given()
        let request = ServicePath(
            containerIdentifier: Village.container, environment: .development, scope: .private, operation: .listZones)
        let answer = await village.service.respond(
            to: ServiceRequest(
                method: "GET", path: request.path, query: "ckWebAuthToken=\(text)", headers: [:], body: .bytes([]),
                baseURL: "http://tarn.example"))
        #expect(answer.status != 200)
        for path in ["/console", "/consents"] {
            let cookie = path == "/console" ? "tarn_console" : "tarn_consents"
            let page = await visitor.console.respond(
                to: ServiceRequest(
                    method: "GET", path: path, query: "", headers: ["cookie": "\(cookie)=\(text)"], body: .bytes([]),
                    baseURL: "http://tarn.example"))
            #expect(page?.text.contains(#"name="password""#) == true, "\(path)")
        }
        // A session of the console is not a consent.
        let key = try await village.service.sessions.operatorKey(ofAccount: try #require(try await village.store.account(named: "mia"))).key
        #expect(await visitor.post(Self.consent, ["do": "read", "consent": key]).status == 400)
        #expect(await visitor.post(Self.consent, ["do": "read", "consent": "nonsense"]).status == 400)
    }

    @Test func formsOfOtherPagesAndWrongTokensAreRejected() async throws {
        #expect(await browser.post("/consents", ["token": bo.token], code: "", origin: "https://evil.example").status == 403)
        #expect(await browser.post("/consents", ["token": "wrong"], code: "").text.contains("The device&#39;s token is wrong"))
        try await signIn()
        let give = ["do": "give", "container": Village.container, "environment": "development", "hours": "1"]
        #expect(await browser.post("/consents", give, code: "other").status == 403)
        #expect(await consents(give.merging(["hours": "9000"]) { $1 }).status == 400)
        #expect(await consents(give.merging(["container": "iCloud.org.example.other"]) { $1 }).status == 400)
        #expect(try await events("consent.given").isEmpty)
        // The address of the console alone does not have the page.
        let console = BrowserSession(visitor.village, console: visitor.console.serving(.console))
        #expect(await console.get("/consents").status == 404)
    }

    @Test func wrongDeviceTokensAreThrottled() async throws {
        var limits = Limits()
        limits.passwordFailures = 2
        let village = try Village(limits: limits)
        let browser = BrowserSession(village)
        var statuses: [Int] = []
        for _ in 0..<4 { statuses.append(await browser.post("/consents", ["token": "wrong"], code: "").status) }
        #expect(statuses.contains(429), "\(statuses)")
    }
}
